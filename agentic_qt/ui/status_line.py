"""The last line of the panel: what is going on, and how much it took."""

from PySide6 import QtWidgets
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from agentic_qt.ui.labels import ElidedLabel, plain_label, plain_tool_tip
from agentic_qt.ui.theme import Tones
from agentic_qt.ui.words import translate

_TURN_MS = 60


class BusyMark(QWidget):
    """A turning arc while something is going on; still where animations are off."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        side = round(0.85 * self.fontMetrics().height())
        self.setFixedSize(QSize(side, side))
        self._angle = 0
        self._timer = QTimer(self)
        self._timer.setInterval(_TURN_MS)
        self._timer.timeout.connect(self._turn)
        self.hide()

    def set_busy(self, *, busy: bool) -> None:
        """Show or hide the mark."""
        self.setVisible(busy)
        # QStyle by its module: naming the class takes 4 ms, which the start of an application need not pay.
        hint = QtWidgets.QStyle.StyleHint.SH_Widget_Animation_Duration
        moves = busy and self.style().styleHint(hint, None, self) > 0
        if moves:
            self._timer.start()
        else:
            self._timer.stop()

    def _turn(self) -> None:
        self._angle = (self._angle + 24) % 360
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the arc."""
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        width = self.width() * 0.14
        box = QRectF(self.rect()).adjusted(width, width, -width, -width)
        painter.setPen(QPen(tones.border, width))
        painter.drawEllipse(box)
        pen = QPen(tones.info, width)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.drawArc(box, -self._angle * 16, 110 * 16)
        painter.end()


class StatusLine(QWidget):
    """What is going on, small figures, and where the requests go.

    Signals:
        sent_requested: The person wants to see what was sent.
    """

    sent_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.mark = BusyMark(self)
        self.state = ElidedLabel(self)
        self.state.setAccessibleName(translate("agentic_qt", "State of the assistant"))
        self.figures = plain_label(self)
        self.figures.setAccessibleName(translate("agentic_qt", "Steps and tokens"))
        for label in (self.state, self.figures):
            font = label.font()
            font.setPointSizeF(font.pointSizeF() * 0.9)
            label.setFont(font)
        self.host_button: QToolButton | None = None
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(round(0.4 * self.fontMetrics().height()))
        layout.addWidget(self.mark)
        layout.addWidget(self.state, 1)
        layout.addWidget(self.figures)
        self._tint()

    def show_state(self, text: str, *, busy: bool) -> None:
        """Say what is going on."""
        self.state.setText(text)
        self.state.setAccessibleDescription(text)
        self.mark.set_busy(busy=busy)

    def show_figures(self, text: str) -> None:
        """Say how much it took."""
        self.figures.setText(text)

    def show_host(self, host: str) -> None:
        """Show where the last request went; pressing it shows the request. Empty: nothing was sent."""
        if self.host_button is None:
            if not host:
                return
            self.host_button = self._make_host_button()
        self.host_button.setVisible(bool(host))
        self.host_button.setText(translate("agentic_qt", "What was sent"))
        words = translate("agentic_qt", "What was sent to {host}").format(host=host)
        self.host_button.setToolTip(plain_tool_tip(words))
        self.host_button.setAccessibleName(words)

    def _make_host_button(self) -> QToolButton:
        button = QToolButton(self)
        button.setAutoRaise(True)
        button.setFont(self.figures.font())
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        button.clicked.connect(self.sent_requested)
        layout = self.layout()
        if layout is not None:
            layout.addWidget(button)
        return button

    def _tint(self) -> None:
        muted = Tones.of(self.palette()).muted
        for label in (self.state, self.figures):
            palette = label.palette()
            if palette.color(palette.ColorRole.WindowText) != muted:
                palette.setColor(palette.ColorRole.WindowText, muted)
                label.setPalette(palette)

    def changeEvent(self, event: QEvent) -> None:
        """Take the new colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "figures"):
            self._tint()
