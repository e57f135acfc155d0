"""Asking for a person's attention while the window is not in front, and taking that back."""

from PySide6.QtCore import QMetaObject, Qt
from PySide6.QtWidgets import QApplication, QWidget


class Attention:
    """The window manager's "this window needs you", raised at most once and withdrawn when it is no longer true.

    Args:
        window: The window that asks.
    """

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self.raised = False

    def raise_if_inactive(self) -> None:
        """Ask for attention unless the person is here already: in the window, or in a dialog of it."""
        active = QApplication.activeWindow()
        while active is not None and active is not self._window:
            active = active.parentWidget()
        if not self.raised and active is None:
            self.raised = True
            self._alert()

    def answered(self) -> None:
        """Note that the person came to the window, which ends an alert by itself."""
        self.raised = False

    def withdraw(self) -> None:
        """Take the request for attention back."""
        if self.raised:
            self.raised = False
            self._clear()

    def _alert(self) -> None:
        QApplication.alert(self._window, 0)

    def _clear(self) -> None:
        handle = self._window.windowHandle()
        if handle is not None:
            # By itself Qt clears an alert only on activation or after a time; this is the slot that it uses.
            QMetaObject.invokeMethod(handle, "_q_clearAlert", Qt.ConnectionType.DirectConnection)
