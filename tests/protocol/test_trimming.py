"""Trimming: whole groups, oldest first, always the same way."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_qt.protocol.history import repair
from agentic_qt.protocol.trimming import SUMMARY_HEAD, begun_by_person, groups, newest_turn, trim


def user(text="Hi"):
    return {"role": "user", "content": text}


def said(text="Yes."):
    return {"role": "assistant", "content": text}


def called(*ids):
    calls = [{"id": i, "type": "function", "function": {"name": "x", "arguments": "{}"}} for i in ids]
    answers = [{"role": "tool", "tool_call_id": i, "content": "r"} for i in ids]
    return [{"role": "assistant", "content": "", "tool_calls": calls}, *answers]


def one(_message):
    return 1


def test_what_fits_stays_whole():
    history = [user("a"), said(), user("b")]
    trimmed = trim(history, budget=3, count=one)
    assert (trimmed.messages, trimmed.left_out, trimmed.tokens) == (history, 0, 3)


def test_calls_and_their_answers_go_together():
    """FC-57."""
    history = [user("a"), *called("1", "2"), said("done"), user("b"), said("c"), user("d")]
    trimmed = trim(history, budget=6, count=one)
    assert [message["content"] for message in trimmed.messages] == ["b", "c", "d"]
    assert trimmed.left_out == 5


def test_what_is_left_begins_with_a_person():
    history = [user("a"), said("b"), said("c"), user("d"), said("e"), user("f")]
    assert [message["content"] for message in trim(history, budget=5, count=one).messages] == ["d", "e", "f"]


def test_the_newest_turn_stays_however_long_it_is():
    history = [user("a"), said("b"), user("c"), *called("1"), *called("2")]
    trimmed = trim(history, budget=1, count=one)
    assert trimmed.messages == history[2:]
    assert trimmed.tokens == 5


def test_system_messages_and_summaries_stay():
    summary = user(f"{SUMMARY_HEAD}\nshort")
    history = [{"role": "system", "content": "s"}, summary, user("a"), said("b"), user("c")]
    assert trim(history, budget=3, count=one).messages == [history[0], summary, user("c")]


def test_a_summary_is_no_turn_of_the_person():
    assert newest_turn([user("a"), said(), user(f"{SUMMARY_HEAD}\nx")]) == 0
    assert newest_turn([said()]) == 1


def test_calls_that_stand_before_anything_a_person_said_are_left_out():
    history = [{"role": "system", "content": "s"}, *called("1"), user("a")]
    assert begun_by_person(history) == [history[0], user("a")]
    greeting = [said("Welcome."), user("a")]
    assert begun_by_person(greeting) == greeting


messages = st.lists(
    st.one_of(
        st.builds(user, st.text(max_size=9)).map(lambda message: [message]),
        st.builds(said, st.text(max_size=9)).map(lambda message: [message]),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True).map(lambda ids: called(*ids)),
    ),
    max_size=12,
).map(lambda parts: [message for part in parts for message in part])


@given(messages, st.integers(0, 60))
def test_trimming_is_deterministic_changes_nothing_and_leaves_a_history_that_needs_no_repair(history, budget):
    """FC-57."""
    before = copy.deepcopy(history)

    def count(message):
        return 1 + len(message["content"])

    first, second = trim(history, budget=budget, count=count), trim(history, budget=budget, count=count)
    assert first == second
    assert history == before
    assert repair(first.messages) == first.messages
    assert first.tokens == sum(map(count, first.messages))
    assert first.left_out == len(history) - len(first.messages)
    newest = newest_turn(history)
    assert first.messages[len(first.messages) - (len(history) - newest) :] == history[newest:]
    if first.messages and first.left_out and newest < len(history):
        assert first.messages[0]["role"] == "user"
    assert first.tokens <= budget or first.messages == history[newest:]


@given(messages)
def test_groups_are_the_history_again(history):
    assert [message for group in groups(history) for message in group] == history


@pytest.mark.parametrize("budget", [-5, 0])
def test_a_budget_that_is_used_up_leaves_the_newest_turn(budget):
    assert trim([user("a"), said(), user("b")], budget=budget, count=one).messages == [user("b")]
