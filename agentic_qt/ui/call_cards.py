"""The cards of the calls that an agent makes: made, kept up to date, and settled by a person where nobody else can."""

import time
from collections.abc import Callable

from agentic_qt.client.events import CallFinished, CallProgressed, CallStarted
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent, ApprovalRequest
from agentic_qt.core.call import RETRY, Call, Outcome, Status
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.names import to_wire
from agentic_qt.ui import later
from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.text import exact, exact_value
from agentic_qt.ui.panel import Panel
from agentic_qt.ui.words import label_of, translate


class CallCards:
    """The cards of one panel.

    Args:
        panel: Where they are shown.
        registry: For the titles and labels of calls.
    """

    def __init__(self, panel: Panel, registry: Registry) -> None:
        self._panel = panel
        self._registry = registry
        self._cards: dict[str, later.Card] = {}
        self._running: dict[str, later.Card] = {}  # insertion order: the newest is what "runs"
        self._waiting: dict[str, str] = {}  # the run that asks, by the id of the request

    def clear(self) -> None:
        """Forget the calls; what waits for the person still waits."""
        self._cards.clear()
        self._running.clear()

    def end_run(self) -> None:
        """Nothing runs any more."""
        self._running.clear()

    def title_of(self, call_id: str) -> str:
        """Return the title of a call that was shown, or an empty string."""
        card = self._cards.get(call_id)
        return card.title if card is not None else ""

    @property
    def running_title(self) -> str:
        """The title of the newest call that runs, or an empty string."""
        return next(reversed(self._running.values())).title if self._running else ""

    @property
    def waiting(self) -> bool:
        """Whether anything waits for the person."""
        return bool(self._waiting)

    def waits_for(self, run: str) -> bool:
        """Whether an approval of `run` waits."""
        return run in self._waiting.values()

    def started(self, event: CallStarted) -> None:
        """Show a new call."""
        card = self._new_card(event)
        self._cards[event.call_id] = self._running[event.call_id] = card
        self._panel.transcript.finish_text()
        self._panel.transcript.add_card(card)

    def progressed(self, event: CallProgressed) -> None:
        """Show how far a call has come."""
        card = self._cards.get(event.call_id)
        if card is not None and card.outcome is None:
            card.progress = event.progress
            self._panel.transcript.update_card(card)

    def finished(self, event: CallFinished) -> None:
        """Show how a call ended."""
        card = self._cards.get(event.call_id)
        if card is None:
            return
        card.outcome, card.late, card.waiting, card.note = event.outcome, event.late, False, ""
        if event.outcome.status is Status.UNKNOWN:
            words = translate("agentic_qt", "Outcome not known: {title}. Please check it.").format(title=card.title)
            announce(self._panel, words, urgent=True)
        card.duration = time.monotonic() - card.started
        card.has_audit = self._panel.has_audit
        self._running.pop(event.call_id, None)
        self._panel.transcript.update_card(card)

    def waits(self, request: ApprovalRequest) -> None:
        """Remember that an approval waits for the person."""
        self._waiting[request.id] = request.run or ""

    def asked(self, event: ApprovalEvent) -> None:
        """Show that a call waits for the person, or no longer does."""
        request = event.request
        waits = event.change is not ApprovalChange.SETTLED
        if waits:  # announced by the approval's own views
            self.waits(request)
        else:
            self._waiting.pop(request.id, None)
        card = self._cards.get(request.call_id)
        if card is not None and card.waiting != waits:
            card.waiting = waits
            self._panel.transcript.update_card(card)

    def cancel(self, call_id: str, cancel: Callable[[str], bool]) -> None:
        """Stop one call with `cancel`; its outcome says what was done of it."""
        card = self._cards.get(call_id)
        if card is not None and card.may_cancel and cancel(call_id):
            card.stopping = True
            self._panel.transcript.update_card(card)

    def settle(self, call_id: str, *, happened: bool) -> None:
        """Take a person's word for what became of a call whose end is not known."""
        card = self._cards.get(call_id)
        if card is None or not card.may_answer:
            return
        status = Status.OK if happened else Status.FAILED
        outcome = Outcome(
            status=status,
            code="settled_by_person",
            hint=f"The person has checked: it {'happened' if happened else 'did not happen'}.",
            retry=RETRY[status] if happened else "later",
            applied=happened,
            command_id=card.command_id,
        )
        card.answered = True  # before the registry tells of it
        if self._registry.settle(call_id, outcome, client=card.client, run=card.run):
            announce(self._panel, f"{card.title}: {card.word}")
        else:
            card.answered = False
            card.note = translate("agentic_qt", "It is still under way: say so once it has ended.")
            announce(self._panel, card.note, urgent=True)
        self._panel.transcript.update_card(card)

    def _new_card(self, event: CallStarted) -> "later.Card":
        started = time.monotonic()
        if event.call is None:  # it could not be decoded: what the model wrote is all there is
            raw = event.tool_call.arguments
            return later.Card(
                call_id=event.call_id,
                run=event.run,
                title=self._title_of_wire(event.tool_call.name),
                arguments=((translate("agentic_qt", "Arguments"), exact(raw)),) if raw.strip() else (),
                started=started,
            )
        title, target, schema = self._describe(event.call)
        return later.Card(
            call_id=event.call_id,
            run=event.run,
            client=event.call.client,
            title=title,
            target=target,
            arguments=tuple(
                (exact(label_of(name, schema)), exact_value(value)) for name, value in event.call.input.items()
            ),
            started=started,
        )

    def _title_of_wire(self, name: str) -> str:
        for registration in self._registry.registrations:
            if to_wire(registration.name) == name:
                return exact(registration.capability.display_title)
        return exact(name)

    def _describe(self, call: Call) -> tuple[str, str, dict[str, object]]:
        places = self._registry.places(call.name)
        # Without a target the only one is meant; with several, or with one that is gone, the words still fit.
        known = places.get(call.target_id) or next(iter(places.values()), None)
        if known is None:
            return exact(call.name), exact(call.target_id or ""), {}
        target, named = known.target, exact(call.target_id or "")
        is_meant = call.target_id == known.target_id or (call.target_id is None and len(places) == 1)
        if target is not None and is_meant:
            named = exact(f"{target.label} ({target.id})" if target.label not in ("", target.id) else target.id)
        return exact(known.capability.display_title), named, dict(known.capability.input_schema)
