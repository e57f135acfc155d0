"""The items of combo boxes as options: read once, and again after their model told of a change."""

from collections.abc import Iterator
from typing import Any, Final

import shiboken6
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QComboBox

from agentic_qt.qt.forms.adapters.options import Option, pairs
from agentic_qt.qt.forms.properties import places

_USABLE: Final = (Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable).value
"""A number: operators of enumerations cost more than all else here."""


class ComboItems(QObject):
    """The options of one combo box; a child of it.

    Args:
        combo: The combo box.

    Attributes:
        every: All items.
        offered: Those that can be chosen: no separators, no disabled items, the first of equal values.
        told: What each value is called on the screen.
    """

    def __init__(self, combo: QComboBox) -> None:
        super().__init__(combo)
        self.every: list[Option] = []
        self.offered: list[Option] = []
        self.told = ""
        self._model: QAbstractItemModel | None = None
        self._seen: tuple[Any, ...] | None = None

    def refresh(self, combo: QComboBox) -> None:
        """Read the items if anything may have changed."""
        model = combo.model()
        if model is not self._model:
            self._follow(model)
        root = combo.rootModelIndex()
        place = QPersistentModelIndex(root) if root.isValid() else None
        seen = (combo.modelColumn(), place, combo.property("toolItemValues"))
        if seen == self._seen:
            return
        self.every = list(_read(combo))
        found: dict[str, Option] = {}
        for option in self.every:
            if option.value not in found and is_usable(model.index(option.index, seen[0], root)):
                found[option.value] = option
        self.offered = list(found.values())
        self.told = pairs(self.offered)
        self._seen = seen

    def _follow(self, model: QAbstractItemModel) -> None:
        old = self._model
        if old is not None and shiboken6.isValid(old):
            for signal in _signals(old):
                signal.disconnect(self._forget)
        for signal in _signals(model):
            signal.connect(self._forget)
        self._model = model
        self._seen = None

    def _forget(self) -> None:
        self._seen = None


def items_of(combo: QComboBox) -> ComboItems:
    """Return the items of a combo box as they are now."""
    address = shiboken6.getCppPointer(combo)[0]
    items = _items.get(address)
    if items is None or not shiboken6.isValid(items):
        items = _items[address] = ComboItems(combo)
        forget = _items.pop
        # A closure over plain values: what a destructor calls must not touch the dying object.
        combo.destroyed.connect(lambda: forget(address, None))
    items.refresh(combo)
    return items


_items: dict[int, ComboItems] = {}


def value_at(combo: QComboBox, index: int) -> str:
    """Return the value of one item."""
    return _value(places(combo.property("toolItemValues")), combo, index, combo.itemText(index))


def wire(data: Any, text: str) -> str:
    """Return an item's value: its data when that is a text or a number, else its text."""
    if isinstance(data, str):
        return data
    # Compared as texts and by ourselves: findData("3") would match the integer 3.
    return str(data) if isinstance(data, int | float) and not isinstance(data, bool) else text


def is_usable(index: QModelIndex) -> bool:
    """Return whether an item can be chosen."""
    return bool((index.flags().value & _USABLE) == _USABLE)


def _read(combo: QComboBox) -> Iterator[Option]:
    values = places(combo.property("toolItemValues"))
    for index in range(combo.count()):
        text = combo.itemText(index)
        yield Option(value=_value(values, combo, index, text), text=text, index=index)


def _value(values: tuple[str | None, ...], combo: QComboBox, index: int, text: str) -> str:
    named = values[index] if index < len(values) else None
    return wire(combo.itemData(index), text) if named is None else named


def _signals(model: QAbstractItemModel) -> Iterator[Any]:
    return iter((
        model.dataChanged, model.rowsInserted, model.rowsRemoved, model.rowsMoved,
        model.columnsInserted, model.columnsRemoved, model.columnsMoved, model.modelReset, model.layoutChanged,
    ))  # fmt: skip
