"""Answers that are no stored results: in flight, not found, lost, or not written down."""

from typing import Final

from agentic_qt.commands.values import Code, CommandResult, CommandStatus

MISMATCHED: Final = "This id belongs to another command; use a new id for a new command."
"""The hint for an id that belongs to another payload or actor; the stored result stays unseen."""


def refused(command_id: str, code: str, hint: str, *, retryable: bool = False) -> CommandResult:
    """Return an answer that recorded nothing under the id."""
    return CommandResult(
        command_id=command_id, status=CommandStatus.REFUSED, code=str(code), hint=hint, retryable=retryable
    )


def not_found(command_id: str) -> CommandResult:
    """Return the answer for an id that is not stored, or not for this actor to see."""
    hint = "No such id is stored. That does not mean that the command failed: it may be on its way."
    return CommandResult(command_id=command_id, status=CommandStatus.NOT_FOUND, code=Code.NOT_FOUND, hint=hint)


def in_progress(command_id: str) -> CommandResult:
    """Return the answer while a command is in flight."""
    hint = "This very command is being executed; ask for its status."
    return CommandResult(
        command_id=command_id, status=CommandStatus.EXECUTING, code=Code.IN_PROGRESS, hint=hint, retryable=True
    )


def lost(command_id: str, hint: str) -> CommandResult:
    """Return the answer when the connection broke at a moment at which the command may have happened."""
    return CommandResult(
        command_id=command_id, status=CommandStatus.UNKNOWN, code=Code.CONNECTION_LOST, hint=hint, retryable=True
    )


def unrecorded(result: CommandResult) -> CommandResult:
    """Return what is known of an effect whose end could not be written down: for the record it is unknown."""
    hint = "The effect has ended, but its end could not be recorded; ask for its status later."
    return CommandResult(
        command_id=result.command_id, status=CommandStatus.UNKNOWN, code=Code.EFFECT_UNKNOWN, hint=hint
    )
