"""What is refused before any transaction: missing ids, unknown types, forged fields, inputs that break the schema."""

import math
from typing import Any, Final

from agentic_qt.commands.answers import refused
from agentic_qt.commands.command_type import CommandType, forged_fields
from agentic_qt.commands.values import Code, Command, CommandResult, is_version
from agentic_qt.schema.canonical import InputError, canonical, parse

MAX_ID: Final = 200
"""How many characters an id may have."""
MAX_NOTE: Final = 2000
"""How many characters an operator's note may have."""
MAX_TARGET: Final = 1000
"""How many characters a target, or the name of an approver, may have."""


def check_id(command_id: str) -> CommandResult | None:
    """Return why an id cannot be one."""
    if not command_id:
        return refused("", Code.MISSING_ID, "A command needs an id that was made before it.")
    if len(command_id) > MAX_ID or not command_id.isprintable() or not command_id.isascii():
        return refused(command_id[:MAX_ID], Code.INVALID, f"An id has at most {MAX_ID} printable ASCII characters.")
    return None


def check_statement(command_id: str, note: str, data: Any) -> CommandResult | None:
    """Return why an operator's word on a command is refused, or None."""
    if (bad_id := check_id(command_id)) is not None:
        return bad_id
    if not note.strip() or len(note) > MAX_NOTE:
        return refused(command_id, Code.INVALID, f"Say how it is known, in at most {MAX_NOTE} characters.")
    try:
        canonical(data)
    except InputError as error:
        return refused(command_id, Code.INVALID, f"The data is refused: {error.message}")
    return None


def check(command: Command, kind: CommandType | None) -> CommandResult | None:
    """Return why a command is refused, or None."""
    if (bad_id := check_id(command.command_id)) is not None:
        return bad_id
    if kind is None:
        return refused(command.command_id, Code.UNKNOWN_TYPE, "There is no command of this type.")
    if not is_version(command.expected_version):
        return refused(command.command_id, Code.INVALID, "An expected version is a string or an integer.")
    if not all(_is_storable(each) for each in (command.target, command.approved_by)):
        return refused(command.command_id, Code.INVALID, f"A target and a name have at most {MAX_TARGET} characters.")
    if command.proposal_id is not None and check_id(command.proposal_id) is not None:
        return refused(command.command_id, Code.INVALID, f"An id has at most {MAX_ID} printable ASCII characters.")
    if command.approved_at is not None and not math.isfinite(command.approved_at):
        return refused(command.command_id, Code.INVALID, "A point in time is a finite number.")
    return _check_input(command, kind)


def _is_storable(text: str | None) -> bool:
    try:
        (text or "").encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return "\x00" not in (text or "") and len(text or "") <= MAX_TARGET


def _check_input(command: Command, kind: CommandType) -> CommandResult | None:
    try:
        value = parse(command.input)
        is_frozen = canonical(value) == command.input
    except InputError as error:
        return refused(command.command_id, Code.INVALID, f"The input is refused: {error.message}")
    if not isinstance(value, dict) or not is_frozen:
        return refused(command.command_id, Code.INVALID, "The input must be canonical JSON of an object.")
    if forged := forged_fields(value):
        hint = f"The input may not have {', '.join(forged)}: only trusted code says that."
        return refused(command.command_id, Code.FORGED_FIELD, hint)
    if issues := kind.schema.issues(value, limit=5):
        words = "; ".join(f"{issue.pointer or 'the input'}: {issue.message}" for issue in issues)
        return refused(command.command_id, Code.INVALID, words)
    if kind.version_of is not None and command.expected_version is None:
        hint = "This command needs the version of the row that was seen; read it again."
        return refused(command.command_id, Code.VERSION_REQUIRED, hint)
    return None
