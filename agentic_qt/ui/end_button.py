"""The button over the transcript that leads back to the newest message, there only when it is out of view."""

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolButton, QWidget

from agentic_qt.ui.icons import paint_icon
from agentic_qt.ui.theme import Tones
from agentic_qt.ui.transcript import Transcript
from agentic_qt.ui.words import translate


class EndButton(QToolButton):
    """Floats over the lower edge of a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        name = translate("agentic_qt", "Go to the newest message")
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        side = round(1.9 * self.fontMetrics().height())
        self.setFixedSize(QSize(side, side))
        self.clicked.connect(transcript.go_to_end)
        transcript.follows_changed.connect(lambda follows: self.setVisible(not follows))
        transcript.viewport().installEventFilter(self)
        self.hide()
        self._place(transcript.viewport())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep the place when the viewport changes its size."""
        if event.type() == QEvent.Type.Resize and isinstance(watched, QWidget):
            self._place(watched)
        return False

    def _place(self, viewport: QWidget) -> None:
        room = viewport.geometry()
        gap = round(0.6 * self.fontMetrics().height())
        self.move(QPoint(room.center().x() - self.width() // 2, room.bottom() - self.height() - gap))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint a round button with an arrow."""
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(tones.accent if self.hasFocus() else tones.border, 1.2))
        painter.setBrush(tones.user if self.underMouse() else tones.card)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.drawEllipse(box)
        inset = box.width() * 0.26
        paint_icon(painter, "chevron-down", tones.text, box.adjusted(inset, inset, -inset, -inset))
        painter.end()
