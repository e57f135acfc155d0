"""Start and end of the one event loop: our own `run`, or a host's ``app.exec()`` that we join.

This module is the bootstrap, the only place that turns a Qt loop: nothing else may call ``exec`` or
``processEvents``.
"""

import asyncio
import contextlib
import inspect
import logging
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

from PySide6.QtCore import QCoreApplication, QEventLoop, QSocketNotifier, Qt, QTimer
from PySide6.QtWidgets import QApplication

from agentic_qt.qt.event_loop import QtEventLoop, is_qt_loop

_log = logging.getLogger("agentic_qt.qt.loop")
T = TypeVar("T")

CLEANUP_SECONDS = 5.0
"""How long the end of an application waits for clean-ups, and again for cancelled tasks."""

GRACE_SECONDS = 0.05
"""How long tasks may end by themselves after the clean-ups, before they are cancelled."""

Cleanup = Callable[[], Awaitable[None] | None]

# A process has one Qt application, so it has one of each of these. An event loop holds its tasks weakly: somebody must
# keep them.
_tasks: set["asyncio.Task[Any]"] = set()
_cleanups: list[list[Cleanup]] = []
_joined: QtEventLoop | None = None


def loop_for(app: QCoreApplication | None = None) -> asyncio.AbstractEventLoop:
    """Return the loop for our tasks: the running one when Qt turns it, else the one joined to the application.

    Raises:
        RuntimeError: There is no QApplication yet.
    """
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return join(app)
    return running if is_qt_loop(running) else join(app)


def join(app: QCoreApplication | None = None) -> QtEventLoop:
    """Serve our tasks in a host's own ``app.exec()``, whether it runs already or will be called later.

    The loop is asyncio's running loop only while its callbacks run, so a host that runs asyncio elsewhere is not
    disturbed; a slot of the host's starts tasks with `spawn`. It ends with the application: clean-ups run and tasks are
    cancelled when ``aboutToQuit`` is emitted.

    Raises:
        RuntimeError: There is no QApplication yet.
    """
    global _joined
    if _joined is None or _joined.is_closed():
        application = app or QCoreApplication.instance()
        if application is None:
            raise RuntimeError("Create the QApplication before anything that needs its event loop")
        _joined = QtEventLoop(application)
        _joined.join()
        application.aboutToQuit.connect(_leave)
    return _joined


def spawn(coroutine: Coroutine[Any, Any, T], *, name: str | None = None) -> "asyncio.Task[T]":
    """Start a task on the GUI's loop, keep it until it is done, and log the exception that ends it."""
    task = loop_for().create_task(coroutine, name=name)
    _tasks.add(task)
    task.add_done_callback(_forget)
    return task


def on_shutdown(cleanup: Cleanup) -> Callable[[], None]:
    """Call `cleanup`, sync or async, before the loop ends, the latest first; returns a function that takes it back."""
    entry = [cleanup]
    _cleanups.append(entry)

    def remove() -> None:
        _cleanups[:] = [known for known in _cleanups if known is not entry]

    return remove


def run(app_or_main: QCoreApplication | Callable[[], Any] | None = None) -> int:
    """Run the application until its last window is closed, then clean up; returns the exit code.

    Args:
        app_or_main: An application whose windows are shown; or a function (sync or async) that shows them, called
            inside the loop, the QApplication being made first when there is none. An async one is awaited, and the
            run ends with it when it leaves no window. An int that it returns is the exit code.

    Returns:
        0, the function's int, the code of ``QApplication.exit``, or 128 + the signal that ended it (Ctrl-C: 130).

    Raises:
        BaseException: What the function raised, after the clean-up.
    """
    main = None if app_or_main is None or isinstance(app_or_main, QCoreApplication) else app_or_main
    app = QApplication.instance() or QApplication(sys.argv)
    if not isinstance(app, QApplication):
        raise TypeError(f"A QApplication is needed, and there is a {type(app).__name__}")
    loop = _take_loop(app)
    quits = app.quitOnLastWindowClosed()
    app.setQuitOnLastWindowClosed(False)
    asyncio.set_event_loop(loop)
    try:
        with _ended_by_signals(loop) as signalled:
            code = _turn(loop, app, main)
        return signalled[0] if signalled else code
    finally:
        asyncio.set_event_loop(None)
        loop.close()
        app.setQuitOnLastWindowClosed(quits)


def _take_loop(app: QApplication) -> QtEventLoop:
    """Return the loop that was joined before `run`, with its waiting tasks, or a new one."""
    global _joined
    if _joined is None or _joined.is_closed():
        return QtEventLoop(app)
    loop, _joined = _joined, None
    app.aboutToQuit.disconnect(_leave)
    loop.leave()
    return loop


def _turn(loop: QtEventLoop, app: QApplication, main: Callable[[], Any] | None) -> int:
    body = loop.create_task(_until_closed(app, main), name="agentic_qt.run")

    def stop(_: object) -> None:
        loop.stop()

    body.add_done_callback(stop)
    try:
        code = loop.run_forever()
    finally:
        body.remove_done_callback(stop)  # the clean-up ends it, and must not be ended by it
        failure = None if not body.done() or body.cancelled() else body.exception()
        loop.run_until_complete(_shut_down(loop))
        loop.drain()
    if failure is not None:
        raise failure
    return code or (body.result() if not body.cancelled() else 0)


async def _until_closed(app: QApplication, main: Callable[[], Any] | None) -> int:
    closed = asyncio.Event()
    app.lastWindowClosed.connect(closed.set)
    try:
        result = main() if main is not None else None  # kept until the end: it may be the window
        if inspect.isawaitable(result):
            result = await result
            if not _has_window(app):
                return _exit_code(result)
        if _has_window(app):
            closed.clear()
        await closed.wait()
        return _exit_code(result)
    finally:
        app.lastWindowClosed.disconnect(closed.set)


def _has_window(app: QApplication) -> bool:
    counts = Qt.WidgetAttribute.WA_QuitOnClose
    return any(widget.isVisible() and widget.testAttribute(counts) for widget in app.topLevelWidgets())


def _exit_code(result: Any) -> int:
    return result if type(result) is int else 0


async def _shut_down(loop: QtEventLoop) -> None:
    """Run the clean-ups, cancel and await every task, close what asyncio keeps; bounded at each step."""
    while _cleanups:
        (cleanup,) = _cleanups.pop()
        await _clean_up(cleanup)
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    if tasks:
        # What the clean-ups ended (a denied approval, a stopped run) may say so itself before it is cancelled.
        await asyncio.wait(tasks, timeout=GRACE_SECONDS)
        for task in tasks:
            task.cancel()
        done, pending = await asyncio.wait(tasks, timeout=CLEANUP_SECONDS)
        for task in done:
            if not task.cancelled() and task not in _tasks:
                task.exception()  # seen: asyncio would print it when the task is collected
        for task in pending:
            _log.warning("The task %s did not end when it was cancelled", task.get_name())
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - said in the line above
    await loop.shutdown_asyncgens()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(loop.shutdown_default_executor(), CLEANUP_SECONDS)


async def _clean_up(cleanup: Cleanup) -> None:
    try:
        result = cleanup()
        if inspect.isawaitable(result):
            await asyncio.wait_for(result, CLEANUP_SECONDS)
    except Exception:  # the next clean-up must run too
        _log.exception("A clean-up failed")


def _leave() -> None:
    """End the joined loop: the host's ``app.exec()`` is over, or about to be."""
    global _joined
    loop, _joined = _joined, None
    if loop is not None and not loop.is_closed():
        # A handler may be what quits the application, and Qt tells of it inside that call.
        loop.call_outside(lambda: _end_joined(loop))


def _end_joined(loop: QtEventLoop) -> None:
    ending = loop.create_task(_shut_down(loop))
    loop.drain()
    if not ending.done():
        # What waits for I/O or time needs turns of the Qt loop. exec() returns at once in an application that quits.
        late = QTimer()
        late.setSingleShot(True)
        late.start(int(3 * CLEANUP_SECONDS * 1000))
        turns, flags = QEventLoop(), QEventLoop.ProcessEventsFlag
        while not ending.done() and late.isActive():
            turns.processEvents(flags.ExcludeUserInputEvents | flags.WaitForMoreEvents)
    loop.leave()
    loop.close()


def _forget(task: "asyncio.Task[Any]") -> None:
    _tasks.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("The task %s failed", task.get_name(), exc_info=error)


@contextlib.contextmanager
def _ended_by_signals(loop: QtEventLoop) -> Iterator[list[int]]:
    """End `loop` on SIGINT and SIGTERM, unless the application handles them; yields the exit code once one came.

    Python runs its signal handlers between bytecodes, and an idle Qt loop runs none: a socket wakes it. The second
    signal finds the handler that was there before.
    """
    codes: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield codes
        return
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    ours = {number: default for number, default in defaults.items() if signal.getsignal(number) is default}

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's signature
        signal.signal(number, ours[signal.Signals(number)])
        codes[:] = [128 + number]
        loop.call_soon_threadsafe(loop.stop)

    reader, writer = socket.socketpair()
    with reader, writer:
        reader.settimeout(0)
        writer.settimeout(0)
        notifier = QSocketNotifier(reader.fileno(), QSocketNotifier.Type.Read)
        notifier.activated.connect(lambda: reader.recv(4096))
        wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        for number in ours:
            signal.signal(number, end)
        try:
            yield codes
        finally:
            for number, default in ours.items():
                signal.signal(number, default)
            signal.set_wakeup_fd(wakeup)
            notifier.setEnabled(False)
