"""What is written about a control: the labels beside it, its own text, and the description for the model."""

from collections.abc import Iterable, Sequence
from typing import Final

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QFormLayout,
    QGroupBox,
    QLabel,
    QLayout,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from agentic_qt.qt.forms.adapters.base import Profile
from agentic_qt.qt.forms.properties import (
    declared,
    for_people,
    is_rich,
    label_text,
    text_of,
    without_markup,
    without_mnemonic,
)

_SPEAKING: Final = (QAbstractButton, QAction, QGroupBox)
_EDITORS: Final = (QLineEdit, QPlainTextEdit, QTextEdit)


class Labels:
    """The labels of all controls of one form, found once.

    Args:
        form: The form's widget; a label elsewhere in its window may have a buddy in it.
        layouts: Those of the form and of the containers in it; other layouts may stand in each.
    """

    def __init__(self, form: QWidget, layouts: Iterable[QLayout]) -> None:
        self._labels: dict[QObject, list[QLabel]] = {}
        for label in form.window().findChildren(QLabel):
            buddy = label.buddy()
            if buddy is not None:
                self._labels.setdefault(buddy, []).append(label)
        for outer in layouts:
            for layout in (outer, *outer.findChildren(QFormLayout)):
                if isinstance(layout, QFormLayout):
                    for row in range(layout.rowCount()):
                        self._add_row(layout, row)

    def of(self, control: QObject) -> list[str]:
        """Return the texts of a control: its own, if it has one, then those of its labels, maybe empty."""
        own = own_text(control).strip()
        texts = [label_text(label).strip() for label in self._labels.get(control, ())]
        return [own, *texts] if own else texts

    def _add_row(self, layout: QFormLayout, row: int) -> None:
        item = layout.itemAt(row, QFormLayout.ItemRole.LabelRole)
        label = item.widget() if item is not None else None
        if not isinstance(label, QLabel) or label.buddy() is not None:
            return
        field = layout.itemAt(row, QFormLayout.ItemRole.FieldRole)
        widget = field.widget() if field is not None else None
        inner = field.layout() if field is not None else None
        if widget is None and inner is not None:
            widget = _first_widget(inner)
        if widget is not None:
            self._labels.setdefault(widget, []).append(label)


def own_text(control: QObject) -> str:
    """Return the text that a button, a box or an action shows by itself."""
    if isinstance(control, _SPEAKING):
        return without_mnemonic(control.title() if isinstance(control, QGroupBox) else control.text())
    return ""


def describe(control: QWidget | QAction, properties: dict[str, object], labels: list[str], profile: Profile) -> str:
    """Return the description of one control for the model; empty when nothing is known.

    `toolParamDescription`, then the labels, then accessibleDescription; in the strict profile what else Qt knows:
    whatsThis, toolTip, statusTip, accessibleName, placeholderText.
    """
    text = text_of(properties.get("toolParamDescription"))
    if profile == "chromium":
        return text or as_browser(labels) or _accessible(control)
    # A label ends in what only guides the eye; a text that was written for the model does not.
    text = text.strip() or "; ".join(filter(None, map(for_people, labels)))
    text = text or _accessible(control).strip() or next(filter(None, _hints(control)), "")
    unit = text_of(properties.get("toolUnit")).strip()
    return f"{text} (unit: {unit})".strip() if unit else text


def as_browser(labels: Iterable[str]) -> str:
    """Return several labels as one text, as a browser does: an empty one after another text leaves its separator."""
    text = ""
    for label in labels:
        text = f"{text}; {label}" if text else label
    return text


def group_box_of(form: QWidget, controls: Sequence[QWidget]) -> QGroupBox | None:
    """Return the nearest box around all of some controls, inside the form."""
    box = controls[0].parentWidget()
    while box is not None and box is not form:
        if isinstance(box, QGroupBox) and all(box.isAncestorOf(control) for control in controls):
            return box
        box = box.parentWidget()
    return None


def describe_group(box: QGroupBox | None, profile: Profile) -> str:
    """Return the description of several controls that are one field: that of the box around them."""
    if box is None:
        return ""
    text = text_of(declared(box).get("toolParamDescription"))
    return text or (for_people(own_text(box)) if profile == "strict" else "")


def joined(parts: Iterable[str]) -> str:
    """Return a description and notes as one text."""
    return "; ".join(filter(None, (part.strip() for part in parts)))


def _accessible(control: QWidget | QAction) -> str:
    return control.accessibleDescription() if isinstance(control, QWidget) else ""


def _hints(control: QWidget | QAction) -> Iterable[str]:
    yield _plain(control.whatsThis())
    yield _plain(control.toolTip()) if isinstance(control, QWidget) else ""
    yield control.statusTip().strip()
    if isinstance(control, QWidget):
        yield control.accessibleName().strip()
    if isinstance(control, _EDITORS):
        yield control.placeholderText().strip()


def _plain(text: str) -> str:
    return " ".join((without_markup(text) if is_rich(text) else text).split())


def _first_widget(layout: QLayout) -> QWidget | None:
    for place in range(layout.count()):
        item = layout.itemAt(place)
        widget = item.widget() if item is not None else None
        if widget is not None and not isinstance(widget, QLabel):
            return widget
    return None
