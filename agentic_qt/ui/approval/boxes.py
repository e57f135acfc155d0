"""Frames and badges in colours that are derived from the palette at the moment of painting."""

from typing import Literal

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QSizePolicy, QWidget

from agentic_qt.core.capability import Risk
from agentic_qt.ui.approval.payload import risk_word
from agentic_qt.ui.icons import icon, paint_icon
from agentic_qt.ui.theme import Tones

Look = Literal["card", "warning", "danger", "quote"]


class Box(QFrame):
    """A rounded frame.

    Args:
        look: ``card`` and its two risky forms, or ``quote``: a bar at the leading edge.
        parent: The owner.
    """

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._look: Look = look
        em = self.fontMetrics().height()
        self.setContentsMargins(em // 2, em // 3, em // 2, em // 3)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - all of it is painted
        """Paint ground and border."""
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        em = self.fontMetrics().height()
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        if self._look == "quote":
            painter.fillRect(area, tones.code)
            bar = QRectF(area.left(), area.top(), em / 5, area.height())
            if self.isRightToLeft():
                bar.moveRight(area.right())
            painter.fillRect(bar, tones.muted)
            return
        border = {"card": tones.border, "warning": tones.warning, "danger": tones.danger}[self._look]
        painter.setPen(QPen(border, 1))
        painter.setBrush(tones.danger_card if self._look == "danger" else tones.card)
        painter.drawRoundedRect(area, em / 3, em / 3)


class RiskBadge(QLabel):
    """The risk: an icon, a word and a colour; none of them alone."""

    def __init__(self, risk: Risk, parent: QWidget) -> None:
        super().__init__(risk_word(risk), parent)
        self._risk = risk
        self.setTextFormat(Qt.TextFormat.PlainText)
        font = self.font()
        font.setBold(True)
        self.setFont(font)
        self.setAccessibleName(risk_word(risk))

    def sizeHint(self) -> QSize:
        """Return room for the icon and the word."""
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self.text()) + metrics.height() * 2, metrics.height() * 3 // 2)

    def minimumSizeHint(self) -> QSize:
        """Never cut the word."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - all of it is painted
        """Paint a pill with the icon at its leading end."""
        tones = Tones.of(self.palette())
        destructive = self._risk is Risk.DESTRUCTIVE
        colour = tones.danger if destructive else tones.warning
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(QPen(colour, 1))
        painter.setBrush(tones.base)
        painter.drawRoundedRect(area, area.height() / 2, area.height() / 2)
        size = self.fontMetrics().height() * 0.9
        mark = QRectF(area.left() + size / 2, area.center().y() - size / 2, size, size)
        words = area.adjusted(size * 1.7, 0, -size / 2, 0)
        if self.isRightToLeft():
            mark.moveRight(area.right() - size / 2)
            words = area.adjusted(size / 2, 0, -size * 1.7, 0)
        paint_icon(painter, "risk-destructive" if destructive else "risk-mutating", colour, mark)
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading, self.text())


class LinkButton(QPushButton):
    """A button that looks like a link: for what decides nothing."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(text.replace("&", "&&"), parent)
        self.setFlat(True)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)  # shrinks, and elides then
        self.setAutoDefault(False)
        self.setAccessibleName(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def rename(self, text: str) -> None:
        """Show another text."""
        self.setText(text.replace("&", "&&"))
        self.setAccessibleName(text)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        """Return the size of the text alone."""
        metrics = self.fontMetrics()
        width = metrics.horizontalAdvance(self.text().replace("&&", "&"))
        return QSize(width + metrics.averageCharWidth(), metrics.height() + 4)

    def minimumSizeHint(self) -> QSize:
        """Let it shrink; the text is elided then and stays whole as the accessible name."""
        return QSize(self.fontMetrics().averageCharWidth() * 8, self.fontMetrics().height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - all of it is painted
        """Paint the text, underlined, and a frame when it has the keyboard focus."""
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        font = self.font()
        font.setUnderline(self.isEnabled() and (self.underMouse() or self.hasFocus()))
        painter.setFont(font)
        painter.setPen(tones.link if self.isEnabled() else tones.muted)
        words = self.fontMetrics().elidedText(
            self.text().replace("&&", "&"), Qt.TextElideMode.ElideRight, self.width() - 4
        )
        painter.drawText(self.rect().adjusted(2, 2, -2, -2), Qt.AlignmentFlag.AlignLeading, words)
        if self.hasFocus():
            painter.setPen(QPen(tones.accent, 1))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))


def tint(button: QPushButton, name: str, tone: Literal["ok", "danger", "text", "muted"]) -> None:
    """Give a button an icon in a colour of its palette; again after each change of palette."""
    tones = Tones.of(button.palette())
    colour = {"ok": tones.ok, "danger": tones.danger, "text": tones.text, "muted": tones.muted}[tone]
    button.setIcon(icon(name, colour, tones.muted))


PALETTE_EVENTS = (QEvent.Type.PaletteChange, QEvent.Type.StyleChange)
