"""The life of a proposal and of the command that it becomes, as one table; nothing else decides on transitions.

A fact is never cancelled: ``cancelled`` exists only before executing, and undoing is a new, compensating command.
"""

from collections.abc import Mapping
from enum import StrEnum

from agentic_qt.commands.errors import CommandError


class CommandState(StrEnum):
    """Where a proposal or a command stands."""

    PROPOSED = "proposed"
    AWAITING_APPROVAL = "awaiting_approval"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    EXECUTING = "executing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


TRANSITIONS: Mapping[CommandState, frozenset[CommandState]] = {
    CommandState.PROPOSED: frozenset({CommandState.AWAITING_APPROVAL, CommandState.CANCELLED}),
    CommandState.AWAITING_APPROVAL: frozenset(
        {CommandState.REJECTED, CommandState.EXPIRED, CommandState.CANCELLED, CommandState.EXECUTING}
    ),
    CommandState.EXECUTING: frozenset({CommandState.SUCCEEDED, CommandState.FAILED, CommandState.UNKNOWN}),
    CommandState.UNKNOWN: frozenset({CommandState.SUCCEEDED, CommandState.FAILED}),
    CommandState.REJECTED: frozenset(),
    CommandState.EXPIRED: frozenset(),
    CommandState.CANCELLED: frozenset(),
    CommandState.SUCCEEDED: frozenset(),
    CommandState.FAILED: frozenset(),
}
"""Each state with the states that may follow it."""

FINAL: frozenset[CommandState] = frozenset(state for state, following in TRANSITIONS.items() if not following)
"""States that nothing follows."""


def sources(target: CommandState) -> tuple[CommandState, ...]:
    """Return the states from which `target` may be entered, in the order of the table."""
    return tuple(state for state, following in TRANSITIONS.items() if target in following)


def check_transition(state: CommandState, target: CommandState) -> None:
    """Do nothing when `target` may follow `state`.

    Raises:
        CommandError: It may not; code ``bad_transition``.
    """
    if target not in TRANSITIONS[state]:
        raise CommandError("bad_transition", f"{target.value} cannot follow {state.value}.")


def diagram() -> str:
    """Return the table as a Mermaid state diagram, for the documentation."""
    lines = ["stateDiagram-v2", f"    [*] --> {CommandState.PROPOSED.value}"]
    for state, following in TRANSITIONS.items():
        lines += [f"    {state.value} --> {target.value}" for target in CommandState if target in following]
        if not following:
            lines.append(f"    {state.value} --> [*]")
    return "\n".join(lines) + "\n"
