"""How the OpenAI-compatible chat model fails: always typed, always soon, and never as a gap in an answer."""

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from agentic_qt.client.chat_model import ChatModelError
from tests.support.asking import ANSWER, ask, chunk
from tests.support.http_server import PAUSE, ReplayServer, Reply

pytestmark = pytest.mark.anyio

DATA = Path(__file__).parents[1] / "data"


async def test_a_key_that_no_header_can_hold_is_a_typed_error() -> None:
    """FC-56."""
    async with ReplayServer(Reply(body=ANSWER)) as server:
        with pytest.raises(ChatModelError) as caught:
            await ask(server, api_key="sk-\u200b123")
        assert (caught.value.code, server.requests) == ("authentication", [])


@pytest.mark.parametrize("unclean", [True, False])
async def test_a_server_that_breaks_off_leaves_a_cut_message(unclean: bool) -> None:
    """FC-61: a cut stream looks normal to the client library."""
    call = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "form_save", "arguments": "{}"}}]}
    half = chunk({"content": "half"})[:40]
    async with ReplayServer(Reply(body=(chunk(call), half), cut=unclean)) as server:
        message = await ask(server)
        assert message.cut
        assert message.error is None
        assert [call.name for call in message.tool_calls] == ["form_save"]


async def test_an_unreadable_event_is_an_error_and_not_a_gap() -> None:
    """A lost piece of arguments could leave other arguments that parse."""
    async with ReplayServer(Reply(body=(ANSWER[0], "data: {oops\n\n", *ANSWER[1:]))) as server:
        message = await ask(server)
        assert message.error is not None
        assert (message.error.code, message.text) == ("provider", "Hel")


@pytest.mark.parametrize(
    "event",
    [
        'event: error\ndata: {"error": {"message": "no", "code": 503}}\n\n',
        'event: error\ndata: {"message": "no", "code": 503}\n\n',
        'data: {"error": {"message": "no", "code": 503}, "choices": []}\n\n',
        'data: {"type": "error", "error": {"message": "no", "type": "server_error"}}\n\n',
        '{"error": {"message": "no", "code": 503}}\n',
    ],
)
async def test_an_error_event_inside_a_good_answer_is_told_with_the_text_so_far(event: str) -> None:
    async with ReplayServer(Reply(body=(ANSWER[0], event))) as server:
        message = await ask(server)
        assert message.error is not None
        assert (message.error.code, message.error.message, message.text) == ("server", "no", "Hel")


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, {"error": {"message": "bad key", "code": "invalid_api_key"}}, "authentication"),
        (403, {"error": {"message": "not for you"}}, "permission"),
        (404, {"error": {"message": "model 'm' not found"}}, "model_not_found"),
        (400, {"error": "m does not support tools"}, "no_tool_support"),
        (429, {"error": {"message": "maximum context length is 8 tokens", "code": 429}}, "context_length"),
        (500, "<html><title>Oops</title></html>", "server"),
        (404, "404 page not found", "bad_request"),
    ],
)
async def test_a_refused_request_raises_a_typed_error(status: int, body: Any, code: str) -> None:
    """FC-52, FC-53, FC-55."""
    text = body if isinstance(body, str) else json.dumps(body)
    kind = "text/html" if isinstance(body, str) else "application/json"
    async with ReplayServer(Reply(status=status, content_type=kind, body=text)) as server:
        with pytest.raises(ChatModelError) as caught:
            await ask(server, max_retries=0)
        assert caught.value.code == code
        assert caught.value.remedy
        assert len(server.requests) == 1


async def test_a_long_wait_is_told_at_once() -> None:
    """FC-55: nobody waits a minute without knowing why."""
    busy = Reply(status=429, body=json.dumps({"error": "slow down"}), headers={"retry-after": "40"})
    async with ReplayServer(busy) as server:
        with pytest.raises(ChatModelError) as caught:
            await asyncio.wait_for(ask(server, max_retries=5), 10)
        assert (caught.value.code, caught.value.retry_after) == ("rate_limit", 40.0)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "first",
    [
        Reply(hang_up=True),
        Reply(status=503, body=json.dumps({"error": "busy"}), headers={"retry-after": "0"}),
    ],
)
async def test_a_request_that_may_succeed_is_sent_again(first: Reply) -> None:
    """A server may drop an idle connection, or need a moment."""
    async with ReplayServer(first, Reply(body=ANSWER)) as server:
        assert (await ask(server)).text == "Hello"
        assert len(server.requests) == 2


async def test_a_server_that_is_not_there_is_offline() -> None:
    """FC-55."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        async with ReplayServer(Reply()) as server:
            with pytest.raises(ChatModelError) as caught:
                await asyncio.wait_for(ask(server, url=url), 10)
    assert caught.value.code == "offline"


@pytest.mark.parametrize("before", [(), ANSWER[:1]])
async def test_silence_ends_in_a_time_out(before: tuple[str, ...]) -> None:
    """FC-55: provider error: the UI waited for ever."""
    async with ReplayServer(Reply(body=(*before, PAUSE, *ANSWER))) as server:
        with pytest.raises(ChatModelError) as caught:
            await asyncio.wait_for(ask(server, timeout=0.1), 10)
        assert caught.value.code == "timeout"


async def test_a_redirect_is_not_followed() -> None:
    """G14, FC-30: no connection but the configured endpoint."""
    async with ReplayServer(Reply(body=ANSWER)) as other:
        there = f"{other.url}/chat/completions"
        for status in (301, 307, 308):
            async with ReplayServer(Reply(status=status, headers={"location": there})) as server:
                with pytest.raises(ChatModelError) as caught:
                    await ask(server, api_key="sk-secret")
                assert there in caught.value.remedy
        assert other.connections == 0


async def test_a_key_that_the_server_repeats_is_not_told() -> None:
    """G28."""
    body = json.dumps({"error": {"message": "bad key sk-very-secret here"}})
    async with ReplayServer(Reply(status=401, body=body)) as server:
        with pytest.raises(ChatModelError) as caught:
            await ask(server, api_key="sk-very-secret")
        assert "sk-very-secret" not in str(caught.value)
        assert caught.value.message == "bad key *** here"


async def test_text_that_is_no_unicode_is_a_typed_error() -> None:
    async with ReplayServer(Reply(body=ANSWER)) as server:
        with pytest.raises(ChatModelError) as caught:
            await ask(server, [{"role": "user", "content": "\ud800"}])
        assert caught.value.code == "bad_request"


async def test_a_server_that_does_not_stream_is_understood() -> None:
    recorded = (DATA / "llamacpp" / "a07_parallel_true.response.json").read_text()
    async with ReplayServer(Reply(content_type="application/json; charset=utf-8", body=recorded)) as server:
        message = await ask(server)
        made = json.loads(recorded)["choices"][0]["message"]["tool_calls"]
        assert [call.arguments for call in message.tool_calls] == [call["function"]["arguments"] for call in made]
        assert (message.finish_reason, message.cut) == ("tool_calls", False)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html", "<html><title>Welcome</title></html>"),
        ("application/json", '{"hello": 1}'),
        ("application/json", '"ok"'),
    ],
)
async def test_a_page_in_place_of_an_answer_is_a_typed_error(kind: str, body: str) -> None:
    """FC-55: a base URL without /v1 often answers 200 with a page."""
    async with ReplayServer(Reply(content_type=kind, body=body)) as server:
        message = await ask(server)
        assert message.error is not None
        assert "/v1" in message.error.remedy


async def test_a_stream_under_a_wrong_media_type_is_understood() -> None:
    async with ReplayServer(Reply(content_type="application/json", body=ANSWER)) as server:
        assert (await ask(server)).text == "Hello"


async def test_content_in_parts_and_legacy_calls_are_read() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = {"content": [thought, {"type": "text", "text": "Hi"}]}
    legacy = {"function_call": {"name": "form_save", "arguments": {"x": 1}}}
    async with ReplayServer(Reply(body=(chunk(parts), chunk(legacy, finish_reason="function_call")))) as server:
        message = await ask(server)
        assert (message.reasoning, message.text) == ("hm", "Hi")
        assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == [("form_save", {"x": 1})]


async def test_a_refusal_is_told_as_text() -> None:
    async with ReplayServer(Reply(body=(chunk({"refusal": "No."}, finish_reason="stop")))) as server:
        assert (await ask(server)).text == "No."
