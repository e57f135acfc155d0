"""How command types are declared: by decorators, each name once."""

from collections.abc import Callable, Mapping
from typing import Any

from agentic_qt.commands.command_type import (
    Authorise,
    CommandType,
    EffectHandler,
    Handler,
    Reader,
    VersionReader,
    compile_input_schema,
)
from agentic_qt.core.errors import DeclarationError


class CommandTypes:
    """The registered command types; `CommandService` is one of these."""

    def __init__(self) -> None:
        self._types: dict[str, CommandType] = {}

    @property
    def types(self) -> Mapping[str, CommandType]:
        """The registered types by name."""
        return dict(self._types)

    def command(
        self,
        name: str,
        *,
        schema: Mapping[str, Any],
        permission: str | None,
        version_of: VersionReader | None = None,
        preview_of: Reader | None = None,
        authorise: Authorise | None = None,
        aggregate_of: Callable[[str | None, dict[str, Any]], str] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a handler as a command type: ``@service.command(...)``.

        Args:
            name: Lower-case dotted ``noun.verb``.
            schema: JSON Schema of the input, with ``additionalProperties: false``.
            permission: What the actor needs; None: any actor may.
            version_of: Reads the row's version; commands of the type then need `Command.expected_version`.
            preview_of: Reads what a person should see before approving.
            authorise: A further condition, asked in the transaction.
            aggregate_of: Names what the outbox orders by; by default the noun and the command's target.

        Raises:
            DeclarationError: The name is taken or the schema is refused.
        """

        def register(handler: Handler) -> Handler:
            self._register(
                CommandType(
                    name=name,
                    schema=compile_input_schema(name, schema),
                    permission=permission,
                    handler=handler,
                    version_of=version_of,
                    preview_of=preview_of,
                    authorise=authorise,
                    aggregate_of=aggregate_of,
                )
            )
            return handler

        return register

    def effect(
        self,
        name: str,
        *,
        schema: Mapping[str, Any],
        permission: str | None,
        resolve: EffectHandler | None = None,
        budget: float = 60.0,
        version_of: VersionReader | None = None,
        preview_of: Reader | None = None,
        authorise: Authorise | None = None,
        aggregate_of: Callable[[str | None, dict[str, Any]], str] | None = None,
    ) -> Callable[[EffectHandler], EffectHandler]:
        """Register an async handler whose effect is elsewhere (mail, payment) and cannot be rolled back.

        Args:
            name: As in `command`.
            schema: As in `command`.
            permission: As in `command`.
            resolve: Asks the other side, by the command id, what became of an effect that is unknown.
            budget: Seconds that the effect may take before it is unknown.
            version_of: As in `command`; checked before the effect begins.
            preview_of: As in `command`.
            authorise: As in `command`.
            aggregate_of: As in `command`.

        Raises:
            DeclarationError: The name is taken or the schema is refused.
        """

        def register(handler: EffectHandler) -> EffectHandler:
            self._register(
                CommandType(
                    name=name,
                    schema=compile_input_schema(name, schema),
                    permission=permission,
                    effect=handler,
                    resolve=resolve,
                    budget=budget,
                    version_of=version_of,
                    preview_of=preview_of,
                    authorise=authorise,
                    aggregate_of=aggregate_of,
                )
            )
            return handler

        return register

    def _register(self, kind: CommandType) -> None:
        if kind.name in self._types:
            raise DeclarationError(f"A command type {kind.name!r} is registered already.")
        self._types[kind.name] = kind
