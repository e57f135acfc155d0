"""History repair: what every provider takes, from whatever was kept."""

import copy
import functools
import json
import os
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_qt.protocol.history import MAX_CALLS, MAX_ID, repair
from agentic_qt.protocol.names import WIRE_NAME


def call(call_id="c1", name="form_save", arguments="{}", **extra):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **extra}


def asking(*calls, **extra):
    return {"role": "assistant", "content": "", "tool_calls": list(calls), **extra}


def answer(call_id="c1", content="r"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


USER = {"role": "user", "content": "Hi"}


def assert_pairs(messages):
    """The rules of the wire, checked one message after the other."""
    waiting = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting, "an orphan answer, or one out of order"
            assert message["tool_call_id"] == waiting.pop(0)
            assert message["content"] is not None
            continue
        assert not waiting, f"calls without answers: {waiting}"
        if message["role"] != "assistant":
            continue
        assert isinstance(message["content"], str | list)
        if "tool_calls" not in message:
            continue
        calls = message["tool_calls"]
        assert 1 <= len(calls) <= MAX_CALLS
        waiting = [entry["id"] for entry in calls]
        assert len(set(waiting)) == len(waiting)
        for entry in calls:
            assert entry["type"] == "function"
            assert 1 <= len(entry["id"]) <= MAX_ID
            assert WIRE_NAME.fullmatch(entry["function"]["name"])
            assert isinstance(json.loads(entry["function"]["arguments"]), dict)
    assert not waiting, f"calls without answers: {waiting}"


ids = st.sampled_from(["a", "b", "a_2", "", "null", "x" * 41, "x" * 60, None, 7])
names = st.sampled_from(["form_save", "form.save", "", "löschen", "n" * 90, None])
arguments = st.sampled_from(
    ["", "{}", '{"a":1}', '{"a":', "[1]", "null", "NaN", '{"a":NaN}', None, {"a": 1}, "[" * 2000]
)
contents = st.sampled_from(["", "text", None])
calls = st.one_of(
    st.builds(call, ids, names, arguments),
    st.builds(call, ids, names, arguments, extra_content=st.just({"k": 1})),
    st.sampled_from([{}, None, {"id": "a"}, {"id": "a", "function": None}]),
)
histories = st.lists(
    st.one_of(
        st.just(USER),
        st.builds(answer, ids, contents),
        st.builds(lambda c: {"role": "assistant", "content": c}, contents),
        st.builds(
            lambda c, content: {"role": "assistant", "content": content, "tool_calls": c},
            st.lists(calls, max_size=4),
            contents,
        ),
        st.just({"role": "assistant", "content": None, "tool_calls": None}),
        st.just({"role": "system", "content": "s"}),
        st.just("rubbish"),
    ),
    max_size=14,
)


@settings(max_examples=500)
@given(histories)
def test_any_history_becomes_one_that_providers_take_and_repairing_again_changes_nothing(history):
    """G27, FC-57, FC-58."""
    before = copy.deepcopy(history)
    repaired = repair(history)
    assert_pairs(repaired)
    assert repair(repaired) == repaired
    assert history == before
    assert repair(history) == repaired


@settings(max_examples=200)
@given(histories)
def test_nothing_that_a_person_said_is_lost(history):
    said = [message for message in history if isinstance(message, dict) and message["role"] == "user"]
    assert [message for message in repair(history) if message["role"] == "user"] == said


def test_a_good_history_is_left_as_it_is():
    history = [
        USER,
        asking(call("a"), call("b"), reasoning_content="hm"),
        answer("a"),
        answer("b"),
        {"role": "assistant", "content": "Done.", "reasoning_content": "fine"},
    ]
    assert repair(history) == history


def test_a_call_without_an_answer_gets_an_honest_one():
    """FC-57."""
    repaired = repair([USER, asking(call("a"), call("b")), answer("b", "real")])
    assert [message.get("tool_call_id") for message in repaired[2:]] == ["a", "b"]
    filled = json.loads(repaired[2]["content"])
    assert (filled["status"], filled["code"]) == ("cancelled", "no_result")
    assert "No result was recorded" in filled["hint"]
    assert repaired[3]["content"] == "real"


def test_answers_without_a_call_are_dropped():
    """FC-57."""
    history = [answer("x"), USER, answer("y"), {"role": "assistant", "content": "Hi"}, answer("z")]
    assert repair(history) == [USER, {"role": "assistant", "content": "Hi"}]


def test_answers_out_of_order_are_put_in_the_order_of_the_calls():
    """FC-58."""
    repaired = repair([asking(call("a"), call("b"), call("c")), answer("c"), answer("a"), answer("b")])
    assert [message["tool_call_id"] for message in repaired[1:]] == ["a", "b", "c"]


def test_an_answer_behind_a_persons_message_is_moved_to_its_call():
    """FC-58."""
    repaired = repair([asking(call("a")), USER, answer("a", "late")])
    assert [message["role"] for message in repaired] == ["assistant", "tool", "user"]
    assert repaired[1]["content"] == "late"


def test_of_two_answers_the_first_counts():
    """FC-57."""
    repaired = repair([asking(call("a")), answer("a", "first"), answer("a", "second")])
    assert [message["content"] for message in repaired] == ["", "first"]


def test_ids_that_repeat_across_turns_each_keep_their_own_answer():
    """FC-62."""
    history = [asking(call("a")), answer("a", "one"), asking(call("a")), answer("a", "two")]
    assert repair(history) == history
    repaired = repair([asking(call("a")), asking(call("a")), answer("a", "two")])
    assert json.loads(repaired[1]["content"])["code"] == "no_result"
    assert repaired[3]["content"] == "two"


def test_ids_that_repeat_in_one_message_are_made_unique_in_call_and_answer():
    """FC-62."""
    repaired = repair(
        [asking(call("a"), call("a"), call("a_2")), answer("a", "1"), answer("a", "2"), answer("a_2", "3")]
    )
    made = [entry["id"] for entry in repaired[0]["tool_calls"]]
    assert made == ["a", "a_3", "a_2"]
    assert [(message["tool_call_id"], message["content"]) for message in repaired[1:]] == list(
        zip(made, ["1", "2", "3"], strict=True)
    )


def test_long_and_missing_ids_are_mapped_the_same_way_in_call_and_answer():
    repaired = repair([asking(call("x" * 64), call("")), answer("x" * 64, "long"), answer("", "none")])
    made = [entry["id"] for entry in repaired[0]["tool_calls"]]
    assert all(1 <= len(call_id) <= MAX_ID for call_id in made)
    assert [(m["tool_call_id"], m["content"]) for m in repaired[1:]] == [(made[0], "long"), (made[1], "none")]


@pytest.mark.parametrize("text", ["", "  ", '{"a":', "[1]", '"x"', "NaN", '{"a":Infinity}', None, '{"a":"\ud800"}'])
def test_arguments_that_are_no_json_object_are_replayed_as_an_empty_one(text):
    (message, _) = repair([asking(call(arguments=text))])
    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


def test_arguments_that_are_an_object_keep_their_very_text():
    text = '{ "b": 1,  "a": 1.0 }'
    (message, _) = repair([asking(call(arguments=text))])
    assert message["tool_calls"][0]["function"]["arguments"] == text


def test_a_dotted_name_in_a_kept_history_is_repaired():
    """FC-50."""
    (message, _) = repair([asking(call(name="form.save"))])
    assert message["tool_calls"][0]["function"]["name"] == "form_save"


def test_an_empty_list_of_calls_is_removed_and_null_content_becomes_text():
    repaired = repair([{"role": "assistant", "content": None, "tool_calls": []}, {"role": "assistant"}])
    assert repaired == [{"role": "assistant", "content": ""}] * 2
    assert repair([asking(call()) | {"content": None}])[0]["content"] == ""


def test_fields_that_nobody_knows_are_kept():
    history = [
        asking(call("a", extra_content={"google": {"thought_signature": "s"}}), reasoning_details=[{"t": 1}]),
        answer("a") | {"cache_control": {"type": "ephemeral"}},
    ]
    assert repair(history) == history


def test_more_calls_than_one_message_may_have_become_several_messages():
    many = [call(f"c{number}") for number in range(MAX_CALLS + 2)]
    repaired = repair([asking(*many), *(answer(f"c{number}", str(number)) for number in range(MAX_CALLS + 2))])
    assert_pairs(repaired)
    answers = [message["content"] for message in repaired if message["role"] == "tool"]
    assert answers == [str(number) for number in range(MAX_CALLS + 2)]


@functools.cache
def published_validator():
    folder = os.environ.get("AGENTIC_QT_VECTORS")
    path = Path(folder or "") / "wire/openai_chat_schema.json"
    if not folder or not path.exists():
        return None
    document = json.loads(path.read_text())
    return jsonschema_rs.Draft202012Validator(
        {"$ref": "#/$defs/CreateChatCompletionRequest", "$defs": document["$defs"]}
    )


@settings(max_examples=60)
@given(histories)
def test_openai_s_published_schema_takes_every_repaired_history(history):
    """FC-57."""
    validator = published_validator()
    if validator is None:
        pytest.skip("AGENTIC_QT_VECTORS names no folder with wire/openai_chat_schema.json")
    validator.validate({"model": "m", "messages": [USER, *repair(history)]})


BROKEN = [
    [USER, asking(call("a", "form.save", ""), call("a", "x" * 90), call("x" * 64), call("null"))],
    [answer("orphan"), USER, asking(call("a")), answer("b"), answer("a"), answer("a")],
    [USER, asking(call("a"), call("b")), answer("b"), USER, answer("a")],
]


@pytest.mark.parametrize("history", BROKEN)
def test_a_strict_validator_takes_the_repaired_history_and_not_the_broken_one(history):
    """FC-50, FC-57: Mistral's own request validator, with its own rules for names, ids and pairs."""
    request = pytest.importorskip("mistral_common.protocol.instruct.request")
    validator = pytest.importorskip("mistral_common.protocol.instruct.validator")
    judge = validator.MistralRequestValidatorV13(mode=validator.ValidationMode.serving)

    def check(messages):
        judge.validate_request(request.ChatCompletionRequest.from_openai(messages=messages, model="m"))

    with pytest.raises(Exception):  # noqa: B017 - each part of it has exceptions of its own
        check(history)
    check([*repair(history), USER])
