"""What a form tool needs of the widgets behind it: a schema, a check, a fill, and a way back. Flat forms; see the rest.

`models.py` and `wizard.py` have ports of their own, whose values are nested.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from agentic_qt.qt.forms.adapters.base import JsonSchema
from agentic_qt.qt.forms.fields import Field, FormFields
from agentic_qt.qt.forms.fill import Snapshot, check, fill, preview, remember_initial, restore, take_snapshot
from agentic_qt.qt.forms.synthesise import schema_of
from agentic_qt.qt.forms.walker import walk
from agentic_qt.schema.canonical import pointer_token
from agentic_qt.schema.issues import Issue

Changes = dict[str, dict[str, Any]]
"""``{field: {"old": value, "new": value}}``, as approvals show it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PortFilled:
    """What filling did.

    Args:
        before: For `FormPort.put_back`.
        old: The values before.
        shown: The field that was changed first, to bring into sight; None when nothing changed.
    """

    before: Any
    old: Mapping[str, Any]
    shown: QWidget | None


class FormPort:
    """The fields of one form as one flat object.

    Args:
        form: The form's widget.
    """

    def __init__(self, form: QWidget) -> None:
        self.form = form

    def walk(self) -> FormFields:
        """Return the fields that can be used now."""
        return walk(self.form)

    def schema(self) -> JsonSchema:
        """Return the input schema, without current values: they change with each keystroke."""
        return schema_of(self.walk().fields, defaults=False)

    def check(self, values: Mapping[str, Any]) -> tuple[Issue, ...]:
        """Return everything that is wrong with an input now."""
        return check(self.form, values)

    def changes(self, values: Mapping[str, Any]) -> Changes:
        """Return what filling would change, without touching a widget."""
        return {change.key: {"old": change.old, "new": change.new} for change in preview(self.form, values)}

    def fill(self, values: Mapping[str, Any], *, reset: bool = False) -> PortFilled:
        """Set the fields as a user would, or none of them.

        Raises:
            FillError: Why not.
        """
        old = self.values()
        filled = fill(self.form, values, reset=reset)
        first = filled.changes[0].key if filled.changes else ""
        shown = next((widget for field in self.walk().fields if field.key == first for widget in field.widgets), None)
        return PortFilled(before=filled.before, old=old, shown=shown if isinstance(shown, QWidget) else None)

    def values(self, *, secret: bool = False) -> dict[str, Any]:
        """Return what stands in the form; sensitive fields only with `secret`."""
        fields = self.walk().fields
        return {field.key: field.adapter.get(field.control) for field in fields if secret or not field.sensitive}

    def put_back(self, before: Any) -> tuple[str, ...]:
        """Put the form back; returns what could not be."""
        return restore(self.form, before) if isinstance(before, Snapshot) else ()

    def remember(self) -> Any:
        """Return what `put_back` needs later."""
        return take_snapshot(self.form)

    def note_first(self) -> None:
        """Note what stands in the form as that to which a fill with `reset` goes back."""
        remember_initial(self.form)

    def controls(self) -> list[QObject]:
        """Return the widgets behind the fields; what is no widget but a checkable action, too."""
        return [widget for field in self.walk().fields for widget in field.widgets]

    def pointers(self) -> Iterator[tuple[str, Field]]:
        """Yield the JSON pointer of each field in an input, and the field."""
        return ((pointer_token(field.key), field) for field in self.walk().fields)

    def label(self, pointer: str) -> str:
        """Return what stands beside the field that a JSON pointer leads to or into; empty when it leads to none."""
        found = (field.label for known, field in self.pointers() if f"{pointer}/".startswith(f"{known}/"))
        return next(found, "")

    def typed(self, values: Mapping[str, Any]) -> Any:
        """Return the values as the application's own type; here they are what they are."""
        return values

    def submit(self) -> bool:
        """Do what belongs to the port itself when the form is submitted; False when that did not work."""
        return True


def edited(given: Mapping[str, Any], old: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input that a form means now: what was given, and what a person changed besides.

    Args:
        given: The input that the form was filled with.
        old: What stood in the form before.
        now: What stands there now.
    """
    result = {}
    for key, value in now.items():
        inner = given.get(key)
        if isinstance(value, Mapping):
            before = old.get(key)
            nested = edited(
                inner if isinstance(inner, Mapping) else {}, before if isinstance(before, Mapping) else {}, value
            )
            if nested or key in given:
                result[key] = nested
        elif value is not None and (key in given or old.get(key) != value):
            result[key] = value
    return result


def difference(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Changes:
    """Return what differs between the old values and an input, by field; nested ones as ``outer/inner``."""
    changes: Changes = {}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping):
            changes |= difference(before if isinstance(before, Mapping) else {}, value, f"{prefix}{key}/")
        elif before != value:
            changes[prefix + key] = {"old": before, "new": value}
    return changes


def kept(old: Mapping[str, Any], given: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values that are submitted along although nobody gave them, by field."""
    result: dict[str, Any] = {}
    for key, value in old.items():
        if isinstance(value, Mapping):
            inner = given.get(key)
            result |= kept(value, inner if isinstance(inner, Mapping) else {}, f"{prefix}{key}/")
        elif key not in given and value not in (None, "", []):
            result[prefix + key] = value
    return result
