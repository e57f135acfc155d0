"""Shows how runs end: a note, or a card with the cause and what may mend it."""

from agentic_qt.client.chat_model import ChatModel, ChatModelError
from agentic_qt.client.events import RunEnd, RunEndReason
from agentic_qt.ui import later
from agentic_qt.ui.announce import announce
from agentic_qt.ui.countdown import Countdown
from agentic_qt.ui.end_words import end_words, error_words
from agentic_qt.ui.panel import Panel
from agentic_qt.ui.words import translate


class Endings:
    """The ends of the runs of one panel."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._card: later.ErrorCard | None = None
        self._countdown = Countdown(self._count, panel)

    def forget(self) -> None:
        """A new run begins: nothing is counted down any more."""
        self._countdown.stop()
        self._card = None

    def show(self, end: RunEnd, chat_model: ChatModel | None, *, told: bool) -> None:
        """Show the end of a run.

        Args:
            end: How it ended.
            chat_model: Who was asked.
            told: A note has said why already.
        """
        words = end_words(end.reason)
        if end.error is not None:
            self._show_error(end.error, chat_model)
        elif end.reason is RunEndReason.ERROR:
            remedy = translate("agentic_qt", "Try again. The log of the application says more.")
            self._panel.transcript.add(later.ErrorCard(headline=words, remedy=remedy, can_retry=True))
            announce(self._panel, words, urgent=True)
        else:
            if words and not told:
                self._panel.transcript.add(later.Note(text=words))
            announce(self._panel, words or translate("agentic_qt", "The assistant has finished"))

    def show_words(self, words: str) -> None:
        """Show a note of ours."""
        self._panel.transcript.add(later.Note(text=words))
        announce(self._panel, words)

    def _show_error(self, error: ChatModelError, chat_model: ChatModel | None) -> None:
        headline, remedy = error_words(error, chat_model.label if chat_model is not None else "")
        card = later.ErrorCard(
            headline=headline,
            remedy=remedy or error.remedy,
            detail=error.message,
            can_retry=True,
            actions=tuple(_actions(error, chat_model)),
        )
        self._panel.transcript.add(card)
        announce(self._panel, f"{card.headline}. {card.remedy}", urgent=True)
        if error.retry_after:
            self._card = card
            self._countdown.start(error.retry_after)

    def _count(self, seconds: int) -> None:
        card = self._card
        if card is None:
            return
        card.can_retry = seconds == 0
        words = translate("agentic_qt", "Try again in {seconds} seconds.").format(seconds=seconds)
        card.remedy = words if seconds else translate("agentic_qt", "You can try again now.")
        self._panel.transcript.update_content(card)
        if not seconds:
            announce(self._panel, card.remedy)


def _actions(error: ChatModelError, chat_model: ChatModel | None) -> "list[later.Action]":
    found = []
    if error.code == "context_length":
        found.append(later.Action(name="compact", words=translate("agentic_qt", "Compact and try again")))
    if error.code == "no_tool_support" and callable(getattr(chat_model, "without_tools", None)):
        found.append(later.Action(name="without_tools", words=translate("agentic_qt", "Chat without tools")))
    found.append(later.Action(name="settings", words=translate("agentic_qt", "Settings")))
    return found
