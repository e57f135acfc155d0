"""llama.cpp itself says how many tokens a text takes and how long a request may be."""

import pytest

from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.client.outbox import Outbox
from agentic_qt.client.tokens import TokenMeter, estimate
from agentic_qt.protocol.tool_list import ToolList

pytestmark = pytest.mark.anyio


@pytest.fixture
async def endpoint(local_model):
    await local_model.start()
    return await local_model._process.endpoint()


@pytest.fixture
async def served(endpoint):
    model = OpenAIChatModel(model="smollm2-135m", base_url=endpoint.base_url, api_key=endpoint.key)
    yield model
    await model.aclose()


async def test_a_real_server_counts_a_text_and_says_its_window(served):
    assert await served.find_context_window() == served.context_window == 4096
    assert await served.count_tokens("") == 0
    once = await served.count_tokens("The quick brown fox jumps over the lazy dog.")
    assert 9 <= once <= 12
    assert await served.count_tokens("The quick brown fox jumps over the lazy dog. " * 50) in range(
        50 * once, 52 * once
    )


async def test_its_properties_say_the_same_window_as_its_list(served):
    root = served.base_url.removesuffix("/v1")
    status, body = await served._ask(f"{root}/props", None, 4_000_000)
    assert status == 200
    assert b'"n_ctx":4096' in body.replace(b" ", b"")


async def test_a_conversation_is_trimmed_by_what_a_real_server_counts(served):
    """Digits are one token each here: three times what the estimate says."""
    digits = "0123456789 " * 30
    history = [message(role, digits) for _ in range(10) for role in ("user", "assistant")] + [message("user", "Hi")]
    assert sum(estimate(one["content"]) for one in history) < 4096 - 1024
    meter = TokenMeter()
    outbox = Outbox(served, instructions="", contexts=None, meter=meter, window=None)
    parcel = await outbox.pack(history, ToolList())
    assert meter.measured
    assert parcel.left_out > 0
    assert parcel.messages[-1] == history[-1]
    sent = await served.count_tokens("\n".join(one["content"] for one in parcel.messages))
    assert 1000 < sent <= parcel.budget == 4096 - 1024


async def test_a_wrong_key_learns_nothing(endpoint):
    model = OpenAIChatModel(model="smollm2-135m", base_url=endpoint.base_url, api_key="wrong")
    try:
        assert await model.count_tokens("a") is None
    finally:
        await model.aclose()


def message(role, content):
    return {"role": role, "content": content}
