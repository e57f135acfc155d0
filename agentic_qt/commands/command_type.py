"""A command type: its schema, permission, version and handler; declared once, frozen afterwards."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.orm import Session

from agentic_qt.commands.values import Actor, Command, Version
from agentic_qt.core.errors import DeclarationError
from agentic_qt.schema.canonical import digest
from agentic_qt.schema.validate import CompiledSchema, SchemaError, compile_schema

Handler = Callable[[Session, dict[str, Any], Actor], Any]
"""``handler(session, input, actor) -> JSON``: changes rows in the command's own transaction and touches nothing else.

It may run again from the start after a rollback, in a worker thread. It raises `CapabilityError` to end the command
as ``failed`` with everything it changed undone.
"""

Reader = Callable[[Session, dict[str, Any]], Any]
"""``reader(session, input) -> JSON``: reads rows and changes none."""

VersionReader = Callable[[Session, dict[str, Any]], Version | None]
"""``version_of(session, input)``: the row's version now; None when there is no such row."""

Authorise = Callable[[Session, Actor, dict[str, Any]], bool]
"""``authorise(session, actor, input)``: a further condition beside the permission, asked in the transaction."""

AggregateOf = Callable[[str | None, dict[str, Any]], str]
"""``aggregate_of(command's target, input)``: names what the outbox orders by."""


_LONGEST: Final = 2000  # bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """What the handler of an external effect is given.

    Args:
        command_id: To pass on as the other side's idempotency key.
        input: The input.
        actor: Who acts.
    """

    command_id: str
    input: dict[str, Any]
    actor: Actor


EffectHandler = Callable[[Effect], Awaitable[Any]]
"""``await handler(effect) -> JSON`` on the caller's loop.

Returning means that it happened, `CapabilityError` that it did not, `EffectUnknown` or any other exception that nobody
knows. A resolver has the same contract: it asks the other side by the command id and never acts.
"""

RESERVED: Final = frozenset({
    "actor", "approval", "approved", "approvedat", "approvedby", "approver", "commandid", "committedat", "permission",
    "permissions", "proposalid", "result",
})  # fmt: skip
"""Names of what only trusted code says, without ``_``, ``-`` and case; an input with one at its top is refused."""


def forged_fields(names: Mapping[str, Any]) -> list[str]:
    """Return the names that only trusted code may give, as they were written."""
    return sorted(name for name in names if name.replace("_", "").replace("-", "").casefold() in RESERVED)


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandType:
    """One registered type of command; made by `CommandService.command` and `CommandService.effect`.

    Args:
        name: Lower-case dotted ``noun.verb``.
        schema: The compiled schema of the input.
        permission: What the actor needs; None: any actor may.
        handler: Of a command within the store; None for an external effect.
        effect: Of an external effect; None for a command within the store.
        resolve: Asks what became of an external effect.
        budget: Seconds that an external effect may take before it is unknown.
        version_of: Reads the row's version; None when rows have none.
        preview_of: Reads what a person should see before approving.
        authorise: A further condition, asked in the transaction.
        aggregate_of: Names what the outbox orders by.
    """

    name: str
    schema: CompiledSchema
    permission: str | None
    handler: Handler | None = None
    effect: EffectHandler | None = None
    resolve: EffectHandler | None = None
    budget: float = 60.0
    version_of: VersionReader | None = None
    preview_of: Reader | None = None
    authorise: Authorise | None = None
    aggregate_of: AggregateOf | None = None

    def aggregate(self, command: Command) -> str:
        """Return what the outbox orders by: the command's target unless the type says otherwise.

        Raises:
            Exception: Whatever the type's own code raises.
            TypeError: It returned no string that can be stored.
        """
        if self.aggregate_of is None:
            return self.own_aggregate(command)
        name = self.aggregate_of(command.target, command.data())
        if not isinstance(name, str) or "\x00" in name:
            raise TypeError("aggregate_of must return a string without NUL")
        return _fit(name)

    def own_aggregate(self, command: Command) -> str:
        """Return what the outbox orders by unless the type says otherwise."""
        return _fit(f"{self.name.rpartition('.')[0]}:{command.target or ''}")


def _fit(aggregate: str) -> str:
    """Return a name that fits into an index: PostgreSQL takes at most 2,704 bytes there."""
    encoded = aggregate.encode()
    return aggregate if len(encoded) <= _LONGEST else f"{aggregate[:200]}:{digest(encoded)}"


def compile_input_schema(name: str, schema: Mapping[str, Any]) -> CompiledSchema:
    """Check the schema of a command type.

    Raises:
        DeclarationError: It is no schema, allows unknown properties, or has a property that only trusted code gives.
    """
    if schema.get("additionalProperties") is not False:
        raise DeclarationError(f"The schema of {name!r} must have additionalProperties: false.")
    if forged := forged_fields(schema.get("properties", {})):
        raise DeclarationError(f"The schema of {name!r} has {forged}, which only trusted code may give.")
    try:
        return compile_schema(dict(schema))
    except SchemaError as error:
        raise DeclarationError(f"The schema of {name!r} is refused: {error}") from error
