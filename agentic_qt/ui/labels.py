"""Labels that show plain text only: elided, or in a pill."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtGui import Qt as GuiQt  # the functions for rich text are typed there
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from agentic_qt.ui.theme import Tones


def plain_label(parent: QWidget) -> QLabel:
    """Return a label that shows its text as it is: no markup."""
    label = QLabel(parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def plain_tool_tip(text: str) -> str:
    """Return what a tool tip has to be set to so that it shows `text` as it is: no markup."""
    return GuiQt.convertFromPlainText(text) if GuiQt.mightBeRichText(text) else text


class ElidedLabel(QLabel):
    """A plain label that is cut with an ellipsis where there is no room; all of it is its accessible name."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw what there is room for."""
        painter = QPainter(self)
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), (Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter).value, text)
        painter.end()


class Badge(QLabel):
    """A word in a soft pill, such as "local"."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * 0.88)
        self.setFont(font)
        em = self.fontMetrics().height()
        self.setContentsMargins(round(0.5 * em), round(0.08 * em), round(0.5 * em), round(0.08 * em))
        self.kind = "neutral"
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        """Let it shrink; the words are elided then."""
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), 4 * hint.height()), hint.height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the word in its pill."""
        tones = Tones.of(self.palette())
        colour = {"ok": tones.ok, "warning": tones.warning}.get(self.kind, tones.muted)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour, 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        radius = self.height() / 2 - 1
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
        painter.setPen(colour)
        margins = self.contentsMargins()
        words = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, self.width() - margins.left() - margins.right()
        )
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, words)
        painter.end()
