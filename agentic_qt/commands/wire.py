"""How commands travel over HTTP: the one place that both sides read, without any I/O.

The id travels as ``Idempotency-Key`` (draft-ietf-httpapi-idempotency-key-header: a String of RFC 8941); everything
else of a command is the JSON body. Who acts is never in a body: the token says that.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from agentic_qt.commands.states import CommandState
from agentic_qt.commands.values import (
    AuditEntry,
    Code,
    Command,
    CommandRecord,
    CommandResult,
    CommandStatus,
    Preview,
    Version,
    is_version,
)
from agentic_qt.schema.canonical import InputError, canonical, parse

MAX_BODY: Final = 256 * 1024
"""How many bytes the body of a request may have; an input alone may have a quarter of it."""
RESULT_TYPE: Final = "application/json"
PROBLEM_TYPE: Final = "application/problem+json"

_ID = re.compile(r"[A-Za-z0-9._~:-]{1,200}", re.ASCII)
_STRING = re.compile(r'"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"', re.ASCII)
_TEXTS = ("type", "target", "proposalId", "approvedBy")
_FIELDS = frozenset({*_TEXTS, "input", "expectedVersion", "approvedAt"})
_FILTER = {"command_id": "commandId", "type_": "type", "actor": "actor", "before": "before", "limit": "limit"}

_REFUSALS: Final[Mapping[str, int]] = {
    Code.MISSING_ID: 400,
    Code.INVALID: 400,
    Code.FORGED_FIELD: 400,
    Code.UNKNOWN_TYPE: 400,
    Code.VERSION_REQUIRED: 400,
    Code.DENIED: 403,
    Code.NOT_APPROVED: 403,
    Code.PAYLOAD_MISMATCH: 422,
    Code.BUSY: 503,
    Code.STORE_ERROR: 503,
}


class WireError(ValueError):
    """What was sent is no command, or what came back is no answer.

    Args:
        code: A `Code` or ``bad_request``.
        message: One English sentence.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def http_status(result: CommandResult) -> int:
    """Return the HTTP status of an answer.

    400, 409 and 422 are those of the draft, section 2.7. A command that failed was carried out to its end: 200, and
    the same bytes for each replay.
    """
    match result.status:
        case CommandStatus.SUCCEEDED | CommandStatus.FAILED:
            return 200
        case CommandStatus.UNKNOWN:
            return 202
        case CommandStatus.EXECUTING:
            return 409
        case CommandStatus.NOT_FOUND:
            return 404
    return _REFUSALS.get(result.code, 400)


def is_travelling_id(command_id: str) -> bool:
    """Return whether an id can be part of a path as it is: letters, digits and ``. _ ~ : -``, at most 200."""
    return _ID.fullmatch(command_id) is not None and command_id not in (".", "..")


def encode_key(command_id: str) -> str:
    """Return an id as the value of ``Idempotency-Key``."""
    return f'"{command_id}"'


def decode_key(header: str | None) -> str:
    """Return the id of an ``Idempotency-Key``.

    Raises:
        WireError: It is missing (``missing_id``), or no String (``invalid``): one spelling, or one id had two.
    """
    if header is None or not header.strip():
        raise WireError(Code.MISSING_ID, "This request needs an Idempotency-Key.")
    found = _STRING.fullmatch(header.strip())
    if found is None:
        raise WireError(Code.INVALID, 'An Idempotency-Key is a quoted string, such as "8e03978e".')
    command_id = re.sub(r"\\(.)", r"\1", found[1])
    if not command_id:
        raise WireError(Code.MISSING_ID, "The Idempotency-Key is empty.")
    if not is_travelling_id(command_id):
        raise WireError(Code.INVALID, "An id has at most 200 letters, digits and . _ ~ : - here.")
    return command_id


def encode_command(command: Command) -> bytes:
    """Return the body for a command; its id travels in the header."""
    return encode_json(
        {
            "type": command.type,
            "input": json.loads(command.input),
            "target": command.target,
            "expectedVersion": command.expected_version,
            "proposalId": command.proposal_id,
            "approvedBy": command.approved_by,
            "approvedAt": command.approved_at,
        }
    )


def decode_command(body: bytes, command_id: str) -> Command:
    """Return the command of a body; its digest is computed here.

    Raises:
        WireError: The body is refused; code ``invalid``, or ``forged_field`` for what only the token says.
    """
    fields = decode_object(body)
    if unknown := sorted(fields.keys() - _FIELDS):
        code = Code.FORGED_FIELD if {"actor", "permissions", "result"} & set(unknown) else Code.INVALID
        raise WireError(code, f"A command has no {', '.join(unknown)[:200]}.")
    for name in _TEXTS:
        if not isinstance(fields.get(name), str | None):
            raise WireError(Code.INVALID, f"{name} must be a string.")
    at = fields.get("approvedAt")
    if not (at is None or (isinstance(at, int | float) and not isinstance(at, bool))):
        raise WireError(Code.INVALID, "approvedAt must be a number.")
    if not isinstance(fields.get("type"), str) or not isinstance(fields.get("input"), dict):
        raise WireError(Code.INVALID, "A command has a type and an input, which is an object.")
    try:
        return Command(
            command_id=command_id,
            type=fields["type"],
            input=canonical(fields["input"]),
            target=fields.get("target"),
            expected_version=_version(fields.get("expectedVersion")),
            proposal_id=fields.get("proposalId"),
            approved_by=fields.get("approvedBy"),
            approved_at=at,
        )
    except InputError as error:
        raise WireError(Code.INVALID, error.message) from error


def decode_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body.

    Raises:
        WireError: It is none, or beyond a limit.
    """
    try:
        fields = parse(body, max_bytes=MAX_BODY)
    except InputError as error:
        raise WireError(Code.INVALID, error.message) from error
    if not isinstance(fields, dict):
        raise WireError(Code.INVALID, "The body must be a JSON object.")
    return fields


def encode_answer(result: CommandResult) -> bytes:
    """Return the body for a result: its own bytes, or a problem (RFC 9457) that holds it.

    The type of the body follows from `http_status`: `RESULT_TYPE` below 300, `PROBLEM_TYPE` above.
    """
    status = http_status(result)
    if status < 300:
        return result.encode()
    problem = {"title": str(result.code), "status": status, "detail": result.hint}
    return canonical(problem | {"result": json.loads(result.encode())}, max_bytes=None)


def decode_answer(body: bytes, command_id: str) -> CommandResult:
    """Return the result of a body, if it is one about this very command.

    Raises:
        WireError: It is not, whoever sent it; code ``bad_answer``.
    """
    try:
        fields = json.loads(body)
        result = CommandResult.decode(json.dumps(fields.get("result", fields)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WireError("bad_answer", "The answer is no result of a command.") from error
    if result.command_id != command_id:
        raise WireError("bad_answer", "The answer is about another command.")
    if not _is_well_typed(result):
        raise WireError("bad_answer", "The answer is no result of a command.")
    return result


def decode_preview(body: bytes) -> Preview:
    """Return the preview of a body.

    Raises:
        WireError: It is none; code ``bad_answer``.
    """
    try:
        fields = json.loads(body)
        preview = Preview(facts=fields["facts"], version=fields["version"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise WireError("bad_answer", "The answer is no preview.") from error
    if not is_version(preview.version):
        raise WireError("bad_answer", "The answer is no preview.")
    return preview


def encode_record(record: CommandRecord) -> bytes:
    """Return the body for a stored command."""
    own = {"commandId": record.command.command_id, "state": record.state.value, "actor": record.actor}
    result = None if record.result is None else json.loads(record.result.encode())
    command = json.loads(encode_command(record.command))
    return encode_json(own | {"createdAt": record.created_at, "command": command, "result": result})


def decode_record(body: bytes) -> CommandRecord:
    """Return the stored command of a body.

    Raises:
        WireError: It is none; code ``bad_answer``.
    """
    try:
        fields = json.loads(body)
        result = None if fields["result"] is None else CommandResult.decode(json.dumps(fields["result"]))
        return CommandRecord(
            command=decode_command(encode_json(fields["command"]), fields["commandId"]),
            state=CommandState(fields["state"]),
            actor=fields["actor"],
            created_at=fields["createdAt"],
            result=result,
        )
    except (ValueError, TypeError, KeyError) as error:
        raise WireError("bad_answer", "The answer is no stored command.") from error


def encode_filter(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the query parameters for a question to the audit."""
    return {_FILTER[name]: value for name, value in asked.items() if value is not None}


def encode_audit(entries: tuple[AuditEntry, ...]) -> bytes:
    """Return the body for lines of the audit."""
    return encode_json({"entries": [asdict(entry) for entry in entries]})


def decode_audit(body: bytes) -> tuple[AuditEntry, ...]:
    """Return the lines of the audit of a body.

    Raises:
        WireError: They are none; code ``bad_answer``.
    """
    try:
        return tuple(AuditEntry(**entry) for entry in json.loads(body)["entries"])
    except (ValueError, TypeError, KeyError) as error:
        raise WireError("bad_answer", "The answer is no audit.") from error


def _is_well_typed(result: CommandResult) -> bool:
    texts = isinstance(result.code, str) and isinstance(result.hint, str) and isinstance(result.actor, str | None)
    at = result.committed_at
    is_time = at is None or (isinstance(at, int | float) and not isinstance(at, bool))
    return texts and is_time and isinstance(result.retryable, bool) and is_version(result.version)


def _version(value: Any) -> Version | None:
    if is_version(value):
        version: Version | None = value
        return version
    raise WireError(Code.INVALID, "expectedVersion must be a string or an integer.")


def encode_json(value: Any) -> bytes:
    """Return compact JSON as UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
