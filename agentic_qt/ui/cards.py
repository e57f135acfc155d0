"""Tool calls as people see them: what was asked for, how it stands, what came of it. No widget.

Everything that a model chose (arguments, results, names) is written as plain characters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor

from agentic_qt.core.call import AWAITING_SUBMIT, Outcome, Progress, Status
from agentic_qt.ui.approval.text import exact, exact_value
from agentic_qt.ui.text_styles import TextStyles
from agentic_qt.ui.words import duration_words, status_word, translate

LONG_VALUE = 600
"""Characters of a value that a card shows; the whole is behind one more click."""
GROUP_FROM = 4
"""So many calls in a row are shown as one group."""
_ICON = "\ufffc"


@dataclass(kw_only=True, slots=True)
class Card:
    """One tool call.

    Args:
        call_id: Its id, as the agent and the registry know it.
        run: The run that it belongs to.
        client: Which client called.
        title: "Verb object", from the declaration.
        target: The target's label and id, or empty.
        arguments: Pairs of label and exact text.
        started: Seconds, monotonic.
        duration: Seconds, once it ended.
        progress: What the handler told last.
        outcome: Once it ended.
        late: The outcome came after the call had been given up.
        stopping: It was told to stop.
        waiting: An approval is pending: the card is forced open.
        open: Whether the person (or default) has it unfolded.
        whole: Whether long values are shown whole.
        answered: A person said what became of it.
        note: A line of ours about the last attempt to say so, or empty.
        has_audit: Somebody can tell what happened to the command that the call submitted.
    """

    call_id: str
    title: str
    run: str = ""
    client: str | None = None
    target: str = ""
    arguments: Sequence[tuple[str, str]] = ()
    started: float = 0.0
    duration: float | None = None
    progress: Progress | None = None
    outcome: Outcome | None = None
    late: bool = False
    stopping: bool = False
    waiting: bool = False
    open: bool = False
    whole: bool = False
    answered: bool = False
    note: str = ""
    has_audit: bool = False

    @property
    def unfolded(self) -> bool:
        """Whether the details are shown now."""
        return self.waiting or self.may_answer or self.open

    @property
    def may_answer(self) -> bool:
        """Whether nobody knows what became of it, so that a person is asked to look."""
        return self.outcome is not None and self.outcome.status is Status.UNKNOWN

    @property
    def may_audit(self) -> bool:
        """Whether what happened to the call's command can be shown."""
        return self.has_audit and self.command_id is not None

    @property
    def command_id(self) -> str | None:
        """The id of the command that the call is known to have submitted."""
        return self.outcome.command_id if self.outcome is not None else None

    @property
    def may_retry(self) -> bool:
        """Whether trying the same again makes sense; never for what is not allowed."""
        if self.outcome is None:
            return False
        return self.outcome.retry == "later" or (self.outcome.status, self.outcome.code) == (
            Status.DENIED,
            "expired",
        )

    @property
    def may_cancel(self) -> bool:
        """Whether this one call can be stopped; a waiting one is denied in its approval."""
        return self.outcome is None and not self.waiting and not self.stopping

    @property
    def icon(self) -> str:
        """The name of the status icon."""
        if self.waiting:
            return "waiting"
        if self.outcome is None:
            return "running"
        return _ICONS.get(self.outcome.status, "warning")

    @property
    def word(self) -> str:
        """The status in words."""
        if self.waiting:
            return translate("agentic_qt", "Waiting for you")
        if self.outcome is None:
            return translate("agentic_qt", "Stopping") if self.stopping else _progress_words(self.progress)
        word = status_word(self.outcome)
        if self.answered:
            return (
                translate("agentic_qt", "It happened, as you found")
                if self.outcome.ok
                else translate("agentic_qt", "It did not happen, as you found")
            )
        return translate("agentic_qt", "{status}, late").format(status=word) if self.late else word

    def colour(self, styles: TextStyles) -> QColor:
        """The colour of the status; never the only sign of it."""
        tones = styles.tones
        if self.waiting:
            return tones.warning
        if self.outcome is None:
            return tones.info
        if self.outcome.ok:
            return tones.ok
        return tones.danger if self.outcome.status in _BAD else tones.warning


_ICONS: Mapping[Status, str] = {
    Status.OK: "check",
    Status.DENIED: "denied",
    Status.FORBIDDEN: "lock",
    Status.CANCELLED: "cancelled",
    Status.UNKNOWN: "question",
    Status.FAILED: "cross",
    Status.INVALID: "cross",
}
_BAD = frozenset({Status.FAILED, Status.INVALID, Status.FORBIDDEN})


@dataclass(kw_only=True, slots=True)
class CardGroup:
    """The calls that follow each other without words between them: one box in the transcript."""

    cards: list[Card] = field(default_factory=list)
    open: bool = False

    def render(self, cursor: QTextCursor, styles: TextStyles, address: str) -> None:
        """Write the group into an empty frame; `address` begins the addresses of its actions."""
        grouped = len(self.cards) >= GROUP_FROM
        if grouped:
            self._write_head(cursor, styles, f"{address}/group")
        fresh = not grouped
        for number, card in enumerate(self.cards):
            if grouped and not self.open and card.outcome is not None and not card.waiting:
                continue
            if not fresh:
                cursor.insertBlock()
            fresh = False
            _CardWriter(card, cursor, styles, f"{address}/card/{number}").write()

    def _write_head(self, cursor: QTextCursor, styles: TextStyles, address: str) -> None:
        done = sum(1 for card in self.cards if card.outcome is not None and card.outcome.ok)
        open_ones = sum(1 for card in self.cards if card.outcome is None)
        other = len(self.cards) - done - open_ones
        words = [translate("agentic_qt", "{count} done").format(count=done)]
        if other:
            words.append(translate("agentic_qt", "{count} not done").format(count=other))
        if open_ones:
            words.append(translate("agentic_qt", "{count} running").format(count=open_ones))
        cursor.setBlockFormat(styles.heading_block())
        _write_fold(cursor, styles, address, unfolded=self.open)
        head = styles.action(styles.strong, address)
        cursor.insertText(translate("agentic_qt", "{count} steps").format(count=len(self.cards)), head)
        cursor.insertText("   " + " · ".join(words), styles.action(styles.muted, address))


class _CardWriter:
    """Writes one card at a cursor that stands in an empty paragraph."""

    def __init__(self, card: Card, cursor: QTextCursor, styles: TextStyles, address: str) -> None:
        self._card, self._cursor, self._styles, self._address = card, cursor, styles, address

    def write(self) -> None:
        self._write_title()
        if not self._card.unfolded:
            return
        if self._card.target:
            self._write_row(translate("agentic_qt", "Target"), self._card.target)
        for label, value in self._card.arguments:
            self._write_row(label, value)
        if self._card.outcome is not None:
            self._write_outcome(self._card.outcome)

    def _write_title(self) -> None:
        card, styles, cursor = self._card, self._styles, self._cursor
        address = f"{self._address}/fold"
        cursor.setBlockFormat(styles.heading_block())
        _write_fold(cursor, styles, address, unfolded=card.unfolded)
        colour = card.colour(styles)
        cursor.insertText(_ICON, styles.action(styles.icon(card.icon, colour), address))
        cursor.insertText("\u00a0" + card.title, styles.action(styles.strong, address))
        if not card.unfolded and (brief := _brief(card)):
            cursor.insertText("  " + brief, styles.action(styles.muted, address))
        status = QTextCharFormat(styles.muted)
        status.setForeground(colour)
        cursor.insertText("  " + card.word, styles.action(status, address))
        if card.duration is not None:
            cursor.insertText(" · " + duration_words(card.duration), styles.action(styles.muted, address))
        if card.may_cancel:
            cursor.insertText("   ", styles.text)
            words = translate("agentic_qt", "Stop this step").replace(" ", "\u00a0")
            cursor.insertText(words, styles.link(styles.muted, f"{self._address}/cancel"))

    def _write_row(self, label: str, value: str, *, code: bool = False) -> None:
        styles, cursor = self._styles, self._cursor
        cursor.insertBlock(styles.row())
        # A label that is wider than its column has a line of its own; the value begins in the column all the same.
        gap = "  " if styles.rtl else "\t" if styles.fits_label_column(label) else "\u2028"
        cursor.insertText(label + gap, styles.muted)
        shown = value if self._card.whole else value[:LONG_VALUE]
        # A line separator keeps the value in one paragraph; copying gives the line ends back.
        cursor.insertText(shown.replace("\n", "\u2028"), styles.code if code else styles.text)
        if len(shown) < len(value):
            more = translate("agentic_qt", "Show all {count} characters").format(count=len(value))
            cursor.insertText("… ", styles.muted)
            cursor.insertText(more, styles.link(styles.muted, f"{self._address}/whole"))

    def _write_outcome(self, outcome: Outcome) -> None:
        if outcome.ok and outcome.data is not None:
            self._write_row(translate("agentic_qt", "Result"), exact_value(outcome.data), code=True)
        if outcome.hint and not self._card.may_answer:  # that one speaks to the model of not calling it again
            self._write_row(translate("agentic_qt", "Why"), exact(outcome.hint))
        if outcome.code:
            self._write_row(translate("agentic_qt", "Code"), exact(outcome.code), code=True)
        if not outcome.ok and outcome.applied not in (None, False):
            self._write_row(translate("agentic_qt", "Already applied"), _applied_words(outcome.applied))
        if self._card.may_retry:
            self._write_buttons((translate("agentic_qt", "Try again"), "retry"))
        if self._card.may_answer:
            self._write_question()
        if self._card.may_audit:
            self._cursor.insertBlock(self._styles.body(above=0.35, below=0.2))
            words = translate("agentic_qt", "What happened…")
            self._cursor.insertText(words, self._styles.link(self._styles.muted, f"{self._address}/audit"))

    def _write_question(self) -> None:
        """Ask the person who looks what became of it: nobody else can know."""
        words = translate(
            "agentic_qt",
            "Please check in the application what became of it, and say so here. Your answer runs nothing; until you "
            "give it, the same step is not run again.",
        )
        styles, cursor = self._styles, self._cursor
        for text, form in ((words, styles.text), (self._card.note, styles.strong)):
            if text:
                cursor.insertBlock(styles.body(above=0.35))
                cursor.insertText(text, form)
        self._write_buttons(
            (translate("agentic_qt", "It happened"), "happened"),
            (translate("agentic_qt", "It did not happen"), "not_happened"),
        )

    def _write_buttons(self, *buttons: tuple[str, str]) -> None:
        styles, cursor = self._styles, self._cursor
        cursor.insertBlock(styles.body(above=0.45, below=0.4, line=150.0))
        for number, (words, action) in enumerate(buttons):
            if number:
                cursor.insertText("   ", styles.text)
            unbroken = words.replace(" ", "\u00a0")
            cursor.insertText(f"\u00a0\u00a0{unbroken}\u00a0\u00a0", styles.button(f"{self._address}/{action}"))


def _write_fold(cursor: QTextCursor, styles: TextStyles, address: str, *, unfolded: bool) -> None:
    folded_icon = "chevron-left" if styles.rtl else "chevron-right"
    form = styles.icon("chevron-down" if unfolded else folded_icon, styles.tones.muted)
    cursor.insertText(_ICON, styles.action(form, address))
    cursor.insertText("\u00a0", styles.action(styles.text, address))


def _brief(card: Card) -> str:
    parts = [card.target.split(" (")[0]] if card.target else []
    parts += [value for _, value in card.arguments if 0 < len(value) <= 40 and "\n" not in value]
    text = ", ".join(parts)
    return text if len(text) <= 60 else text[:59] + "…"


def _progress_words(progress: Progress | None) -> str:
    if progress is None:
        return translate("agentic_qt", "Running")
    if progress.message == AWAITING_SUBMIT:
        return translate("agentic_qt", "Filled in; press its button to submit")
    amount = f"{100 * progress.done / progress.total:.0f} %" if progress.total else f"{progress.done:g}"
    return f"{amount} · {progress.message}" if progress.message else amount


def _applied_words(applied: Any) -> str:
    return translate("agentic_qt", "everything") if applied is True else exact_value(applied)
