"""A status icon beside words that say the same."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from agentic_qt.ui.commands.command_words import State
from agentic_qt.ui.icons import paint_icon
from agentic_qt.ui.theme import Tones


class StateMark(QWidget):
    """Paints the icon of a state in its colour; never the only sign of it, so it has no name of its own."""

    def __init__(self, state: State, parent: QWidget) -> None:
        super().__init__(parent)
        self._state = state
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_state(self, state: State) -> None:
        """Paint another one."""
        self._state = state
        self.update()

    def sizeHint(self) -> QSize:
        """Return a square as high as a line."""
        side = self.fontMetrics().height()
        return QSize(side, side)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint it."""
        painter = QPainter(self)
        colour = getattr(Tones.of(self.palette()), self._state.tone)
        paint_icon(painter, self._state.icon, colour, QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()
