"""The event loop: qasync's, made safe for nested Qt loops, with exact timers. Start and end are decided elsewhere.

Three things differ from qasync's own loop:

* A handler that calls ``dialog.exec()`` (or ``qtbot.wait``, or a modal QProgressDialog) turns a Qt loop inside a
  running task. asyncio refuses to step another task meanwhile, and that task is then lost for good. Here a callback
  that fires while a task is current runs with that task swapped out, and in a copy of its Context when that one is
  already entered.
* Ready callbacks run in the order in which they came, from one queue behind one zero timer. Delayed ones have a
  precise timer each, which dies when the handle is cancelled.
* The loop is asyncio's running loop while its callbacks run, whoever turns the Qt loop: ours, or a host's
  ``app.exec()``.
"""

import asyncio
import logging
import math
import sys
from asyncio import events
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimerEvent

import qasync  # isort: skip  # after PySide6: it takes the first binding that it finds

_log = logging.getLogger("agentic_qt.qt.event_loop")

# QObject.startTimer takes a C int of milliseconds; a longer delay is waited for in parts.
_LONGEST_TIMER_MS = 2**31 - 1

if sys.version_info >= (3, 12):
    _swap_task = asyncio.tasks._swap_current_task  # noqa: SLF001 - there is no public way to step out of a task
else:

    def _swap_task(loop: asyncio.AbstractEventLoop, task: Any) -> Any:
        """Make `task` the current one of `loop`, as Python 3.12 does it; returns the one before."""
        previous = asyncio.current_task(loop)
        if previous is not None:
            asyncio.tasks._leave_task(loop, previous)  # noqa: SLF001 - see above
        if task is not None:
            asyncio.tasks._enter_task(loop, task)  # noqa: SLF001 - see above
        return previous


class _Callbacks(QObject):
    """Runs the loop's handles from Qt timers; takes the place of qasync's `_SimpleTimer`."""

    def __init__(self, loop: "QtEventLoop") -> None:
        super().__init__()
        self._loop = loop
        self._ready: deque[asyncio.Handle] = deque()
        self._ready_timer = 0
        self._delayed: dict[int, asyncio.TimerHandle] = {}
        self._timer_ids: dict[asyncio.TimerHandle, int] = {}

    def set_debug(self, enabled: bool) -> None:  # noqa: FBT001 - qasync calls it so
        """Do nothing: qasync expects it of its timer."""

    def add_ready(self, handle: asyncio.Handle) -> None:
        """Run `handle` in the next turn of the Qt loop; in the loop's thread only."""
        self._ready.append(handle)
        if not self._ready_timer:
            self._ready_timer = self.startTimer(0)

    def add_from_thread(self, handle: asyncio.Handle) -> None:
        """Run `handle` in the next turn of the Qt loop; from any thread."""
        self._ready.append(handle)
        QCoreApplication.postEvent(self, QEvent(QEvent.Type.User))

    def add_delayed(self, handle: asyncio.TimerHandle) -> None:
        """Run `handle` when its time has come; in the loop's thread only."""
        delay = math.ceil((handle.when() - self._loop.time()) * 1000)
        timer = self.startTimer(min(max(0, delay), _LONGEST_TIMER_MS), Qt.TimerType.PreciseTimer)
        self._delayed[timer] = handle
        self._timer_ids[handle] = timer

    def forget(self, handle: asyncio.TimerHandle) -> None:
        """Kill the timer of a cancelled handle."""
        timer = self._timer_ids.pop(handle, 0)
        if timer:
            self.killTimer(timer)
            del self._delayed[timer]

    def stop(self) -> None:
        """Drop everything: the loop is closed."""
        for timer in self._delayed:
            self.killTimer(timer)
        if self._ready_timer:
            self.killTimer(self._ready_timer)
            self._ready_timer = 0
        self._delayed.clear()
        self._timer_ids.clear()
        self._ready.clear()

    def customEvent(self, event: QEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Start the turn that a thread asked for."""
        if self._ready and not self._ready_timer:
            self._ready_timer = self.startTimer(0)

    def timerEvent(self, event: QTimerEvent) -> None:
        """Run what is due."""
        timer = event.timerId()
        self.killTimer(timer)
        if timer == self._ready_timer:
            self._ready_timer = 0
            self.run_ready()
            return
        handle = self._delayed.pop(timer, None)
        if handle is None:
            return
        del self._timer_ids[handle]
        if handle.when() - self._loop.time() > 0.001:
            self.add_delayed(handle)
        else:
            self._loop.run_handles([handle].pop, 1)

    def run_ready(self) -> bool:
        """Run the handles that are ready now, not those that they add; returns whether there were any."""
        count = len(self._ready)
        if count:
            self._loop.run_handles(self._next_ready, count)
        return count > 0

    def _next_ready(self) -> asyncio.Handle | None:
        if not self._ready:
            return None  # a nested Qt loop ran the rest of this turn
        handle = self._ready.popleft()
        if self._ready and not self._ready_timer:
            # The handle may turn a nested Qt loop: the rest of this turn must be able to run in it.
            self._ready_timer = self.startTimer(0)
        return handle


class QtEventLoop(qasync.QEventLoop):  # type: ignore[misc]  # qasync is not typed
    """An asyncio loop on the Qt application's own.

    Args:
        app: The application; the living one when None.

    Attributes:
        interrupted: The KeyboardInterrupt or SystemExit that a callback raised, and that ended `run_forever`.
    """

    def __init__(self, app: QCoreApplication | None = None) -> None:
        self._joined = False  # first: asyncio's own __init__ asks whether the loop runs
        self._depth = 0
        self._outside: list[Callable[[], None]] = []
        super().__init__(app)
        self.interrupted: BaseException | None = None
        self._timer.deleteLater()  # qasync's own
        self._timer: _Callbacks = _Callbacks(self)

    def join(self) -> None:
        """Serve callbacks and I/O while somebody else turns the Qt loop; `leave` ends it."""
        if not self._joined:
            self._joined = True
            self._before_run_forever()  # qasync: polls for I/O on Windows

    def leave(self) -> None:
        """End what `join` began."""
        if self._joined:
            self._joined = False
            self._after_run_forever()

    def is_running(self) -> bool:
        """Return whether callbacks are served: by `run_forever`, or since `join`."""
        return self._joined or bool(super().is_running())

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:
        """Run `callback` in the next turn, after all that were added before."""
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._timer.add_ready(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run `callback` in the loop's thread; may be called from any thread."""
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._timer.add_from_thread(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback` after `delay` seconds, never earlier."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run `callback` when `time()` reaches `when`, never earlier."""
        self._check_closed()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if when <= self.time():
            self._timer.add_ready(handle)
        else:
            self._timer.add_delayed(handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        # asyncio's own hook, called by TimerHandle.cancel(): qasync leaves the Qt timer running instead.
        self._timer.forget(handle)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> "asyncio.Future[Any]":
        """Run `func` in a thread, as asyncio does: qasync's executor starts ten and blocks the close."""
        return asyncio.BaseEventLoop.run_in_executor(self, executor, func, *args)

    def set_default_executor(self, executor: Any) -> None:
        """Set the executor for `run_in_executor`, as asyncio does."""
        asyncio.BaseEventLoop.set_default_executor(self, executor)

    def run_forever(self) -> int:
        """Turn the Qt loop until `stop` or the application's end; returns the application's exit code."""
        self._check_closed()
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook)
        try:
            code = int(super().run_forever())
        finally:
            sys.set_asyncgen_hooks(*hooks)
        if self.interrupted is not None:
            interrupted, self.interrupted = self.interrupted, None
            raise interrupted
        return code

    def drain(self) -> None:
        """Run ready callbacks until none is left, without turning the Qt loop: for the end of an application."""
        while self._timer.run_ready():
            pass

    def call_outside(self, callback: Callable[[], None]) -> None:
        """Call `callback` when no callback of this loop runs: now, or when the outermost one returns."""
        if self._depth:
            self._outside.append(callback)
        else:
            callback()

    def run_handles(self, next_handle: Callable[[], asyncio.Handle | None], count: int) -> None:
        """Run up to `count` handles as this loop, with the task that is current in this thread swapped out."""
        outer = events._get_running_loop()  # noqa: SLF001 - get_running_loop() raises when there is none
        task = asyncio.current_task(outer) if outer is not None else None
        if task is not None:
            _swap_task(outer, None)  # type: ignore[arg-type]  # there is a loop when there is a task
        if outer is not self:
            events._set_running_loop(self)  # noqa: SLF001 - documented for authors of event loops
        self._depth += 1
        try:
            for _ in range(count):
                handle = next_handle()
                if handle is None:
                    break
                if not handle.cancelled():
                    self._run_handle(handle, nested=task is not None)
        finally:
            self._depth -= 1
            if outer is not self:
                events._set_running_loop(outer)  # noqa: SLF001 - see above
            if task is not None:
                _swap_task(outer, task)  # type: ignore[arg-type]  # see above
        if not self._depth:
            while self._outside:
                self._outside.pop(0)()

    def _run_handle(self, handle: asyncio.Handle, *, nested: bool) -> None:
        # Handles are run by their loop, so what is private to asyncio is ours too.
        context: Context = handle._context  # type: ignore[attr-defined]  # noqa: SLF001 - see above
        if nested and _is_entered(context):
            handle._context = context.copy()  # type: ignore[attr-defined]  # noqa: SLF001 - see above
        try:
            handle._run()  # noqa: SLF001 - see above
        except (KeyboardInterrupt, SystemExit) as error:
            # Raised into Qt's C++ it would be printed and lost, or end the process on the spot.
            self.interrupted = error
            self.stop()


def _is_entered(context: Context) -> bool:
    """Return whether `context` is entered by a frame below; there is no other way to ask."""
    try:
        context.run(int)
    except RuntimeError:
        return True
    return False


def is_qt_loop(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether Qt turns `loop` by way of qasync, so that our tasks may live on it."""
    return isinstance(loop, qasync.QEventLoop)
