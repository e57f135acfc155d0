"""The journal: what was about to happen, and what became of it.

A port: the in-memory one here is the default, a durable one lives in `agentic_qt.commands`. An intent that cannot be
written means that the handler does not run.
"""

from collections import deque
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol

from agentic_qt.core.call import Outcome


@dataclass(kw_only=True, slots=True, eq=False)
class Intent:
    """What is about to run: enough to find out later whether it did.

    A value that nobody changes; it is not frozen, since one is made per change and freezing trebles what that costs.

    Args:
        call_id: Of the call.
        name: The capability.
        target_id: Of the target, or None.
        payload: The canonical JSON of ``{name, targetId, input}``; secret properties of the input are masked.
        digest: The SHA-256 of the payload as it runs, without masks.
        actor: Who acts.
        client: Which client called.
        run: The agent run.
        at: Seconds since the epoch.
    """

    call_id: str
    name: str
    target_id: str | None
    payload: str
    digest: str
    actor: str | None
    client: str | None
    run: str | None
    at: float


class Journal(Protocol):
    """Where mutating and destructive calls are written down; both methods may be async."""

    def intent(self, intent: Intent) -> Awaitable[None] | None:
        """Write down that a handler is about to run; raising means that it does not."""
        ...

    def outcome(self, intent: Intent, outcome: Outcome) -> Awaitable[None] | None:
        """Write down how it ended; a late end comes as a second outcome of the same intent.

        It is told of the intent, since a call id alone names nothing: two clients or runs may use the same.
        """
        ...


class MemoryJournal:
    """The newest intents and outcomes, for as long as the process lives.

    Args:
        limit: How many intents are kept.
    """

    def __init__(self, *, limit: int = 1000) -> None:
        self._entries: deque[tuple[Intent, list[Outcome]]] = deque(maxlen=limit)

    @property
    def entries(self) -> tuple[tuple[Intent, tuple[Outcome, ...]], ...]:
        """Each intent with the outcomes that were recorded for it, oldest first."""
        return tuple((intent, tuple(outcomes)) for intent, outcomes in self._entries)

    def intent(self, intent: Intent) -> None:
        """Keep an intent."""
        self._entries.append((intent, []))

    def outcome(self, intent: Intent, outcome: Outcome) -> None:
        """Keep an outcome beside its intent; the newest intents are the likeliest."""
        for known, outcomes in reversed(self._entries):
            if known is intent:
                outcomes.append(outcome)
                return
