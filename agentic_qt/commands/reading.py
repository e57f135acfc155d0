"""Questions to the store that change nothing: each function returns the work to run on a connection."""

import logging
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Connection, Select, select
from sqlalchemy.exc import DBAPIError

from agentic_qt.commands import records
from agentic_qt.commands.command_type import CommandType
from agentic_qt.commands.judging import MAX_RESULT, check_permission, read_version
from agentic_qt.commands.lending import lend
from agentic_qt.commands.port import AuditFilter
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.tables import audit, commands
from agentic_qt.commands.transactions import Refusal
from agentic_qt.commands.values import Actor, AuditEntry, Code, Command, CommandRecord, Preview
from agentic_qt.core.errors import CapabilityError
from agentic_qt.schema.canonical import freeze

_log = logging.getLogger("agentic_qt.commands.reading")
MAX_PAGE: Final = 1000
"""How many rows one question may bring."""
_OPEN = (CommandState.EXECUTING.value, CommandState.UNKNOWN.value)


def find(command_id: str) -> Callable[[Connection], CommandRecord | None]:
    """Ask for one command."""

    def work(connection: Connection) -> CommandRecord | None:
        row = records.find(connection, command_id)
        return None if row is None else records.to_record(row)

    return work


def find_open(command: Command, actor: Actor) -> Callable[[Connection], CommandRecord | None]:
    """Ask for the oldest command of the same digest and actor that is executing or unknown."""
    still_open = commands.c.lease_until.is_not(None) & commands.c.state.in_(_OPEN)
    same = (commands.c.digest == command.digest) & (commands.c.actor == actor.name) & still_open
    found = select(commands).where(same).order_by(commands.c.created_at).limit(1)

    def work(connection: Connection) -> CommandRecord | None:
        row = connection.execute(found).one_or_none()
        return None if row is None else records.to_record(row)

    return work


def list_commands(
    *, state: CommandState | None, type_: str | None, limit: int
) -> Callable[[Connection], tuple[CommandRecord, ...]]:
    """Ask for commands, the newest first."""
    conditions: dict[Any, Any] = {commands.c.state: state and state.value, commands.c.type: type_}
    newest = commands.c.created_at.desc(), commands.c.command_id
    found = _where(select(commands), conditions).order_by(*newest).limit(_page(limit))
    return lambda connection: tuple(records.to_record(row) for row in connection.execute(found))


def list_audit(asked: AuditFilter) -> Callable[[Connection], tuple[AuditEntry, ...]]:
    """Ask for lines of the audit, the newest first."""
    of_column = {audit.c.command_id: "command_id", audit.c.type: "type_", audit.c.actor: "actor"}
    conditions = {column: asked.get(name) for column, name in of_column.items()}
    limit = _page(asked.get("limit", 100))
    found = _where(select(audit), conditions).order_by(audit.c.entry_id.desc()).limit(limit)
    if (before := asked.get("before")) is not None:
        found = found.where(audit.c.entry_id < before)
    return lambda connection: tuple(records.to_audit_entry(row) for row in connection.execute(found))


def preview(kind: CommandType, command: Command, actor: Actor) -> Callable[[Connection], Preview]:
    """Ask for what a person should see before approving."""

    def work(connection: Connection) -> Preview:
        with lend(connection) as session:
            try:
                check_permission(session, kind, command, actor)
                facts = None if kind.preview_of is None else kind.preview_of(session, command.data())
                version = read_version(session, kind, command)
                return Preview(facts=freeze(facts, max_bytes=MAX_RESULT)[1], version=version)
            except Refusal as refusal:
                raise CapabilityError(refusal.code, refusal.hint) from refusal
            except (CapabilityError, DBAPIError):  # the type's own words; the store
                raise
            except BaseException as error:  # an exit asked for there is no way out of this thread
                _log.exception("The preview of %s failed", kind.name)
                raise CapabilityError(Code.HANDLER_ERROR, "It could not be previewed.") from error

    return work


def _page(limit: int) -> int:
    return max(0, min(limit, MAX_PAGE))  # SQLite takes a negative limit for none


def _where(question: Select[Any], conditions: dict[Any, Any]) -> Select[Any]:
    for column, value in conditions.items():
        if value is not None:
            question = question.where(column == value)
    return question
