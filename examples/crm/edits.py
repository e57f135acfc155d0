"""What a person can undo: one entry for each command that can be taken back, by a command that compensates for it.

A compensating command names the version that the edit left. When somebody changed the row since, it is a conflict:
nothing is done, and the entry is dropped.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QUndoCommand, QUndoStack

from agentic_qt.commands.values import Code, Command, CommandResult, CommandStatus, Version
from examples.crm.clerk import Clerk
from examples.crm.domain import CUSTOMER_FIELDS, FIRST_VERSION

_WORK = "undo"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row in one of its states; `version` None: it is not there."""

    table: str
    id: int
    version: Version | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A command that moves a row to another state, without the row's id."""

    type: str
    input: Mapping[str, Any]


class Edit(QUndoCommand):
    """One edit: the states before and after it, and the steps between them.

    Its `undo` and `redo` do nothing: `History` moves the stack when the command has succeeded.
    """

    def __init__(self, text: str, *, before: Row, after: Row, redo: Step, undo: Step) -> None:
        super().__init__(text)
        self.before, self.after = before, after
        self.redo_step, self.undo_step = redo, undo

    def rename(self, old: Row, new: Row) -> None:
        """Call a state by its new id and version: the row is again as it was then."""
        self.before = new if self.before == old else self.before
        self.after = new if self.after == old else self.after


class History(QObject):
    """The edits of one window.

    Args:
        clerk: Submits the compensating commands.
        say: Tells the person why an edit cannot be undone any more.
        parent: The window.
    """

    def __init__(self, clerk: Clerk, say: Callable[[str], None], parent: QObject) -> None:
        super().__init__(parent)
        self.stack = QUndoStack(self)
        self.undo = QAction("&Undo", parent)
        self.redo = QAction("&Redo", parent)
        self._clerk, self._say = clerk, say
        self.undo.triggered.connect(self._undo)
        self.redo.triggered.connect(self._redo)
        self.stack.indexChanged.connect(self._refresh)
        clerk.busy_changed.connect(self._refresh)
        self._refresh()

    def note(self, command: Command, result: CommandResult) -> None:
        """Remember a command that succeeded, if it can be taken back and does not take back another one."""
        edit = None if self._clerk.work_of(command) == _WORK else edit_of(command, result)
        if edit is not None:
            self.stack.push(edit)

    def _undo(self) -> None:
        edit = self._edit_at(self.stack.index() - 1)
        if edit is not None:
            self._submit(edit, edit.undo_step, edit.after, edit.before, self.stack.undo)

    def _redo(self) -> None:
        edit = self._edit_at(self.stack.index())
        if edit is not None:
            self._submit(edit, edit.redo_step, edit.before, edit.after, self.stack.redo)

    def _submit(self, edit: Edit, step: Step, source: Row, goal: Row, move: Callable[[], None]) -> None:
        if edit.isObsolete():  # found out while others lay on it
            move()
            return
        there = source.version is not None
        self._clerk.submit(
            _WORK,
            step.type,
            {**step.input, "id": source.id} if there else step.input,
            version=source.version,
            target=f"{source.table.removesuffix('s')}:{source.id}" if there else None,
            then=partial(self._ended, edit, step, goal, move, self.stack.index()),
        )

    def _ended(
        self, edit: Edit, step: Step, goal: Row, move: Callable[[], None], index: int, result: CommandResult
    ) -> None:
        if result.ok:
            self._rename(goal, _reached(step, goal, result))
        elif result.status is CommandStatus.FAILED:
            edit.setObsolete(True)
            conflict = result.code == Code.VERSION_CONFLICT
            self._say("It was changed since by somebody else; nothing was undone." if conflict else result.hint)
        else:  # refused: as before; unknown: trying again finds out, since the version moves with the edit
            self._say(f"It could not be done now. {result.hint}")
            return
        if self.stack.index() == index:
            move()
        elif result.ok:  # something new lies on it by now
            edit.setObsolete(True)

    def _rename(self, old: Row, new: Row) -> None:
        for place in range(self.stack.count()):
            edit = self._edit_at(place)
            if edit is not None:
                edit.rename(old, new)

    def _edit_at(self, place: int) -> Edit | None:
        found = self.stack.command(place)
        return found if isinstance(found, Edit) else None

    def _refresh(self) -> None:
        idle = not self._clerk.is_at(_WORK)
        self.undo.setEnabled(idle and self.stack.canUndo())
        self.redo.setEnabled(idle and self.stack.canRedo())
        self.undo.setText(f"&Undo {self.stack.undoText()}".rstrip())
        self.redo.setText(f"&Redo {self.stack.redoText()}".rstrip())


def edit_of(command: Command, result: CommandResult) -> Edit | None:
    """Return the entry of a command that succeeded; None when nothing takes it back."""
    make = _EDITS.get(command.type)
    return None if make is None else make(command, result)


def _customer_changed(command: Command, result: CommandResult) -> Edit:
    number, changes = command.data()["id"], result.data["changes"]
    return Edit(
        f"Change {result.data['customer']['name']}",
        before=Row(table="customers", id=number, version=command.expected_version),
        after=Row(table="customers", id=number, version=result.version),
        redo=Step(type=command.type, input={"changes": {field: both["new"] for field, both in changes.items()}}),
        undo=Step(type=command.type, input={"changes": {field: both["old"] for field, both in changes.items()}}),
    )


def _customer_created(command: Command, result: CommandResult) -> Edit:
    number = int(result.data["customer"]["id"])
    values = {field: value for field, value in command.data().items() if field in CUSTOMER_FIELDS}
    return Edit(
        f"Add {result.data['customer']['name']}",
        before=Row(table="customers", id=number, version=None),
        after=Row(table="customers", id=number, version=FIRST_VERSION),
        redo=Step(type=command.type, input=values),
        undo=Step(type="customer.delete", input={}),
    )


def _order_status_set(command: Command, result: CommandResult) -> Edit:
    given = command.data()
    return Edit(
        f"Set order {given['id']} to {given['status']}",
        before=Row(table="orders", id=given["id"], version=command.expected_version),
        after=Row(table="orders", id=given["id"], version=result.version),
        redo=Step(type=command.type, input={"status": given["status"]}),
        undo=Step(type=command.type, input={"status": result.data["old"]}),
    )


_EDITS: Mapping[str, Callable[[Command, CommandResult], Edit]] = {
    "customer.update": _customer_changed,
    "customer.create": _customer_created,
    "order.set_status": _order_status_set,
}


def _reached(step: Step, goal: Row, result: CommandResult) -> Row:
    if goal.version is None:
        return goal
    if step.type == "customer.create":
        return Row(table=goal.table, id=int(result.data["customer"]["id"]), version=FIRST_VERSION)
    return Row(table=goal.table, id=goal.id, version=result.version)
