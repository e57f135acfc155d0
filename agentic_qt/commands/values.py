"""Proposal, command and result: what a model suggests, what a person stands behind, and what became of it.

A model can make the content of a proposal and nothing else. Actor, approver, permission and result come from trusted
code; fields of such names in an input are refused (`agentic_qt.commands.intake`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Self

from agentic_qt.commands.states import CommandState
from agentic_qt.schema.canonical import canonical, digest

Version = int | str
"""The version of a row: whatever the application counts with."""


def is_version(value: object) -> bool:
    """Return whether a value is a version or None; True is no number here, and 1.0 is not 1."""
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))


class CommandStatus(StrEnum):
    """What an answer of the service says of a command.

    ``succeeded``, ``failed`` and ``unknown`` are stored facts. ``executing`` is in flight now. ``refused`` recorded
    nothing under the id: it is as free, or as taken, as before. ``not_found`` says only that no such id is stored:
    it is never read as failed, since a question may overtake its command.
    """

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    EXECUTING = "executing"
    REFUSED = "refused"
    NOT_FOUND = "not_found"


class Code(StrEnum):
    """The service's own codes; a failed command may carry one of the application's instead."""

    # failed, stored under the id
    VERSION_CONFLICT = "version_conflict"
    ABANDONED = "abandoned"
    NOT_HAPPENED = "not_happened"
    CONSTRAINT = "constraint"
    HANDLER_ERROR = "handler_error"
    # unknown
    EFFECT_UNKNOWN = "effect_unknown"
    CONNECTION_LOST = "connection_lost"
    # executing
    IN_PROGRESS = "in_progress"
    # refused
    MISSING_ID = "missing_id"
    PAYLOAD_MISMATCH = "payload_mismatch"
    UNKNOWN_TYPE = "unknown_type"
    FORGED_FIELD = "forged_field"
    INVALID = "invalid"
    VERSION_REQUIRED = "version_required"
    DENIED = "denied"
    NOT_APPROVED = "not_approved"
    BUSY = "busy"
    STORE_ERROR = "store_error"
    # not_found
    NOT_FOUND = "not_found"


@dataclass(frozen=True, kw_only=True, slots=True)
class Actor:
    """Who acts, from the trusted session: the application's log-in or the token of a request.

    Args:
        name: Stable name, recorded with everything the actor does.
        permissions: What the actor may do; compared with the permission of a command type.
    """

    name: str
    permissions: frozenset[str] = frozenset()


OPERATE = "commands.operate"
"""The permission to see, abandon, resolve and settle commands of others."""


def payload_digest(type_: str, target: str | None, input_: bytes, expected_version: Version | None) -> str:
    """Return the SHA-256 of everything that a person approves: type, target, input and expected version."""
    head = canonical({"type": type_, "target": target, "expectedVersion": expected_version})
    return digest(head + b"\n" + input_)


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """An intent that somebody stands behind; make it with `Command.of`.

    Args:
        command_id: The key of exactly one effect; made before the approval, kept over every retry.
        type: The registered name, such as ``"customer.delete"``.
        input: The canonical JSON (RFC 8785) of the input; what runs is this, parsed.
        target: Which thing the command is about, for people and for the order of the outbox.
        expected_version: The version of the row that the approver saw; None when the type has no versions.
        proposal_id: The proposal it came from.
        approved_by: Who approved, from trusted code.
        approved_at: Seconds since the epoch.

    Attributes:
        digest: SHA-256 over type, target, input and expected version; computed here and never taken from a caller.
    """

    command_id: str
    type: str
    input: bytes
    target: str | None = None
    expected_version: Version | None = None
    proposal_id: str | None = None
    approved_by: str | None = None
    approved_at: float | None = None
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        own = payload_digest(self.type, self.target, self.input, self.expected_version)
        object.__setattr__(self, "digest", own)

    @classmethod
    def of(cls, type_: str, input_: Mapping[str, Any], *, command_id: str, **fields: Any) -> Self:
        """Freeze an input and make a command of it.

        Args:
            type_: The registered name.
            input_: A JSON object.
            command_id: The key; from `CommandService.new_id` or any source of unique ids.
            **fields: The other fields of `Command`.

        Raises:
            InputError: The input is not JSON, or beyond a limit.
        """
        return cls(command_id=command_id, type=type_, input=canonical(input_), **fields)

    def data(self) -> dict[str, Any]:
        """Return the input as a fresh JSON object."""
        parsed: dict[str, Any] = json.loads(self.input)
        return parsed


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """What became of a command; a replay of the same id gives the same bytes (`encode`).

    Args:
        command_id: Which command.
        status: See `CommandStatus`.
        data: JSON: the fact when succeeded, details when failed.
        code: Empty when succeeded; else a `Code` or one of the application's.
        hint: One plain English sentence; never SQL or a traceback.
        retryable: Whether the same command under the same id may be submitted again.
        committed_at: Seconds since the epoch; None while nothing is stored.
        actor: Who did it.
        version: The row's version afterwards, or, for a conflict, the version found.
    """

    command_id: str
    status: CommandStatus
    data: Any = None
    code: str = ""
    hint: str = ""
    retryable: bool = False
    committed_at: float | None = None
    actor: str | None = None
    version: Version | None = None
    _encoded: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the command succeeded."""
        return self.status is CommandStatus.SUCCEEDED

    def encode(self, *, max_bytes: int | None = None) -> bytes:
        """Return the canonical JSON of the result: what is stored and replayed; made once.

        Args:
            max_bytes: How long it may be; None sets no limit.

        Raises:
            InputError: The data is not JSON, or the whole is too long.
        """
        encoded = self._encoded
        if encoded is None:
            values = {name: getattr(self, name) for name in _RESULT}
            values |= {"status": self.status.value, "code": str(self.code)}
            encoded = canonical(values, max_bytes=max_bytes)
            object.__setattr__(self, "_encoded", encoded)
        return encoded

    @classmethod
    def decode(cls, text: str | bytes) -> Self:
        """Return the result of its JSON; unknown fields of a newer service are ignored."""
        found = json.loads(text)
        known = {name: found[name] for name in _RESULT if name in found}
        return cls(**known | {"status": CommandStatus(known["status"])})


_RESULT = tuple(each.name for each in fields(CommandResult) if each.init)


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What a model suggests and a person decides on; it survives a crash and never runs by itself.

    Args:
        proposal_id: Its key.
        command_id: The id of the command that it becomes: made with the proposal, so before any approval.
        type: The command type.
        input: The canonical JSON of the input.
        target: Which thing it is about.
        expected_version: The version of the row that the preview showed.
        reason: The model's own words; shown as such, judged by nothing.
        facts: JSON that the preview showed (rows, old values).
        state: See `agentic_qt.commands.states`.
        actor: For whom it was proposed, from the trusted session.
        created_at: Seconds since the epoch.
        expires_at: After this nobody may approve it; None: never.
        decided_by: Who approved or rejected it.
        decided_at: When.
        call_input: The canonical JSON of the call's input, where the command gets another one; else None.
        capability: Whose call it was.
        capability_target: Of which target of that capability, if it had one.
        session: The session that it belongs to (`agentic_qt.commands.sessions`); None: one that is long over.
    """

    proposal_id: str
    command_id: str
    type: str
    input: bytes
    target: str | None = None
    expected_version: Version | None = None
    reason: str = ""
    facts: Any = None
    state: CommandState = CommandState.PROPOSED
    actor: str
    created_at: float
    expires_at: float | None = None
    decided_by: str | None = None
    decided_at: float | None = None
    call_input: bytes | None = None
    capability: str | None = None
    capability_target: str | None = None
    session: str | None = None

    @property
    def digest(self) -> str:
        """The digest of the command that it becomes."""
        return payload_digest(self.type, self.target, self.input, self.expected_version)

    def data(self) -> dict[str, Any]:
        """Return the input as a fresh JSON object."""
        parsed: dict[str, Any] = json.loads(self.input)
        return parsed


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """What a person is shown before deciding.

    Args:
        facts: JSON: the row and what would change.
        version: The row's version now; becomes `Command.expected_version`. None: no row, or no versions.
    """

    facts: Any = None
    version: Version | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandRecord:
    """A stored command with where it stands, for operators and for finding one that is still open."""

    command: Command
    state: CommandState
    actor: str
    created_at: float
    result: CommandResult | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """One line of the audit: who did what, when, with what result.

    Args:
        entry_id: Ascending.
        command_id: Of which command.
        event: ``executing``, ``succeeded``, ``failed``, ``unknown``, ``abandoned``, ``settled``, ``late_end`` or
            ``refused``.
        type: The command type.
        target: Which thing.
        actor: Who.
        code: The result's code.
        at: Seconds since the epoch.
        detail: JSON: digest, approver, versions; the operator's note where one was settled.
    """

    entry_id: int
    command_id: str
    event: str
    type: str
    target: str | None
    actor: str
    code: str
    at: float
    detail: Any = None
