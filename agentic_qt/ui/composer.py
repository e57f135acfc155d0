"""Where the person writes: Return sends, Shift+Return breaks the line; nothing is sent while a text is composed."""

from PySide6.QtCore import QEvent, QMimeData, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QInputMethodEvent, QKeyEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from agentic_qt.ui.icons import paint_icon
from agentic_qt.ui.theme import Tones
from agentic_qt.ui.words import translate

MAX_LINES = 8
"""The field grows to so many lines, then scrolls."""


class _Field(QPlainTextEdit):
    submitted = Signal()
    escaped = Signal()
    focused = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.composing = False
        self.running = False
        self.editing = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setAccessibleName(translate("agentic_qt", "Message to the assistant"))
        self.setAccessibleDescription(translate("agentic_qt", "Return sends, Shift and Return begin a new line"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self._grow)
        self._grow()

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Remember whether something is being composed (Vietnamese, Chinese, dead keys)."""
        self.composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Send on Return, tell of Escape, leave the rest to the field."""
        plain = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.NoModifier
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain:
            if not self.composing:
                self.submitted.emit()
            event.accept()
            return
        if event.key() == Qt.Key.Key_Escape and not self.composing:
            self.escaped.emit()
        super().keyPressEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste text as text."""
        if source.hasText():
            self.insertPlainText(source.text())

    def event(self, event: QEvent) -> bool:
        """Keep our keys from the application's shortcuts, and tell the box when the focus comes and goes."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._is_ours(event):
            event.accept()
            return True
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.composing = self.composing and event.type() == QEvent.Type.FocusIn
            self.focused.emit()
        elif event.type() == QEvent.Type.FontChange:
            self._grow()
        return super().event(event)

    def _is_ours(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            return self.running or self.composing or self.editing
        return event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)

    def _grow(self) -> None:
        # The layout of a plain text edit counts its height in lines.
        lines = max(1, min(MAX_LINES, round(self.document().size().height())))
        self.setFixedHeight(round(lines * self.fontMetrics().lineSpacing() + 0.2 * self.fontMetrics().height()))
        full = self.document().size().height() > MAX_LINES
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if full else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)


class Composer(QWidget):
    """The field with its Send and Stop buttons.

    Attributes:
        submitted: The text that the person sends; the field keeps it until `accept_text`.
        stop_requested: Stop was pressed, or Escape while something runs.
    """

    submitted = Signal(str)
    stop_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._running = False
        self._waiting = False
        self._ready = True
        self.field = _Field(self)
        self.field.setPlaceholderText(translate("agentic_qt", "Ask, or say what to do"))
        self.send_button = _RoundButton("send", self)
        self.send_button.setAccessibleName(translate("agentic_qt", "Send"))
        self.send_button.setToolTip(translate("agentic_qt", "Send (Return)"))
        self.stop_button = _RoundButton("stop", self)
        self.stop_button.setAccessibleName(translate("agentic_qt", "Stop"))
        self.stop_button.setToolTip(translate("agentic_qt", "Stop (Esc)"))
        self.hint = _Hint(self)
        em = self.fontMetrics().height()
        buttons = QHBoxLayout()
        buttons.addWidget(self.hint, 1)
        buttons.addWidget(self.stop_button)
        buttons.addWidget(self.send_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(round(0.7 * em), round(0.55 * em), round(0.45 * em), round(0.45 * em))
        layout.setSpacing(round(0.3 * em))
        layout.addWidget(self.field)
        layout.addLayout(buttons)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusProxy(self.field)
        self.setTabOrder(self.field, self.send_button)
        self.setTabOrder(self.send_button, self.stop_button)
        self.field.submitted.connect(self._submit)
        self.field.escaped.connect(self._stop)
        self.field.focused.connect(self.update)
        self.field.textChanged.connect(self._refresh)
        self.send_button.clicked.connect(self._submit)
        self.stop_button.clicked.connect(self.stop_requested)
        self._refresh()

    @property
    def text(self) -> str:
        """The draft."""
        return self.field.toPlainText()

    def set_text(self, text: str) -> None:
        """Replace the draft, with the cursor at its end."""
        self.field.setPlainText(text)
        self.field.moveCursor(self.field.textCursor().MoveOperation.End)

    def accept_text(self) -> None:
        """The text was taken: empty the field."""
        self.field.clear()

    def set_running(self, *, running: bool) -> None:
        """Show Stop in the place of Send while a run is active; writing stays possible."""
        had_focus = self.stop_button.hasFocus() or self.send_button.hasFocus()
        self._running = self.field.running = running
        self._refresh()
        if had_focus:  # the button under the finger is gone: stay in the composer
            self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_waiting(self, *, waiting: bool) -> None:
        """Whether the run waits for the person: what is written then is sent, and withdraws what waits."""
        if waiting != self._waiting:
            self._waiting = waiting
            self._refresh()

    def set_ready(self, *, ready: bool) -> None:
        """Whether there is a chat model to send to."""
        self._ready = ready
        self._refresh()

    def _submit(self) -> None:
        if not self.field.composing and self._can_send():
            self.submitted.emit(self.text.strip())

    def _stop(self) -> None:
        if self._running:
            self.stop_requested.emit()

    def _can_send(self) -> bool:
        return self._ready and (self._waiting or not self._running) and bool(self.text.strip())

    def _refresh(self) -> None:
        self.send_button.setEnabled(self._can_send())
        self.send_button.setVisible(self._waiting or not self._running)
        self.stop_button.setVisible(self._running)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the box; its edge shows the focus."""
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        focused = self.field.hasFocus()
        width = 1.6 if focused else 1.0
        painter.setPen(QPen(tones.accent if focused else tones.border, width))
        painter.setBrush(self.palette().color(QPalette.ColorRole.Base))
        radius = 0.5 * self.fontMetrics().height()
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), radius, radius)
        painter.end()


class _RoundButton(QToolButton):
    """A filled round button with an icon of ours, a bit higher than a line."""

    def __init__(self, picture: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._picture = picture
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        side = round(1.7 * self.fontMetrics().height())
        return QSize(side, side)

    def paintEvent(self, _event: QPaintEvent) -> None:
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        fill = tones.accent if self.isEnabled() else tones.code
        if self.isDown():
            fill = fill.darker(115)
        elif self.underMouse() and self.isEnabled():
            fill = fill.lighter(110)
        painter.setBrush(fill)
        painter.setPen(QPen(tones.text, 1.5) if self.hasFocus() else Qt.PenStyle.NoPen)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.drawEllipse(box)
        inset = box.width() * 0.22
        colour = tones.on_accent if self.isEnabled() else tones.muted
        paint_icon(painter, self._picture, colour, box.adjusted(inset, inset, -inset, -inset))
        painter.end()


class _Hint(QWidget):
    """Takes the room between the edge and the buttons; a press there means the field."""

    def __init__(self, composer: Composer) -> None:
        super().__init__(composer)
        self._composer = composer

    def mousePressEvent(self, _event: object) -> None:
        self._composer.field.setFocus(Qt.FocusReason.MouseFocusReason)
