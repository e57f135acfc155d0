"""Calls that were given up as ``unknown`` and may end after all: their real ends are told once, under the same id."""

from collections.abc import Callable
from dataclasses import replace

from agentic_qt.client.events import CallFinished, CallStarted
from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.flight import LateEnd
from agentic_qt.core.registry import Registry


class LateEnds:
    """Waits for the late ends of one agent's calls.

    Args:
        registry: Tells of calls that it gave up itself.
        tell: Called with each late end.
    """

    def __init__(self, registry: Registry, tell: Callable[[CallFinished], None]) -> None:
        self._registry = registry
        self._tell = tell
        self._open: dict[str, CallFinished] = {}
        self._stop_listening: Callable[[], None] | None = None
        self._running = False

    def listen(self) -> None:
        """Begin with a run: listen to the registry."""
        self._running = True
        if self._stop_listening is None:
            self._stop_listening = self._registry.observe_late(self._registry_told)

    def let_go(self) -> None:
        """End with a run: listen on only for calls that are open, so that the registry keeps nobody alive."""
        self._running = False
        self._let_go_when_done()

    def note(self, event: CallStarted | CallFinished) -> None:
        """Remember a call whose end is not known."""
        if isinstance(event, CallFinished) and event.outcome.status is Status.UNKNOWN:
            self._open[event.call_id] = event

    def ended(self, call_id: str, outcome: Outcome) -> None:
        """Tell of an end; both the registry and a task that was given up may bring it, the first that knows counts."""
        if outcome.status is Status.UNKNOWN or call_id not in self._open:
            return
        self._tell(replace(self._open.pop(call_id), outcome=outcome, late=True))
        self._let_go_when_done()

    def _registry_told(self, late: LateEnd) -> None:
        self.ended(late.call_id, late.outcome)

    def _let_go_when_done(self) -> None:
        if self._stop_listening is not None and not self._running and not self._open:
            self._stop_listening()
            self._stop_listening = None
