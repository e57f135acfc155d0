"""What happened, in order: audit events of calls and changes of the catalogue, told to observers."""

import logging
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Generic, TypeVar

from agentic_qt.core.call import Call

_log = logging.getLogger("agentic_qt.core.events")
T = TypeVar("T")


class AuditKind(StrEnum):
    """The steps of one call that are worth a line in an audit.

    Each call begins with ``received`` and has exactly one end: ``executed`` when its handler was started, otherwise
    ``rejected``. A call that repeats a call id is a call of its own: ``received``, then ``rejected`` with the status
    of the first. What was given up as ``unknown`` gets a second ``executed`` when its real end is known.
    """

    RECEIVED = "received"
    VALIDATED = "validated"
    PERMITTED = "permitted"
    CONFIRMATION_REQUESTED = "confirmation_requested"
    CONFIRMED = "confirmed"
    DENIED = "denied"
    EXECUTING = "executing"
    EXECUTED = "executed"
    REJECTED = "rejected"


class Trace:
    """What all events of one call have in common; made once per call, filled in as the call goes along.

    Attributes:
        call_id: Of the call.
        name: The capability.
        target_id: Of the target, or None.
        digest: SHA-256 of the canonical call, once it is known.
        actor: Who acts.
        client: Which client called.
        run: The agent run.
        at: When it was received, in seconds since the epoch.
    """

    __slots__ = ("actor", "at", "call_id", "client", "digest", "name", "run", "target_id")

    def __init__(self, call: Call, call_id: str) -> None:
        self.at = 0.0
        self.call_id = call_id
        self.name = call.name
        self.target_id = call.target_id
        self.digest = ""
        self.actor = call.actor
        self.client = call.client
        self.run = call.run


class AuditEvent:
    """One step of one call.

    A plain slotted class: a frozen dataclass costs three times as much to make, and five are made per call.

    Attributes:
        kind: An `AuditKind`.
        seq: Counts the registry's events from 1; the order in which things happened.
        trace: The call.
        status: The outcome's status, at the end.
        code: The outcome's code, or how it was confirmed ("once", "policy", "grant:<id>").
        duration: Seconds from ``received`` to this event.
    """

    __slots__ = ("code", "duration", "kind", "seq", "status", "trace")

    def __init__(self, kind: AuditKind, seq: int, trace: Trace, status: str, code: str, duration: float) -> None:
        self.kind = kind
        self.seq = seq
        self.trace = trace
        self.status = status
        self.code = code
        self.duration = duration

    @property
    def at(self) -> float:
        """Seconds since the epoch; within a call it never goes back, whatever the clock does."""
        return self.trace.at + self.duration

    @property
    def call_id(self) -> str:
        """The call's id; the same in all its events."""
        return self.trace.call_id

    @property
    def name(self) -> str:
        """The capability's name."""
        return self.trace.name

    @property
    def target_id(self) -> str | None:
        """The target's id."""
        return self.trace.target_id

    @property
    def digest(self) -> str:
        """The digest of the canonical call; empty as long as none was needed."""
        return self.trace.digest

    @property
    def actor(self) -> str | None:
        """Who acts."""
        return self.trace.actor

    @property
    def client(self) -> str | None:
        """Which client called."""
        return self.trace.client

    @property
    def run(self) -> str | None:
        """The agent run."""
        return self.trace.run

    def as_dict(self) -> dict[str, Any]:
        """Return the event as JSON data; it holds no input values by construction."""
        own = {key: getattr(self, key) for key in self.__slots__ if key != "trace"}
        return own | {key: getattr(self.trace, key) for key in Trace.__slots__} | {"at": self.at}

    def __repr__(self) -> str:
        return f"AuditEvent({self.seq} {self.kind} {self.name} {self.call_id} {self.status} {self.code})"


class Observers(Generic[T]):
    """Callables that are told of events; one that fails is logged and harms nobody.

    Attributes:
        entries: Who is told; empty when it is not worth making an event.
    """

    __slots__ = ("_todo", "entries")

    def __init__(self) -> None:
        self._todo: deque[tuple[Callable[[T], None], T]] = deque()
        # Lists of one: an identity for each registration, even of the same callable.
        self.entries: tuple[list[Callable[[T], None]], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def add(self, callback: Callable[[T], None]) -> Callable[[], None]:
        """Tell `callback` of events from now on; returns a function that ends it and may be called twice."""
        entry = [callback]
        self.entries = (*self.entries, entry)

        def remove() -> None:
            self.entries = tuple(known for known in self.entries if known is not entry)

        return remove

    def tell(self, event: T) -> None:
        """Tell every observer, in the order in which they came.

        An observer that causes another event on its way does not overtake: who has not yet heard of the first event
        hears of it before the second, so that all see the same order.
        """
        entries, todo = self.entries, self._todo
        if len(entries) == 1 and not todo:
            try:
                entries[0][0](event)
            except Exception:
                _log.exception("An observer failed")
            return
        todo.extend((entry[0], event) for entry in entries)
        while todo:
            callback, told = todo.popleft()
            try:
                callback(told)
            except Exception:
                _log.exception("An observer failed")
