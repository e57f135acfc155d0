"""The assistant's settings: which chat model is asked, the shortcuts, and the approvals that are remembered."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QScrollArea, QTabWidget, QVBoxLayout, QWidget

from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.discovery import LOCAL_PORTS
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.core.approvals import ApprovalQueue
from agentic_qt.qt.availability import OWN_WINDOW
from agentic_qt.ui.approval.remembered import RememberedApprovals
from agentic_qt.ui.connection import ConnectionPage
from agentic_qt.ui.shortcut_editor import ShortcutEditor
from agentic_qt.ui.stored import Stored
from agentic_qt.ui.words import translate


class SettingsDialog(QDialog):
    """A small window with a page for each; non-modal.

    Args:
        parent: The application's window.
        use: Takes the chat model that the person chose; returns words when it cannot, else an empty string.
        stored: Keeps what is chosen for the next start.
        approvals: Whose remembered approvals are listed.
        actions: The assistant's, by name.
        defaults: Their shortcuts without a choice of the person, by name.
        ports: Where to look for chat models on this computer.

    Attributes:
        connection: The page for the chat model.
        shortcuts: The page for the shortcuts.
        remembered: The list of remembered approvals.
    """

    def __init__(
        self,
        parent: QWidget,
        use: Callable[[OpenAIChatModel], str],
        *,
        stored: Stored,
        approvals: ApprovalQueue,
        actions: Mapping[str, QAction],
        defaults: Mapping[str, str],
        ports: tuple[int, ...] = LOCAL_PORTS,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("agentic_qt_settings")
        self.setProperty(OWN_WINDOW, True)  # noqa: FBT003 - Qt's own signature
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)  # noqa: FBT003 - Qt's own signature
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.setWindowTitle(translate("agentic_qt", "Assistant Settings"))
        self.tabs = QTabWidget(self)
        self.tabs.setDocumentMode(True)  # else some styles give the pages a ground of their own, which no tone knows
        self.connection = ConnectionPage(self, use, stored, ports)
        self.shortcuts = ShortcutEditor(parent, actions, defaults, stored, self)
        self.remembered = RememberedApprovals(approvals, self)
        self.tabs.addTab(self.connection, translate("agentic_qt", "Chat model"))
        self.tabs.addTab(self.shortcuts, translate("agentic_qt", "Shortcuts"))
        self.tabs.addTab(self._scrolled(self.remembered), translate("agentic_qt", "Remembered approvals"))
        self.close_button = QPushButton(translate("agentic_qt", "Close"), self)
        self.close_button.setAutoDefault(False)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.close_button)
        layout = QVBoxLayout(self)
        layout.addWidget(self.tabs, 1)
        layout.addLayout(row)
        em = self.fontMetrics().height()
        self.resize(32 * em, 28 * em)
        self.close_button.clicked.connect(self.close)
        self.connection.taken.connect(self.accept)
        self.finished.connect(self.connection.end)

    def present(self, chat_model: ChatModel | None) -> None:
        """Show the window at the chat model's page, with what is known of the present one."""
        self.tabs.setCurrentWidget(self.connection)
        self.shortcuts.refresh()
        self.remembered.refresh()
        self.show()
        self.raise_()
        self.activateWindow()
        self.connection.show_chat_model(chat_model)

    def leave(self) -> None:
        """Ask nobody any more, and go."""
        self.connection.end()
        self.hide()
        self.deleteLater()

    def _scrolled(self, content: QWidget) -> QWidget:
        area = QScrollArea(self)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        content.setContentsMargins(*[self.fontMetrics().height() // 2] * 4)
        area.setWidget(content)
        return area
