"""Places for the assistant in a window that was drawn in Qt Designer: plain widgets, for a standard dock or a layout.

They are empty, and take the parts of an assistant that was attached to the same window.
"""

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QDockWidget, QLabel, QVBoxLayout, QWidget

if TYPE_CHECKING:
    from agentic_qt.ui.assistant import Assistant


class _Place(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hint: QLabel | None = None
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)

    def set_hint(self, text: str) -> None:
        """Say what will stand here; for Qt Designer, where nothing else does."""
        if self._hint is None:
            self._hint = QLabel(self, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
            self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
            self._hint.setForegroundRole(self.palette().ColorRole.PlaceholderText)
            self._layout.addWidget(self._hint)
        self._hint.setText(text)

    def enclosing_dock(self) -> QDockWidget | None:
        """Return the dock that this place stands in, if any."""
        around = self.parentWidget()
        while around is not None and not isinstance(around, QDockWidget):
            around = around.parentWidget()
        return around

    def _take(self, widget: QWidget) -> None:
        if self._hint is not None:
            self._hint.hide()
        self._layout.addWidget(widget)


class AssistantPlace(_Place):
    """Where the assistant stands, instead of a dock of its own."""

    def hold(self, assistant: "Assistant") -> None:
        """Take an assistant in; its menu entry and shortcuts then show and hide the dock around this place.

        Args:
            assistant: What `Assistant.attach` returned for this window.
        """
        dock = assistant.dock
        dock.setFloating(False)
        # It stays a dock, since it is what the assistant shows and hides, but one that nobody can drag out of here.
        dock.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetClosable)
        dock.setTitleBarWidget(QWidget(dock))
        self._take(dock)
        dock.show()
        outer = self.enclosing_dock()
        if outer is None:
            return

        def bring_up() -> None:
            outer.show()
            outer.raise_()

        def toggle(shown: bool) -> None:  # noqa: FBT001 - a slot
            bring_up() if shown else outer.hide()

        assistant.actions["toggle"].triggered.connect(toggle)
        assistant.actions["focus"].triggered.connect(bring_up)

    def sizeHint(self) -> QSize:
        """As wide as a column of text."""
        em = self.fontMetrics().height()
        return super().sizeHint().expandedTo(QSize(20 * em, 24 * em))


class ApprovalPlace(_Place):
    """Where the assistant asks for approval, instead of in its own dock; takes no room while nothing waits."""

    def hold(self, assistant: "Assistant") -> None:
        """Take in the part of an assistant that asks.

        Args:
            assistant: What `Assistant.attach` returned for this window.
        """
        self._take(assistant.approvals.panel)
