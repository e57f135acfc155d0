"""What people read of commands: each status and code has an icon, a word and, where it helps, a sentence."""

import pytest

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.values import Code, CommandResult, CommandStatus
from agentic_qt.core.call import Outcome, Status
from agentic_qt.ui.commands.command_words import (
    ago_words,
    event_words,
    moment_words,
    state_of_outcome,
    state_of_result,
    trouble,
)
from agentic_qt.ui.icons import icon
from agentic_qt.ui.theme import Tones

EVENTS = ("executing", "succeeded", "failed", "unknown", "abandoned", "settled", "late_end", "refused")


def result(status, code="", hint=""):
    return CommandResult(command_id="c", status=status, code=code, hint=hint)


@pytest.mark.parametrize("status", CommandStatus)
def test_every_status_of_a_command_has_words_and_an_icon(qapp, status):
    state = state_of_result(result(status))
    assert state.word
    assert not icon(state.icon, getattr(Tones.of(qapp.palette()), state.tone)).isNull()


@pytest.mark.parametrize("status", Status)
def test_every_outcome_has_words_and_an_icon(qapp, status):
    state = state_of_outcome(Outcome(status=status))
    assert state.word
    assert not icon(state.icon, getattr(Tones.of(qapp.palette()), state.tone)).isNull()


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_of_the_audit_has_words(qapp, event):
    assert event_words(event, "").word != event


def test_not_stored_is_never_read_as_failed(qapp):
    """FC-39"""
    state = state_of_result(result(CommandStatus.NOT_FOUND, Code.NOT_FOUND))
    assert "Failed" not in state.word
    assert "does not mean that it failed" in state.sentence


@pytest.mark.parametrize(
    ("code", "word"),
    [(Code.VERSION_CONFLICT, "Changed meanwhile"), (Code.ABANDONED, "Given up"), (Code.CONSTRAINT, "Failed")],
)
def test_the_codes_of_the_service_are_told_in_words(qapp, code, word):
    assert state_of_result(result(CommandStatus.FAILED, code)).word == word


def test_an_applications_own_code_and_words_are_shown_to_the_letter(qapp):
    state = state_of_result(result(CommandStatus.FAILED, "has_orders", "It has <b>orders\u202e</b>."))
    assert state.sentence == "It has <b>orders\\u{202e}</b>. (has_orders)"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("bad_transition", "elsewhere meanwhile"),
        ("other_session", "another window"),
        ("unreachable", "cannot be reached"),
        ("store_too_new", "store_too_new"),
        ("store_error", "try again"),
    ],
)
def test_what_goes_wrong_says_what_to_do(qapp, code, words):
    told = trouble(CommandError(code, "internal words"))
    assert words in told
    assert "internal words" not in told


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "just now"), (59, "just now"), (60, "1 min ago"), (3599, "59 min ago"), (3600, "1 h ago"),
     (86_399, "23 h ago"), (86_400, "a day ago"), (3 * 86_400, "3 days ago")],
)  # fmt: skip
def test_how_long_ago_it_was(qapp, seconds, words):
    assert ago_words(1_000_000.0, 1_000_000.0 + seconds) == words


def test_a_moment_is_told_to_the_second(qapp):
    assert moment_words(0.0) != moment_words(1.0)
