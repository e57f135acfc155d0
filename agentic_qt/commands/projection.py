"""What a model is told of a command: its call's outcome is a projection of the result, and adds nothing to it."""

from collections.abc import Mapping
from typing import Any, Final

from agentic_qt.commands.values import Code, CommandResult, CommandStatus
from agentic_qt.core.call import RETRY, Outcome, Status
from agentic_qt.core.errors import CapabilityError

_STATUS: Final[Mapping[tuple[str, str], Status]] = {
    (CommandStatus.FAILED, Code.VERSION_CONFLICT): Status.STALE,
    (CommandStatus.REFUSED, Code.VERSION_REQUIRED): Status.STALE,
    (CommandStatus.REFUSED, Code.DENIED): Status.FORBIDDEN,
    (CommandStatus.REFUSED, Code.BUSY): Status.BUSY,
}
"""Answers that say more than ``failed`` does; such a word of a handler's own failure is a code like any other."""


def is_final(result: CommandResult) -> bool:
    """Return whether a result is a stored fact that no later question changes."""
    return result.status in (CommandStatus.SUCCEEDED, CommandStatus.FAILED)


def status_of(result: CommandResult) -> Status:
    """Return how the call ends that submitted the command."""
    match result.status:
        case CommandStatus.SUCCEEDED:
            return Status.OK
        case CommandStatus.FAILED | CommandStatus.REFUSED:
            return _STATUS.get((result.status, result.code), Status.FAILED)
    return Status.UNKNOWN  # executing, unknown, not found: none of them says that nothing happened


def applied_of(result: CommandResult) -> Any:
    """Return what was changed: True, False, None (not known), or what a handler said of an effect elsewhere."""
    match status_of(result):
        case Status.OK:
            return True
        case Status.UNKNOWN:
            return None
    told = result.data.get("applied", False) if isinstance(result.data, dict) else False
    return told if result.status is CommandStatus.FAILED else False


def fact(result: CommandResult) -> Any:
    """Return what a succeeded command gave.

    Raises:
        CapabilityError: It did not succeed; with the result's own code and words.
    """
    status = status_of(result)
    if status is Status.OK:
        return result.data
    raise CapabilityError(
        result.code or result.status.value,
        result.hint,
        retryable=result.retryable and status is Status.FAILED,
        applied=applied_of(result),
        status=status.value,
    )


def outcome_of(result: CommandResult) -> Outcome:
    """Return the outcome of a call of which the result was found out later."""
    status = status_of(result)
    return Outcome(
        status=status,
        data=result.data if status is Status.OK else None,
        code=result.code,
        hint=result.hint,
        retry=RETRY[status],
        applied=applied_of(result),
        command_id=result.command_id,
    )
