"""Start and end: run, join, spawn, clean-ups and signals; in a process of its own where the process is what counts."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication

from agentic_qt.qt import loop as loop_module
from agentic_qt.qt.loop import join, loop_for, on_shutdown, spawn
from agentic_qt.qt.platform_check import check_platform

ROOT = Path(__file__).parents[2]
HEAD = """
import asyncio, sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from PySide6.QtCore import Qt
from agentic_qt.qt.loop import join, on_shutdown, run, spawn

def say(*words):
    print(*words, flush=True)

"""


def python(body: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", "-c", HEAD + textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=ROOT,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, list[str]]:
    """Return the exit code and the lines printed; nothing may stand on stderr."""
    try:
        out, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"did not end: {out!r} {err!r}")
    assert err == ""
    return process.returncode, out.split("\n")[:-1]


def test_run_ends_when_the_last_window_is_closed_and_cleans_up_without_a_word():
    """FC-09: a pending task, an open generator and clean-ups at the end; nothing on stderr."""
    code, lines = finish(
        python("""
        app = QApplication([])
        window = QWidget()
        window.show()

        async def worker():
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                await asyncio.sleep(0.01)
                say("worker ended")
                raise

        async def clean():
            await asyncio.sleep(0.01)
            say("cleaned", window is not None)

        on_shutdown(lambda: say("first registered, last called"))
        on_shutdown(clean)
        task = spawn(worker())
        QTimer.singleShot(50, window.close)
        say("code", run(app))
        say("task", task.cancelled(), app.quitOnLastWindowClosed())
        """)
    )
    assert code == 0
    assert lines == ["cleaned True", "first registered, last called", "worker ended", "code 0", "task True True"]


def test_run_takes_a_function_that_shows_the_window_and_returns_it():
    code, lines = finish(
        python("""
        def main():
            window = QWidget()
            window.show()
            QTimer.singleShot(50, window.close)
            say("shown", asyncio.get_running_loop().is_running())
            return window
        sys.exit(run(main))
        """)
    )
    assert (code, lines) == (0, ["shown True"])


def test_run_ends_with_an_async_function_that_leaves_no_window_and_returns_its_code():
    code, lines = finish(
        python("""
        async def main():
            await asyncio.sleep(0.01)
            say("ran")
            return 3
        sys.exit(run(main))
        """)
    )
    assert (code, lines) == (3, ["ran"])


def test_what_the_function_raises_comes_out_of_run_after_the_clean_up():
    code, lines = finish(
        python("""
        on_shutdown(lambda: say("cleaned"))
        async def main():
            raise LookupError("no data")
        try:
            run(main)
        except LookupError as error:
            say("raised", error)
        """)
    )
    assert (code, lines) == (0, ["cleaned", "raised no data"])


def test_the_application_may_end_the_run_by_itself_with_a_code():
    code, lines = finish(
        python("""
        app = QApplication([])
        window = QWidget()
        window.show()
        on_shutdown(lambda: say("cleaned"))
        QTimer.singleShot(50, lambda: app.exit(5))
        sys.exit(run(app))
        """)
    )
    assert (code, lines) == (5, ["cleaned"])


def test_a_window_that_does_not_count_keeps_nothing_alive_and_ends_nothing():
    """FC-13: closing a window with WA_QuitOnClose false does not end the run."""
    code, lines = finish(
        python("""
        app = QApplication([])
        window, ours = QWidget(), QWidget()
        ours.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)
        window.show()
        ours.show()

        async def script():
            ours.close()
            await asyncio.sleep(0.05)
            say("still here")
            ours.show()
            window.close()

        spawn(script())
        sys.exit(run(app))
        """)
    )
    assert (code, lines) == (0, ["still here"])


@pytest.mark.skipif(os.name == "nt", reason="os.kill cannot send SIGINT to one process there")
@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_ends_an_idle_application_cleanly(number, expected):
    process = python("""
        app = QApplication([])
        window = QWidget()
        window.show()
        async def worker():
            try:
                await asyncio.sleep(3600)
            finally:
                say("worker ended")
        spawn(worker())
        QTimer.singleShot(0, lambda: say("ready"))
        sys.exit(run(app))
        """)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert finish(process) == (expected, ["worker ended"])


@pytest.mark.skipif(os.name == "nt", reason="os.kill cannot send SIGINT to one process there")
def test_ctrl_c_ends_the_application_while_a_handler_executes_a_dialog():
    """FC-07: the nested loop ends too."""
    process = python("""
        app = QApplication([])
        window = QWidget()
        window.show()
        async def worker():
            dialog = QDialog(window)
            QTimer.singleShot(0, lambda: say("ready"))
            say("dialog", int(dialog.exec()))
        spawn(worker())
        sys.exit(run(app))
        """)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert finish(process) == (130, ["dialog 0"])


def test_tasks_run_inside_a_host_that_calls_exec_itself_whether_spawned_before_or_during():
    code, lines = finish(
        python("""
        app = QApplication([])
        window = QWidget()
        window.show()

        async def worker(name):
            try:
                for _ in range(3):
                    await asyncio.sleep(0.005)
                say(name, asyncio.get_running_loop() is join())
                await asyncio.sleep(3600)
            finally:
                say(name, "ended")

        async def clean():
            await asyncio.sleep(0.01)
            say("cleaned")

        on_shutdown(clean)
        spawn(worker("before"))
        QTimer.singleShot(30, lambda: spawn(worker("during")))
        QTimer.singleShot(300, window.close)
        code = app.exec()
        say("code", code)
        say("asyncio is free", asyncio.run(asyncio.sleep(0, True)))
        """)
    )
    assert code == 0
    assert lines[:3] == ["before True", "during True", "cleaned"]
    assert sorted(lines[3:5]) == ["before ended", "during ended"]
    assert lines[5:] == ["code 0", "asyncio is free True"]


def test_a_dialog_in_a_handler_strands_nobody_inside_a_hosts_exec():
    """FC-07, when the host turns the loop."""
    code, lines = finish(
        python("""
        app = QApplication([])
        app.setQuitOnLastWindowClosed(False)
        seen = []

        async def ticks():
            for number in range(3):
                await asyncio.sleep(0.005)
                seen.append(number)

        async def handler():
            task = spawn(ticks())
            dialog = QDialog()
            task.add_done_callback(lambda _: dialog.accept())
            say("dialog", dialog.exec() == QDialog.DialogCode.Accepted, seen)
            await task
            app.quit()

        spawn(handler())
        sys.exit(app.exec())
        """)
    )
    assert (code, lines) == (0, ["dialog True [0, 1, 2]"])


def test_a_host_with_a_qasync_loop_of_its_own_keeps_it():
    code, lines = finish(
        python("""
        import qasync
        app = QApplication([])
        async def main():
            async def child():
                return asyncio.get_running_loop()
            say(await spawn(child()) is asyncio.get_running_loop())
        loop = qasync.QEventLoop(app)
        loop.run_until_complete(main())
        loop.close()
        """)
    )
    assert (code, lines) == (0, ["True"])


def test_a_task_that_refuses_to_end_is_named_and_holds_the_end_only_for_a_bounded_time():
    code, lines = finish(
        python("""
        import logging
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        import agentic_qt.qt.loop as loop_module
        loop_module.CLEANUP_SECONDS = 0.05

        async def stubborn():
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    pass

        async def main():
            loop_module._tasks.add(asyncio.create_task(stubborn(), name="stubborn"))
            await asyncio.sleep(0.01)
        sys.exit(run(main))
        """)
    )
    assert (code, lines) == (0, ["The task stubborn did not end when it was cancelled"])


def test_a_handler_that_quits_the_hosts_application_is_followed_by_the_whole_clean_up():
    """The host's exec() is about to return: clean-ups that wait for time or I/O are still awaited."""
    code, lines = finish(
        python("""
        app = QApplication([])

        async def clean():
            await asyncio.sleep(0.02)
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=-1)
            say("cleaned", (await process.communicate())[0])

        async def handler():
            on_shutdown(clean)
            app.quit()
            say("quit")
            await asyncio.sleep(3600)

        spawn(handler())
        code = app.exec()
        say("code", code)
        """)
    )
    assert (code, lines) == (0, ["quit", "cleaned b'1\\n'", "code 0"])


def test_a_window_that_closes_over_an_open_approval_denies_it_and_ends_without_a_word():
    """FC-09: pending approvals become denied, nothing crashes, nothing is left pending."""
    code, lines = finish(
        python("""
        from agentic_qt.core.call import Call
        from agentic_qt.core.registry import Registry
        from agentic_qt.qt.mixin import capability
        from agentic_qt.qt.scope import provide

        class Store(QWidget):
            @capability(risk="mutating")
            def save(self) -> None:
                \"""Save.\"""
                say("saved")

        app = QApplication([])
        registry = Registry()
        detach = registry.approvals.attach(lambda event: None)
        window = Store()
        window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        provide(window, registry)
        window.show()
        on_shutdown(registry.close)

        async def ask():
            outcome = await registry.execute(Call(name="store.save"))
            say(outcome.status, outcome.code)

        spawn(ask())
        spawn(ask())
        QTimer.singleShot(50, window.close)
        sys.exit(run(app))
        """)
    )
    assert code == 0
    assert "saved" not in lines
    assert lines == ["denied window_closed"] * 2


@pytest.mark.anyio
async def test_a_spawned_task_is_kept_and_its_exception_is_logged(caplog):
    async def fails() -> None:
        await asyncio.sleep(0)
        raise LookupError("gone")

    with caplog.at_level(logging.ERROR, logger="agentic_qt.qt.loop"):
        task = spawn(fails(), name="fails")
        assert task in loop_module._tasks
        await asyncio.wait([task])
        await asyncio.sleep(0)
    assert task not in loop_module._tasks
    assert "The task fails failed" in caplog.text
    assert "LookupError: gone" in caplog.text


@pytest.mark.anyio
async def test_the_running_loop_is_the_one_for_our_tasks():
    assert loop_for() is asyncio.get_running_loop()


def test_join_gives_one_loop_and_a_clean_up_can_be_taken_back(qapp):
    joined = join(qapp)
    try:
        assert join() is joined
        assert loop_for() is joined
        before = len(loop_module._cleanups)
        remove = on_shutdown(lambda: None)
        assert len(loop_module._cleanups) == before + 1
        remove()
        remove()
        assert len(loop_module._cleanups) == before
    finally:
        loop_module._leave()
    assert joined.is_closed()
    QCoreApplication.instance().aboutToQuit.disconnect(loop_module._leave)


def test_the_broken_pair_is_refused_with_a_way_out():
    with pytest.raises(ImportError, match=r"PySide6 6\.12\.0 crashes on Python 3\.11.*Python 3\.12 or newer"):
        check_platform(pyside="6.12.0", python=(3, 11))


@pytest.mark.parametrize(
    ("pyside", "python_version"), [("6.12.0", (3, 12)), ("6.12.1", (3, 11)), ("6.11.3", (3, 11)), ("", (3, 11))]
)
def test_every_other_pair_is_accepted(pyside, python_version):
    check_platform(pyside=pyside, python=python_version)
