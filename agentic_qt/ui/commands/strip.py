"""The strip above the conversation that shows what was left from last time; absent when nothing is left.

It shows cards and passes on what is pressed in them. It never takes the focus by itself.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.boxes import PALETTE_EVENTS, LinkButton
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.commands.card_area import CardArea
from agentic_qt.ui.commands.command_words import State
from agentic_qt.ui.commands.leftover import Left
from agentic_qt.ui.commands.leftover_card import LeftoverCard
from agentic_qt.ui.commands.problem_card import ProblemCard
from agentic_qt.ui.icons import icon
from agentic_qt.ui.theme import Tones
from agentic_qt.ui.words import translate

MOST_CARDS = 20
"""So many open cards are shown at once: each takes milliseconds to make."""


class LeftoverStrip(QWidget):
    """The cards of what was left, under a line that folds them away.

    Args:
        make_card: Makes the card of one thing, with the given parent.
        panel: Around it.

    Signals:
        acted: A card, and what was pressed in it.
        retry_requested: What was left shall be looked for again after it could not be read.
        came_back: The person came to this window, where something is shown: it may have changed elsewhere.
        focus_left: A card went away that had the focus, and nothing is left here that could take it.
    """

    acted = Signal(object, str)
    retry_requested = Signal()
    came_back = Signal()
    focus_left = Signal()

    def __init__(self, make_card: Callable[[Left, QWidget], LeftoverCard], panel: QWidget) -> None:
        super().__init__(panel)
        self.setObjectName("agentic_qt_leftovers")
        self.setAccessibleName(translate("agentic_qt", "From last time"))
        self.cards: dict[str, LeftoverCard] = {}
        self.problem: ProblemCard | None = None
        self._make_card = make_card
        self._unfolded = True
        self._unshown = 0
        self._squeezed = False
        self._announced = ""
        self.toggle = QToolButton(self)
        self.toggle.setAutoRaise(True)
        self.toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.close_button = LinkButton(translate("agentic_qt", "Close all"), self)
        self.area = CardArea(panel, self)
        self._column = self.area.column
        self._more = ExactLabel(tone="muted", scale=0.92, parent=self)
        self._build()
        self.hide()

    @property
    def open_cards(self) -> list[LeftoverCard]:
        """The cards about which something can be done."""
        return [card for card in self.cards.values() if not card.ended]

    def show_left(self, found: Sequence[Left], gone: State) -> None:
        """Show what is left now.

        Cards that are busy, or show what became of them, stay. Others that are gone say so.

        Args:
            found: Everything that is left, in order.
            gone: What to say of a card whose thing is no longer left.
        """
        self._forget_problem()
        keys = {left.key for left in found}
        for card in list(self.cards.values()):
            if card.left.key not in keys and not card.busy and not card.ended:
                card.end(gone)
        for left in found:
            if left.key in self.cards or len(self.open_cards) < MOST_CARDS:
                self._show_one(left)
        self._unshown = sum(left.key not in self.cards for left in found)
        self.refresh()

    def show_problem(self, words: str) -> None:
        """Say that what is left cannot be read, and offer to try again."""
        if self.problem is None:
            self.problem = ProblemCard(self.area.content)
            self.problem.retry_button.clicked.connect(self.retry_requested)
            self._column.insertWidget(0, self.problem)
        self.problem.show_problem(words)
        self.refresh()

    def remove(self, card: LeftoverCard) -> None:
        """Take a card away; the focus goes to what is next to it."""
        focused = self._has_focus(card)
        self._take(card)
        self.refresh()
        if focused:
            self._hand_focus_on()

    def close_ended(self) -> None:
        """Take every card away about which nothing is to be done."""
        for card in [card for card in self.cards.values() if card.ended]:
            self.remove(card)

    def squeeze(self, *, on: bool) -> None:
        """Fold the cards away while something is being asked below, where the room is needed."""
        self._squeezed = on
        self.refresh()

    def hold_focus(self) -> None:
        """Keep the focus here while a card's buttons cannot be pressed, if it is in one of them."""
        if any(self._has_focus(card) for card in self.cards.values()):
            self.toggle.setFocus(Qt.FocusReason.OtherFocusReason)

    def refresh(self) -> None:
        """Show how many things wait, and whether the cards are folded."""
        words = self._words()
        unfolded = self._unfolded and not self._squeezed
        self.toggle.setText(words.replace("&", "&&"))
        self.toggle.setAccessibleName(words)
        hint = translate("agentic_qt", "Fold") if unfolded else translate("agentic_qt", "Unfold")
        self.toggle.setToolTip(hint)
        self.toggle.setAccessibleDescription(hint)
        self.area.setVisible(unfolded)
        self._more.setVisible(unfolded and self._unshown > 0)
        more = translate("agentic_qt", "{count} more are shown when these are done.")
        self._more.setText(more.format(count=self._unshown))
        self.close_button.setVisible(bool(self.cards) and not self.open_cards and self.problem is None)
        self.setVisible(bool(self.cards) or self.problem is not None)
        self._tint()
        self.area.updateGeometry()
        if words != self._announced and self.open_cards:
            announce(self, words)
        self._announced = words

    def event(self, event: QEvent) -> bool:
        """Notice that the person came back to the window, which passes that on to what is visible in it."""
        if event.type() == QEvent.Type.WindowActivate:
            self.came_back.emit()
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        """Tint anew for another palette."""
        super().changeEvent(event)
        if event.type() in PALETTE_EVENTS and hasattr(self, "_column"):
            self._tint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the line that ends the strip."""
        painter = QPainter(self)
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), Tones.of(self.palette()).border)
        painter.end()

    # How it is put together

    def _build(self) -> None:
        em = self.fontMetrics().height()
        font = self.toggle.font()
        font.setBold(True)
        self.toggle.setFont(font)
        head = QHBoxLayout()
        head.setSpacing(0)
        head.addWidget(self.toggle)
        head.addStretch(1)
        head.addWidget(self.close_button)
        self.area.setAccessibleName(translate("agentic_qt", "From last time"))
        column = QVBoxLayout(self)
        column.setContentsMargins(round(0.6 * em), round(0.3 * em), round(0.6 * em), round(0.5 * em))
        column.setSpacing(em // 4)
        column.addLayout(head)
        column.addWidget(self.area)
        column.addWidget(self._more)
        self.toggle.clicked.connect(self._toggle)
        self.close_button.clicked.connect(self.close_ended)

    def _show_one(self, left: Left) -> None:
        card = self.cards.get(left.key)
        if card is None:
            self._put(left, self._column.count() - 1)
        elif not card.busy and (card.ended or card.left != left):
            self._replace(card, left)
        else:
            card.refresh_time()

    def _put(self, left: Left, place: int) -> LeftoverCard:
        card = self._make_card(left, self.area.content)
        card.acted.connect(lambda name: self.acted.emit(card, name))
        self.cards[left.key] = card
        self._column.insertWidget(place, card)
        return card

    def _replace(self, card: LeftoverCard, left: Left) -> None:
        place, focused = self._column.indexOf(card), self._has_focus(card)
        self._take(card)
        fresh = self._put(left, place)
        if card.ended:  # what was pressed came to nothing: it still waits
            fresh.say(f"{card.state.word}. {card.state.sentence}".strip())
        elif card.left.kind is left.kind:
            fresh.say(card.status.text())
        if focused:
            self._focus(fresh)

    def _take(self, card: LeftoverCard) -> None:
        self.cards.pop(card.left.key, None)
        self._column.removeWidget(card)
        card.guard.close()
        card.hide()
        card.deleteLater()

    def _forget_problem(self) -> None:
        if self.problem is not None:
            self._column.removeWidget(self.problem)
            self.problem.hide()
            self.problem.deleteLater()
            self.problem = None

    def _has_focus(self, card: QWidget) -> bool:
        focused = QApplication.focusWidget()
        return focused is not None and card.isAncestorOf(focused)

    def _hand_focus_on(self) -> None:
        following = next(iter(self.cards.values()), None)
        if following is None:
            self.focus_left.emit()
        else:
            self._focus(following)

    def _focus(self, card: LeftoverCard) -> None:
        button = next((one for one in card.buttons.values() if not one.isHidden() and one.isEnabled()), self.toggle)
        button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _toggle(self) -> None:
        self._unfolded, self._squeezed = self.area.isHidden(), False
        self.refresh()

    def _words(self) -> str:
        if self.problem is not None:
            return translate("agentic_qt", "From last time: it cannot be read")
        count = len(self.open_cards) + self._unshown
        if count == 0:
            return translate("agentic_qt", "From last time: nothing waits any more")
        if count == 1:
            return translate("agentic_qt", "From last time: one thing waits for you")
        return translate("agentic_qt", "From last time: {count} things wait for you").format(count=count)

    def _tint(self) -> None:
        folded = "chevron-left" if self.isRightToLeft() else "chevron-right"
        tones = Tones.of(self.palette())
        self.toggle.setIcon(icon("chevron-down" if self.area.isVisibleTo(self) else folded, tones.muted))
