"""What happened to one command, read from its service: the stored result and the lines of the audit. No widget."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from agentic_qt.commands.port import CommandPort
from agentic_qt.commands.values import OPERATE, Actor, AuditEntry, CommandResult, CommandStatus

MOST_LINES = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandAudit:
    """What is known of one command.

    Args:
        command_id: Which one.
        result: What is stored under its id.
        entries: The lines of the audit, the oldest first.
        has_more: Whether older lines were left out.
    """

    command_id: str
    result: CommandResult
    entries: tuple[AuditEntry, ...]
    has_more: bool = False

    @property
    def type(self) -> str:
        """The command type, or empty: a mark that was put in place of a command knows none."""
        return next((entry.type for entry in self.entries if entry.type), "")

    @property
    def target(self) -> str:
        """Which thing it is about, or empty."""
        return next((entry.target for entry in self.entries if entry.target), "")

    def as_json(self) -> str:
        """Return all of it as indented JSON."""
        told: dict[str, Any] = {
            "commandId": self.command_id,
            "type": self.type or None,
            "target": self.target or None,
            "result": json.loads(self.result.encode()),
            "audit": [asdict(entry) for entry in self.entries],
            "olderLinesLeftOut": self.has_more,
        }
        return json.dumps(told, ensure_ascii=False, indent=2)


async def read_audit(service: CommandPort, command_id: str, actor: Actor) -> CommandAudit:
    """Ask a service for everything about one command that an actor may see.

    Raises:
        CommandError: It could not be read.
    """
    result = await service.status(command_id, actor)
    lines = await service.history(command_id=command_id, limit=MOST_LINES)
    entries = tuple(reversed(lines))
    if result.status is CommandStatus.NOT_FOUND and OPERATE not in actor.permissions:
        # Somebody else may own the id: then only what this actor tried under it is shown.
        entries = tuple(entry for entry in entries if entry.actor == actor.name)
    return CommandAudit(command_id=command_id, result=result, entries=entries, has_more=len(lines) == MOST_LINES)
