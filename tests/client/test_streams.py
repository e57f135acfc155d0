"""Recorded streams of real providers, over a real connection, give the calls that were made (FC-60)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentic_qt.client.assembler import Assembled, Assembler
from agentic_qt.client.openai import OpenAIChatModel
from tests.support.http_server import ReplayServer, Reply

pytestmark = pytest.mark.anyio

OURS = Path(__file__).parents[1] / "data" / "llamacpp"
VECTORS = os.environ.get("AGENTIC_QT_VECTORS")
WIRE = Path(VECTORS, "wire") if VECTORS else None
ABSENT = "recordings of other projects are not part of this one: set AGENTIC_QT_VECTORS to their folder"


def recorded_streams() -> list[Any]:
    if WIRE is None or not (WIRE / "MANIFEST.json").exists():
        return [pytest.param({}, id="absent", marks=pytest.mark.skip(reason=ABSENT))]
    entries = json.loads((WIRE / "MANIFEST.json").read_text())
    streams = [entry for entry in entries if entry["file"].endswith(".sse")]
    return [pytest.param(entry, id=entry["file"]) for entry in streams]


def recorded(path: Path) -> bytes:
    return path.read_bytes()


async def replay(body: bytes, *, piece: int | None = None, cut: bool = False) -> Assembled:
    assembler = Assembler()
    async with ReplayServer(Reply(body=body, piece=piece, cut=cut)) as server:
        model = OpenAIChatModel(model="recorded", base_url=server.url, api_key="")
        async for delta in model.stream([{"role": "user", "content": "hello"}], []):
            assembler.feed(delta)
        await model.aclose()
    return assembler.finish()


@pytest.mark.parametrize("piece", [None, 1], ids=["whole", "byte by byte"])
@pytest.mark.parametrize("entry", recorded_streams())
async def test_a_recorded_stream_gives_the_calls_that_were_made(entry: dict[str, Any], piece: int | None) -> None:
    """FC-60: 17 providers, each with a quirk of its own."""
    assert WIRE is not None
    message = await replay(recorded(WIRE / "streams" / entry["file"]), piece=piece)
    ids = list(dict.fromkeys(entry["ids"]))
    assert [call.id for call in message.tool_calls] == ids
    assert [call.name for call in message.tool_calls] == entry["tool_names"][: len(ids)]
    assert message.finish_reason == (entry["finish"][-1] if entry["finish"] else None)
    assert message.cut is (not entry["finish"] and not entry["done"])
    failed = "error" in entry["file"] or entry["file"] == "groq_required_but_no_call.sse"
    assert (message.error is not None) is failed
    for call in message.tool_calls:
        assert isinstance(json.loads(call.arguments or "{}"), dict)


@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        ("openai_parallel_calls.sse", ['{"city": "Mexico City"}', "{}"]),
        ("openai_no_arg_parallel.sse", ["{}", "{}"]),
        ("groq_whole_args_one_delta.sse", ['{"name":"example"}']),
        ("alibaba_qwen_empty_id_followup.sse", ['{"location": "San Francisco"}']),
        ("anthropic_compat_index_starts_at_1.sse", ['{"path": "a.txt"}']),
        ("deepseek_tool_call.sse", ['{"latitude": "52.5200", "longitude": "13.4050"}']),
        ("kimi_novita_repeated_name_and_no_finish.sse", ["{}"]),
        ("mistral_no_index_no_type.sse", ['{"location": "San Francisco"}']),
        ("mistral_call_and_finish_same_chunk.sse", ['{"latitude": "52.5200", "longitude": "13.4050"}']),
        ("ollama_local_qwen3_tool_call.sse", ['{"latitude":"52.5200","longitude":"13.4050"}']),
        ("azure_grok_no_arg_call.sse", ["{}"]),
        ("null_arguments.sse", [""]),
    ],
)
async def test_arguments_are_those_that_were_sent(file: str, arguments: list[str]) -> None:
    """FC-60."""
    if WIRE is None:
        pytest.skip(ABSENT)
    message = await replay(recorded(WIRE / "streams" / file))
    assert [call.arguments for call in message.tool_calls] == arguments


@pytest.mark.parametrize(
    ("file", "code", "text", "thoughts"),
    [
        ("groq_error_event_in_200_stream.sse", "provider", "", "We need to call"),
        ("groq_required_but_no_call.sse", "provider", "maybe", "The user says:"),
        ("openrouter_error_midstream.sse", "bad_request", "", "We need to respond"),
    ],
)
async def test_an_error_inside_a_stream_keeps_what_came_before(file: str, code: str, text: str, thoughts: str) -> None:
    if WIRE is None:
        pytest.skip(ABSENT)
    message = await replay(recorded(WIRE / "streams" / file))
    assert message.error is not None
    assert (message.error.code, message.text) == (code, text)
    assert message.reasoning.startswith(thoughts)
    assert message.error.remedy


async def test_thoughts_are_kept_for_sending_back() -> None:
    if WIRE is None:
        pytest.skip(ABSENT)
    message = await replay(recorded(WIRE / "streams" / "openrouter_claude_reasoning_tool_call.sse"))
    assert message.reasoning == message.extra["reasoning"]
    assert "".join(part.get("text", "") for part in message.extra["reasoning_details"]) == message.reasoning


@pytest.mark.parametrize("piece", [None, 1, 1000])
@pytest.mark.parametrize("file", sorted(path.name for path in OURS.glob("*.sse")))
async def test_streams_of_llama_cpp_are_read(file: str, piece: int | None) -> None:
    """FC-60."""
    message = await replay(recorded(OURS / file), piece=piece)
    assert not message.cut
    assert message.error is None
    assert bool(message.tool_calls) is ("required" in file or "parallel" in file)
    for call in message.tool_calls:
        assert call.id
        assert call.name
        if message.finish_reason == "tool_calls":
            assert isinstance(json.loads(call.arguments), dict)


async def test_a_stream_cut_anywhere_is_known_as_cut() -> None:
    """G26, FC-61: at every tenth byte before the finish reason, with and without a clean end of the body."""
    body = recorded(OURS / "a05_stream_required.response.sse")
    end = body.index(b'"finish_reason":"tool_calls"')
    for at in range(0, end, max(end // 10, 1)):
        for unclean in (False, True):
            message = await replay(body[:at], cut=unclean)
            assert message.cut
            assert message.error is None
