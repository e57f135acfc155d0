"""What a person sees of a call on a form: where it is, that it is under review, and what is spoken about it."""

from PySide6 import QtGui
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QScrollArea,
    QStackedWidget,
    QTabWidget,
    QToolBox,
    QWidget,
)

FORM_ACTIVE = "toolFormActive"
"""True on a form while a call is under review or being submitted: ``[toolFormActive="true"]`` in a style sheet."""
SUBMIT_ACTIVE = "toolSubmitActive"
"""True on the button that a person is asked to press."""


def mark(widget: QWidget, name: str, *, value: bool | None) -> None:
    """Set one of the two properties, or remove it with None, and let style sheets see it, those of children too."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    if not widget.style().inherits("QStyleSheetStyle"):
        return  # no style sheet in force: nothing looks at properties
    for one in (widget, *widget.findChildren(QWidget)):
        style = one.style()
        style.unpolish(one)
        style.polish(one)
    widget.update()


def reveal(widget: QWidget) -> None:
    """Bring a widget into sight: its pages, docks and window; the keyboard focus stays where it is."""
    focus = QApplication.focusWidget()
    child, place = widget, widget.parentWidget()
    while place is not None and not child.isWindow():
        if isinstance(place, QStackedWidget):
            _turn_to(place, child)
        elif isinstance(place, QToolBox):
            place.setCurrentWidget(child)
        elif isinstance(place, QScrollArea):
            place.ensureWidgetVisible(widget)
        elif isinstance(place, QDockWidget):
            place.raise_()
        child, place = place, place.parentWidget()
    if child.isMinimized():
        child.showNormal()
    child.raise_()
    if focus is not None and focus is not QApplication.focusWidget() and focus.isVisible():
        focus.setFocus()


def announce(widget: QWidget, text: str, *, urgent: bool = False) -> None:
    """Have a sentence spoken for a widget."""
    event = QtGui.QAccessibleAnnouncementEvent(widget, text)
    if urgent:
        event.setPoliteness(QtGui.QAccessible.AnnouncementPoliteness.Assertive)
    QtGui.QAccessible.updateAccessibility(event)


def _turn_to(stack: QStackedWidget, page: QWidget) -> None:
    tabs = stack.parentWidget()
    if isinstance(tabs, QTabWidget):
        tabs.setCurrentWidget(page)
        return
    if stack.indexOf(page) >= 0:
        stack.setCurrentWidget(page)
