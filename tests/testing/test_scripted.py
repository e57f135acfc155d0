"""The scripted chat model."""

import pytest

from agentic_qt.client import real_requests
from agentic_qt.client.assembler import Assembler
from agentic_qt.client.chat_model import ChatModelError, Delta
from agentic_qt.protocol.messages import ToolCall
from agentic_qt.testing import ScriptedModel, forbid_real_requests, tool

pytestmark = pytest.mark.anyio

HELLO = [{"role": "user", "content": "Hello"}]


async def played(model, messages=HELLO, tools=()):
    return [delta async for delta in model.stream(messages, tools)]


@pytest.mark.parametrize("chunk_size", [1, 3, 1000])
async def test_a_turn_of_words_and_calls_comes_out_as_a_provider_would_send_it(chunk_size):
    call = tool("form.save", {"text": "xin chào"}, id="t1")
    model = ScriptedModel([["I save.", call, tool("a.b", id="t2")]], chunk_size=chunk_size)
    assembler = Assembler()
    for delta in await played(model):
        assembler.feed(delta)
    whole = assembler.finish()
    assert whole.text == "I save."
    assert whole.finish_reason == "tool_calls"
    assert not whole.cut
    assert [(made.id, made.name, made.arguments) for made in whole.tool_calls] == [
        ("t1", "form_save", call.arguments),
        ("t2", "a_b", ""),
    ]


async def test_chunks_are_as_long_as_they_were_asked_to_be():
    deltas = await played(ScriptedModel(["abcdefg"], chunk_size=3))
    assert [delta.text for delta in deltas if delta.text] == ["abc", "def", "g"]
    assert deltas[-2].finish_reason == "stop"
    assert deltas[-1].done


async def test_raw_deltas_are_played_as_they_stand():
    raw = [Delta(text="a"), Delta(text="b")]
    assert await played(ScriptedModel([raw])) == raw


async def test_an_error_is_raised_where_the_script_has_it():
    model = ScriptedModel([["Hel", ChatModelError("offline")]])
    stream = model.stream(HELLO, ())
    assert (await anext(stream)).text == "Hel"
    with pytest.raises(ChatModelError, match="offline"):
        await anext(stream)


async def test_a_turn_may_be_made_from_the_messages():
    model = ScriptedModel([lambda messages: f"You said {messages[-1]['content']}."], chunk_size=100)
    assert (await played(model))[0].text == "You said Hello."


async def test_requests_are_recorded_as_they_were_sent():
    model = ScriptedModel(["One.", "Two."])
    messages = [dict(HELLO[0])]
    await played(model, messages, [{"type": "function"}])
    messages[0]["content"] = "changed later"
    assert model.requests[0].messages == HELLO
    assert model.requests[0].tools == [{"type": "function"}]
    assert model.remaining == 1


async def test_a_script_that_is_over_says_so():
    model = ScriptedModel(["One."])
    await played(model)
    with pytest.raises(AssertionError, match=r"1 turns and this is request 2.*Hello"):
        await played(model)
    assert model.remaining == 0


def test_a_tool_call_may_have_arguments_that_are_no_json():
    assert tool("form.save", '{"a":').arguments == '{"a":'
    assert tool("a") != tool("a")
    assert isinstance(tool("a"), ToolCall)


def test_a_chunk_of_nothing_is_refused():
    with pytest.raises(ValueError, match="chunk_size"):
        ScriptedModel([], chunk_size=0)


def test_real_requests_are_forbidden_inside_the_block_only():
    real_requests.check()
    with forbid_real_requests():
        with forbid_real_requests(), pytest.raises(real_requests.RealRequestError):
            real_requests.check()
        with pytest.raises(real_requests.RealRequestError, match="ScriptedModel"):
            real_requests.check()
    real_requests.check()
