"""The assembler: whatever fragments look like, calls come out whole or not at all (FC-60, FC-61, FC-62)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_qt.client.assembler import Assembled, Assembler, merge_field
from agentic_qt.client.chat_model import ChatModelError, Delta, ToolCallDelta, Usage


def assemble(*deltas: Delta) -> Assembled:
    assembler = Assembler()
    for delta in deltas:
        assembler.feed(delta)
    return assembler.finish()


def calls(*fragments: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The calls that come out of fragments which come in one chunk each."""
    message = assemble(*(Delta(tool_calls=(ToolCallDelta(**fragment),)) for fragment in fragments))
    return [(call.id, call.name, call.arguments) for call in message.tool_calls]


@pytest.mark.parametrize("indices", [(0, 1), (1, 2), (0, 0), (None, None), (3, 900)])
def test_ids_tell_calls_apart_whatever_the_index(indices: tuple[Any, Any]) -> None:
    """FC-60: index null, all 0, starting at 1, sparse."""
    first, second = indices
    assert calls(
        {"index": first, "id": "a", "name": "f", "arguments": ""},
        {"index": first, "arguments": '{"x":'},
        {"index": first, "arguments": "1}"},
        {"index": second, "id": "b", "name": "g"},
        {"index": second, "arguments": '{"y":2}'},
    ) == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_a_seen_id_wins_over_the_index() -> None:
    """FC-60: interleaved fragments that repeat their ids, under one index."""
    assert calls(
        {"index": 0, "id": "a", "name": "f"},
        {"index": 0, "id": "b", "name": "g"},
        {"index": 0, "id": "a", "arguments": "[1"},
        {"index": 0, "id": "b", "arguments": "[2"},
        {"index": 0, "id": "a", "arguments": "]"},
        {"index": 0, "id": "b", "arguments": "]"},
    ) == [("a", "f", "[1]"), ("b", "g", "[2]")]


def test_without_id_the_newest_call_with_that_index_goes_on() -> None:
    """FC-60."""
    assert calls(
        {"index": 0, "id": "a", "name": "f"},
        {"index": 1, "id": "b", "name": "g"},
        {"index": 0, "id": "c", "name": "h"},
        {"index": 1, "arguments": "{}"},
        {"index": 0, "arguments": "[]"},
    ) == [("a", "f", ""), ("b", "g", "{}"), ("c", "h", "[]")]


def test_a_repeated_name_is_set_once() -> None:
    """FC-60: id and name in every fragment."""
    fragment = {"index": 0, "id": "0", "name": "version"}
    assert calls({**fragment, "arguments": "{"}, {**fragment, "arguments": "}"}) == [("0", "version", "{}")]


def test_a_repeated_name_without_id_is_the_same_call() -> None:
    """FC-60."""
    assert [
        call[1:]
        for call in calls(
            {"index": 0, "name": "f", "arguments": '{"x"'},
            {"index": 0, "name": "f", "arguments": ":1}"},
            {"index": 0, "name": "f", "arguments": ""},
        )
    ] == [("f", '{"x":1}')]


def test_a_late_name_and_a_late_id_find_their_call() -> None:
    """FC-60."""
    assert calls({"index": 0, "id": "a", "arguments": "{"}, {"index": 0, "name": "f", "arguments": "}"}) == [
        ("a", "f", "{}")
    ]
    assert calls({"index": 0, "name": "f", "arguments": "{"}, {"index": 0, "id": "a", "arguments": "}"}) == [
        ("a", "f", "{}")
    ]


def test_an_index_that_comes_late_finds_its_call() -> None:
    """FC-60."""
    assert calls({"id": "a", "name": "f"}, {"index": 0, "arguments": "{}"}) == [("a", "f", "{}")]


def test_null_and_empty_arguments_are_no_arguments() -> None:
    """FC-60."""
    assert calls({"index": 0, "id": "a", "name": "f", "arguments": None}, {"index": 0, "arguments": ""}) == [
        ("a", "f", "")
    ]


def test_empty_ids_are_made_up_and_differ() -> None:
    """FC-60: a call that cannot be named cannot be answered."""
    first, second = calls({"index": 0, "id": "", "name": "f"}, {"index": 1, "id": "", "name": "f"})
    assert first[0] != second[0]
    assert 0 < len(first[0]) <= 40


@pytest.mark.parametrize("index", [0, None])
def test_whole_calls_without_ids_stay_apart(index: int | None) -> None:
    """FC-60: no id, and an index that tells nothing."""
    one = ToolCallDelta(index=index, name="f", arguments='{"x": 1}')
    two = ToolCallDelta(index=index, name="f", arguments='{"x": 2}')
    bare = (ToolCallDelta(index=index, name="f"), ToolCallDelta(index=index, name="g"))
    in_one_chunk = assemble(Delta(tool_calls=(one, two))).tool_calls
    in_two_chunks = assemble(Delta(tool_calls=(one,)), Delta(tool_calls=(two,))).tool_calls
    assert [call.arguments for call in in_one_chunk] == ['{"x": 1}', '{"x": 2}']
    assert [call.arguments for call in in_two_chunks] == ['{"x": 1}', '{"x": 2}']
    assert [call.name for call in assemble(Delta(tool_calls=bare)).tool_calls] == ["f", "g"]


def test_a_fragment_that_says_nothing_is_no_call() -> None:
    assert calls({"index": 0, "arguments": ""}) == []


@given(
    argument_texts=st.lists(
        st.dictionaries(st.text(max_size=4), st.integers(), min_size=1).map(json.dumps),
        min_size=1,
        max_size=4,
    ),
    index=st.sampled_from(["null", "zero", "from 0", "from 1", "sparse"]),
    ids=st.sampled_from(["first", "each"]),
    names=st.sampled_from(["first", "each", "second"]),
    cut=st.integers(min_value=1, max_value=5),
)
def test_any_way_to_send_calls_one_after_another_gives_the_same_calls(
    argument_texts: list[str], index: str, ids: str, names: str, cut: int
) -> None:
    """FC-60: every combination of the quirks that were seen, as long as ids are there."""
    assembler = Assembler()
    numbers = {
        "null": lambda n: None, "zero": lambda n: 0, "from 0": lambda n: n, "from 1": lambda n: n + 1,
        "sparse": lambda n: 7 * n + 3,
    }  # fmt: skip
    for number, text in enumerate(argument_texts):
        pieces = ["", *(text[at : at + cut] for at in range(0, len(text), cut))]
        for position, piece in enumerate(pieces):
            named = names == "each" or position == {"first": 0, "second": 1}.get(names)
            fragment = ToolCallDelta(
                index=numbers[index](number),
                id=f"id{number}" if ids == "each" or position == 0 else "",
                name=f"tool{number}" if named else None,
                arguments=piece or None,
            )
            assembler.feed(Delta(tool_calls=(fragment,)))
    found = assembler.finish().tool_calls
    assert [(call.id, call.name, call.arguments) for call in found] == [
        (f"id{number}", f"tool{number}", text) for number, text in enumerate(argument_texts)
    ]


def test_text_reasoning_and_the_last_usage_are_kept() -> None:
    message = assemble(
        Delta(text="Hel", reasoning="I "),
        Delta(text="lo", reasoning="think", usage=Usage(input_tokens=1)),
        Delta(usage=Usage(input_tokens=3, output_tokens=4), finish_reason="stop"),
        Delta(done=True),
    )
    assert (message.text, message.reasoning) == ("Hello", "I think")
    assert message.usage == Usage(input_tokens=3, output_tokens=4)
    assert not message.cut


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (["tool_calls", "tool_calls"], "tool_calls"),
        ([None, "stop", None], "stop"),
        (["length", "tool_calls"], "length"),
        (["content_filter", "stop"], "content_filter"),
        (["stop", "length"], "length"),
        ([], None),
    ],
)
def test_a_doubled_finish_reason_never_hides_a_limit(said: list[str | None], kept: str | None) -> None:
    """FC-61: a half call with "length" may not become a call because "tool_calls" was said as well."""
    assert assemble(*(Delta(finish_reason=reason) for reason in said)).finish_reason == kept


@pytest.mark.parametrize(
    ("last", "cut"),
    [(Delta(), True), (Delta(finish_reason="stop"), False), (Delta(done=True), False)],
)
def test_a_stream_is_cut_without_finish_reason_and_without_done(last: Delta, cut: bool) -> None:
    """G26, FC-61: a cut stream looks normal to the client library."""
    call = ToolCallDelta(index=0, id="a", name="f", arguments='{"x": 1')
    assert assemble(Delta(tool_calls=(call,)), last).cut is cut


def test_an_error_in_the_stream_keeps_what_came_before() -> None:
    first, second = ChatModelError("provider", "one"), ChatModelError("server", "two")
    message = assemble(Delta(text="so far"), Delta(error=first), Delta(error=second))
    assert (message.text, message.error) == ("so far", first)


def test_ids_are_forgotten_with_the_stream() -> None:
    """FC-62: call ids repeat across steps."""
    call = ToolCallDelta(index=0, id="call_0", name="f", arguments="{}")
    first, second = (assemble(Delta(tool_calls=(call,), done=True)) for _ in range(2))
    assert first.tool_calls == second.tool_calls
    assert len(second.tool_calls) == 1


def test_unknown_fields_are_kept_and_merged() -> None:
    """Strings concatenate, lists extend, mappings merge, of others the last wins."""
    message = assemble(
        Delta(extra={"reasoning_content": "ha", "reasoning_details": [{"text": "ha"}], "phase": 1}),
        Delta(extra={"reasoning_content": "ha", "reasoning_details": [{"text": "!"}], "phase": 2}),
        Delta(extra={"extra_content": {"google": {"a": "x"}}, "phase": None}),
        Delta(extra={"extra_content": {"google": {"a": "y", "b": 1}}}),
    )
    assert message.extra == {
        "reasoning_content": "haha",
        "reasoning_details": [{"text": "ha"}, {"text": "!"}],
        "extra_content": {"google": {"a": "y", "b": 1}},
        "phase": 2,
    }


def test_unknown_fields_of_a_call_stay_with_that_call() -> None:
    signature = {"extra_content": {"google": {"thought_signature": "s"}}}
    message = assemble(
        Delta(tool_calls=(ToolCallDelta(index=0, id="a", name="f", extra=signature),)),
        Delta(tool_calls=(ToolCallDelta(index=1, id="b", name="g"),)),
    )
    assert [dict(call.extra) for call in message.tool_calls] == [signature, {}]


def test_merging_never_changes_what_it_was_given() -> None:
    piece = {"a": {"b": [1]}}
    target: dict[str, Any] = {}
    merge_field(target, "x", piece)
    merge_field(target, "x", {"a": {"c": 2}})
    assert piece == {"a": {"b": [1]}}
    assert target == {"x": {"a": {"b": [1], "c": 2}}}
