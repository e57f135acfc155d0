"""The order in which a person reaches the fields of a form with the Tab key."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from agentic_qt.qt.forms.fields import Field


def in_tab_order(form: QWidget, fields: list[Field]) -> list[Field]:
    """Return the fields in the order of the focus chain; what is no widget comes last, in its own order."""
    places: dict[QObject, int] = {}
    widget: QWidget | None = form.window()
    while widget is not None and widget not in places:
        places[widget] = len(places)
        widget = widget.nextInFocusChain()
    last = len(places)
    return sorted(fields, key=lambda field: min(places.get(widget, last) for widget in field.widgets))
