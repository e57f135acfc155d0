"""What happened, in order: audit events of calls and changes of the catalogue, told to observers."""

import logging
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Generic, TypeVar

_log = logging.getLogger("agentic_qt.core.events")
T = TypeVar("T")


class AuditKind(StrEnum):
    """The steps of one call that are worth a line in an audit."""

    RECEIVED = "received"
    VALIDATED = "validated"
    PERMITTED = "permitted"
    CONFIRMATION_REQUESTED = "confirmation_requested"
    CONFIRMED = "confirmed"
    DENIED = "denied"
    EXECUTING = "executing"
    EXECUTED = "executed"
    REJECTED = "rejected"


class AuditEvent:
    """One step of one call.

    A plain slotted class: a frozen dataclass costs three times as much to make, and four are made per call.

    Attributes:
        kind: An `AuditKind`.
        seq: Counts the registry's events from 1; the order in which things happened.
        at: Seconds since the epoch.
        call_id: Of the call; the same in all its events.
        name: The capability.
        target_id: Of the target, or None.
        digest: SHA-256 of the canonical call, once it is known.
        actor: Who acts.
        client: Which client called.
        run: The agent run.
        status: The outcome's status, at the end.
        code: The outcome's code, or how it was confirmed ("once", "policy", "grant:<id>").
        duration: Seconds from ``received`` to this event.
    """

    __slots__ = (
        "actor", "at", "call_id", "client", "code", "digest", "duration", "kind", "name", "run", "seq", "status",
        "target_id",
    )

    def __init__(  # noqa: PLR0913 - a record, made in one place
        self,
        kind: AuditKind,
        seq: int,
        at: float,
        call_id: str,
        name: str,
        target_id: str | None,
        digest: str,
        actor: str | None,
        client: str | None,
        run: str | None,
        status: str,
        code: str,
        duration: float,
    ) -> None:
        self.kind = kind
        self.seq = seq
        self.at = at
        self.call_id = call_id
        self.name = name
        self.target_id = target_id
        self.digest = digest
        self.actor = actor
        self.client = client
        self.run = run
        self.status = status
        self.code = code
        self.duration = duration

    def as_dict(self) -> dict[str, Any]:
        """Return the event as JSON data; it holds no input values by construction."""
        return {key: getattr(self, key) for key in self.__slots__}

    def __repr__(self) -> str:
        return f"AuditEvent({self.seq} {self.kind} {self.name} {self.call_id} {self.status} {self.code})"


class Observers(Generic[T]):
    """Callables that are told of events; one that fails is logged and harms nobody."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        # Lists of one: an identity for each registration, even of the same callable.
        self._entries: tuple[list[Callable[[T], None]], ...] = ()

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, callback: Callable[[T], None]) -> Callable[[], None]:
        """Tell `callback` of events from now on; returns a function that ends it and may be called twice."""
        entry = [callback]
        self._entries = (*self._entries, entry)

        def remove() -> None:
            self._entries = tuple(known for known in self._entries if known is not entry)

        return remove

    def tell(self, event: T) -> None:
        """Tell every observer, in the order in which they came."""
        for (callback,) in self._entries:
            try:
                callback(event)
            except Exception:
                _log.exception("An observer failed")
