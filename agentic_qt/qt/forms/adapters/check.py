"""What is checked or not: QCheckBox, checkable buttons, boxes and actions, and sets of buttons that are one field."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt, SignalInstance
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QGroupBox

from agentic_qt.qt.forms.adapters.base import Adapter, JsonSchema, Profile
from agentic_qt.qt.forms.adapters.options import choice_schema, distinct, pairs, unique_items
from agentic_qt.qt.forms.properties import without_mnemonic

Checkable = QAbstractButton | QGroupBox | QAction

_STATES = {
    "unchecked": Qt.CheckState.Unchecked,
    "partly": Qt.CheckState.PartiallyChecked,
    "checked": Qt.CheckState.Checked,
}


class CheckAdapter(Adapter):
    """One thing that is checked or not: a boolean."""

    def schema(
        self,
        control: Checkable,  # noqa: ARG002 - the base's signature
        profile: Profile,
        *,
        required: bool = False,
        live: bool = True,  # noqa: ARG002 - it has no options
    ) -> JsonSchema:
        """Return a boolean schema; a required box must be checked, as in a browser."""
        return {"type": "boolean"} if profile == "chromium" or not required else {"type": "boolean", "const": True}

    def get(self, control: Checkable) -> bool:
        """Return whether it is checked."""
        return control.isChecked()

    def set(self, control: Checkable, value: bool) -> None:  # noqa: FBT001 - a JSON value
        """Click it if it is not as it should be."""
        if control.isChecked() == value:
            return
        if isinstance(control, QAction):
            control.trigger()
        elif isinstance(control, QGroupBox):
            control.setChecked(value)
            control.clicked[bool].emit(value)  # type: ignore[index]  # the stubs know no overloads
        else:
            control.click()

    def changed(self, control: Checkable) -> tuple[SignalInstance, ...]:
        """Return toggled."""
        return (control.toggled,)

    def restore(self, control: Checkable, state: bool) -> None:  # noqa: FBT001 - a JSON value
        """Click it back; a click that does not help is followed by force."""
        self.set(control, state)
        if control.isChecked() != state:
            control.setChecked(state)


class TriStateAdapter(Adapter):
    """QCheckBox with three states: ``checked``, ``unchecked`` or ``partly``."""

    def schema(
        self,
        control: QCheckBox,  # noqa: ARG002 - the base's signature
        profile: Profile,
        *,
        required: bool = False,  # noqa: ARG002 - it always has a state
        live: bool = True,  # noqa: ARG002 - it has no options
    ) -> JsonSchema:
        """Return an enumeration of the states; a browser knows two."""
        return {"type": "boolean"} if profile == "chromium" else {"type": "string", "enum": list(_STATES)}

    def get(self, control: QCheckBox) -> str:
        """Return the state."""
        return next(name for name, state in _STATES.items() if state == control.checkState())

    def set(self, control: QCheckBox, value: str) -> None:
        """Set the state at once: clicking through the states would show each to the application."""
        if self.get(control) != value:
            control.setCheckState(_STATES[value])
            control.clicked[bool].emit(control.isChecked())  # type: ignore[index]  # the stubs know no overloads

    def changed(self, control: QCheckBox) -> tuple[SignalInstance, ...]:
        """Return checkStateChanged."""
        return (control.checkStateChanged,)


class ButtonSetAdapter(Adapter):
    """Several buttons under one key: the value of the one that is checked, or of all that are."""

    def schema(
        self,
        control: Any,
        profile: Profile,
        *,
        required: bool = False,
        live: bool = True,  # noqa: ARG002 - buttons do not depend on other fields
    ) -> JsonSchema:
        """Return a choice, or a list of choices where several may be checked."""
        options = control.options
        choice = choice_schema(options if profile == "chromium" else distinct(options), profile)
        return choice if control.exclusive else unique_items(choice, profile, required=required)

    def note(self, control: Any) -> str:
        """Return what each value is called on the screen."""
        return pairs(distinct(control.options))

    def get(self, control: Any) -> Any:
        """Return the checked value, None when there is none; or the list of checked values."""
        known = zip(control.buttons, control.values, strict=True)
        checked = [value for button, value in known if button.isChecked()]
        if control.exclusive:
            return checked[0] if checked else None
        return list(dict.fromkeys(checked))

    def normal(self, control: Any, value: Any) -> Any:
        """Return a list in the order of the buttons."""
        if control.exclusive or not isinstance(value, list):
            return value
        order = control.values
        return sorted(value, key=lambda item: order.index(item) if item in order else len(order))

    def set(self, control: Any, value: Any) -> None:
        """Click each button that is not as it should be."""
        wanted = [value] if control.exclusive else value
        seen = set()
        for button, name in zip(control.buttons, control.values, strict=True):
            should = name in wanted and name not in seen
            seen.add(name)
            # An exclusive button is not unchecked by a click, but by that on another one.
            if button.isChecked() != should and (should or not control.exclusive):
                button.click()

    def changed(self, control: Any) -> tuple[SignalInstance, ...]:
        """Return toggled of each button."""
        return tuple(button.toggled for button in control.buttons)

    def snapshot(self, control: Any) -> tuple[bool, ...]:
        """Return which buttons are checked."""
        return tuple(button.isChecked() for button in control.buttons)

    def restore(self, control: Any, state: tuple[bool, ...]) -> None:
        """Check the same buttons again; none of an exclusive set, if that was so."""
        for button, checked in zip(control.buttons, state, strict=False):
            if checked and not button.isChecked():
                button.click()
        for button, checked in zip(control.buttons, state, strict=False):
            if not checked and button.isChecked():
                _uncheck(button)


def value_of(button: QAbstractButton, properties: Mapping[str, Any]) -> str:
    """Return a button's value on the wire: `toolValue`, else its objectName, else its text.

    Args:
        button: The button.
        properties: Its dynamic properties; one that is named by `toolParamName` is not known by its objectName.
    """
    value = properties.get("toolValue")
    if value is not None and not isinstance(value, bool):
        return str(value)
    name = button.objectName()
    if "toolParamName" not in properties and name and not name.startswith("qt_"):
        return name
    return without_mnemonic(button.text()).strip()


def _uncheck(button: QAbstractButton) -> None:
    group = button.group()
    exclusive, automatic = group is not None and group.exclusive(), button.autoExclusive()
    if group is not None:
        group.setExclusive(False)
    button.setAutoExclusive(False)
    button.setChecked(False)
    button.setAutoExclusive(automatic)
    if group is not None:
        group.setExclusive(exclusive)
