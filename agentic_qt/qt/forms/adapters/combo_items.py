"""The items of combo boxes as options."""

from collections.abc import Iterator

from PySide6.QtCore import QPersistentModelIndex
from PySide6.QtWidgets import QComboBox

from agentic_qt.qt.forms.adapters.model_items import ModelItems, held_by, is_usable, wire
from agentic_qt.qt.forms.adapters.options import Option, pairs
from agentic_qt.qt.forms.properties import places


class ComboItems(ModelItems):
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

    def refresh(self, combo: QComboBox) -> None:
        """Read the items if anything may have changed."""
        model = combo.model()
        self.follow(model)
        root = combo.rootModelIndex()
        place = QPersistentModelIndex(root) if root.isValid() else None
        seen = (combo.modelColumn(), place, places(combo.property("toolItemValues")))
        if seen == self._seen:
            return
        self.every = list(_read(combo, seen[2]))
        found: dict[str, Option] = {}
        for option in self.every:
            if option.value not in found and is_usable(model.index(option.index, seen[0], root)):
                found[option.value] = option
        self.offered = list(found.values())
        self.told = pairs(self.offered)
        self._seen = seen


def items_of(combo: QComboBox) -> ComboItems:
    """Return the items of a combo box as they are now."""
    return held_by(combo, ComboItems)


def value_at(combo: QComboBox, index: int) -> str:
    """Return the value of one item."""
    return _value(places(combo.property("toolItemValues")), combo, index, combo.itemText(index))


def _read(combo: QComboBox, values: tuple[str | None, ...]) -> Iterator[Option]:
    for index in range(combo.count()):
        text = combo.itemText(index)
        yield Option(value=_value(values, combo, index, text), text=text, index=index)


def _value(values: tuple[str | None, ...], combo: QComboBox, index: int, text: str) -> str:
    named = values[index] if index < len(values) else None
    return wire(combo.itemData(index), text) if named is None else named
