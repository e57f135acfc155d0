"""The event loop: nested Qt loops, shared contexts, order and timers."""

import asyncio
import contextvars
import sys
import threading

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialog, QProgressDialog

from agentic_qt.qt.event_loop import QtEventLoop

pytestmark = pytest.mark.anyio


async def ticks(count: int, seen: list[int]) -> None:
    for number in range(count):
        await asyncio.sleep(0.005)
        seen.append(number)


async def test_a_dialog_that_a_task_executes_freezes_no_other_task(qapp):
    """FC-07: dialog.exec() inside a task; the other task runs on, during it and after it."""
    seen: list[int] = []
    task = asyncio.create_task(ticks(4, seen))
    dialog = QDialog()
    task.add_done_callback(lambda _: dialog.accept())
    QTimer.singleShot(5000, dialog, dialog.reject)
    assert dialog.exec() == QDialog.DialogCode.Accepted
    assert seen == [0, 1, 2, 3]
    await asyncio.wait_for(task, 1)


async def test_a_task_that_a_nested_loop_leaves_unfinished_goes_on_afterwards(qtbot):
    """FC-07: qtbot.wait inside a task."""
    seen: list[int] = []
    task = asyncio.create_task(ticks(30, seen))
    qtbot.wait(20)
    during = len(seen)
    await asyncio.wait_for(task, 5)
    assert during > 0
    assert seen == list(range(30))


async def test_a_modal_progress_dialog_freezes_no_other_task(qapp):
    """FC-07: QProgressDialog.setValue processes events inside a task."""
    seen: list[int] = []
    task = asyncio.create_task(ticks(3, seen))
    progress = QProgressDialog("Working", "Stop", 0, 1_000_000)
    progress.setModal(True)
    progress.setMinimumDuration(0)
    progress.show()
    value = 0
    while not task.done() and value < 999_999:
        value += 1
        progress.setValue(value)
    assert task.done()
    assert seen == [0, 1, 2]
    await task
    progress.close()


async def test_nested_loops_inside_nested_loops_strand_nobody(qtbot):
    """FC-07: the task that wakes inside a nested loop turns one of its own."""
    order: list[str] = []

    async def inner() -> None:
        await asyncio.sleep(0.005)
        qtbot.wait(20)
        order.append("inner")
        await asyncio.sleep(0)
        order.append("inner after")

    task = asyncio.create_task(inner())
    qtbot.wait(60)
    order.append("outer")
    await asyncio.wait_for(task, 5)
    assert order == ["inner", "inner after", "outer"]


async def test_the_current_task_is_back_after_a_nested_loop(qtbot):
    """FC-07: what ran in the nested loop leaves no trace on the task that turned it."""
    me = asyncio.current_task()
    other = asyncio.create_task(asyncio.sleep(0.001))
    qtbot.wait(20)
    assert asyncio.current_task() is me
    assert asyncio.get_running_loop() is me.get_loop()
    async with asyncio.timeout(5):
        await other


async def test_two_tasks_that_share_a_context_do_not_freeze_in_a_nested_loop(qtbot):
    """FC-07: the second task wakes while the shared Context is entered by the first."""
    shared = contextvars.copy_context()
    seen: list[int] = []
    loop = asyncio.get_running_loop()

    async def waits() -> None:
        qtbot.wait(60)

    other = loop.create_task(ticks(3, seen), context=shared)
    first = loop.create_task(waits(), context=shared)
    await asyncio.wait_for(asyncio.gather(first, other), 5)
    assert seen == [0, 1, 2]


async def test_the_rest_of_a_turn_runs_inside_the_nested_loop_that_its_first_callback_turns(qapp):
    """FC-07: the callback that closes the dialog is queued in the same turn as the one that opens it."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    dialog = QDialog()
    QTimer.singleShot(5000, dialog, dialog.reject)
    loop.call_soon(lambda: done.set_result(dialog.exec()))
    loop.call_soon(lambda: loop.call_soon(dialog.accept))
    assert await asyncio.wait_for(done, 10) == QDialog.DialogCode.Accepted


async def test_ready_callbacks_run_in_the_order_in_which_they_came():
    loop = asyncio.get_running_loop()
    seen: list[int] = []
    for number in range(200):
        (loop.call_soon if number % 2 else loop.call_soon_threadsafe)(seen.append, number)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert seen == list(range(200))


async def test_delayed_callbacks_run_by_their_times_and_never_early():
    loop = asyncio.get_running_loop()
    seen: list[int] = []
    early: list[float] = []

    def note(number: int, due: float) -> None:
        seen.append(number)
        early.append(due - loop.time())

    for number in (3, 1, 2, 0):
        due = loop.time() + 0.01 + number * 0.02
        loop.call_at(due, note, number, due)
    await asyncio.sleep(0.12)
    assert seen == [0, 1, 2, 3]
    assert max(early) <= 0.001


async def test_delays_are_waited_for_with_precise_timers(monkeypatch):
    callbacks = asyncio.get_running_loop()._timer
    kinds: list[object] = []
    start = callbacks.startTimer

    def note(*arguments):
        kinds.append(arguments[1:])
        return start(*arguments)

    monkeypatch.setattr(callbacks, "startTimer", note)
    await asyncio.sleep(0.001)
    assert (Qt.TimerType.PreciseTimer,) in kinds


async def test_a_cancelled_timer_leaves_no_qt_timer():
    loop = asyncio.get_running_loop()
    before = len(loop._timer._delayed)
    handle = loop.call_later(1800, print)
    assert len(loop._timer._delayed) == before + 1
    handle.cancel()
    assert len(loop._timer._delayed) == before
    handle.cancel()


async def test_a_delay_beyond_what_a_qt_timer_holds_is_accepted():
    handle = asyncio.get_running_loop().call_later(60 * 60 * 24 * 365, print)
    await asyncio.sleep(0)
    handle.cancel()


async def test_a_thread_can_call_into_the_loop_with_its_own_context():
    loop = asyncio.get_running_loop()
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    got = loop.create_future()

    def call() -> None:
        variable.set("the thread's")
        loop.call_soon_threadsafe(lambda: got.set_result((variable.get(), threading.current_thread())))

    thread = threading.Thread(target=call)
    thread.start()
    value, where = await asyncio.wait_for(got, 5)
    thread.join(5)
    assert value == "the thread's"
    assert where is threading.current_thread()


async def test_a_subprocess_and_an_executor_work_on_the_loop():
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(6 * 7)", stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 20)
    assert out.strip() == b"42"
    assert await asyncio.wait_for(asyncio.to_thread(threading.current_thread), 5) is not threading.current_thread()


async def test_a_socket_wakes_a_task_while_another_turns_a_nested_loop(qtbot):
    """FC-07: I/O, not only timers, arrives during a nested loop."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())

        async def ask() -> bytes:
            writer.write(b"hello\n")
            return await reader.readline()

        task = asyncio.create_task(ask())
        qtbot.waitUntil(task.done, timeout=5000)
        assert task.result() == b"hello\n"
        writer.close()
        await writer.wait_closed()


async def test_a_generator_that_is_left_is_closed_by_the_loop():
    closed = asyncio.Event()

    async def numbers():
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            closed.set()

    async def leave_it() -> None:
        async for _ in numbers():
            break

    await leave_it()
    await asyncio.wait_for(closed.wait(), 5)


def test_a_closed_loop_refuses_callbacks(qapp):
    loop = QtEventLoop(qapp)
    loop.close()
    for refuse in (loop.call_soon, loop.call_soon_threadsafe):
        with pytest.raises(RuntimeError, match="closed"):
            refuse(print)


def test_system_exit_in_a_callback_ends_run_forever_and_is_raised_there(qapp):
    loop = QtEventLoop(qapp)
    loop.call_soon(sys.exit, 7)
    with pytest.raises(SystemExit) as caught:
        loop.run_forever()
    assert caught.value.code == 7
    loop.close()


def test_a_failing_callback_is_reported_and_harms_no_other(qapp):
    loop = QtEventLoop(qapp)
    told: list[object] = []
    loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
    loop.call_soon(lambda: 1 / 0)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    assert [type(error) for error in told] == [ZeroDivisionError]


async def test_the_count_of_references_to_none_stays_over_a_thousand_events(qapp):
    """The build that the platform check refuses loses one in every call that an event drives."""
    fired = 0
    enough = asyncio.Event()
    timer = QTimer()

    def count() -> None:
        nonlocal fired
        fired += 1
        if fired == 1000:
            enough.set()

    timer.timeout.connect(count)
    before = sys.getrefcount(None)
    timer.start(0)
    await asyncio.wait_for(enough.wait(), 20)
    timer.stop()
    # Python 3.12 made None immortal: its count never moves there.
    assert abs(sys.getrefcount(None) - before) < 500


def test_the_application_of_the_tests_has_no_display():
    assert QApplication.platformName() == "offscreen"
