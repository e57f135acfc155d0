"""The items of lists and trees as options.

``toolItemValues`` names the values of a list's items in turn. A tree's value is the path of its texts, unless an item
has data.
"""

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QListView, QTreeView

from agentic_qt.qt.forms.adapters.model_items import ModelItems, held_by, is_usable, wire
from agentic_qt.qt.forms.adapters.options import Option, distinct, pairs
from agentic_qt.qt.forms.properties import places

View = QListView | QTreeView

_PATH: Final = " / "


class ViewItems(ModelItems):
    """The options of one list or tree; a child of it.

    Args:
        view: The list or tree.

    Attributes:
        every: All items with their places in the model.
        usable: Those that can be selected.
        told: What each value is called on the screen.
    """

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self.every: list[tuple[Option, QModelIndex]] = []
        self.usable: list[Option] = []
        self.told = ""

    def refresh(self, view: View) -> None:
        """Read the items if anything may have changed."""
        self.follow(view.model())
        root = view.rootIndex()
        place = QPersistentModelIndex(root) if root.isValid() else None
        column, named = 0, places(None)
        if isinstance(view, QListView):
            column, named = view.modelColumn(), places(view.property("toolItemValues"))
        seen = (column, place, named)
        if seen == self._seen:
            return
        self.every = list(_read(view, column, named))
        self.usable = [option for option, index in self.every if is_usable(index)]
        options = distinct(self.usable)
        self.told = pairs([option for option in options if not option.value.endswith(f"{_PATH}{option.text}")])
        self._seen = seen


def view_items_of(view: View) -> ViewItems:
    """Return the items of a list or tree as they are now."""
    return held_by(view, ViewItems)


def _read(view: View, column: int, named: tuple[str | None, ...]) -> Iterator[tuple[Option, QModelIndex]]:
    model = view.model()
    if model is None:
        return
    is_tree = isinstance(view, QTreeView)
    stack = [(view.rootIndex(), "")]
    while stack:
        parent, path = stack.pop()
        below = []
        for row in range(model.rowCount(parent)):
            index = model.index(row, column, parent)
            text = str(index.data(Qt.ItemDataRole.DisplayRole) or "")
            place = f"{path}{_PATH}{text}" if path else text
            value = named[row] if row < len(named) else None
            if value is None:
                value = wire(index.data(Qt.ItemDataRole.UserRole), place)
            yield Option(value=value, text=text, index=row), index
            if is_tree and model.hasChildren(index):
                below.append((index, place))
        stack.extend(reversed(below))
