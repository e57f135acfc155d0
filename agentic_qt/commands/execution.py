"""The transactions in which a command happens: its claim, its checks, its effect and its end, alone or in a group.

Everything here is synchronous and runs in the service's I/O thread. Nothing of a command is visible to others before
its one commit, and nothing that raises here reaches a caller as an exception.
"""

import logging
import time
from typing import Final

from sqlalchemy import Connection

from agentic_qt.commands import records
from agentic_qt.commands.answers import in_progress
from agentic_qt.commands.ending import Ending, Work, stored
from agentic_qt.commands.judging import (
    Handling,
    Job,
    check_same,
    close_proposal,
    make_result,
)
from agentic_qt.commands.lending import NotYoursError, lend
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.store import Trouble
from agentic_qt.commands.transactions import CommitUncertain, Refusal
from agentic_qt.commands.values import Code, CommandResult, CommandStatus

_log = logging.getLogger("agentic_qt.commands.execution")
_GRACE: Final = 5.0
"""Seconds that an external effect may take beyond its budget before others call it unknown."""


class Execution:
    """Executes commands in a store.

    Args:
        ending: Of the store.
    """

    def __init__(self, ending: Ending) -> None:
        self._ending = ending
        self._transactions = ending.transactions
        self._clock = ending.clock
        self._handling = Handling(self._transactions.store, self._transactions.faults)

    def execute(self, job: Job) -> CommandResult | None:
        """Execute a command once, or return what it gave; None: an external effect was claimed and is to begin now."""
        started: list[bool] = []

        def work(connection: Connection, broken: CommandResult | None = None) -> CommandResult:
            started.clear()
            result = self._attempt(connection, job, broken)
            if result is None:
                started.append(True)
                return in_progress(job.command.command_id)
            return result

        def record_broken(code: Code, hint: str) -> Work:
            broken = make_result(
                job.command, job.actor.name, CommandState.FAILED, at=self._clock(), code=code, hint=hint
            )
            return lambda connection: work(connection, broken)

        result = self._ending.answer(job.command, job.actor, work, on_broken=record_broken)
        # A lost answer to the commit of a claim is no leave to begin the effect.
        return None if started and result.status is CommandStatus.EXECUTING else result

    def execute_together(self, jobs: list[Job], *, until: float) -> list[CommandResult | None] | None:
        """Execute several in one transaction, each in a savepoint of its own.

        Args:
            jobs: At least two, of different ids.
            until: When `time.monotonic` has come to this, no further one is begun.

        Returns:
            The answers of the first jobs, as of `execute`; None when nothing was committed and each must be executed
            alone: something was raised that is no answer of one of them.
        """
        begun: list[bool] = []

        def work(connection: Connection) -> list[CommandResult | Refusal | None]:
            begun.append(True)
            answers = []
            for job in jobs:
                answers.append(self._attempt_in_savepoint(connection, job))
                if time.monotonic() > until:
                    break
            return answers

        try:
            answers = self._transactions.once(work, members=len(jobs))
        except CommitUncertain as uncertain:
            _log.warning("The commit of %s commands had no good answer: %s", len(jobs), uncertain.trouble)
            if uncertain.trouble is not Trouble.LOST:
                return None
            return [self._ending.after_commit(job.command.command_id, Trouble.LOST, None) for job in jobs]
        except Exception as error:
            trouble = self._transactions.store.trouble(error)
            _log.info("%s commands are executed one by one: %s, %s", len(jobs), type(error).__name__, trouble)
            if begun or trouble is not Trouble.LOCKED:
                return None
            return [self._ending.no_store(job.command.command_id, trouble) for job in jobs]  # each has waited
        return [
            self._ending.refuse(job.command, job.actor, answer) if isinstance(answer, Refusal) else answer
            for job, answer in zip(jobs, answers, strict=False)
        ]

    def finish(self, job: Job, result: CommandResult) -> CommandResult:
        """Write how an external effect ended; an end that comes after another one is recorded and changes nothing."""
        command, actor, state = job.command, job.actor, CommandState(result.status.value)

        def work(connection: Connection) -> CommandResult:
            now = self._clock()
            finished = records.finish(connection, state, result)
            row = records.find(connection, command.command_id)
            if row is None or not finished:
                late = {"status": result.status.value, "data": result.data}
                self._ending.audit(connection, command, actor, "late_end", result.code, now, late=late)
                return stored(row, command.command_id)
            self._ending.record_end(connection, row.aggregate, command, actor, result)
            return result

        return self._ending.answer(command, actor, work, uncertain=result)

    def _attempt_in_savepoint(self, connection: Connection, job: Job) -> CommandResult | Refusal | None:
        connection.exec_driver_sql("SAVEPOINT agentic_member")
        answer: CommandResult | Refusal | None
        try:
            answer = self._attempt(connection, job)
        except Refusal as refusal:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT agentic_member")
            answer = refusal
        connection.exec_driver_sql("RELEASE SAVEPOINT agentic_member")
        return answer

    def _attempt(self, connection: Connection, job: Job, broken: CommandResult | None = None) -> CommandResult | None:
        kind, command, actor = job.kind, job.command, job.actor
        now = self._clock()
        faults = self._transactions.faults
        lease = None if kind.effect is None else now + kind.budget + _GRACE
        aggregate, misplaced = self._handling.aggregate(job, at=now)
        if not records.claim(connection, command, actor.name, aggregate=aggregate, at=now, lease_until=lease):
            row = records.find(connection, command.command_id)
            if row is not None:
                check_same(row, command, actor)
                if self._ending.is_overdue(row):
                    return self._ending.expire(connection, command.command_id)
            return stored(row, command.command_id)
        faults("claimed")
        with lend(connection) as session:
            ended = self._handling.judge(session, job, at=now) or broken or misplaced
            faults("judged")
            if ended is None and kind.effect is None:
                ended = self._handling.handle(session, job, at=now)
        if ended is None:
            self._ending.audit(connection, command, actor, CommandState.EXECUTING.value, "", now)
            close_proposal(connection, command, CommandState.EXECUTING)
            return None
        if not records.finish(connection, CommandState(ended.status.value), ended):
            raise NotYoursError  # the handler changed the command's own row
        faults("result")
        self._ending.record_end(connection, aggregate, command, actor, ended)
        return ended
