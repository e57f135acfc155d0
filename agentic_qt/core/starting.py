"""How a handler starts, and how it ends: the three ways, none of which can strand another task.

- A sync handler runs with the calling task swapped out, so that a nested loop in it (an application's
  ``dialog.exec()``) can run every other task.
- A handler declared ``nested`` is started by the loop itself (``call_soon``) and awaited through a future: the only
  start that can answer Stop and the budget while a nested loop turns.
- An async handler is awaited in place, without a task of its own. When it does not end after it was cancelled, the
  rest of it moves to a task; when that does not end in a moment either, the call is given up as ``unknown``.
"""

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Callable, Coroutine, Generator
from types import CoroutineType, coroutine
from typing import Any

from agentic_qt.core.budget import Budget
from agentic_qt.core.call import Outcome
from agentic_qt.core.flight import Flight

_log = logging.getLogger("agentic_qt.core.starting")

GIVEN_UP = object()
"""Returned instead of a result when the handler goes on without us; its end is told to `late`."""

GRACE = 0.04
"""Seconds to see the cancel token before a handler is cancelled, and again to clean up; Stop answers within 100 ms."""

Late = Callable[[Any, BaseException | None], None]
Hold = Callable[["asyncio.Task[Any]"], None]


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
    flight: Flight, function: Callable[..., Any], kwargs: Any, hold: Hold, budget: Budget | None = None
) -> Any:
    """Ask a function of the application (a permission hook, a preview, an approver), sync or async; Stop reaches it.

    Args:
        flight: The call.
        function: Whom to ask.
        kwargs: With what.
        hold: Keeps a task alive.
        budget: Ends it after the capability's time; None where a person is waited for.

    Raises:
        Whatever the function raises, TimeoutError past the budget, and CancelledError when the call was stopped.
    """
    flight.running = True
    try:
        answer = call_swapped_out(asyncio.get_running_loop(), flight.task, function, kwargs)
        if answer is not None and inspect.isawaitable(answer):
            answer = await _within(answer, flight, hold, budget)
        elif flight.cancels:  # it turned a loop of its own meanwhile
            await absorb(flight)
    finally:
        flight.running = False
    if flight.stopped:  # it answered all the same, but nobody wants to know any more
        raise asyncio.CancelledError
    return answer


async def wait_within(awaitable: Any, flight: Flight, hold: Hold, budget: Budget) -> Any:
    """Await something of the application within the capability's time; raises as `consult`."""
    return await consult(flight, lambda: awaitable, {}, hold, budget)


async def _within(awaitable: Any, flight: Flight, hold: Hold, budget: Budget | None) -> Any:
    overdue = False
    if budget is not None and flight.registration is not None:
        budget.start(asyncio.get_running_loop(), flight, flight.registration.capability.timeout)
    try:
        answer = await finish(awaitable, flight, _nobody_waits, hold)
    except asyncio.CancelledError:
        overdue = flight.given_up == "overdue" and not flight.caller_cancelled
        if not overdue:
            raise
        answer = None
    finally:
        if budget is not None:
            budget.end(flight)
        flight.detached = False  # it was only asked; nothing that it does counts
        if flight.given_up == "overdue":
            flight.given_up = ""
            overdue = overdue or not flight.caller_cancelled
    if overdue:
        raise TimeoutError
    if answer is GIVEN_UP:
        raise asyncio.CancelledError
    return answer


async def finish(result: Any, flight: Flight, late: Late, hold: Hold) -> Any:
    """Await what an async handler returned, in place; returns its result or `GIVEN_UP`.

    Raises:
        Whatever the handler raises, and the caller's own CancelledError.
    """
    routine: Coroutine[Any, Any, Any] = result if isinstance(result, CoroutineType) else _as_coroutine(result)
    try:
        answer = await _drive(routine, flight)
        if type(answer) is _GoesOn:
            answer = await _wind_down(routine, answer, flight, late, hold)
        return answer
    finally:
        if flight.cancels:
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


class _GoesOn:
    """What a handler that was cancelled awaits instead of ending."""

    __slots__ = ("waits_for",)

    def __init__(self, waits_for: Any) -> None:
        self.waits_for = waits_for


@coroutine
def _drive(routine: Coroutine[Any, Any, Any], flight: Flight) -> Generator[Any, Any, Any]:
    error: BaseException | None = None
    while True:
        try:
            waits_for = routine.send(None) if error is None else routine.throw(error)
        except StopIteration as stop:
            return stop.value
        if error is not None and flight.given_up:
            return _GoesOn(waits_for)
        error = None
        try:
            yield waits_for
        except GeneratorExit:
            routine.close()
            raise
        except BaseException as caught:
            error = caught
            # For the case that it ends in another way: the caller is to hear of its cancellation all the same.
            flight.swallowed = isinstance(caught, asyncio.CancelledError) and flight.caller_cancelled


async def _wind_down(
    routine: Coroutine[Any, Any, Any], goes_on: _GoesOn, flight: Flight, late: Late, hold: Hold
) -> Any:
    """Give a handler that was cancelled a moment to clean up (``async with`` awaits); then nobody waits any more."""
    rest = asyncio.get_running_loop().create_task(_rest(routine, goes_on.waits_for))
    hold(rest)
    with contextlib.suppress(asyncio.CancelledError):  # the caller's own: it is raised below
        await asyncio.wait({rest}, timeout=GRACE)
    if rest.done():
        return rest.result()
    flight.detached = True
    rest.add_done_callback(lambda ended: late(*_end_of(ended)))
    if flight.caller_cancelled:
        raise asyncio.CancelledError
    return GIVEN_UP


def _end_of(task: "asyncio.Task[Any]") -> tuple[Any, BaseException | None]:
    if task.cancelled():
        return None, asyncio.CancelledError()
    error = task.exception()
    return (None, error) if error is not None else (task.result(), None)


async def _rest(routine: Coroutine[Any, Any, Any], waits_for: Any) -> Any:
    return await _continue(routine, waits_for)


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
