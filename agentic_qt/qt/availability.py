"""Why a widget cannot be used now: plain English reasons for the model, and the empty string when it can."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QWidget

OWN_WINDOW = "agentic_qt_window"
"""The dynamic property that marks windows of this library: they never count as blocking anything."""

NOT_SHOWN = "it is not shown"
DISABLED = "it is disabled"
BEHIND = "its dock is behind another one"

_MAX_TITLE = 80


def why_not_listed(widget: QWidget) -> str:
    """Return why the widget's capabilities are out of the catalogue: it is hidden, behind or disabled.

    Minimised, obscured and scrolled-out widgets are visible to Qt, and usable.
    """
    if not widget.isVisible():
        return NOT_SHOWN
    if is_behind(dock_of(widget)):
        return BEHIND
    return "" if widget.isEnabled() else DISABLED


def why_blocked(widget: QWidget) -> str:
    """Return the reason when somebody else's modal window blocks the widget's window."""
    modal = QApplication.activeModalWidget()
    if modal is None:
        return ""
    if not is_own(modal):
        return _dialog(modal) if _blocks(modal, widget) else ""
    # A window of ours is on top, and others may be below it.
    for window in QApplication.topLevelWidgets():
        if window.isModal() and window.isVisible() and not is_own(window) and _blocks(window, widget):
            return _dialog(window)
    return ""


def is_own(window: QWidget | None) -> bool:
    """Return whether the window, or one that it belongs to, is marked as a window of this library."""
    while window is not None:
        if window.property(OWN_WINDOW):
            return True
        parent = window.parentWidget()
        window = parent.window() if parent is not None else None
    return False


def dock_of(widget: QWidget | None) -> QDockWidget | None:
    """Return the dock that the widget stands in, if any."""
    while widget is not None and not isinstance(widget, QDockWidget):
        widget = widget.parentWidget()
    return widget


def is_behind(dock: QDockWidget | None) -> bool:
    """Return whether a tabified dock is behind another: Qt calls it visible and moves it out of the window."""
    if dock is None or dock.isFloating() or not dock.isVisible():
        return False
    geometry = dock.geometry()
    return geometry.right() < 0 or geometry.bottom() < 0  # as QDockWidget itself judges for visibilityChanged


def _blocks(modal: QWidget, widget: QWidget) -> bool:
    window: QWidget | None = widget.window()
    root = window
    while window is not None:
        if window is modal:
            return False  # it is in the dialog, or in a window that the dialog opened
        root = window
        parent = window.parentWidget()
        window = parent.window() if parent is not None else None
    if modal.windowModality() is Qt.WindowModality.ApplicationModal:
        return True
    # Window-modal: it blocks the windows that it belongs to, and what belongs to those.
    owner = modal.parentWidget()
    while owner is not None:
        if owner.window() is root:
            return True
        owner = owner.window().parentWidget()
    return False


def _dialog(modal: QWidget) -> str:
    title = modal.windowTitle().replace("[*]", "").strip() or type(modal).__name__
    return f"a dialog is open: {title[:_MAX_TITLE]}"
