"""What a command meets inside its transaction: its own id, permission, approval, version, rules, effect."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from agentic_qt.commands.answers import MISMATCHED
from agentic_qt.commands.command_type import CommandType
from agentic_qt.commands.lending import LentSession, NotYoursError
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.store import Store, Trouble
from agentic_qt.commands.tables import proposals
from agentic_qt.commands.transactions import Refusal
from agentic_qt.commands.values import Actor, Code, Command, CommandResult, CommandStatus, Version, is_version
from agentic_qt.core.errors import CapabilityError
from agentic_qt.schema.canonical import freeze

_log = logging.getLogger("agentic_qt.commands.judging")
MAX_RESULT: Final = 1024 * 1024
"""How long the canonical JSON of a result may be, in bytes."""
MAX_CODE: Final = 200
"""How many characters the code of a failure may have."""
CONSTRAINT_HINT: Final = "The data breaks a rule of the store; nothing was changed."
HANDLER_HINT: Final = "The command failed; nothing was changed."


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A command that is to be executed.

    Args:
        kind: Its type.
        command: The command.
        actor: Who acts.
    """

    kind: CommandType
    command: Command
    actor: Actor


def make_result(
    command: Command, actor: str, state: CommandState, *, at: float, version: Version | None = None, **fields: Any
) -> CommandResult:
    """Return a result that will be stored."""
    return CommandResult(
        command_id=command.command_id,
        status=CommandStatus(state.value),
        actor=actor,
        committed_at=at,
        version=version,
        **fields,
    )


def result_of_failure(command: Command, actor: str, error: CapabilityError, *, at: float) -> CommandResult:
    """Return the failure that a handler declared; its data says what was applied elsewhere, if anything.

    Raises:
        TypeError: The code is no string.
        ValueError: The code is empty, too long or not printable, or the rest is not JSON, or too long.
    """
    code = str.__str__(error.code)
    if not 0 < len(code) <= MAX_CODE or not code.isprintable():
        raise ValueError(f"A code has 1 to {MAX_CODE} printable characters.")
    data = None if error.applied is False else freeze({"applied": error.applied}, max_bytes=MAX_RESULT)[1]
    result = make_result(command, actor, CommandState.FAILED, at=at, code=code, hint=error.hint, data=data)
    result.encode(max_bytes=MAX_RESULT)
    return result


def unknown(command: Command, actor: str, *, at: float) -> CommandResult:
    """Return the result of an external effect of which nobody can say whether it happened."""
    hint = "It may or may not have happened; ask for its status, or let an operator resolve, settle or abandon it."
    return make_result(command, actor, CommandState.UNKNOWN, at=at, code=Code.EFFECT_UNKNOWN, hint=hint)


def stated(command: Command, actor: str, *, happened: bool, data: Any, at: float) -> CommandResult:
    """Return the result of an external effect whose end an operator found out elsewhere."""
    if happened:
        return make_result(command, actor, CommandState.SUCCEEDED, at=at, data=data)
    hint = "It is known by now that it did not happen."
    return make_result(command, actor, CommandState.FAILED, at=at, code=Code.NOT_HAPPENED, hint=hint, data=data)


def check_same(row: Row[Any], command: Command, actor: Actor) -> None:
    """Do nothing when a stored row is of this very command and actor.

    Raises:
        Refusal: It is not; the stored result stays unseen. Code ``payload_mismatch``.
    """
    # a tombstone of a command that was never seen has no digest: it stands for whatever is sent, whoever gave it up
    if row.digest is not None and (row.actor, row.digest) != (actor.name, command.digest):
        raise Refusal(Code.PAYLOAD_MISMATCH, MISMATCHED, audited=True)


def check_permission(session: Session, kind: CommandType, command: Command, actor: Actor) -> None:
    """Do nothing when the actor may.

    Raises:
        Refusal: The actor may not; code ``denied``.
    """
    allowed = kind.permission is None or kind.permission in actor.permissions
    if allowed and kind.authorise is not None:
        allowed = kind.authorise(session, actor, command.data()) is True
    if not allowed:
        raise Refusal(Code.DENIED, "This actor may not do that.", audited=True)


def check_approval(session: Session, command: Command) -> None:
    """Do nothing when the command's proposal, if this store keeps it, was approved as it is.

    Raises:
        Refusal: It was not; code ``not_approved``.
    """
    if command.proposal_id is None:
        return
    row = session.execute(select(proposals).where(proposals.c.proposal_id == command.proposal_id)).one_or_none()
    if row is None:  # proposals may be kept by the client's own store
        return
    approved = (
        row.state == CommandState.AWAITING_APPROVAL
        and row.decided_by is not None
        and row.decided_by == command.approved_by
        and row.command_id == command.command_id
        and row.digest == command.digest
    )
    if not approved:
        raise Refusal(Code.NOT_APPROVED, "Nobody has approved this proposal as it is.", audited=True)


def read_version(session: Session, kind: CommandType, command: Command) -> Version | None:
    """Return the row's version now, as it can be stored and compared; None when the type has no versions.

    Raises:
        TypeError: The application's reader returned neither an integer nor a string.
        ValueError: The integer is beyond 2^53-1, so that no other reader would see the same one.
    """
    version = None if kind.version_of is None else kind.version_of(session, command.data())
    if not is_version(version):
        raise TypeError(f"version_of returned a {type(version).__name__}, which is no version")
    plain: Version | None = freeze(version)[1]
    return plain


def close_proposal(connection: Connection, command: Command, state: CommandState) -> None:
    """Let a command's proposal, if this store keeps it, follow the command."""
    if command.proposal_id is not None:
        of_command = (proposals.c.proposal_id == command.proposal_id) & (proposals.c.command_id == command.command_id)
        connection.execute(update(proposals).where(of_command).values(state=state.value))


class Handling:
    """Runs a command's handler in a savepoint of the command's transaction.

    Args:
        store: To understand its errors.
        faults: Called with ``effect`` when the handler has returned.
    """

    def __init__(self, store: Store, faults: Callable[[str], None]) -> None:
        self._store = store
        self._faults = faults

    def aggregate(self, job: Job, *, at: float) -> tuple[str, CommandResult | None]:
        """Return what the outbox orders by, and a failure where the application's code cannot say it."""
        kind, command = job.kind, job.command
        try:
            return kind.aggregate(command), None
        except BaseException as error:  # an exit asked for there is no way out of this thread
            _log.error("aggregate_of of %s failed for command %s", kind.name, command.command_id, exc_info=error)
            failure = _failed(command, job.actor, Code.HANDLER_ERROR, HANDLER_HINT, at=at)
            return kind.own_aggregate(command), failure

    def judge(self, session: LentSession, job: Job, *, at: float) -> CommandResult | None:
        """Check permission, approval and version; a result when the version is another, or cannot be read.

        Raises:
            Refusal: Permission or approval is missing.
        """
        kind, command, actor = job.kind, job.command, job.actor
        try:
            check_permission(session, kind, command, actor)
            check_approval(session, command)
            if kind.version_of is None:
                return None
            version = read_version(session, kind, command)
        except BaseException as error:  # an exit asked for by a handler is no way out of this thread
            return self._failure(error, session, job, at=at)
        if type(version) is type(command.expected_version) and version == command.expected_version:
            return None
        hint = "The row was changed or deleted since it was read; nothing was done. Read it again and propose anew."
        data = {"expectedVersion": command.expected_version, "version": version}
        return make_result(
            command, actor.name, CommandState.FAILED,
            at=at, version=version, code=Code.VERSION_CONFLICT, hint=hint, data=data,
        )  # fmt: skip

    def handle(self, session: LentSession, job: Job, *, at: float) -> CommandResult:
        """Run the handler; whatever it raises undoes what it did, and an error of the database ends the transaction."""
        kind, command, actor = job.kind, job.command, job.actor
        assert kind.handler is not None  # noqa: S101 - only commands within the store come here
        try:
            data = kind.handler(session, command.data(), actor)
            session.flush()
            version = read_version(session, kind, command)
            data = freeze(data, max_bytes=MAX_RESULT)[1]  # what a replay gives: lists, not tuples
            result = make_result(command, actor.name, CommandState.SUCCEEDED, at=at, version=version, data=data)
            result.encode(max_bytes=MAX_RESULT)
            session.release()
        except BaseException as error:  # an exit asked for by a handler is no way out of this thread
            return self._failure(error, session, job, at=at)
        self._faults("effect")
        return result

    def _failure(self, error: BaseException, session: LentSession, job: Job, *, at: float) -> CommandResult:
        """Undo what the application's code did and say why; what leaves no transaction to go on with is raised."""
        command, actor = job.command, job.actor
        is_rule = isinstance(error, DBAPIError) and self._store.trouble(error) is Trouble.RULE
        if isinstance(error, Refusal | NotYoursError) or (isinstance(error, DBAPIError) and not is_rule):
            raise error
        session.undo()
        if isinstance(error, CapabilityError):
            try:
                return result_of_failure(command, actor.name, error, at=at)
            except (TypeError, ValueError) as malformed:
                error = malformed
        _log.error("The code of command %s (%s) failed", command.command_id, command.type, exc_info=error)
        if is_rule:
            return _failed(command, actor, Code.CONSTRAINT, CONSTRAINT_HINT, at=at)
        return _failed(command, actor, Code.HANDLER_ERROR, HANDLER_HINT, at=at)


def _failed(command: Command, actor: Actor, code: Code, hint: str, *, at: float) -> CommandResult:
    return make_result(command, actor.name, CommandState.FAILED, at=at, code=code, hint=hint)
