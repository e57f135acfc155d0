"""A column of cards that scrolls, as high as its cards as long as they leave the rest of the panel its room."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

_SHARE = 0.5  # of the panel's height
_LEAST = 7  # em: something of a card and its buttons can always be seen


class CardArea(QScrollArea):
    """The column.

    Args:
        panel: Around it; the area keeps to a share of its height.
        parent: The owner.

    Attributes:
        content: The parent of the cards.
        column: Their layout; a stretch stands at its end.
    """

    def __init__(self, panel: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._panel = panel
        self.content = QWidget(self)
        self.column = QVBoxLayout(self.content)
        em = self.fontMetrics().height()
        self.column.setContentsMargins(0, 0, em // 4, 0)
        self.column.setSpacing(em // 2)
        self.column.addStretch(1)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab goes through the buttons, and what has the focus is shown
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setWidget(self.content)
        self.viewport().setAutoFillBackground(False)
        self.content.setAutoFillBackground(False)
        self.content.installEventFilter(self)
        panel.installEventFilter(self)

    def sizeHint(self) -> QSize:
        """Return the height of all cards, or of the share."""
        width = max(self.width(), self.content.minimumSizeHint().width())  # without a scroll bar, if it need not be
        height = self.column.totalMinimumSize().height()  # labels ask for that of a comfortable width
        height = max(height, self.column.totalHeightForWidth(width) if self.column.hasHeightForWidth() else 0)
        least = _LEAST * self.fontMetrics().height()
        return QSize(super().sizeHint().width(), min(height, max(least, round(self._panel.height() * _SHARE))))

    def minimumSizeHint(self) -> QSize:
        """Return room for a few lines."""
        least = _LEAST * self.fontMetrics().height()
        return QSize(super().minimumSizeHint().width(), min(least, self.sizeHint().height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Ask for another height at another width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the height of the panel and of the cards."""
        kind = event.type()
        if (kind == QEvent.Type.Resize and watched is self._panel) or kind == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return bool(super().eventFilter(watched, event))
