"""Turns what an agent tells into what a person sees: messages, cards, states, announcements. Decides nothing."""

from collections.abc import Callable, Mapping
from typing import Any

from agentic_qt.client.chat_model import ChatModel, Usage
from agentic_qt.client.events import (
    AgentEvent,
    BreakerTripped,
    BudgetReached,
    CallFinished,
    CallProgressed,
    CallStarted,
    Compacted,
    ContextTrimmed,
    Interjected,
    MessageFinished,
    ReasoningDelta,
    RunEnd,
    RunEnded,
    RunEndReason,
    RunStarted,
    TextDelta,
    TurnStarted,
)
from agentic_qt.client.retries import RetryPlanned
from agentic_qt.core.approvals import ApprovalEvent
from agentic_qt.core.registry import Registry
from agentic_qt.ui import later
from agentic_qt.ui.announce import announce
from agentic_qt.ui.branch_views import BranchViews
from agentic_qt.ui.call_cards import CallCards
from agentic_qt.ui.countdown import Countdown
from agentic_qt.ui.end_words import breaker_words, budget_words, retry_words, trimmed_words
from agentic_qt.ui.endings import Endings
from agentic_qt.ui.panel import Panel
from agentic_qt.ui.words import size_words, translate


class Conversation:
    """The presenter of one panel.

    Args:
        panel: Where things are shown.
        registry: For the titles and labels of calls, and for what waits for the person.
    """

    def __init__(self, panel: Panel, registry: Registry) -> None:
        self._panel = panel
        self._registry = registry
        self.cards = CallCards(panel, registry)
        self.views = BranchViews(panel)
        self._endings = Endings(panel)
        self._retry: RetryPlanned | None = None
        self._retry_countdown = Countdown(self._count_retry, panel)
        self._chat_model: ChatModel | None = None
        self._run = ""
        self._compacting = False
        self._told_why = False
        self._tokens = 0
        self._turn = 0
        self._forget_approvals = registry.approvals.observe(self._asked)
        for request in registry.approvals.pending:
            self.cards.waits(request)
        self._told: Mapping[type[Any], Callable[[Any], None]] = {
            RunStarted: self._run_started,
            TurnStarted: self._turn_started,
            TextDelta: self._text,
            ReasoningDelta: self._reasoning,
            MessageFinished: self._message_finished,
            CallStarted: self._call_started,
            CallProgressed: self.cards.progressed,
            CallFinished: self._call_finished,
            Interjected: self._interjected,
            ContextTrimmed: self._trimmed,
            Compacted: self._compacted,
            BudgetReached: self._budget_reached,
            BreakerTripped: self._breaker_tripped,
            RunEnded: self._run_ended,
        }

    @property
    def waits(self) -> bool:
        """Whether an approval of the run that is under way waits."""
        return bool(self._run) and self.cards.waits_for(self._run)

    def set_chat_model(self, chat_model: ChatModel | None) -> None:
        """Who is asked from now on."""
        self._chat_model = chat_model

    def close(self) -> None:
        """Listen to nothing any more."""
        self._forget_approvals()
        self._retry_countdown.stop()
        self._endings.forget()

    def clear(self) -> None:
        """Begin with an empty conversation."""
        self.cards.clear()
        self.views.clear()
        self._endings.forget()
        self._tokens = self._turn = 0
        self._panel.show_welcome()
        self._panel.status.show_figures("")
        self._show_state()

    def tell(self, event: AgentEvent) -> None:
        """Show what an agent told."""
        self._told[type(event)](event)

    def retry_planned(self, retry: RetryPlanned) -> None:
        """Show that a request waits to be sent again."""
        if self._run:
            self._retry = retry
            self._retry_countdown.start(retry.wait)

    def compacting(self) -> None:
        """What begins next is a compaction, and no run."""
        self._compacting = True

    def note(self, words: str) -> None:
        """Show a note of ours."""
        self._endings.show_words(words)

    # Runs

    def _run_started(self, event: RunStarted) -> None:
        self._run = event.run
        self._told_why = False
        self._endings.forget()
        self._panel.show_conversation()
        self.views.begin(event.branch, event.text)
        self._turn = 0
        self._panel.composer.set_running(running=True)
        self._show_state()
        announce(self._panel, translate("agentic_qt", "The assistant is at work"))

    def _turn_started(self, event: TurnStarted) -> None:
        self._turn = event.turn
        self._show_state()
        self._show_figures()

    def _text(self, event: TextDelta) -> None:
        self._forget_retry()
        if event.text and not self._compacting:
            self._panel.transcript.show_text(event.text)
            self._show_state(translate("agentic_qt", "Answering"))

    def _reasoning(self, _event: ReasoningDelta) -> None:
        self._forget_retry()
        self._show_state()

    def _message_finished(self, _event: MessageFinished) -> None:
        if not self._compacting:
            self._panel.transcript.finish_text()

    def _interjected(self, event: Interjected) -> None:
        self._panel.transcript.finish_text()
        self.views.add_message(event.text)

    def _run_ended(self, event: RunEnded) -> None:
        panel = self._panel
        self._run = ""
        self._forget_retry()
        panel.transcript.finish_text()
        self.cards.end_run()
        panel.composer.set_running(running=False)
        self._add_usage(event.end.usage)
        self._show_end(event.end)
        self._compacting = False
        self._show_state()
        self._show_figures()

    def _show_end(self, end: RunEnd) -> None:
        if self._compacting and end.reason is RunEndReason.EMPTY:
            words = translate("agentic_qt", "There is nothing older to summarise: start a new chat instead.")
            self._endings.show_words(words)
        elif not (self._compacting and end.reason is RunEndReason.COMPLETED):
            self._endings.show(end, self._chat_model, told=self._told_why)

    # What happens to the conversation as a whole

    def _trimmed(self, event: ContextTrimmed) -> None:
        actions: tuple[later.Action, ...] = ()
        if event.left_out:
            actions = (later.Action(name="compact_only", words=translate("agentic_qt", "Summarise them")),)
        self._panel.transcript.add(later.Note(text=trimmed_words(event), actions=actions))

    def _compacted(self, event: Compacted) -> None:
        words = translate("agentic_qt", "The {count} oldest messages were summarised.").format(count=event.replaced)
        undo = later.Action(name=f"undo {event.thread} {event.before}", words=translate("agentic_qt", "Undo"))
        self.views.replace(event.branch, event.before)
        self._panel.transcript.add(later.Note(text=words, actions=(undo,)))
        announce(self._panel, words)

    def _budget_reached(self, event: BudgetReached) -> None:
        if event.budget == "turns":
            return  # the end of the run says it, and how to go on
        self._told_why = True
        self._endings.show_words(budget_words(event.budget, event.limit))

    def _breaker_tripped(self, event: BreakerTripped) -> None:
        places = self._registry.places(event.name)
        known = next(iter(places.values()), None)
        title = event.name if known is None else known.capability.display_title
        self._panel.transcript.add(later.Note(text=breaker_words(event, title)))

    # Calls

    def _call_started(self, event: CallStarted) -> None:
        self._forget_retry()
        self.cards.started(event)
        self._show_state()

    def _call_finished(self, event: CallFinished) -> None:
        self.cards.finished(event)
        self._show_state()

    def _asked(self, event: ApprovalEvent) -> None:
        self.cards.asked(event)
        self._show_state()

    # The status line

    def _show_state(self, otherwise: str = "") -> None:
        status = self._panel.status
        self._panel.composer.set_waiting(waiting=self.waits)
        if self.cards.waiting:
            status.show_state(translate("agentic_qt", "Waiting for you"), busy=False)
        elif not self._run:
            status.show_state("", busy=False)
        elif self.cards.running_title:
            text = translate("agentic_qt", "Running: {title}").format(title=self.cards.running_title)
            status.show_state(text, busy=True)
        elif self._retry is None:
            thinking = translate("agentic_qt", "Thinking")
            summarising = translate("agentic_qt", "Summarising")
            status.show_state(otherwise or (summarising if self._compacting else thinking), busy=True)

    def _count_retry(self, seconds: int) -> None:
        if self._retry is not None:
            self._panel.status.show_state(retry_words(self._retry, seconds), busy=True)

    def _forget_retry(self) -> None:
        self._retry = None
        self._retry_countdown.stop()

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
