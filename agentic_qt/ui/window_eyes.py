"""Sees a window appear, close and go."""

from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget


class WindowEyes(QObject):
    """Watches one window.

    Args:
        window: The window; it never loses an event here.
        shown: Called when it appears.
        closed: Called when it was closed.
        gone: Called when it is destroyed.
    """

    def __init__(
        self, window: QWidget, *, shown: Callable[[], None], closed: Callable[[], None], gone: Callable[[], None]
    ) -> None:
        super().__init__(window)
        self._window = window
        self._shown = shown
        self._closed = closed
        self._closing = False
        window.installEventFilter(self)
        self._gone = window.destroyed.connect(lambda: gone())  # noqa: PLW0108 - a bound method would not be called any more

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Tell what happened; never take an event away."""
        if watched is self._window:
            kind = event.type()
            if kind == QEvent.Type.Show:
                self._closing = False
                self._shown()
            elif kind == QEvent.Type.Close:
                self._closing = True
            elif kind == QEvent.Type.Hide and self._closing and not event.spontaneous():
                self._closing = False
                self._closed()
        return False

    def leave(self) -> None:
        """See nothing any more."""
        if shiboken6.isValid(self) and shiboken6.isValid(self._window):
            self._window.removeEventFilter(self)
            self._window.destroyed.disconnect(self._gone)
            self.deleteLater()
