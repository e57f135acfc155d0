"""The statements: how commands, their audit and outbox messages are written and read. No decisions are made here."""

import json
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from agentic_qt.commands.prepared import Prepared
from agentic_qt.commands.states import CommandState, sources
from agentic_qt.commands.tables import audit, commands, outbox
from agentic_qt.commands.values import AuditEntry, Command, CommandRecord, CommandResult, Version
from agentic_qt.schema.canonical import canonical

_CLAIM_BY_DIALECT = {
    "sqlite": sqlite_insert(commands).on_conflict_do_nothing(index_elements=["command_id"]),
    "postgresql": postgresql_insert(commands).on_conflict_do_nothing(index_elements=["command_id"]),
}
_CLAIM = Prepared(_CLAIM_BY_DIALECT, columns=commands.c.keys())
_FIND = select(commands).where(commands.c.command_id == bindparam("id"))
_FINISH = {
    state: Prepared(
        {
            "": update(commands)
            .where(
                commands.c.command_id == bindparam("id", None),
                commands.c.state.in_([source.value for source in sources(state)]),
            )
            .values(state=state.value, result=bindparam("new_result", None))
        }
    )
    for state in (CommandState.SUCCEEDED, CommandState.FAILED, CommandState.UNKNOWN)
}
_AUDIT = Prepared({"": insert(audit).inline()}, columns=[name for name in audit.c.keys() if name != "entry_id"])  # noqa: SIM118
_NEXT = select(func.coalesce(func.max(outbox.c.sequence), 0) + 1).where(
    outbox.c.aggregate == bindparam("of_aggregate", None)
)
_OUTBOX = Prepared(
    {"": insert(outbox).values(sequence=_NEXT.scalar_subquery()).inline()},
    columns=["aggregate", "body", "created_at"],
)


def claim(
    connection: Connection,
    command: Command,
    actor: str,
    *,
    aggregate: str,
    at: float,
    lease_until: float | None = None,
) -> bool:
    """Take an id for a command, as ``executing``; False when it is taken. Waits for whoever is just taking it."""
    row = _command_row(command) | {"digest": command.digest, "actor": actor, "created_at": at, "result": None}
    row |= {"aggregate": aggregate, "lease_until": lease_until}
    return _insert_command(connection, row | {"state": CommandState.EXECUTING.value})


def bury(connection: Connection, command_id: str, actor: str, result: CommandResult, *, at: float) -> bool:
    """Take an id for a tombstone; False when it is taken."""
    row = _command_row(Command(command_id=command_id, type="", input=b"{}"))
    row |= {"aggregate": "", "digest": None, "actor": actor, "created_at": at, "lease_until": None}
    return _insert_command(connection, row | {"state": CommandState.FAILED.value, "result": result.encode().decode()})


def find(connection: Connection, command_id: str) -> Row[Any] | None:
    """Return a command's row."""
    return connection.execute(_FIND, {"id": command_id}).one_or_none()


def finish(connection: Connection, state: CommandState, result: CommandResult) -> bool:
    """Write a result where the table of states allows it; False when it does not."""
    values = {"id": result.command_id, "new_result": result.encode().decode()}
    return _FINISH[state].run(connection, values).rowcount == 1


def set_lease(connection: Connection, command_id: str, at: float) -> None:
    """Write down until when a command was to be over."""
    connection.execute(update(commands).where(commands.c.command_id == command_id).values(lease_until=at))


def write_audit(
    connection: Connection,
    command: Command,
    *,
    event: str,
    actor: str,
    code: str,
    at: float,
    **detail: Any,
) -> None:
    """Write one line of the audit."""
    known = {
        "digest": command.digest,
        "expectedVersion": command.expected_version,
        "approvedBy": command.approved_by,
        "approvedAt": command.approved_at,
        "proposalId": command.proposal_id,
    } | detail
    row = {
        "command_id": command.command_id,
        "event": event,
        "type": command.type,
        "target": command.target,
        "actor": actor,
        "code": str(code),
        "at": at,
        "detail": canonical({name: value for name, value in known.items() if value is not None}).decode(),
    }
    _AUDIT.run(connection, row)


def write_outbox(connection: Connection, aggregate: str, command: Command, result: CommandResult, *, at: float) -> None:
    """Write a message for the relay, the next of its aggregate."""
    body = {
        "type": command.type,
        "target": command.target,
        "digest": command.digest,
        "result": json.loads(result.encode()),
    }
    row = {
        "aggregate": aggregate,
        "of_aggregate": aggregate,
        "body": canonical(body, max_bytes=None).decode(),
        "created_at": at,
    }
    _OUTBOX.run(connection, row)


def to_command(row: Row[Any]) -> Command:
    """Return the command of a row."""
    return Command(
        command_id=row.command_id,
        type=row.type,
        input=row.input.encode(),
        target=row.target,
        expected_version=to_version(row.expected_version),
        proposal_id=row.proposal_id,
        approved_by=row.approved_by,
        approved_at=row.approved_at,
    )


def to_record(row: Row[Any]) -> CommandRecord:
    """Return a row as a value."""
    return CommandRecord(
        command=to_command(row),
        state=CommandState(row.state),
        actor=row.actor,
        created_at=row.created_at,
        result=None if row.result is None else CommandResult.decode(row.result),
    )


def to_audit_entry(row: Row[Any]) -> AuditEntry:
    """Return a row of the audit as a value."""
    return AuditEntry(**row._asdict() | {"detail": json.loads(row.detail)})


def from_version(version: Version | None) -> str | None:
    """Return a version as it is stored."""
    return None if version is None else json.dumps(version)


def to_version(text: str | None) -> Version | None:
    """Return a stored version."""
    version: Version | None = None if text is None else json.loads(text)
    return version


def _command_row(command: Command) -> dict[str, Any]:
    return {
        "command_id": command.command_id,
        "type": command.type,
        "target": command.target,
        "input": command.input.decode(),
        "expected_version": from_version(command.expected_version),
        "proposal_id": command.proposal_id,
        "approved_by": command.approved_by,
        "approved_at": command.approved_at,
    }


def _insert_command(connection: Connection, row: dict[str, Any]) -> bool:
    return _CLAIM.run(connection, row).rowcount == 1
