"""The assistant's dock: made for a window, and taken away from it again."""

import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from agentic_qt.qt.availability import OWN_WINDOW
from agentic_qt.ui.words import translate

DOCK_NAME = "agentic_qt_assistant"


def make_dock(window: QWidget, content: QWidget) -> QDockWidget:
    """Return the dock of a window, which holds `content`; it is not placed yet."""
    dock = QDockWidget(translate("agentic_qt", "Assistant"), window)
    dock.setObjectName(DOCK_NAME)
    dock.setAllowedAreas(Qt.DockWidgetArea.AllDockWidgetAreas)
    dock.setProperty(OWN_WINDOW, True)  # noqa: FBT003 - Qt's signature
    dock.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
    dock.setWidget(content)
    return dock


def take_away(window: QWidget, dock: QDockWidget, content: QWidget) -> None:
    """Remove the dock and its content, whatever of the three is still there."""
    if shiboken6.isValid(dock):
        dock.hide()
        if isinstance(window, QMainWindow) and shiboken6.isValid(window):
            window.removeDockWidget(dock)
        # It stays a child until it goes: without a parent, only Python's collector would know when.
        dock.setObjectName("")
        dock.deleteLater()
    if shiboken6.isValid(content):  # it may have been moved into a dock of the host
        content.hide()
        content.deleteLater()
