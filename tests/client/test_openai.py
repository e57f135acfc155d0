"""The OpenAI-compatible chat model against a real server on loopback: what it sends, and how it ends."""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from typing import Any

import pytest

from agentic_qt.client.chat_model import ChatModel, Delta, Usage
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.snapshot import Snapshot
from agentic_qt.protocol.tool_list import Definition
from agentic_qt.testing import forbid_real_requests
from tests.support.asking import ANSWER, HELLO, ask, chunk
from tests.support.http_server import PAUSE, ReplayServer, Reply
from tests.support.request_checks import check_request

pytestmark = pytest.mark.anyio

SCHEMA = {"input_schema": {"type": "object", "properties": {}}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "form_save",
            "description": "Save the form.",
            "parameters": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}},
        },
    }
]
HISTORY = [
    {"role": "system", "content": "You operate a form."},
    {"role": "user", "content": "Save it."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "g6fVbXS8K", "type": "function", "function": {"name": "form_save", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "g6fVbXS8K", "content": '{"status":"ok"}'},
]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


async def test_an_answer_is_streamed() -> None:
    async with ReplayServer(Reply(body=ANSWER)) as server:
        message = await ask(server)
        assert (message.text, message.finish_reason, message.cut) == ("Hello", "stop", False)
        assert [request.path for request in server.requests] == ["/v1/chat/completions"]


async def test_text_comes_before_the_answer_ends() -> None:
    async with ReplayServer(Reply(body=(ANSWER[0], PAUSE, *ANSWER[1:]))) as server:
        model = OpenAIChatModel(model="m", base_url=server.url)
        async with contextlib.aclosing(model.stream(HELLO, [])) as stream:
            first = await asyncio.wait_for(anext(stream), 10)
            assert first.text == "Hel"
            server.go_on()
            assert [delta.text async for delta in stream] == ["lo", ""]
        await model.aclose()


async def test_the_class_is_a_chat_model() -> None:
    model: ChatModel = OpenAIChatModel(model=" name ", base_url="https://user:pw@api.example.org/v1")
    assert (model.label, model.host) == ("name", "api.example.org")
    await model.aclose()
    await model.aclose()


@pytest.mark.parametrize(
    ("url", "whole", "host"),
    [
        (None, "https://api.openai.com/v1", "api.openai.com"),
        ("", "https://api.openai.com/v1", "api.openai.com"),
        (" localhost:11434/v1\n", "http://localhost:11434/v1", "local (localhost:11434)"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "local (127.0.0.1:8080)"),
        ("http://[::1]/v1", "http://[::1]/v1", "local (::1)"),
        ("api.example.org/v1", "https://api.example.org/v1", "api.example.org"),
        ("http://192.168.1.5:8080/v1", "http://192.168.1.5:8080/v1", "192.168.1.5"),
        ("http://localhost.example.org/v1", "http://localhost.example.org/v1", "localhost.example.org"),
    ],
)
def test_the_endpoint_is_named_for_a_person(url: str | None, whole: str, host: str) -> None:
    model = OpenAIChatModel(model="m", base_url=url)
    assert (model.base_url, model.host) == (whole, host)


async def test_the_environment_is_read_when_nothing_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """FC-56: the variables that everyone has set are found."""
    async with ReplayServer(Reply(body=ANSWER)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", " sk-from-environment\n")
        model = OpenAIChatModel(model="m")
        assert [delta.text for delta in await collect(model)][:2] == ["Hel", "lo"]
        await model.aclose()
        assert server.requests[0].headers["authorization"] == "Bearer sk-from-environment"


@pytest.mark.parametrize(
    ("key", "sent"), [("", "no-key"), (None, "no-key"), (" \n", "no-key"), (" sk-\n12 3\t", "sk-123")]
)
async def test_a_key_is_trimmed_and_may_be_absent(key: str | None, sent: str) -> None:
    """FC-56: no key, a space, a newline in the key."""
    async with ReplayServer(Reply(body=ANSWER)) as server:
        await ask(server, api_key=key)
        assert server.requests[0].headers["authorization"] == f"Bearer {sent}"


async def test_what_is_sent_is_exactly_the_request_body() -> None:
    """G14, FC-30: "what was sent" equals the request body, down to the last byte of the values."""
    async with ReplayServer(Reply(body=ANSWER)) as server:
        model = OpenAIChatModel(model="m", base_url=server.url, options={"temperature": 0, "tool_choice": "auto"})
        history = [
            *HISTORY,
            {"role": "assistant", "content": "ok", "reasoning_details": [{"text": "\u00fc"}]},
        ]
        async for _ in model.stream(history, TOOLS):
            pass
        await model.aclose()
        sent = server.requests[0].body
        assert sent == model.request_body(history, TOOLS)
        assert sent["messages"] == history
        assert sent["tools"] == TOOLS
        assert sent["tool_choice"] == "auto"


async def test_nothing_about_tools_is_sent_without_tools() -> None:
    async with ReplayServer(Reply(body=ANSWER)) as server:
        options = {"tool_choice": "auto", "parallel_tool_calls": False, "seed": 1}
        await ask(server, options=options)
        assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(server.requests[0].body)
        assert server.requests[0].body["seed"] == 1


async def test_nothing_about_the_machine_is_sent() -> None:
    """G14, FC-30: no telemetry, in headers neither."""
    async with ReplayServer(Reply(body=ANSWER)) as server:
        await ask(server)
        headers = server.requests[0].headers
        assert not [name for name in headers if name.startswith("x-stainless")]
        assert headers["user-agent"] == "agentic-qt"


async def sent_body(messages: Any, tools: Any) -> Any:
    async with ReplayServer(Reply(body=ANSWER)) as server:
        await ask(server, messages, tools)
        return server.requests[0].body


@pytest.mark.parametrize(("messages", "tools"), [(HELLO, []), (HELLO, TOOLS), (HISTORY, TOOLS)])
async def test_requests_pass_every_judge(messages: Any, tools: Any) -> None:
    """FC-50: OpenAI's published schema (where it is there), the overlay, a provider's own validator."""
    check_request(await sent_body(messages, tools))


async def test_tools_are_sent_as_the_text_that_was_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of the catalogue goes out as it is: neither we nor the package walk a thousand tools again."""
    registry = Registry()
    registry.register(Capability(name="form.save", description="Für", handler=lambda: None, risk="read", **SCHEMA))
    async with ReplayServer(Reply(body=ANSWER)) as server:
        tools = Snapshot.of(registry).tools
        text = tools.json
        monkeypatch.setattr(Definition, "__iter__", lambda _: pytest.fail("a tool was walked"))
        monkeypatch.setattr(Definition, "items", lambda _: pytest.fail("a tool was walked"))
        await ask(server, HELLO, tools)
        sent = server.requests[0]
    assert sent.text.encode().endswith(b',"tools":' + text + b"}")
    assert sent.headers["content-type"] == "application/json"
    assert [tool["function"]["name"] for tool in sent.body["tools"]] == ["form_save"]


async def test_options_about_tools_stand_beside_the_tools() -> None:
    """A caller's own list of tools in the options never doubles the field."""
    async with ReplayServer(Reply(body=ANSWER)) as server:
        await ask(server, HELLO, TOOLS, options={"tools": [], "tool_choice": "auto"})
        sent = server.requests[0]
        assert sent.text.count('"tools"') == 1
        assert (sent.body["tools"], sent.body["tool_choice"]) == (TOOLS, "auto")


@pytest.mark.parametrize(
    "refusal",
    [
        {"error": {"message": "Unrecognized request argument supplied: stream_options", "code": None}},
        {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs: include_usage not permitted"}]},
    ],
)
async def test_usage_is_asked_for_until_a_server_refuses(refusal: dict[str, Any]) -> None:
    no = Reply(status=400, content_type="application/json", body=json.dumps(refusal))
    async with ReplayServer(no, Reply(body=ANSWER)) as server:
        model = OpenAIChatModel(model="m", base_url=server.url, max_retries=0)
        for _ in range(2):
            assert (await collect(model))[0].text == "Hel"
        await model.aclose()
        assert [("stream_options" in request.body) for request in server.requests] == [True, False, False]


async def test_usage_is_told() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    last = f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n"
    async with ReplayServer(Reply(body=(*ANSWER[:2], last, ANSWER[2]))) as server:
        assert (await ask(server)).usage == Usage(input_tokens=5, output_tokens=7)


async def test_two_turns_use_one_connection() -> None:
    async with ReplayServer(Reply(body=ANSWER)) as server:
        model = OpenAIChatModel(model="m", base_url=server.url)
        for _ in range(3):
            async for _ in model.stream(HELLO, []):
                pass
        await model.aclose()
        assert (len(server.requests), server.connections) == (3, 1)


@pytest.mark.parametrize("leave", ["cancel", "close"])
async def test_leaving_in_mid_stream_closes_the_connection(leave: str) -> None:
    """FC-54: Stop reaches the provider, which stops writing (and charging)."""
    async with ReplayServer(Reply(body=(ANSWER[0], PAUSE, *ANSWER[1:]))) as server:
        model = OpenAIChatModel(model="m", base_url=server.url)
        started = asyncio.Event()

        async def read() -> None:
            async with contextlib.aclosing(model.stream(HELLO, [])) as stream:
                async for _ in stream:
                    started.set()
                    if leave == "close":
                        return

        task = asyncio.ensure_future(read())
        await asyncio.wait_for(started.wait(), 10)
        began = time.monotonic()
        if leave == "cancel":
            task.cancel()
        await asyncio.wait({task}, timeout=10)
        assert time.monotonic() - began < 0.1
        assert task.cancelled() is (leave == "cancel")
        await asyncio.wait_for(server.left.wait(), 1)
        await model.aclose()


async def test_stop_while_the_server_thinks_closes_the_connection() -> None:
    """FC-54: nothing has come yet."""
    async with ReplayServer(Reply(body=(PAUSE, *ANSWER))) as server:
        task = asyncio.ensure_future(ask(server))
        await asyncio.wait_for(server.asked.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.left.wait(), 1)


async def test_nothing_but_the_endpoint_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """G14, FC-30: not even a proxy stands between this machine and itself."""
    connected: list[Any] = []

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.getaddrinfo") and watching:
            connected.append(arguments[1] if event == "socket.connect" else arguments[:2])

    watching = True
    sys.addaudithook(audit)
    try:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
        async with ReplayServer(Reply(body=ANSWER)) as server:
            assert (await ask(server)).text == "Hello"
            port = int(server.url.split(":")[2].removesuffix("/v1"))
    finally:
        watching = False
    assert connected
    assert {address[1] for address in connected} == {port}


async def test_a_burst_leaves_room_for_others(qapp: Any) -> None:
    """On the Qt loop: 1,000 chunks at once, and a reader that works on each, let painting in between."""
    body = "".join(chunk({"content": f"word{number} "}) for number in range(1000)) + "data: [DONE]\n\n"
    async with ReplayServer(Reply(body=body)) as server:
        model = OpenAIChatModel(model="m", base_url=server.url)
        await collect(model)  # the import and the first connection are not what is measured
        turns: list[float] = []
        ticking = asyncio.ensure_future(tick(turns))
        began = time.perf_counter()
        async for _ in model.stream(HELLO, []):
            work_for(0.0003)
        taken = time.perf_counter() - began
        ticking.cancel()
        await model.aclose()
    assert len(turns) > taken / 0.05


@pytest.mark.parametrize("leave", ["break", "cancel"])
async def test_leaving_early_on_the_qt_loop_is_quiet(qapp: Any, leave: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Closed by hand: the collector would close the connection outside any task, and print."""
    async with ReplayServer(Reply(body=(ANSWER[0], PAUSE))) as server:
        model = OpenAIChatModel(model="m", base_url=server.url)
        async with contextlib.aclosing(model.stream(HELLO, [])) as stream:
            assert (await anext(stream)).text == "Hel"
            if leave == "cancel":
                waiting = asyncio.ensure_future(anext(stream))
                await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
        await asyncio.wait_for(server.left.wait(), 1)
        await model.aclose()
    assert capfd.readouterr().err == ""


async def test_where_real_requests_are_forbidden_nothing_is_sent() -> None:
    async with ReplayServer(Reply(body=ANSWER)) as server:
        with forbid_real_requests(), pytest.raises(AssertionError, match="forbidden"):
            await ask(server)
        assert server.connections == 0


def test_openai_is_not_imported_before_it_is_asked() -> None:
    """A window with the assistant in it paints before half a second of imports."""
    program = (
        "import sys; from agentic_qt.client.openai import OpenAIChatModel;"
        "OpenAIChatModel(model='m').request_body([], []);"
        "loaded = {name.partition('.')[0] for name in sys.modules};"
        "sys.exit(bool(loaded & {'openai', 'httpx', 'httpx2', 'PySide6'}))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=50).returncode == 0


async def collect(model: OpenAIChatModel) -> list[Delta]:
    return [delta async for delta in model.stream(HELLO, [])]


async def tick(turns: list[float]) -> None:
    """Note when the loop gives others a turn."""
    while True:
        turns.append(time.perf_counter())
        await asyncio.sleep(0)


def work_for(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
