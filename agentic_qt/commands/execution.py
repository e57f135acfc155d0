"""The transactions of a command, from claim to commit: execute, finish an external effect, look up, abandon.

Everything here is synchronous and runs in the service's I/O thread. Nothing of a command is visible to others before
its one commit, and nothing that raises here reaches a caller as an exception.
"""

import logging
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, select
from sqlalchemy.exc import SQLAlchemyError

from agentic_qt.commands import records
from agentic_qt.commands.command_type import CommandType
from agentic_qt.commands.intake import refused
from agentic_qt.commands.judging import (
    CONSTRAINT_HINT,
    Handling,
    check_same,
    close_proposal,
    make_result,
    open_session,
)
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.store import Trouble
from agentic_qt.commands.tables import commands
from agentic_qt.commands.transactions import CommitUncertain, Refusal, Transactions
from agentic_qt.commands.values import OPERATE, Actor, Code, Command, CommandResult, CommandStatus

_log = logging.getLogger("agentic_qt.commands.execution")
_GRACE = 5.0
"""Seconds that an external effect may take beyond its budget before others call it unknown."""

Work = Callable[[Connection], CommandResult]


class Execution:
    """Executes commands in a store.

    Args:
        transactions: Of the store.
        clock: Seconds since the epoch.
        with_outbox: Whether each end of a command becomes a message for the relay.
    """

    def __init__(self, transactions: Transactions, clock: Callable[[], float], *, with_outbox: bool) -> None:
        self._transactions = transactions
        self._clock = clock
        self._with_outbox = with_outbox
        self._handling = Handling(transactions.store, transactions.faults)

    def execute(self, kind: CommandType, command: Command, actor: Actor) -> CommandResult | None:
        """Execute a command once, or return what it gave; None: an external effect was claimed and is to begin now."""
        started: list[bool] = []

        def work(connection: Connection, broken: CommandResult | None = None) -> CommandResult:
            started.clear()
            result = self._attempt(connection, kind, command, actor, broken)
            if result is None:
                started.append(True)
                return in_progress(command.command_id)
            return result

        def record_broken(connection: Connection) -> CommandResult:
            broken = make_result(
                command, actor.name, CommandState.FAILED, at=self._clock(), code=Code.CONSTRAINT, hint=CONSTRAINT_HINT
            )
            return work(connection, broken)

        result = self._answer(command, actor, work, on_rule=record_broken)
        # A lost answer to the commit of a claim is no leave to begin the effect.
        return None if started and result.status is CommandStatus.EXECUTING else result

    def finish(self, kind: CommandType, command: Command, actor: Actor, result: CommandResult) -> CommandResult:
        """Write how an external effect ended; an end that comes after another one is recorded and changes nothing."""
        state = CommandState(result.status.value)

        def work(connection: Connection) -> CommandResult:
            now = self._clock()
            if not records.finish(connection, state, result):
                row = records.find(connection, command.command_id)
                late = {"status": result.status.value, "data": result.data}
                self._audit(connection, command, actor, "late_end", result.code, now, late=late)
                return self._stored(row, command.command_id)
            self._record_end(connection, kind.aggregate(command.target, command.data()), command, actor, result)
            return result

        return self._answer(command, actor, work, uncertain=result)

    def status(self, command_id: str, actor: Actor | None) -> CommandResult:
        """Return what is stored; an external effect past its time becomes unknown by being asked for."""

        def look(connection: Connection) -> Row[Any] | None:
            return records.find(connection, command_id)

        try:
            row = self._transactions.read(look)
        except SQLAlchemyError as error:
            return self._no_store(command_id, self._transactions.store.trouble(error))
        if row is None or not _may_see(row, actor):
            return not_found(command_id)
        if not self._is_overdue(row):
            return self._stored(row, command_id)
        return self._answer(records.to_command(row), actor, lambda connection: self._expire(connection, command_id))

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
                self._audit(connection, command, actor, "abandoned", closed.code, now)
                return closed
            row = records.find(connection, command_id)
            if row is None or not _may_see(row, actor):
                raise Refusal(Code.DENIED, "This command belongs to another actor.", audited=True)
            if self._is_overdue(row):
                self._expire(connection, command_id)
            elif row.state != CommandState.UNKNOWN:
                return self._stored(row, command_id)
            return self._give_up(connection, row, actor, closed)

        return self._answer(command, actor, work)

    def expire_overdue(self) -> None:
        """Make every external effect unknown whose process is surely gone."""
        late = (commands.c.state == CommandState.EXECUTING.value) & (commands.c.lease_until < self._clock())
        found = select(commands.c.command_id).where(late)
        for command_id in self._transactions.ask(lambda connection: connection.scalars(found).all()):
            self.status(command_id, Actor(name="", permissions=frozenset({OPERATE})))

    def _attempt(
        self,
        connection: Connection,
        kind: CommandType,
        command: Command,
        actor: Actor,
        broken: CommandResult | None,
    ) -> CommandResult | None:
        now = self._clock()
        faults = self._transactions.faults
        lease = None if kind.effect is None else now + kind.budget + _GRACE
        aggregate = kind.aggregate(command.target, command.data())
        if not records.claim(connection, command, actor.name, aggregate=aggregate, at=now, lease_until=lease):
            row = records.find(connection, command.command_id)
            if row is not None:
                check_same(row, command, actor)
                if self._is_overdue(row):
                    return self._expire(connection, command.command_id)
            return self._stored(row, command.command_id)
        faults("claimed")
        with open_session(connection) as session:
            result = self._handling.judge(session, kind, command, actor, at=now) or broken
            faults("judged")
            if result is None and kind.effect is None:
                result = self._handling.handle(session, kind, command, actor, at=now)
        if result is None:
            self._audit(connection, command, actor, CommandState.EXECUTING.value, "", now)
            close_proposal(connection, command, CommandState.EXECUTING)
            return None
        records.finish(connection, CommandState(result.status.value), result)
        faults("result")
        self._record_end(connection, aggregate, command, actor, result)
        return result

    def _record_end(
        self, connection: Connection, aggregate: str, command: Command, actor: Actor, result: CommandResult
    ) -> None:
        now = self._clock()
        self._audit(connection, command, actor, result.status.value, result.code, now, version=result.version)
        self._transactions.faults("audit")
        close_proposal(connection, command, CommandState(result.status.value))
        if self._with_outbox:
            records.write_outbox(connection, aggregate, command, result, at=now)
            self._transactions.faults("outbox")

    def _audit(
        self, connection: Connection, command: Command, actor: Actor, event: str, code: str, at: float, **detail: Any
    ) -> None:
        records.write_audit(connection, command, event=event, actor=actor.name, code=code, at=at, **detail)

    def _answer(
        self,
        command: Command,
        actor: Actor | None,
        work: Work,
        *,
        on_rule: Work | None = None,
        uncertain: CommandResult | None = None,
    ) -> CommandResult:
        """Run work and turn everything that may be raised into an answer."""
        try:
            return self._transactions.write(work)
        except Refusal as refusal:
            if refusal.audited and actor is not None:
                self.audit_refusal(command, actor, refusal.code)
            return refused(command.command_id, refusal.code, refusal.hint)
        except CommitUncertain as lost:
            if lost.trouble is Trouble.RULE and on_rule is not None:  # a deferred constraint; surely rolled back
                return self._answer(command, actor, on_rule)
            _log.exception("The commit of %s had no good answer", command.command_id)
            return self._after_commit(command.command_id, lost.trouble, uncertain)
        except Exception as error:
            _log.exception("Command %s could not be executed", command.command_id)
            trouble = self._transactions.store.trouble(error)
            if uncertain is not None:
                return _unrecorded(uncertain)
            return self._no_store(command.command_id, trouble)

    def audit_refusal(self, command: Command, actor: Actor, code: str) -> None:
        """Write down that somebody tried; in a transaction of its own, since the attempt's was rolled back."""
        try:
            self._transactions.write(
                lambda connection: self._audit(connection, command, actor, "refused", code, self._clock())
            )
        except Exception:
            _log.exception("A refusal of %s (%s) could not be written to the audit", command.command_id, code)

    def _after_commit(self, command_id: str, trouble: Trouble, uncertain: CommandResult | None) -> CommandResult:
        store = self._transactions.store
        try:
            row = self._transactions.read(lambda connection: records.find(connection, command_id))
        except Exception:
            _log.exception("The store cannot say what became of %s", command_id)
            return _lost(command_id)
        if row is not None and row.result is not None:
            return self._stored(row, command_id)
        if uncertain is not None:
            return _unrecorded(uncertain)
        if row is None and (store.is_sqlite or trouble is not Trouble.LOST):
            return self._no_store(command_id, trouble)
        return _lost(command_id)  # the server may still be at the commit: not found is not failed

    def _no_store(self, command_id: str, trouble: Trouble) -> CommandResult:
        if trouble is Trouble.LOCKED:
            return refused(command_id, Code.BUSY, "Somebody else is writing; try again.", retryable=True)
        hint = "The store could not do it and changed nothing; the same command may be tried again."
        return refused(command_id, Code.STORE_ERROR, hint, retryable=True)

    def _is_overdue(self, row: Row[Any]) -> bool:
        executing = row.state == CommandState.EXECUTING
        return bool(executing and row.lease_until is not None and row.lease_until < self._clock())

    def _expire(self, connection: Connection, command_id: str) -> CommandResult:
        """Make an overdue external effect unknown."""
        row = records.find(connection, command_id)
        if row is None or not self._is_overdue(row):  # somebody else was faster
            return self._stored(row, command_id)
        command, owner = records.to_command(row), Actor(name=row.actor)
        result = unknown(command, owner.name, at=self._clock())
        records.finish(connection, CommandState.UNKNOWN, result)
        self._record_end(connection, row.aggregate, command, owner, result)
        return result

    def _give_up(self, connection: Connection, row: Row[Any], actor: Actor, closed: CommandResult) -> CommandResult:
        command = records.to_command(row)
        records.finish(connection, CommandState.FAILED, closed)
        self._audit(connection, command, actor, "abandoned", closed.code, self._clock())
        self._record_end(connection, row.aggregate, command, actor, closed)
        return closed

    def _stored(self, row: Row[Any] | None, command_id: str) -> CommandResult:
        if row is None or row.result is None:
            return in_progress(command_id)
        return CommandResult.decode(row.result)


def not_found(command_id: str) -> CommandResult:
    """Return the answer for an id that is not stored, or not for this actor to see."""
    hint = "No such id is stored. That does not mean that the command failed: it may be on its way."
    return CommandResult(command_id=command_id, status=CommandStatus.NOT_FOUND, code=Code.NOT_FOUND, hint=hint)


def unknown(command: Command, actor: str, *, at: float) -> CommandResult:
    """Return the result of an external effect of which nobody can say whether it happened."""
    hint = "It may or may not have happened; ask for its status, or let an operator resolve or abandon it."
    return make_result(command, actor, CommandState.UNKNOWN, at=at, code=Code.EFFECT_UNKNOWN, hint=hint)


def in_progress(command_id: str) -> CommandResult:
    """Return the answer while a command is in flight."""
    hint = "This very command is being executed; ask for its status."
    return CommandResult(
        command_id=command_id, status=CommandStatus.EXECUTING, code=Code.IN_PROGRESS, hint=hint, retryable=True
    )


def _lost(command_id: str) -> CommandResult:
    hint = "The answer to the commit was lost; ask for its status, or submit the same command under the same id."
    return CommandResult(
        command_id=command_id, status=CommandStatus.UNKNOWN, code=Code.CONNECTION_LOST, hint=hint, retryable=True
    )


def _unrecorded(result: CommandResult) -> CommandResult:
    """Return what is known of an effect whose end could not be written down: for the record it is unknown."""
    hint = "The effect has ended, but its end could not be recorded; ask for its status later."
    return CommandResult(
        command_id=result.command_id, status=CommandStatus.UNKNOWN, code=Code.EFFECT_UNKNOWN, hint=hint
    )


def _may_see(row: Row[Any], actor: Actor | None) -> bool:
    return actor is None or row.actor == actor.name or OPERATE in actor.permissions
