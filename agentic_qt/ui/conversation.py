"""Turns what an agent tells into what a person sees: messages, cards, states, announcements. Decides nothing."""

import time
from collections.abc import Callable

from agentic_qt.client.agent import Agent
from agentic_qt.client.chat_model import Usage
from agentic_qt.client.events import (
    AgentEvent,
    CallFinished,
    CallProgressed,
    CallStarted,
    MessageFinished,
    ReasoningDelta,
    RunEnd,
    RunEnded,
    RunEndReason,
    RunStarted,
    TextDelta,
    TurnStarted,
)
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent
from agentic_qt.core.call import RETRY, Call, Outcome, Status
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.names import to_wire
from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.text import exact, exact_value
from agentic_qt.ui.cards import Card
from agentic_qt.ui.panel import Panel
from agentic_qt.ui.transcript_items import ErrorCard, Note, UserMessage
from agentic_qt.ui.words import end_words, error_words, label_of, size_words, translate


class Conversation:
    """The presenter of one panel.

    Args:
        panel: Where things are shown.
        registry: For the titles and labels of calls, and for what waits for the person.
    """

    def __init__(self, panel: Panel, registry: Registry) -> None:
        self._panel = panel
        self._registry = registry
        self._cards: dict[str, Card] = {}
        self._running: dict[str, Card] = {}  # insertion order: the newest is what "runs"
        self._waiting: set[str] = set()
        self._agent: Agent | None = None
        self._tokens = 0
        self._turn = 0
        self._forget_agent: Callable[[], None] = lambda: None
        self._forget_approvals = registry.approvals.observe(self._asked)
        self._told = {
            RunStarted: self._run_started,
            TurnStarted: self._turn_started,
            TextDelta: self._text,
            ReasoningDelta: self._reasoning,
            MessageFinished: self._message_finished,
            CallStarted: self._call_started,
            CallProgressed: self._call_progressed,
            CallFinished: self._call_finished,
            RunEnded: self._run_ended,
        }

    def follow(self, agent: Agent) -> None:
        """Show what `agent` does from now on."""
        self._forget_agent()
        self._agent = agent
        self._forget_agent = agent.observe(self._tell)

    def close(self) -> None:
        """Listen to nothing any more."""
        self._forget_agent()
        self._forget_approvals()

    def clear(self) -> None:
        """Begin with an empty conversation."""
        self._cards.clear()
        self._running.clear()
        self._tokens = self._turn = 0
        self._panel.show_welcome()
        self._panel.status.show_figures("")
        self._show_state()

    def title_of(self, call_id: str) -> str:
        """Return the title of a call that was shown, or an empty string."""
        card = self._cards.get(call_id)
        return card.title if card is not None else ""

    @property
    def _label(self) -> str:
        return self._agent.chat_model.label if self._agent is not None else ""

    def _tell(self, event: AgentEvent) -> None:
        self._told[type(event)](event)  # type: ignore[operator] # the table pairs each type with its method

    # Runs

    def _run_started(self, event: RunStarted) -> None:
        self._panel.show_conversation()
        if event.text:
            self._panel.transcript.add(UserMessage(text=event.text))
        else:
            self._panel.transcript.drop_last_error()
        self._turn = 0
        self._panel.composer.set_running(running=True)
        self._show_state(translate("agentic_qt", "Thinking"))
        announce(self._panel, translate("agentic_qt", "The assistant is at work"))

    def _turn_started(self, event: TurnStarted) -> None:
        self._turn = event.turn
        self._show_state(translate("agentic_qt", "Thinking"))
        self._show_figures()

    def _text(self, event: TextDelta) -> None:
        if event.text:
            self._panel.transcript.show_text(event.text)
            self._show_state(translate("agentic_qt", "Answering"))

    def _reasoning(self, _event: ReasoningDelta) -> None:
        self._show_state(translate("agentic_qt", "Thinking"))

    def _message_finished(self, _event: MessageFinished) -> None:
        self._panel.transcript.finish_text()

    def _run_ended(self, event: RunEnded) -> None:
        panel = self._panel
        panel.transcript.finish_text()
        self._running.clear()
        panel.composer.set_running(running=False)
        self._add_usage(event.end.usage)
        self._show_end(event.end)
        self._show_state()
        self._show_figures()

    def _show_end(self, end: RunEnd) -> None:
        words = end_words(end.reason)
        if end.error is not None:
            headline, remedy = error_words(end.error, self._label)
            remedy = remedy or end.error.remedy
            card = ErrorCard(headline=headline, remedy=remedy, detail=end.error.message, can_retry=True)
            self._panel.transcript.add(card)
            announce(self._panel, f"{headline}. {remedy}", urgent=True)
        elif end.reason is RunEndReason.ERROR:
            remedy = translate("agentic_qt", "Try again. The log of the application says more.")
            self._panel.transcript.add(ErrorCard(headline=words, remedy=remedy, can_retry=True))
            announce(self._panel, words, urgent=True)
        else:
            if words:
                self._panel.transcript.add(Note(text=words))
            announce(self._panel, words or translate("agentic_qt", "The assistant has finished"))

    # Calls

    def _call_started(self, event: CallStarted) -> None:
        card = self._new_card(event)
        self._cards[event.call_id] = self._running[event.call_id] = card
        self._panel.transcript.finish_text()
        self._panel.transcript.add_card(card)
        self._show_state()

    def _new_card(self, event: CallStarted) -> Card:
        started = time.monotonic()
        if event.call is None:  # it could not be decoded: what the model wrote is all there is
            raw = event.tool_call.arguments
            return Card(
                call_id=event.call_id,
                run=event.run,
                title=self._title_of_wire(event.tool_call.name),
                arguments=((translate("agentic_qt", "Arguments"), exact(raw)),) if raw.strip() else (),
                started=started,
            )
        title, target, schema = self._describe(event.call)
        return Card(
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

    def _call_progressed(self, event: CallProgressed) -> None:
        card = self._cards.get(event.call_id)
        if card is not None and card.outcome is None:
            card.progress = event.progress
            self._panel.transcript.update_card(card)

    def _call_finished(self, event: CallFinished) -> None:
        card = self._cards.get(event.call_id)
        if card is None:
            return
        card.outcome, card.late, card.waiting, card.note = event.outcome, event.late, False, ""
        if event.outcome.status is Status.UNKNOWN:
            words = translate("agentic_qt", "Outcome not known: {title}. Please check it.").format(title=card.title)
            announce(self._panel, words, urgent=True)
        card.duration = time.monotonic() - card.started
        self._running.pop(event.call_id, None)
        self._panel.transcript.update_card(card)
        self._show_state(translate("agentic_qt", "Thinking"))

    def settle_call(self, call_id: str, *, happened: bool) -> None:
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
        )
        card.answered = True  # before the registry tells of it
        if self._registry.settle(call_id, outcome, client=card.client, run=card.run):
            announce(self._panel, f"{card.title}: {card.word}")
        else:
            card.answered = False
            card.note = translate("agentic_qt", "It is still under way: say so once it has ended.")
            announce(self._panel, card.note, urgent=True)
        self._panel.transcript.update_card(card)

    def _asked(self, event: ApprovalEvent) -> None:
        request = event.request
        waits = event.change is not ApprovalChange.SETTLED
        if waits:  # announced by the approval's own views
            self._waiting.add(request.id)
        else:
            self._waiting.discard(request.id)
        card = self._cards.get(request.call_id)
        if card is not None and card.waiting != waits:
            card.waiting = waits
            self._panel.transcript.update_card(card)
        self._show_state()

    # The status line

    def _show_state(self, otherwise: str = "") -> None:
        running = self._agent is not None and self._agent.running
        if self._waiting:
            self._panel.status.show_state(translate("agentic_qt", "Waiting for you"), busy=False)
        elif running and self._running:
            newest = next(reversed(self._running.values()))
            text = translate("agentic_qt", "Running: {title}").format(title=newest.title)
            self._panel.status.show_state(text, busy=True)
        elif running:
            self._panel.status.show_state(otherwise or translate("agentic_qt", "Thinking"), busy=True)
        else:
            self._panel.status.show_state("", busy=False)

    def _show_figures(self) -> None:
        parts = []
        if self._turn:
            parts.append(translate("agentic_qt", "step {turn}").format(turn=self._turn))
        if self._tokens:
            parts.append(translate("agentic_qt", "{count} tokens").format(count=size_words(self._tokens)))
        self._panel.status.show_figures(" · ".join(parts))

    def _add_usage(self, usage: Usage | None) -> None:
        if usage is not None:
            self._tokens += usage.input_tokens + usage.output_tokens
