"""One call and what became of it: frozen values and the table of statuses."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

_log = logging.getLogger("agentic_qt.core.call")


class Status(StrEnum):
    """How a call ended; `RETRY` says what the model should do with the same call."""

    OK = "ok"
    INVALID = "invalid"
    UNAVAILABLE = "unavailable"
    STALE = "stale"
    FORBIDDEN = "forbidden"
    DENIED = "denied"
    CANCELLED = "cancelled"
    BUSY = "busy"
    FAILED = "failed"
    UNKNOWN = "unknown"


RETRY: Mapping[Status, str] = {
    Status.OK: "not_needed",
    Status.INVALID: "changed",
    Status.UNAVAILABLE: "after_listing",
    Status.STALE: "after_listing",
    Status.FORBIDDEN: "no",
    Status.DENIED: "no",
    Status.CANCELLED: "no",
    Status.BUSY: "later",
    Status.FAILED: "no",
    Status.UNKNOWN: "never",
}
"""Whether the same call may be tried again, by status; a failure that says so itself is ``later``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request to run one capability.

    Args:
        name: The capability's real name, not its name on the wire.
        input: A JSON object.
        target_id: Which target; None when only one lives.
        revision: The catalogue's revision that the call was planned on; None is not judged for freshness.
        id: The caller's id of this call; with client and run it is a key: the same again returns the first outcome.
        run: The agent run that this belongs to.
        actor: Who acts, from the trusted session and never from arguments.
        client: Which client calls ("assistant", "mcp", ...).
        reason: The model's own words on why; shown as such in the approval, judged by nothing.
    """

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    target_id: str | None = None
    revision: int | None = None
    id: str | None = None
    run: str | None = None
    actor: str | None = None
    client: str | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of a call; never an exception.

    Args:
        status: One of the ten ways in which a call ends.
        data: The fact, when ``ok``: JSON.
        code: A stable machine word that says more than the status; may be empty when ``ok``.
        hint: One English sentence for the model.
        retry: ``not_needed``, ``changed``, ``after_listing``, ``later``, ``no`` or ``never``: what to do with the
            same call.
        applied: What was changed: True (all of it), False (nothing), None (not known), or the JSON facts that the
            handler reported with `CallContext.applied`.
        call_id: The id under which `Registry.call_status` knows the call.
        command_id: The id of the command that the call submitted, if any; ask for it when the status is ``unknown``.
        revision: The catalogue's revision when the call ended.
    """

    status: Status
    data: Any = None
    code: str = ""
    hint: str = ""
    retry: str = ""
    applied: Any = None
    call_id: str = ""
    command_id: str | None = None
    revision: int = 0

    @property
    def ok(self) -> bool:
        """Whether the status is ``ok``."""
        return self.status is Status.OK


class CancelToken:
    """Tells a running handler that its caller no longer wants it; safe to read from any thread."""

    __slots__ = ("_callbacks", "_event")

    def __init__(self) -> None:
        self._event = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """Whether the call was cancelled."""
        return self._event.is_set()

    def raise_if_cancelled(self) -> None:
        """End the handler here if the call was cancelled.

        Raises:
            CallCancelled: The call was cancelled; the outcome becomes ``cancelled``.
        """
        if self._event.is_set():
            raise CallCancelled

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` once when the call is cancelled; at once if it already was."""
        if self._event.is_set():
            callback()
        else:
            self._callbacks.append(callback)

    def cancel(self) -> None:
        """Set the token; the second time does nothing, and a callback that fails harms nobody."""
        if self._event.is_set():
            return
        self._event.set()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:
                _log.exception("A callback of a cancel token failed")


class CallCancelled(Exception):  # noqa: N818 - an answer, not an error
    """Raised in a handler by `CancelToken.raise_if_cancelled`; the outcome is ``cancelled``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a handler has come: `done` of `total` (None: not known), and a word for people."""

    done: float
    total: float | None = None
    message: str = ""


AWAITING_SUBMIT = "awaiting_submit"
"""The message of the progress of a call that waits for a person to submit a form."""
