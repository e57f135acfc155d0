"""What a server says of tokens: asked over real HTTP, once, in bounded time, and only where it is."""

import asyncio
import contextlib
import json
import time

import pytest

from agentic_qt.client import token_counts
from agentic_qt.client.agent import Agent
from agentic_qt.client.events import Compacted, ContextTrimmed, RunEndReason
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.client.token_counts import MAX_TEXT, count_in, window_in_models, window_in_props
from agentic_qt.core.registry import Registry
from tests.support.asking import ANSWER
from tests.support.http_server import PAUSE, ReplayServer, Reply

pytestmark = pytest.mark.anyio

ABSENT = Reply(status=404, body='{"error":{"message":"not found"}}', content_type="application/json")


def reply(value, **fields):
    return Reply(body=json.dumps(value), content_type="application/json", **fields)


def models(**fields):
    return reply({"object": "list", "data": [{"id": "some-model", **fields}]})


def tokens(count):
    return reply({"tokens": list(range(count))})


def props(window):
    return reply({"default_generation_settings": {"n_ctx": window}, "total_slots": 1})


def watch(agent, kind):
    told = []
    agent.observe(lambda event: isinstance(event, kind) and told.append(event))
    return told


@contextlib.asynccontextmanager
async def server_and_model(*replies, path="/v1", **settings):
    async with ReplayServer(*replies) as server:
        url = server.url.removesuffix("/v1") + path
        model = OpenAIChatModel(model="some-model", base_url=url, **settings)
        await model._connected()  # loading the package is in nobody's time
        try:
            yield server, model
        finally:
            await model.aclose()


def asked(server):
    return [(request.method, request.path) for request in server.requests]


# Counting


async def test_the_servers_own_tokenizer_counts():
    async with server_and_model(tokens(7), api_key="secret") as (server, model):
        assert await model.count_tokens("Grüße") == 7
        assert asked(server) == [("POST", "/tokenize")]
        assert server.requests[0].body == {"content": "Grüße"}
        assert server.requests[0].headers["authorization"] == "Bearer secret"
        assert not any(name.startswith("x-stainless") for name in server.requests[0].headers)


async def test_the_tokenizer_lies_below_the_base_url_and_nowhere_else_on_its_host():
    async with server_and_model(tokens(7), path="/llm/v1/") as (server, model):
        assert await model.count_tokens("a") == 7
        assert asked(server) == [("POST", "/llm/tokenize")]


@pytest.mark.parametrize(
    "answer",
    [
        ABSENT,
        reply({"detail": "Method Not Allowed"}, status=405),
        reply({"detail": "Field required"}, status=422),
        reply({"error": {"message": "tokenize does not support tools"}}, status=501),
        reply({}, status=302, headers={"location": "https://elsewhere.example/tokenize"}),
        Reply(body="<html>Sign in</html>", content_type="text/html"),
        reply({"tokens": 7}),
        reply([1, 2]),
    ],
    ids=["404", "405", "422", "501", "redirect", "page", "number", "list"],
)
async def test_a_server_that_cannot_count_is_never_asked_again(answer):
    async with server_and_model(answer, tokens(7)) as (server, model):
        assert await model.count_tokens("a") is None
        assert await model.count_tokens("a") is None
        assert asked(server) == [("POST", "/tokenize")]
        assert model.abilities.tools is None


CUT = Reply(body='{"tokens":[1]}', content_type="application/json", cut=True)


@pytest.mark.parametrize("answer", [reply({}, status=503), Reply(hang_up=True), CUT], ids=["loading", "gone", "cut"])
async def test_a_server_that_is_starting_is_asked_again_but_not_for_ever(answer):
    async with server_and_model(answer, tokens(7)) as (_, model):
        assert await model.count_tokens("a") is None
        assert await model.count_tokens("a") == 7
    async with server_and_model(answer) as (server, model):
        assert [await model.count_tokens("a") for _ in range(5)] == [None] * 5
        assert len(server.requests) == 3


async def test_a_slow_server_is_given_up_in_time(monkeypatch):
    monkeypatch.setattr(token_counts, "SECONDS", 0.1)
    slow = Reply(body=('{"tokens": [', PAUSE, "1]}"), content_type="application/json")
    async with server_and_model(slow) as (server, model):
        begun = time.monotonic()
        assert await model.count_tokens("a") is None
        assert time.monotonic() - begun < 1
        await asyncio.wait_for(server.left.wait(), 5)


async def test_neither_a_long_text_is_sent_nor_a_long_answer_read():
    async with server_and_model(tokens(5000)) as (server, model):
        assert await model.count_tokens("a" * MAX_TEXT) is None
        assert server.requests == []
        assert await model.count_tokens("a") is None
        assert len(server.requests) == 1


async def test_a_stop_while_it_is_asked_passes_through_and_is_no_answer():
    slow = Reply(body=(PAUSE,), content_type="application/json")
    async with server_and_model(slow, tokens(7)) as (server, model):
        task = asyncio.ensure_future(model.count_tokens("a"))
        await asyncio.wait_for(server.asked.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await model.count_tokens("a") == 7


@pytest.mark.parametrize("body", [b"", b"[", b"[" * 100_000, b"null", b'{"tokens":null}', b'{"count":3}', b"\xff"])
def test_what_is_no_count_is_none(body):
    assert count_in(body) is None
    assert window_in_props(body) is None
    assert window_in_models(body, "m") is None


# The window


async def test_nothing_is_asked_before_somebody_wants_to_know():
    async with server_and_model(models(max_model_len=8192)) as (server, model):
        assert model.context_window is None
        assert server.requests == []
        assert await model.find_context_window() == 8192
        assert await model.find_context_window() == model.context_window == 8192
        assert asked(server) == [("GET", "/v1/models")]


async def test_a_llama_cpp_server_says_its_window_by_its_properties():
    """The list of an older server has only what the model was trained for."""
    async with server_and_model(models(meta={"n_ctx_train": 131072}), props(4096)) as (server, model):
        assert await model.find_context_window() == 4096
        assert asked(server) == [("GET", "/v1/models"), ("GET", "/props")]


async def test_an_endpoint_that_does_not_say_is_asked_once():
    async with server_and_model(models(), ABSENT, models(max_model_len=8192)) as (server, model):
        assert await model.find_context_window() is None
        assert await model.find_context_window() is None
        assert len(server.requests) == 2


async def test_an_endpoint_that_is_not_there_yet_is_asked_again_but_not_for_ever():
    gone = Reply(hang_up=True)
    async with server_and_model(gone, gone, models(context_length=8192)) as (_, model):
        assert await model.find_context_window() is None
        assert await model.find_context_window() == 8192
    async with server_and_model(gone) as (server, model):
        assert [await model.find_context_window() for _ in range(5)] == [None] * 5
        assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"max_model_len": 8192}, 8192),
        ({"context_length": 131072, "top_provider": {"context_length": 32768}}, 32768),
        ({"context_length": 131072, "top_provider": {"context_length": None}}, 131072),
        ({"context_window": 8192}, 8192),
        ({"max_context_length": 32000}, 32000),
        ({"meta": {"n_ctx": 4096, "n_ctx_train": 8192}}, 4096),
        ({"meta": {"n_ctx_train": 8192}}, None),
        ({"meta": None, "top_provider": []}, None),
        *(({"context_length": said}, None) for said in (0, 1, -8192, 8192.5, "8192", True, None, 10**12)),
    ],
)
def test_each_kind_of_list_is_understood_and_nonsense_is_not_believed(entry, window):
    body = json.dumps({"data": [{"id": "other", "context_length": 999999}, {"id": "m", **entry}]}).encode()
    assert window_in_models(body, "m") == window


def test_the_window_is_the_one_of_the_model_that_is_asked():
    several = [{"id": "small", "max_model_len": 4096}, {"id": "large", "max_model_len": 8192}, "odd", None]
    body = json.dumps({"data": several}).encode()
    assert window_in_models(body, "large") == 8192
    assert window_in_models(body, "unheard-of") is None
    only = json.dumps({"data": several[:1]}).encode()
    assert window_in_models(only, "whatever-it-is-called") == 4096


# What an agent makes of it


def conversation(agent, count=12):
    for number in range(count):
        agent.messages.append({"role": "user", "content": f"{number} " + "word " * 80})
        agent.messages.append({"role": "assistant", "content": "Yes."})


async def run_with(count, *more, window=4096):
    """Run once over a real server: its window, its count of the conversation, its answer."""
    async with server_and_model(models(meta={"n_ctx": window}), *count, Reply(body=ANSWER), *more) as (server, model):
        agent = Agent(Registry(), model)
        told = watch(agent, ContextTrimmed)
        conversation(agent)
        end = await agent.run("Hi")
        assert (end.reason, end.text) == (RunEndReason.COMPLETED, "Hello")
        return server, told


async def test_an_agent_trims_by_the_exact_count_of_the_server():
    """By the estimate all of it fits into the window that the server says; by its own count not a half does."""
    estimated, told = await run_with([ABSENT], window=2048)
    assert told == []
    whole = len(estimated.requests[-1].body["messages"])
    assert whole == 25

    counted, told = await run_with([tokens(3000)], window=2048)
    assert asked(counted) == [("GET", "/v1/models"), ("POST", "/tokenize"), ("POST", "/v1/chat/completions")]
    assert "word word" in counted.requests[1].body["content"]
    assert told[-1].left_out == whole - len(counted.requests[-1].body["messages"]) > whole / 2
    assert told[-1].tokens <= told[-1].budget < 2048
    assert counted.requests[-1].body["messages"][-1] == {"role": "user", "content": "Hi"}


async def test_an_agent_keeps_what_the_server_counts_as_short():
    """By the estimate it is too long."""
    server, told = await run_with([tokens(700)], window=1700)
    assert told == []
    assert len(server.requests[-1].body["messages"]) == 25
    _, told = await run_with([ABSENT], window=1700)
    assert told


async def test_nobody_is_asked_to_count_far_from_the_edge():
    server, told = await run_with([], window=100_000)
    assert asked(server) == [("GET", "/v1/models"), ("POST", "/v1/chat/completions")]
    assert told == []


async def test_an_agent_trims_by_the_estimate_where_nobody_can_count():
    server, told = await run_with([ABSENT], window=1200)
    assert asked(server)[1] == ("POST", "/tokenize")
    assert told[-1].left_out > 0


async def test_nothing_is_trimmed_where_the_endpoint_does_not_say_its_window():
    async with server_and_model(models(), ABSENT, Reply(body=ANSWER)) as (server, model):
        agent = Agent(Registry(), model)
        told = watch(agent, ContextTrimmed)
        conversation(agent)
        await agent.run("Hi")
        await agent.run("Hi")
        assert told == []
        paths = [path for _, path in asked(server)]
        assert paths == ["/v1/models", "/props", "/v1/chat/completions", "/v1/chat/completions"]
        assert len(server.requests[-1].body["messages"]) == 27


async def test_a_short_conversation_or_a_window_that_was_given_asks_nobody():
    async with server_and_model(Reply(body=ANSWER)) as (server, model):
        await Agent(Registry(), model).run("Hi")
        agent = Agent(Registry(), model, context_window=100_000)
        conversation(agent)
        await agent.run("Hi")
        assert {path for _, path in asked(server)} == {"/v1/chat/completions"}


async def test_a_stop_while_the_endpoint_is_asked_ends_the_run_at_once():
    slow = Reply(body=(PAUSE,), content_type="application/json")
    async with server_and_model(slow) as (server, model):
        agent = Agent(Registry(), model)
        conversation(agent)
        run = asyncio.ensure_future(agent.run("Hi"))
        await asyncio.wait_for(server.asked.wait(), 5)
        begun = time.monotonic()
        assert agent.stop()
        assert (await run).reason is RunEndReason.STOPPED
        assert time.monotonic() - begun < 0.1
        assert asked(server) == [("GET", "/v1/models")]


async def test_a_summary_is_asked_for_in_the_window_of_the_endpoint():
    async with server_and_model(models(max_model_len=1000), Reply(body=ANSWER)) as (server, model):
        agent = Agent(Registry(), model)
        told = watch(agent, Compacted)
        conversation(agent)
        agent.messages.append({"role": "user", "content": "And?"})
        assert (await agent.compact()).text == "Hello"
        assert told[0].replaced == 24
        text = server.requests[-1].body["messages"][1]["content"]
        assert len(text) < 500 / 0.21 + 100
        assert "(left out)" in text


async def test_a_chat_model_that_fails_to_say_its_window_does_not_fail_the_run(caplog):
    class Failing(OpenAIChatModel):
        async def find_context_window(self):
            raise OSError("gone")

    async with ReplayServer(Reply(body=ANSWER)) as server:
        model = Failing(model="some-model", base_url=server.url)
        agent = Agent(Registry(), model)
        conversation(agent)
        try:
            assert (await agent.run("Hi")).text == "Hello"
        finally:
            await model.aclose()
    assert "could not say its window" in caplog.text
