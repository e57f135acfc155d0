"""The assistant's own windows beside the dock: made when they are first asked for, and gone with the assistant."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtWidgets import QWidget

from agentic_qt.ui import later

if TYPE_CHECKING:
    from agentic_qt.client.chat_model import ChatModel


class OwnWindows:
    """The windows of one assistant.

    Args:
        window: The application's window, their parent.
        use: Takes the chat model that the person chose; returns words when it cannot.

    Attributes:
        settings: The window in which a person chooses the chat model, once it was shown.
        sent: The window that shows what was sent, once it was shown.
    """

    def __init__(self, window: QWidget, use: "Callable[[ChatModel], str]") -> None:
        self._window = window
        self._use = use
        self.settings: later.SettingsDialog | None = None
        self.sent: later.SentView | None = None

    def show_settings(self, chat_model: "ChatModel | None") -> None:
        """Let the person choose another chat model than `chat_model`."""
        self.settings = self.settings or later.SettingsDialog(self._window, self._use)
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
