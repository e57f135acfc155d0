"""Commands that are asked for, given up or settled: looks at what is stored, and ends what is unknown.

Everything here is synchronous and runs in the service's I/O thread.
"""

from typing import Any

from sqlalchemy import Connection, Row, select
from sqlalchemy.exc import SQLAlchemyError

from agentic_qt.commands import records
from agentic_qt.commands.answers import not_found
from agentic_qt.commands.ending import Ending, stored
from agentic_qt.commands.judging import make_result, stated
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.tables import commands
from agentic_qt.commands.transactions import Refusal
from agentic_qt.commands.values import OPERATE, Actor, Code, Command, CommandResult


class Closing:
    """Looks up and closes commands of a store.

    Args:
        ending: Of the store.
    """

    def __init__(self, ending: Ending) -> None:
        self._ending = ending
        self._clock = ending.clock

    def status(self, command_id: str, actor: Actor | None) -> CommandResult:
        """Return what is stored; an external effect past its time becomes unknown by being asked for."""

        def look(connection: Connection) -> Row[Any] | None:
            return records.find(connection, command_id)

        try:
            row = self._ending.transactions.read(look)
        except SQLAlchemyError as error:
            return self._ending.no_store(command_id, self._ending.transactions.store.trouble(error))
        if row is None or not _may_see(row, actor):
            return not_found(command_id)
        if not self._ending.is_overdue(row):
            return stored(row, command_id)
        return self._ending.answer(
            records.to_command(row), actor, lambda connection: self._ending.expire(connection, command_id)
        )

    def abandon(self, command_id: str, actor: Actor) -> CommandResult:
        """Close an id that is unknown or was never seen; whatever is final, or in flight, stays as it is."""
        command = Command(command_id=command_id, type="", input=b"{}")

        def work(connection: Connection) -> CommandResult:
            now = self._clock()
            closed = make_result(
                command, actor.name, CommandState.FAILED,
                at=now, code=Code.ABANDONED, hint="The command was given up before it took effect.",
            )  # fmt: skip
            if records.bury(connection, command_id, actor.name, closed, at=now):
                self._ending.audit(connection, command, actor, "abandoned", closed.code, now)
                return closed
            row = records.find(connection, command_id)
            if row is None or not _may_see(row, actor):
                raise Refusal(Code.DENIED, "This command belongs to another actor.", audited=True)
            if self._ending.is_overdue(row):
                self._ending.expire(connection, command_id)
            elif row.state != CommandState.UNKNOWN:
                return stored(row, command_id)
            return self._give_up(connection, row, actor, closed)

        return self._ending.answer(command, actor, work)

    def settle(self, command_id: str, actor: Actor, *, happened: bool, note: str, data: Any) -> CommandResult:
        """Close an unknown effect by the word of an operator; whatever is not unknown stays as it is."""

        def work(connection: Connection) -> CommandResult:
            if OPERATE not in actor.permissions:
                raise Refusal(Code.DENIED, "Only an operator may say what happened.", audited=True)
            row = records.find(connection, command_id)
            if row is None:
                return not_found(command_id)
            if self._ending.is_overdue(row):
                self._ending.expire(connection, command_id)
            elif row.state != CommandState.UNKNOWN:
                return stored(row, command_id)
            command, now = records.to_command(row), self._clock()
            said = stated(command, row.actor, happened=happened, data=data, at=now)
            records.finish(connection, CommandState(said.status.value), said)
            self._ending.audit(connection, command, actor, "settled", said.code, now, note=note)
            self._ending.record_end(connection, row.aggregate, command, actor, said)
            return said

        return self._ending.answer(Command(command_id=command_id, type="", input=b"{}"), actor, work)

    def expire_overdue(self) -> None:
        """Make unknown whatever is overdue: its process is surely gone."""
        over = commands.c.lease_until.is_(None) | (commands.c.lease_until < self._clock())
        late = (commands.c.state == CommandState.EXECUTING.value) & over
        found = select(commands.c.command_id).where(late)
        for command_id in self._ending.transactions.ask(lambda connection: connection.scalars(found).all()):
            self.status(command_id, Actor(name="", permissions=frozenset({OPERATE})))

    def _give_up(self, connection: Connection, row: Row[Any], actor: Actor, closed: CommandResult) -> CommandResult:
        command = records.to_command(row)
        records.finish(connection, CommandState.FAILED, closed)
        self._ending.audit(connection, command, actor, "abandoned", closed.code, self._clock())
        self._ending.record_end(connection, row.aggregate, command, actor, closed)
        return closed


def _may_see(row: Row[Any], actor: Actor | None) -> bool:
    is_nobodys = row.digest is None  # a tombstone of a command that was never seen
    return actor is None or is_nobodys or row.actor == actor.name or OPERATE in actor.permissions
