"""How a result becomes the outcome of the call: the table of docs/commands-from-a-model.md, line by line."""

import pytest

from agentic_qt.commands.projection import status_of
from agentic_qt.commands.values import CommandResult, CommandStatus
from agentic_qt.core.call import Status


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (CommandStatus.SUCCEEDED, "", Status.OK),
        (CommandStatus.FAILED, "version_conflict", Status.STALE),
        (CommandStatus.FAILED, "handler_error", Status.FAILED),
        (CommandStatus.FAILED, "busy", Status.FAILED),  # a word of the handler's own: it is stored, no later try helps
        (CommandStatus.FAILED, "denied", Status.FAILED),
        (CommandStatus.UNKNOWN, "effect_unknown", Status.UNKNOWN),
        (CommandStatus.EXECUTING, "in_progress", Status.UNKNOWN),
        (CommandStatus.NOT_FOUND, "not_found", Status.UNKNOWN),
        (CommandStatus.REFUSED, "denied", Status.FORBIDDEN),
        (CommandStatus.REFUSED, "busy", Status.BUSY),
        (CommandStatus.REFUSED, "version_required", Status.STALE),
        (CommandStatus.REFUSED, "payload_mismatch", Status.FAILED),
    ],
)
def test_a_call_ends_as_its_command_did(status: CommandStatus, code: str, expected: Status) -> None:
    assert status_of(CommandResult(command_id="a", status=status, code=code)) is expected
