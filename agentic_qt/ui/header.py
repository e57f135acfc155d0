"""The first line of the panel: which chat model answers, where it is, and the button for a new chat."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QToolButton, QWidget

from agentic_qt.ui.icons import paint_icon
from agentic_qt.ui.labels import Badge, ElidedLabel, plain_tool_tip
from agentic_qt.ui.theme import Tones
from agentic_qt.ui.words import translate

if TYPE_CHECKING:
    from agentic_qt.client.chat_model import ChatModel


class Header(QWidget):
    """Which chat model answers, where it is, and the button for a new chat."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = ElidedLabel(self)
        self.model.setAccessibleName(translate("agentic_qt", "Chat model and its host"))
        self.badge = Badge(self)
        self.badge.hide()
        self.new_chat = _PaintedButton("new-chat", self)
        em = self.fontMetrics().height()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(round(0.7 * em), round(0.25 * em), round(0.35 * em), round(0.25 * em))
        layout.setSpacing(round(0.5 * em))
        self._who = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._who.setSpacing(round(0.25 * em))
        self._who.addWidget(self.model, 1)
        self._who.addWidget(self.badge, 0, Qt.AlignmentFlag.AlignLeading)
        layout.addLayout(self._who, 1)
        self.settings = _PaintedButton("settings", self)
        layout.addWidget(self.settings, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.new_chat, 0, Qt.AlignmentFlag.AlignTop)

    def show_model(self, label: str, host: str, badge: str, kind: str) -> None:
        """Show who answers; `kind` is ``ok``, ``warning`` or ``neutral``."""
        text = " · ".join(part for part in (label, host) if part)
        self.model.setText(text)
        self.model.setAccessibleDescription(text)
        self.model.setToolTip(plain_tool_tip(text))
        self.badge.setText(badge)
        self.badge.setAccessibleName(badge)
        self.badge.setAccessibleDescription(badge)
        self.badge.setToolTip(plain_tool_tip(badge))
        self.badge.kind = kind
        self.badge.setVisible(bool(badge))
        self._arrange()

    def show_chat_model(self, chat_model: "ChatModel | None", badge: str) -> None:
        """Show who answers and where; without a badge of its own, one on this computer is marked "local"."""
        if chat_model is None:
            self.show_model(translate("agentic_qt", "No chat model"), "", "", "neutral")
            return
        host = chat_model.host
        badge = badge or str(getattr(chat_model, "badge", ""))
        kind = "warning" if badge else "ok"
        if not badge and is_local(host):
            badge = translate("agentic_qt", "local")
        self.show_model(chat_model.label, "" if host == "local" else host, badge, kind)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the badge below the name where both do not fit beside each other."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        em = self.fontMetrics().height()
        room = self.width() - 2 * self.new_chat.sizeHint().width() - 3 * em
        wanted = self.model.fontMetrics().horizontalAdvance(self.model.text()) + self.badge.sizeHint().width()
        fits = self.badge.isHidden() or wanted <= room
        direction = QBoxLayout.Direction.LeftToRight if fits else QBoxLayout.Direction.TopToBottom
        if self._who.direction() != direction:
            self._who.setDirection(direction)

    def set_new_chat_action(self, action: QAction) -> None:
        """Let the button do what `action` does."""
        self.new_chat.show_action(action)

    def set_settings_action(self, action: QAction) -> None:
        """Let the button do what `action` does."""
        self.settings.show_action(action)


class _PaintedButton(QToolButton):
    """A flat button that paints its icon when it is seen: nothing is drawn for a window that only opens."""

    def __init__(self, picture: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._picture = picture
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_action(self, action: QAction) -> None:
        """Do what `action` does, under its name."""
        self.setAccessibleName(action.text())
        self.setToolTip(plain_tool_tip(action.text()))
        self.clicked.connect(action.trigger)

    def sizeHint(self) -> QSize:
        side = round(1.45 * self.fontMetrics().height())
        return QSize(side, side)

    def paintEvent(self, _event: QPaintEvent) -> None:
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        if self.underMouse() or self.isDown() or self.hasFocus():
            painter.setPen(QPen(tones.accent if self.hasFocus() else tones.border, 1))
            painter.setBrush(tones.code)
            painter.drawRoundedRect(box, 3, 3)
        inset = box.width() * 0.18
        paint_icon(painter, self._picture, tones.text, box.adjusted(inset, inset, -inset, -inset))
        painter.end()


def is_local(host: str) -> bool:
    """Whether a chat model's host is this computer, by its name."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return host.startswith("local") or name == "::1" or name.startswith("127.")
