"""Choices from a list: QComboBox, QListWidget, QListView, QTreeWidget, QTreeView.

The value of an item is its data (Qt.UserRole) as a text, else its text; ``toolItemValues`` names the values itself.
A tree's value is the path of its texts, unless an item has data.
"""

from typing import Any

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, SignalInstance
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QListView, QTreeView

from agentic_qt.qt.forms.adapters.base import Adapter, JsonSchema, Profile
from agentic_qt.qt.forms.adapters.combo_items import items_of, value_at
from agentic_qt.qt.forms.adapters.model_items import is_usable
from agentic_qt.qt.forms.adapters.options import (
    SOME,
    choice_schema,
    distinct,
    unique_items,
)
from agentic_qt.qt.forms.adapters.text import line_refusal, replace_text, validated
from agentic_qt.qt.forms.adapters.view_items import view_items_of


class ComboBoxAdapter(Adapter):
    """QComboBox; an editable one takes any text."""

    def schema(self, control: QComboBox, profile: Profile, *, required: bool = False, live: bool = True) -> JsonSchema:
        """Return a choice; the options of an editable combo box, or of one that depends on others, are no limit."""
        if profile == "chromium":
            return choice_schema(items_of(control).every, profile)
        offered = items_of(control).offered
        if control.isEditable():
            examples = [option.value for option in offered[:SOME] if option.value]
            schema: JsonSchema = {"type": "string"} | ({"minLength": 1} if required else {})
            return schema | ({"examples": examples} if examples and live else {})
        if not live:
            return {"type": "string"}
        return choice_schema([option for option in offered if option.value or not required], profile)

    def note(self, control: QComboBox) -> str:
        """Return what each value is called on the screen."""
        return items_of(control).told

    def get(self, control: QComboBox) -> str | None:
        """Return the value of the current item, or the text in an editable one."""
        index = control.currentIndex()
        text = control.currentText()
        if index < 0 or (control.isEditable() and text != control.itemText(index)):
            return text if control.isEditable() else None
        return value_at(control, index)

    def default(self, control: QComboBox) -> str | None:
        """Return the current value if it can be chosen; an empty one is no default."""
        value = self.get(control)
        if not value or control.isEditable():
            return value or None
        return value if any(option.value == value for option in items_of(control).offered) else None

    def normal(self, control: QComboBox, value: Any) -> Any:
        """Return the value of the item whose value or, if there is none, whose text it is."""
        if not isinstance(value, str):
            return value
        items = items_of(control)
        # The value of a disabled item is not taken for the text of another one.
        if any(option.value == value for option in items.every):
            return value
        named = [option.value for option in items.offered if option.text == value]
        if len(named) == 1:
            return named[0]
        edit = control.lineEdit()
        return value if edit is None else validated(edit.validator(), value)[1]

    def refusal(self, control: QComboBox, value: str) -> str:
        """Return which values can be chosen now."""
        options = items_of(control).offered
        if any(option.value == value for option in options) or (not options and not value):
            return ""
        edit = control.lineEdit()
        if control.isEditable() and edit is not None:
            return line_refusal(edit, value)
        named = _named([option.value for option in options])
        return f"one of {named}" if options else "nothing: there is no option now"

    def set(self, control: QComboBox, value: str) -> None:
        """Choose the item, or type the text into an editable one."""
        if self.get(control) == value:
            return
        chosen = next((option for option in items_of(control).offered if option.value == value), None)
        edit = control.lineEdit()
        if chosen is not None:
            control.setCurrentIndex(chosen.index)
            control.activated.emit(chosen.index)
            control.textActivated.emit(control.currentText())
        elif control.isEditable() and edit is not None:
            replace_text(edit, value)

    def changed(self, control: QComboBox) -> tuple[SignalInstance, ...]:
        """Return the signals of another current item and of another text."""
        return control.currentIndexChanged, control.editTextChanged

    def snapshot(self, control: QComboBox) -> tuple[int, str, str | None]:
        """Return which item is current, and the text."""
        return control.currentIndex(), control.currentText(), self.get(control)

    def restore(self, control: QComboBox, state: tuple[int, str, str | None]) -> None:
        """Choose the same item again, wherever it is now."""
        index, text, value = state
        if self.snapshot(control) == state:
            return
        if index >= 0 and (index >= control.count() or value_at(control, index) != value):
            same = (option.index for option in items_of(control).every if option.value == value)
            index = next(same, control.currentIndex())
        control.setCurrentIndex(index)
        if index >= 0:
            control.activated.emit(index)
        if control.isEditable():
            control.setEditText(text)


class ItemViewAdapter(Adapter):
    """QListWidget, QListView, QTreeWidget, QTreeView: the selected item, or the list of selected ones."""

    def schema(
        self, control: QListView | QTreeView, profile: Profile, *, required: bool = False, live: bool = True
    ) -> JsonSchema:
        """Return a choice, or a list of choices where several may be selected."""
        items = view_items_of(control)
        if profile == "chromium":
            options = [option for option, _ in items.every]
        else:
            options = [option for option in distinct(items.usable) if option.value or not required]
        choice: JsonSchema = choice_schema(options, profile) if live else {"type": "string"}
        return unique_items(choice, profile, required=required) if takes_several(control) else choice

    def note(self, control: QListView | QTreeView) -> str:
        """Return what each value is called on the screen."""
        return view_items_of(control).told

    def get(self, control: QListView | QTreeView) -> Any:
        """Return what is selected."""
        values = _selected(control)
        if takes_several(control):
            return list(dict.fromkeys(values))
        return values[0] if values else None

    def normal(self, control: QListView | QTreeView, value: Any) -> Any:
        """Return values for texts, a list in the order of the view."""
        if not takes_several(control):
            return self._value(control, value)
        if not isinstance(value, list):
            return value
        order = {option.value: place for place, (option, _) in enumerate(view_items_of(control).every)}
        values = [self._value(control, item) for item in value]
        return sorted(values, key=lambda item: order.get(item, len(order)) if isinstance(item, str) else len(order))

    def refusal(self, control: QListView | QTreeView, value: Any) -> str:
        """Return which values can be selected now."""
        options = [option.value for option in view_items_of(control).usable]
        missing = [item for item in (value if isinstance(value, list) else [value]) if item not in options]
        if not missing or (not options and not value):
            return ""
        return f"one of {_named(options)}"

    def set(self, control: QListView | QTreeView, value: Any) -> None:
        """Select the items, and tell as a click does."""
        wanted = list(value) if isinstance(value, list) else [value]
        indexes = []
        for option, index in view_items_of(control).every:
            if option.value in wanted and is_usable(index):
                indexes.append(index)
                wanted.remove(option.value)
        _select(control, indexes)
        if indexes:
            control.clicked.emit(indexes[-1])

    def changed(self, control: QListView | QTreeView) -> tuple[SignalInstance, ...]:
        """Return selectionChanged of the selection model in use."""
        return (control.selectionModel().selectionChanged,)

    def snapshot(self, control: QListView | QTreeView) -> tuple[str, ...]:
        """Return the values of the selected items."""
        return tuple(_selected(control))

    def restore(self, control: QListView | QTreeView, state: tuple[str, ...]) -> None:
        """Select the same items again."""
        wanted = list(state)
        indexes = []
        for option, index in view_items_of(control).every:
            if option.value in wanted:
                indexes.append(index)
                wanted.remove(option.value)
        _select(control, indexes)

    def _value(self, control: QListView | QTreeView, value: Any) -> Any:
        options = view_items_of(control).every
        if not isinstance(value, str) or any(option.value == value for option, _ in options):
            return value
        named = [option.value for option, index in options if option.text == value and is_usable(index)]
        return named[0] if len(named) == 1 else value


def takes_several(view: QAbstractItemView) -> bool:
    """Return whether several items may be selected."""
    mode = view.selectionMode()
    return mode not in {QAbstractItemView.SelectionMode.SingleSelection, QAbstractItemView.SelectionMode.NoSelection}


def _selected(view: QListView | QTreeView) -> list[str]:
    chosen = view.selectionModel()
    if chosen is None or not chosen.hasSelection():
        return []
    return [option.value for option, index in view_items_of(view).every if chosen.isSelected(index)]


def _named(values: list[str]) -> str:
    more = f" and {len(values) - SOME} more" if len(values) > SOME else ""
    return ", ".join(f'"{value}"' for value in values[:SOME]) + more


def _select(view: QListView | QTreeView, indexes: list[QModelIndex]) -> None:
    selection = QItemSelection()
    for index in indexes:
        selection.select(index, index)
    flag = QItemSelectionModel.SelectionFlag
    if view.selectionBehavior() == QAbstractItemView.SelectionBehavior.SelectRows:
        view.selectionModel().select(selection, flag.ClearAndSelect | flag.Rows)
    else:
        view.selectionModel().select(selection, flag.ClearAndSelect)
    if indexes:
        view.selectionModel().setCurrentIndex(indexes[-1], flag.NoUpdate)
