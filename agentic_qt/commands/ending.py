"""How a transaction of a command ends: what is written with every end, and what everything that is raised means.

Everything here runs in the service's I/O thread, and nothing that raises here reaches a caller as an exception.
"""

import logging
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Connection, Row

from agentic_qt.commands import records
from agentic_qt.commands.answers import in_progress, lost, refused, unrecorded
from agentic_qt.commands.judging import CONSTRAINT_HINT, HANDLER_HINT, close_proposal, unknown
from agentic_qt.commands.lending import NotYoursError
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.store import Trouble
from agentic_qt.commands.transactions import CommitUncertain, Refusal, Transactions
from agentic_qt.commands.values import Actor, Code, Command, CommandResult

_LOST_HINT: Final = (
    "The answer to the commit was lost; ask for its status, or submit the same command under the same id."
)
_log = logging.getLogger("agentic_qt.commands.ending")

Work = Callable[[Connection], CommandResult]


class Ending:
    """What the transactions of commands share.

    Args:
        transactions: Of the store.
        clock: Seconds since the epoch.
        with_outbox: Whether each end of a command becomes a message for the relay.
    """

    def __init__(self, transactions: Transactions, clock: Callable[[], float], *, with_outbox: bool) -> None:
        self.transactions = transactions
        self.clock = clock
        self._with_outbox = with_outbox

    def record_end(
        self, connection: Connection, aggregate: str, command: Command, actor: Actor, result: CommandResult
    ) -> None:
        """Write what goes with every end: the audit, the proposal, the message for the relay."""
        now = self.clock()
        self.audit(connection, command, actor, result.status.value, result.code, now, version=result.version)
        self.transactions.faults("audit")
        close_proposal(connection, command, CommandState(result.status.value))
        if self._with_outbox:
            records.write_outbox(connection, aggregate, command, result, at=now)
            self.transactions.faults("outbox")

    def audit(
        self, connection: Connection, command: Command, actor: Actor, event: str, code: str, at: float, **detail: Any
    ) -> None:
        """Write one line of the audit."""
        records.write_audit(connection, command, event=event, actor=actor.name, code=code, at=at, **detail)

    def answer(
        self,
        command: Command,
        actor: Actor | None,
        work: Work,
        *,
        on_broken: Callable[[Code, str], Work] | None = None,
        uncertain: CommandResult | None = None,
    ) -> CommandResult:
        """Run work and turn everything that may be raised into an answer."""
        try:
            return self.transactions.write(work)
        except Refusal as refusal:
            return self.refuse(command, actor, refusal)
        except CommitUncertain as no_answer:
            if no_answer.trouble is Trouble.RULE and on_broken is not None:  # a deferred constraint; surely rolled back
                return self.answer(command, actor, on_broken(Code.CONSTRAINT, CONSTRAINT_HINT))
            _log.exception("The commit of %s had no good answer", command.command_id)
            return self.after_commit(command.command_id, no_answer.trouble, uncertain)
        except Exception as error:
            _log.exception("Command %s could not be executed", command.command_id)
            if isinstance(error, NotYoursError) and on_broken is not None:
                return self.answer(command, actor, on_broken(Code.HANDLER_ERROR, HANDLER_HINT))
            trouble = self.transactions.store.trouble(error)
            if uncertain is not None:
                return unrecorded(uncertain)
            if on_broken is not None and self._is_torn(command.command_id):
                return self.answer(command, actor, lambda connection: self.expire(connection, command.command_id))
            return self.no_store(command.command_id, trouble)

    def refuse(self, command: Command, actor: Actor | None, refusal: Refusal) -> CommandResult:
        """Answer with a refusal, whose work was rolled back, and write it down if it is worth that."""
        if refusal.audited and actor is not None:
            self.audit_refusal(command, actor, refusal.code)
        return refused(command.command_id, refusal.code, refusal.hint)

    def audit_refusal(self, command: Command, actor: Actor, code: str) -> None:
        """Write down that somebody tried; in a transaction of its own, since the attempt's was rolled back."""
        try:
            self.transactions.write(
                lambda connection: self.audit(connection, command, actor, "refused", code, self.clock())
            )
        except Exception:
            _log.exception("A refusal of %s (%s) could not be written to the audit", command.command_id, code)

    def after_commit(self, command_id: str, trouble: Trouble, uncertain: CommandResult | None) -> CommandResult:
        """Ask what became of a command whose commit had no good answer."""
        store = self.transactions.store
        try:
            row = self.transactions.read(lambda connection: records.find(connection, command_id))
        except Exception:
            _log.exception("The store cannot say what became of %s", command_id)
            return lost(command_id, _LOST_HINT)
        if row is not None and row.result is not None:
            return stored(row, command_id)
        if uncertain is not None:
            return unrecorded(uncertain)
        if row is None and (store.is_sqlite or trouble is not Trouble.LOST):
            return self.no_store(command_id, trouble)
        return lost(command_id, _LOST_HINT)  # the server may still be at the commit: not found is not failed

    def no_store(self, command_id: str, trouble: Trouble) -> CommandResult:
        """Return the answer when the store could not do it and nothing was changed."""
        if trouble is Trouble.LOCKED:
            return refused(command_id, Code.BUSY, "Somebody else is writing; try again.", retryable=True)
        hint = "The store could not do it and changed nothing; the same command may be tried again."
        return refused(command_id, Code.STORE_ERROR, hint, retryable=True)

    def is_overdue(self, row: Row[Any]) -> bool:
        """Return whether a row is of an external effect that is past its time, or was torn.

        A command within the store is never seen executing, unless its handler went past the session and committed.
        """
        return bool(row.state == CommandState.EXECUTING and (row.lease_until is None or row.lease_until < self.clock()))

    def _is_torn(self, command_id: str) -> bool:
        """Whether the handler committed a part of a transaction that then failed."""
        try:
            row = self.transactions.read(lambda connection: records.find(connection, command_id))
        except Exception:
            _log.exception("The store cannot say whether %s was torn", command_id)
            return False
        return row is not None and row.lease_until is None and self.is_overdue(row)

    def expire(self, connection: Connection, command_id: str) -> CommandResult:
        """Make unknown what is overdue."""
        row = records.find(connection, command_id)
        if row is None or not self.is_overdue(row):  # somebody else was faster
            return stored(row, command_id)
        command, owner = records.to_command(row), Actor(name=row.actor)
        result = unknown(command, owner.name, at=self.clock())
        if row.lease_until is None:
            records.set_lease(connection, command_id, self.clock())  # only what has one is found as open
        records.finish(connection, CommandState.UNKNOWN, result)
        self.record_end(connection, row.aggregate, command, owner, result)
        return result


def stored(row: Row[Any] | None, command_id: str) -> CommandResult:
    """Return the result of a row; without one it is in flight."""
    if row is None or row.result is None:
        return in_progress(command_id)
    return CommandResult.decode(row.result)
