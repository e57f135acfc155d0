"""What the items of a model are as options: read once, and again after the model told of a change."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, TypeVar

import shiboken6
from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt
from PySide6.QtWidgets import QWidget

_USABLE: Final = (Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable).value
"""A number: operators of enumerations cost more than all else here."""


class ModelItems(QObject):
    """Follows the model of one widget; a child of the widget. Subclasses read the items."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._model: QAbstractItemModel | None = None
        self._seen: Hashable | None = None

    def refresh(self, widget: Any) -> None:
        """Read the items if anything may have changed."""
        raise NotImplementedError

    def follow(self, model: QAbstractItemModel | None) -> None:
        """Listen to the model that the widget shows now."""
        old = self._model
        if old is model:
            return
        if old is not None and shiboken6.isValid(old):
            for signal in _signals(old):
                signal.disconnect(self._forget)
        if model is not None:
            for signal in _signals(model):
                signal.connect(self._forget)
        self._model = model
        self._seen = None

    def _forget(self) -> None:
        self._seen = None


Items = TypeVar("Items", bound=ModelItems)

_held: dict[int, ModelItems] = {}


def held_by(widget: QWidget, make: Callable[[Any], Items]) -> Items:
    """Return the items of a widget as they are now; `make` makes them the first time."""
    address = shiboken6.getCppPointer(widget)[0]
    items: Any = _held.get(address)
    if items is None or not shiboken6.isValid(items):
        items = _held[address] = make(widget)
        forget = _held.pop
        # A closure over plain values: what a destructor calls must not touch the dying object.
        widget.destroyed.connect(lambda: forget(address, None))
    items.refresh(widget)
    return items  # type: ignore[no-any-return] # one widget has one kind of items, so that it is what `make` made


def wire(data: Any, text: str) -> str:
    """Return an item's value: its data when that is a text or a number, else its text."""
    if isinstance(data, str):
        return data
    # Compared as texts and by ourselves: findData("3") would match the integer 3.
    return str(data) if isinstance(data, int | float) and not isinstance(data, bool) else text


def is_usable(index: QModelIndex) -> bool:
    """Return whether an item can be chosen."""
    return bool((index.flags().value & _USABLE) == _USABLE)


def _signals(model: QAbstractItemModel) -> Iterator[Any]:
    return iter((
        model.dataChanged, model.rowsInserted, model.rowsRemoved, model.rowsMoved,
        model.columnsInserted, model.columnsRemoved, model.columnsMoved, model.modelReset, model.layoutChanged,
    ))  # fmt: skip
