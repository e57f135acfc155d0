"""The interface that the embedded service and the client of a remote one share."""

from collections.abc import Mapping
from typing import Any, Protocol

from agentic_qt.commands.values import Actor, AuditEntry, Command, CommandRecord, CommandResult, Preview


class CommandPort(Protocol):
    """Submit commands and ask what became of them; no method raises for what a command does.

    Over a network the actor comes from the token; the argument is ignored there.
    """

    def new_id(self) -> str:
        """Return a new command id."""
        ...

    async def submit(self, command: Command, actor: Actor) -> CommandResult:
        """Execute a command once; the same id and payload again gives the stored result."""
        ...

    async def status(self, command_id: str, actor: Actor | None = None) -> CommandResult:
        """Return what is stored under an id; with an actor, only what that actor may see."""
        ...

    async def abandon(self, command_id: str, actor: Actor) -> CommandResult:
        """Close an id that is unknown or was never seen, so that it cannot execute later."""
        ...

    async def preview(self, type_: str, input_: Mapping[str, Any], actor: Actor) -> Preview:
        """Read what a person should see before approving; raises CapabilityError when it cannot be previewed."""
        ...

    async def find_open(self, command: Command, actor: Actor) -> CommandRecord | None:
        """Return the actor's command of the same type and digest that is executing or unknown."""
        ...

    async def history(
        self,
        *,
        command_id: str | None = None,
        type_: str | None = None,
        actor: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> tuple[AuditEntry, ...]:
        """Return lines of the audit, the newest first; `before` pages on from an entry id."""
        ...
