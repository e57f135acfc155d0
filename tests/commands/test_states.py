"""The table of states and what is drawn from it."""

from pathlib import Path

import pytest

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.states import FINAL, TRANSITIONS, CommandState, check_transition, diagram, sources


def test_nothing_is_cancelled_once_it_executes() -> None:
    """FC-42"""
    assert set(sources(CommandState.CANCELLED)) == {CommandState.PROPOSED, CommandState.AWAITING_APPROVAL}


def test_only_what_waited_for_a_person_executes() -> None:
    assert sources(CommandState.EXECUTING) == (CommandState.AWAITING_APPROVAL,)


def test_unknown_ends_as_succeeded_or_failed_and_final_states_never() -> None:
    assert TRANSITIONS[CommandState.UNKNOWN] == {CommandState.SUCCEEDED, CommandState.FAILED}
    assert {state.value for state in FINAL} == {"rejected", "expired", "cancelled", "succeeded", "failed"}


@pytest.mark.parametrize("state", CommandState)
def test_a_transition_is_allowed_exactly_when_the_table_has_it(state: CommandState) -> None:
    for target in CommandState:
        if target in TRANSITIONS[state]:
            check_transition(state, target)
        else:
            with pytest.raises(CommandError, match="bad_transition"):
                check_transition(state, target)


def test_the_diagram_has_each_transition_of_the_table_and_no_other() -> None:
    lines = [line.strip() for line in diagram().splitlines()]
    drawn = {tuple(line.split(" --> ")) for line in lines if " --> " in line and "[*]" not in line}
    assert drawn == {(state.value, target.value) for state in TRANSITIONS for target in TRANSITIONS[state]}
    assert lines[:2] == ["stateDiagram-v2", "[*] --> proposed"]
    assert {line.split(" ")[0] for line in lines if line.endswith("[*]")} == {state.value for state in FINAL}


def test_the_diagram_in_the_documentation_is_drawn_from_the_table() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
    assert f"```mermaid\n{diagram()}```\n" in page.read_text(encoding="utf-8")
