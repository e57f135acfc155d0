"""How a handler starts, and how it ends: the three ways, none of which can strand another task.

- A sync handler runs with the calling task swapped out, so that a nested loop in it (an application's
  ``dialog.exec()``) can
  run every other task.
- A handler declared ``nested`` is started by the loop itself (``call_soon``) and awaited through a future: the only
  start
  that can answer Stop and the budget while a nested loop turns.
- An async handler is awaited in place, without a task of its own. When it does not end after it was cancelled, the
  rest of it
  moves to a task and the call is given up as ``unknown``.
"""

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Callable, Coroutine, Generator
from types import CoroutineType, coroutine
from typing import Any

from agentic_qt.core.call import Outcome
from agentic_qt.core.flight import Flight

_log = logging.getLogger("agentic_qt.core.starting")

GIVEN_UP = object()
"""Returned instead of a result when the handler goes on without us; its end is told to `late`."""

Late = Callable[[Any, BaseException | None], None]


class Refused(Exception):  # noqa: N818 - carries an outcome, is no error
    """The gates were repeated in the loop's own callback and one of them said no."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome


def call_swapped_out(
    loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any] | None", function: Callable[..., Any], kwargs: Any
) -> Any:
    """Call a function of the application while no task is current (0.7 us)."""
    if task is None:
        return function(**kwargs)
    asyncio.tasks._leave_task(loop, task)  # noqa: SLF001 - the only way; asyncio's own C and Python tasks use it
    try:
        return function(**kwargs)
    finally:
        asyncio.tasks._enter_task(loop, task)  # noqa: SLF001 - see above


async def consult(
    flight: Flight, function: Callable[..., Any], kwargs: Any, hold: Callable[["asyncio.Task[Any]"], None]
) -> Any:
    """Ask a function of the application (a permission hook, a preview, an approver), sync or async; Stop reaches it.

    Raises:
        Whatever the function raises, and CancelledError when the call was stopped meanwhile.
    """
    flight.running = True
    try:
        answer = call_swapped_out(asyncio.get_running_loop(), flight.task, function, kwargs)
        if inspect.isawaitable(answer):
            answer = await finish(answer, flight, _nobody_waits, hold)
    finally:
        flight.running = False
    if answer is GIVEN_UP:
        flight.detached = False  # it was only asked; nothing that it does counts
        raise asyncio.CancelledError
    return answer


async def finish(result: Any, flight: Flight, late: Late, hold: Callable[["asyncio.Task[Any]"], None]) -> Any:
    """Await what an async handler returned, in place; returns its result or `GIVEN_UP`.

    Raises:
        Whatever the handler raises, and the caller's own CancelledError.
    """
    routine: Coroutine[Any, Any, Any] = result if isinstance(result, CoroutineType) else _as_coroutine(result)
    try:
        return await _drive(routine, flight, late, hold)
    finally:
        await absorb(flight)


async def start_nested(
    loop: asyncio.AbstractEventLoop,
    flight: Flight,
    gates: Callable[[Flight], Outcome | None],
    function: Callable[[], Any],
    late: Late,
) -> Any:
    """Let the loop start a handler and wait for it; returns its result or `GIVEN_UP`.

    Args:
        loop: The running loop.
        flight: The call.
        gates: The synchronous gates; repeated in the callback, since the world may have moved since they were passed.
        function: Calls the handler.
        late: Told of the end when nobody waits any more.

    Raises:
        Refused: A gate said no in the callback.
    """
    waiter: asyncio.Future[Any] = loop.create_future()
    flight.waiter = waiter
    started = abandoned = False
    ended: list[tuple[Any, BaseException | None]] = []

    def start() -> None:
        nonlocal started
        if waiter.done():  # stopped before it began
            return
        refusal = gates(flight)
        if refusal is not None:
            waiter.set_exception(Refused(refusal))
            return
        started = True
        result, error = _attempt(function)
        if abandoned:
            late(result, error)
            return
        ended.append((result, error))
        if not waiter.done():  # it is when somebody gave up in this very turn: the real end still counts
            waiter.set_result(None)

    loop.call_soon(start)
    try:
        await waiter
    except asyncio.CancelledError:
        abandoned = flight.detached = started and not ended
        raise
    finally:
        flight.waiter = None
    if not ended:
        if started:
            abandoned = flight.detached = True
            return GIVEN_UP
        raise asyncio.CancelledError  # given up before the loop came to it: nothing ran
    result, error = ended[0]
    if error is not None:
        raise error
    return result


def _nobody_waits(_result: Any, error: BaseException | None) -> None:
    if error is not None:
        _log.info("A function that was asked and then given up ended with %s", type(error).__name__)


def _attempt(function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return function(), None
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        return None, error


async def _as_coroutine(awaitable: Any) -> Any:
    return await awaitable


@coroutine
def _drive(
    routine: Coroutine[Any, Any, Any], flight: Flight, late: Late, hold: Callable[["asyncio.Task[Any]"], None]
) -> Generator[Any, Any, Any]:
    error: BaseException | None = None
    while True:
        try:
            waits_for = routine.send(None) if error is None else routine.throw(error)
        except StopIteration as stop:
            return stop.value
        if error is not None and flight.given_up:
            # It was cancelled and goes on: nobody can end it, so nobody waits for it either.
            flight.detached = True
            hold(asyncio.get_running_loop().create_task(_rest(routine, waits_for, late)))
            return GIVEN_UP
        error = None
        try:
            yield waits_for
        except GeneratorExit:
            routine.close()
            raise
        except BaseException as caught:
            error = caught


async def _rest(routine: Coroutine[Any, Any, Any], waits_for: Any, late: Late) -> None:
    try:
        result = await _continue(routine, waits_for)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        late(None, error)
    else:
        late(result, None)


@coroutine
def _continue(routine: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    while True:
        error: BaseException | None = None
        try:
            yield waits_for
        except GeneratorExit:
            routine.close()
            raise
        except BaseException as caught:
            error = caught
        try:
            waits_for = routine.send(None) if error is None else routine.throw(error)
        except StopIteration as stop:
            return stop.value


async def absorb(flight: Flight) -> None:
    """Take back the cancellations that we asked for; the caller's own stays."""
    task = flight.task
    if task is None or not flight.cancels:
        return
    if _pending_cancel(task):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
    while flight.cancels:
        flight.cancels -= 1
        task.uncancel()
    if flight.caller_cancelled:
        raise asyncio.CancelledError


def _pending_cancel(task: "asyncio.Task[Any]") -> bool:
    return bool(getattr(task, "_must_cancel", False))
