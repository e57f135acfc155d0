"""One thing that was left from an earlier session, as a card: what it is, how it stands, and what may be done about it.

The card decides nothing and runs nothing: it tells which of its buttons a person pressed. What is final passes the
gesture guard; approving is done in the approval's own card alone.
"""

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from agentic_qt.qt.gestures.gesture import GestureGuard, GestureTimes, Refusal
from agentic_qt.qt.gestures.input_watch import InputWatch
from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.boxes import PALETTE_EVENTS, Box, LinkButton, tint
from agentic_qt.ui.approval.buttons import GuardedButton
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.approval.payload_view import words_of_the_model
from agentic_qt.ui.approval.refusals import refusal_words
from agentic_qt.ui.approval.rows_view import RowsView
from agentic_qt.ui.approval.text import exact
from agentic_qt.ui.commands.command_words import State, ago_words, moment_words
from agentic_qt.ui.commands.leftover import Kind, Left
from agentic_qt.ui.commands.mark import StateMark
from agentic_qt.ui.words import translate

MANY_ROWS = 6
"""From here on the rows are behind one more press."""


class LeftoverCard(Box):
    """Shows one thing that was left.

    Args:
        left: What it is.
        watch: The application's input, for the gesture guard.
        times: The two times of the isolated gesture.
        clock: Seconds since the epoch.
        parent: The owner.

    Attributes:
        left: What it is.
        state: How it stands.
        busy: Something that was pressed is under way.
        ended: Nothing is left to do about it.
        buttons: By the name of what they do.

    Signals:
        acted: What a person wants: ``resume``, ``discard``, ``look``, ``give_up``, ``happened``, ``not_happened``,
            ``audit`` or ``close``.
    """

    acted = Signal(str)

    def __init__(
        self,
        left: Left,
        *,
        watch: InputWatch,
        times: GestureTimes,
        clock: Callable[[], float] = time.time,
        parent: QWidget,
    ) -> None:
        super().__init__("card", parent)
        self.left = left
        self.busy = False
        self.ended = left.kind is Kind.SETTLED
        self.state = left.state
        self.buttons: dict[str, QPushButton] = {}
        self._clock = clock
        self.setAccessibleName(f"{left.title}: {left.state.word}")
        self.guard = GestureGuard(self, watch, times=times)
        self._mark = StateMark(left.state, self)
        self._word = ExactLabel(left.state.word, bold=True, parent=self)
        self._when = ExactLabel(tone="muted", scale=0.92, parent=self)
        self.sentence = ExactLabel(left.state.sentence or left.note, parent=self)
        self._rows = RowsView(left.sections, self)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self.status = ExactLabel(tone="warning", scale=0.92, parent=self)
        self._build()
        self.refresh_time()
        self._tint()
        if self.ended:
            self.guard.close()

    def begin(self, words: str) -> None:
        """Show that what was pressed is under way; until it ended nothing else can be pressed."""
        self.busy = True
        self._enable()
        self.say(words, urgent=False)

    def finish(self) -> None:
        """What was pressed has come to an end."""
        self.busy = False
        self._enable()

    def say(self, words: str, *, urgent: bool = True) -> None:
        """Show a line below the buttons, so that it moves none of them, and have it spoken."""
        self.status.set_tone("warning" if urgent else "muted")
        self.status.setText(words)
        self.status.setVisible(bool(words))
        if words:
            announce(self, f"{self.left.title}: {words}", urgent=urgent)

    def end(self, state: State) -> None:
        """Show what became of it; it can only be closed now."""
        self.ended = True
        self.state = state
        self.guard.close()
        self._mark.show_state(state)
        self._word.setText(state.word)
        self.sentence.setText(state.sentence)
        self.sentence.setVisible(bool(state.sentence))
        self.say("")
        self.setAccessibleName(f"{self.left.title}: {state.word}")
        for name, button in self.buttons.items():
            button.setVisible(name in ("audit", "close"))
        announce(self, f"{self.left.title}: {state.word}. {state.sentence}".strip())

    def refresh_time(self) -> None:
        """Show how long ago it was asked for."""
        ago = ago_words(self.left.at, self._clock())
        if self.left.actor:
            words = translate("agentic_qt", "proposed {ago} for {name}")
        else:
            words = translate("agentic_qt", "proposed {ago}")
        told = words.format(ago=ago, name=exact(self.left.actor or ""))
        self._when.setText(f"{self.left.target} · {told}" if self.left.target else told[:1].upper() + told[1:])
        self._when.setToolTip(moment_words(self.left.at))  # digits and separators: nothing that could be markup

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange rows and buttons for the new width."""
        super().resizeEvent(event)
        margins = self.contentsMargins()
        room = self.width() - margins.left() - margins.right()
        self._rows.arrange(room)
        hints = [button.sizeHint().width() for button in self._shown()]
        needed = sum(hints) + self._row.spacing() * max(0, len(hints) - 1)
        beside = needed <= room
        self._row.setDirection(QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom)

    def changeEvent(self, event: QEvent) -> None:
        """Tint the icons anew for another palette."""
        super().changeEvent(event)
        if event.type() in PALETTE_EVENTS and hasattr(self, "_row"):
            self._tint()

    # How it is put together

    def _build(self) -> None:
        em = self.fontMetrics().height()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, em // 4, 0, em // 4)
        column.setSpacing(em // 3)
        column.addWidget(ExactLabel(self.left.title, scale=1.1, bold=True, parent=self))
        line = QHBoxLayout()
        line.setSpacing(em // 3)
        line.addWidget(self._mark)
        line.addWidget(self._word, 1)
        column.addLayout(line)
        column.addWidget(self._when)
        column.addWidget(self.sentence)
        self.sentence.setVisible(bool(self.sentence.text()))
        self._build_rows(column)
        if self.left.reason:
            column.addWidget(words_of_the_model(self.left.reason, self))
        column.addLayout(self._row)
        self._row.setSpacing(em // 2)
        self._build_buttons()
        column.addWidget(self.status)
        self.status.hide()

    def _build_rows(self, column: QVBoxLayout) -> None:
        count = sum(len(section.rows) for section in self.left.sections)
        self._rows.setVisible(0 < count < MANY_ROWS)
        if count >= MANY_ROWS:
            more = LinkButton(translate("agentic_qt", "Show all {count} values").format(count=count), self)
            more.clicked.connect(self._unfold)
            self.buttons["more"] = more
            column.addWidget(more)
        column.addWidget(self._rows)
        self._rows.toggled.connect(self.guard.reset)

    def _unfold(self) -> None:
        """Show all rows; the focus goes to the first button that is left."""
        self._rows.show()
        following = next(iter(self._shown()), None)
        if self.buttons["more"].hasFocus() and following is not None:
            following.setFocus()
        self.buttons["more"].hide()
        self.guard.reset()

    def _build_buttons(self) -> None:
        kind = self.left.kind
        if kind is Kind.WAITING:
            self._add("resume", self._plain(translate("agentic_qt", "Resume")))
            self._add("discard", self._guarded(translate("agentic_qt", "Discard")))
            self.buttons["resume"].setToolTip(
                translate("agentic_qt", "It is read anew, and you are asked anew before anything is done.")
            )
        elif kind is Kind.UNKNOWN:
            self._add("look", self._plain(translate("agentic_qt", "Look again")))
            self._add("give_up", self._guarded(translate("agentic_qt", "Give up")))
        elif kind is Kind.INTERRUPTED:
            self._add("happened", self._guarded(translate("agentic_qt", "It happened")))
            self._add("not_happened", self._guarded(translate("agentic_qt", "It did not happen")))
        if self.left.command_id is not None:
            self._add("audit", LinkButton(translate("agentic_qt", "What happened…"), self))
        self._row.addStretch(1)
        self._add("close", LinkButton(translate("agentic_qt", "Close"), self))
        self.buttons["close"].setVisible(self.ended)

    def _add(self, name: str, button: QPushButton) -> None:
        self.buttons[name] = button
        button.setObjectName(f"agentic_qt_leftover_{name}")
        button.setAccessibleDescription(self.left.title)
        signal = button.decided if isinstance(button, GuardedButton) else button.clicked
        signal.connect(lambda: self._act(name))
        self._row.addWidget(button)

    def _plain(self, text: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setAutoDefault(False)
        button.setAccessibleName(text)
        return button

    def _guarded(self, text: str) -> GuardedButton:
        button = GuardedButton(text, self.guard, self)
        button.refused.connect(self._refuse)
        return button

    def _act(self, name: str) -> None:
        if not self.busy or name == "audit":
            self.acted.emit(name)

    def _refuse(self, refusal: Refusal) -> None:
        if not self.busy and not self.ended:
            self.say(refusal_words(refusal))

    def _enable(self) -> None:
        for name, button in self.buttons.items():
            button.setEnabled(not self.busy or name == "audit")

    def _shown(self) -> list[QPushButton]:
        return [button for name, button in self.buttons.items() if name != "more" and not button.isHidden()]

    def _tint(self) -> None:
        for name, (image, tone) in {
            "resume": ("chevron-left" if self.isRightToLeft() else "chevron-right", "text"),
            "discard": ("cross", "danger"),
            "give_up": ("cancelled", "danger"),
        }.items():
            if name in self.buttons:
                tint(self.buttons[name], image, tone)  # type: ignore[arg-type] # the literals of the table above
