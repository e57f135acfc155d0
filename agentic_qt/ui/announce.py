"""Tells screen readers what matters: a start, an approval that waits, an end, an error. Never a chunk of a stream."""

from PySide6 import (
    QtGui,  # by the module: its classes cost milliseconds when they are named, at start nobody needs them
)
from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, text: str, *, urgent: bool = False) -> None:
    """Have `text` spoken for `widget`.

    Args:
        widget: Where it happened; it needs an accessible interface, as every widget has.
        text: One short sentence in the person's language.
        urgent: Interrupts what is being spoken; for errors and for what waits for the person.
    """
    event = QtGui.QAccessibleAnnouncementEvent(widget, text)
    if urgent:
        event.setPoliteness(QtGui.QAccessible.AnnouncementPoliteness.Assertive)
    QtGui.QAccessible.updateAccessibility(event)
