"""The assistant's own windows beside the dock: made when they are first asked for, and gone with the assistant."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from agentic_qt.core.approvals import ApprovalQueue
from agentic_qt.ui import later
from agentic_qt.ui.stored import Stored

if TYPE_CHECKING:
    from agentic_qt.client.chat_model import ChatModel


class OwnWindows:
    """The windows of one assistant, and what they keep for the next start.

    Args:
        window: The application's window, their parent.
        use: Takes the chat model that the person chose; returns words when it cannot.
        approvals: Whose remembered approvals the settings list.
        stored: What is kept between two starts.

    Attributes:
        stored: What is kept between two starts.
        settings: The window for the chat model, the shortcuts and the remembered approvals, once it was shown.
        sent: The window that shows what was sent, once it was shown.
    """

    def __init__(
        self, window: QWidget, use: "Callable[[ChatModel], str]", approvals: ApprovalQueue, stored: Stored
    ) -> None:
        self._window = window
        self._use = use
        self._approvals = approvals
        self._actions: Mapping[str, QAction] = {}
        self._defaults: Mapping[str, str] = {}
        self.stored = stored
        self.settings: later.SettingsDialog | None = None
        self.sent: later.SentView | None = None

    def offer_shortcuts(self, actions: Mapping[str, QAction], defaults: Mapping[str, str]) -> dict[str, str]:
        """Let the person change the shortcuts of `actions`; returns those that count now, by name."""
        self._actions, self._defaults = actions, defaults
        return self.stored.shortcuts(defaults)

    def restored_chat_model(self) -> "ChatModel | None":
        """Return the chat model that the person chose last, if any; it connects to nothing before it is asked."""
        return None if self.stored.chat_model is None else later.KnownKeys(self.stored).restored_chat_model()

    def show_settings(self, chat_model: "ChatModel | None") -> None:
        """Let the person choose another chat model than `chat_model`, change shortcuts, take approvals back."""
        if self.settings is None:
            self.settings = later.SettingsDialog(
                self._window,
                self._use,
                stored=self.stored,
                approvals=self._approvals,
                actions=self._actions,
                defaults=self._defaults,
            )
        self.settings.present(chat_model)

    def show_sent(self, text: str, host: str) -> None:
        """Show the body of a request, and where it went."""
        self.sent = self.sent or later.SentView(self._window)
        self.sent.present(text, host)

    def leave(self) -> None:
        """Close what is open."""
        if self.settings is not None and shiboken6.isValid(self.settings):
            self.settings.leave()
        if self.sent is not None and shiboken6.isValid(self.sent):
            self.sent.hide()
            self.sent.deleteLater()
        self.settings = self.sent = None
