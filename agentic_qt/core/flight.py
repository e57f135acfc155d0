"""One call under way: the pipeline's working notes, and the part of them that a handler may see."""

import asyncio
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agentic_qt.core.call import Call, CancelToken, Outcome, Progress
from agentic_qt.core.events import Trace
from agentic_qt.core.policy import Decision

if TYPE_CHECKING:
    from agentic_qt.core.grants import Grant
    from agentic_qt.core.journal import Intent
    from agentic_qt.core.registration import Registration

BusyKey = tuple[str | None, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallProgress:
    """Told to progress observers."""

    call_id: str
    run: str | None
    progress: Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class LateEnd:
    """A call that was given up as ``unknown`` has ended after all; `outcome` is what really became of it."""

    call_id: str
    client: str | None
    run: str | None
    outcome: Outcome


class Flight:
    """The mutable state of one call, from ``received`` to its outcome.

    The defaults stand on the class: most calls touch a few of them only, and one of these is made per call.
    """

    registration: "Registration | None" = None
    is_read = True
    busy_key: BusyKey = ()  # what stays busy when the handler does not end: its target, or its name when it has none
    canonical = b""
    received = b""  # the canonical input as it came; an edit changes `canonical`
    input: Mapping[str, Any] = MappingProxyType({})  # for the gates and the handler alone: see `outside_call`
    payload = b""
    digest = ""
    facts: Any = None
    facts_digest = ""
    valid_input: Mapping[str, Any] | None = None  # the very input that its registration's schema allowed
    decision = Decision.ASK
    # What was agreed to, and until when; the last gate looks at it again.
    agreed = ""
    agreed_digest = ""
    agreed_until = math.inf
    grant: "Grant | None" = None
    request_id = ""  # of the approval that is being asked for
    applied: tuple[Any, ...] = ()
    command_id: str | None = None  # of the command that the call submitted
    cancel: CancelToken | None = None
    outcome: Outcome | None = None
    waiters: "asyncio.Future[Outcome] | None" = None
    asked: Call | None = None  # the call as it came, when it stood for another one
    first: "Flight | None" = None  # the call whose end is not known and whose digest this one repeats
    forgotten = False  # its run has ended
    intent: "Intent | None" = None  # as it was written down
    writing: "asyncio.Task[None] | None" = None  # the newest outcome on its way into the journal
    late: Outcome | None = None  # a late end that came before the call was closed
    # While the handler runs:
    running = False
    started_at = 0.0
    deadline = 0.0
    waiter: "asyncio.Future[Any] | None" = None
    cancels = 0
    given_up = ""  # "overdue" or "stopped": nobody waits for the handler any more
    detached = False  # ... and it goes on all the same
    swallowed = False  # the handler was told of the caller's cancellation and ended in another way

    def __init__(self, call: Call, call_id: str) -> None:
        self.call = call
        self.call_id = call_id
        self.trace = Trace(call, call_id)
        self.started = time.perf_counter()
        self.task: asyncio.Task[Any] | None = asyncio.current_task()
        self.baseline = 0 if self.task is None else self.task.cancelling()

    def token(self) -> CancelToken:
        """Return the cancel token, made when first asked for."""
        if self.cancel is None:
            self.cancel = CancelToken()
        return self.cancel

    def outside_call(self) -> Call:
        """Return the call with a fresh copy of the input: what an outsider does to it changes nothing that runs."""
        return replace(self.call, input=self.outside_input())

    def outside_input(self) -> dict[str, Any]:
        """Return a fresh copy of the input that would run."""
        copy: dict[str, Any] = json.loads(self.canonical)
        return copy

    @property
    def stopped(self) -> bool:
        """Whether somebody asked to stop this call."""
        return self.cancel is not None and self.cancel.cancelled

    @property
    def caller_cancelled(self) -> bool:
        """Whether a CancelledError that arrives now is the caller's own, and not our doing or the handler's."""
        if self.task is None:
            return not self.stopped and not self.given_up
        return self.task.cancelling() > self.baseline + self.cancels

    def interrupt(self, why: str) -> None:
        """End the wait for a running handler: ``overdue`` or ``stopped``; an async handler is cancelled in place."""
        if not self.running or self.given_up:
            return
        self.given_up = why
        if self.waiter is not None:
            if not self.waiter.done():
                self.waiter.set_result(None)
        elif self.task is not None:
            self.cancels += 1
            self.task.cancel()


class CallContext:
    """What a handler may know of its call; passed to a parameter named ``ctx``.

    Attributes:
        call_id: Of this call; pass it on where an effect outside should happen once.
        actor: Who acts, from the trusted session.
        client: Which client called.
        run: The agent run, or None.
        cancel: Tells that the caller no longer wants the result.
    """

    __slots__ = ("_flight", "_tell", "actor", "call_id", "cancel", "client", "run")

    def __init__(self, flight: Flight, tell: Callable[[CallProgress], None]) -> None:
        call = flight.call
        self.call_id = flight.call_id
        self.actor = call.actor
        self.client = call.client
        self.run = call.run
        self.cancel = flight.token()
        self._flight = flight
        self._tell = tell

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell how far the work has come; the view shows it, as long as the handler runs.

        Args:
            done: In any unit.
            total: In the same unit; None when it is not known.
            message: A word for people.
        """
        if not self._flight.running:
            return
        progress = Progress(done=done, total=total, message=message)
        self._tell(CallProgress(call_id=self.call_id, run=self.run, progress=progress))

    def submits(self, command_id: str) -> None:
        """Say which command this call submits: its outcome names it, whatever the end."""
        self._flight.command_id = command_id

    def applied(self, fact: Any) -> None:
        """Report a partial effect (JSON) that has really happened, so that a stopped call can say so."""
        self._flight.applied = (*self._flight.applied, fact)
