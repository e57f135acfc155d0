"""The interface that the embedded service and the client of a remote one share."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypedDict, Unpack

from agentic_qt.commands.submissions import EndObserver
from agentic_qt.commands.values import Actor, AuditEntry, Command, CommandRecord, CommandResult, Preview


class AuditFilter(TypedDict, total=False):
    """Which lines of the audit are asked for.

    Attributes:
        command_id: Only those of one command.
        type_: Only those of commands of one type.
        actor: Only those of one actor.
        before: Only those older than an entry id: the next page.
        limit: At most so many; 100 by default.
    """

    command_id: str | None
    type_: str | None
    actor: str | None
    before: int | None
    limit: int


class CommandPort(Protocol):
    """Submit commands and ask what became of them; no method raises for what a command does.

    Over a network the actor comes from the token; the argument is ignored there.
    """

    def new_id(self) -> str:
        """Return a new command id."""
        ...

    def observe(self, callback: EndObserver) -> Callable[[], None]:
        """Tell `callback(command, result)` of each command of this process that is known to have ended."""
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

    async def settle(
        self, command_id: str, actor: Actor, *, happened: bool, note: str, data: Any = None
    ) -> CommandResult:
        """State, as an operator who found out, whether an unknown effect happened."""
        ...

    async def preview(self, type_: str, input_: Mapping[str, Any], actor: Actor) -> Preview:
        """Read what a person should see before approving; raises CapabilityError when it cannot be previewed."""
        ...

    async def find_open(self, command: Command, actor: Actor) -> CommandRecord | None:
        """Return the actor's command of the same type and digest that is executing or unknown."""
        ...

    async def history(self, **asked: Unpack[AuditFilter]) -> tuple[AuditEntry, ...]:
        """Return lines of the audit, the newest first; `before` pages on from an entry id."""
        ...
