"""How command types are declared: by decorators, each name once."""

from collections.abc import Callable, Mapping
from typing import Any, NotRequired, TypedDict, Unpack

from agentic_qt.commands.command_type import (
    AggregateOf,
    Authorise,
    CommandType,
    EffectHandler,
    Handler,
    Reader,
    VersionReader,
    compile_input_schema,
)
from agentic_qt.core.errors import DeclarationError


class TypeOptions(TypedDict):
    """What commands within the store and external effects are declared with.

    Attributes:
        schema: JSON Schema of the input, with ``additionalProperties: false``.
        permission: What the actor needs; None: any actor may.
        version_of: Reads the row's version; commands of the type then need `Command.expected_version`.
        preview_of: Reads what a person should see before approving.
        authorise: A further condition, asked in the transaction.
        aggregate_of: Names what the outbox orders by; by default the noun and the command's target.
    """

    schema: Mapping[str, Any]
    permission: str | None
    version_of: NotRequired[VersionReader | None]
    preview_of: NotRequired[Reader | None]
    authorise: NotRequired[Authorise | None]
    aggregate_of: NotRequired[AggregateOf | None]


class CommandTypes:
    """The registered command types; `CommandService` is one of these."""

    def __init__(self) -> None:
        self._types: dict[str, CommandType] = {}

    @property
    def types(self) -> Mapping[str, CommandType]:
        """The registered types by name."""
        return dict(self._types)

    def command(self, name: str, **options: Unpack[TypeOptions]) -> Callable[[Handler], Handler]:
        """Register a handler as a command type: ``@service.command(...)``.

        Args:
            name: Lower-case dotted ``noun.verb``.
            **options: See `TypeOptions`.

        Raises:
            DeclarationError: The name is taken or the schema is refused.
        """

        def register(handler: Handler) -> Handler:
            self._register(name, options, handler=handler)
            return handler

        return register

    def effect(
        self,
        name: str,
        *,
        resolve: EffectHandler | None = None,
        budget: float = 60.0,
        **options: Unpack[TypeOptions],
    ) -> Callable[[EffectHandler], EffectHandler]:
        """Register an async handler whose effect is elsewhere (mail, payment) and cannot be rolled back.

        Args:
            name: As in `command`.
            resolve: Asks the other side, by the command id, what became of an effect that is unknown.
            budget: Seconds that the effect may take before it is unknown.
            **options: See `TypeOptions`; permission and version are checked before the effect begins.

        Raises:
            DeclarationError: The name is taken or the schema is refused.
        """

        def register(handler: EffectHandler) -> EffectHandler:
            self._register(name, options, effect=handler, resolve=resolve, budget=budget)
            return handler

        return register

    def _register(self, name: str, options: TypeOptions, **kind: Any) -> None:
        if name in self._types:
            raise DeclarationError(f"A command type {name!r} is registered already.")
        fields: dict[str, Any] = {**options, **kind, "schema": compile_input_schema(name, options["schema"])}
        self._types[name] = CommandType(name=name, **fields)
