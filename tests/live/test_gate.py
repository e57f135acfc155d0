"""llama.cpp and a real model behind a gate that refuses what a strict provider refuses."""

import asyncio
import json

import pytest

from agentic_qt.client.agent import Agent
from agentic_qt.client.assembler import Assembler
from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.events import CallFinished, RunEndReason
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.call import Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry
from tests.support.gate import Gate

pytestmark = pytest.mark.anyio

FORM_SAVE = {"name": "form.save", "description": "Save the form.", "parameters": {"type": "object", "properties": {}}}


@pytest.fixture
async def gate(local_model):
    await local_model.start()
    endpoint = await local_model._process.endpoint()
    async with Gate(endpoint.base_url, endpoint.key) as gate:
        yield gate


@pytest.fixture
async def strict_model(gate):
    """Our client before the gate; the one tool that it is offered has to be called."""
    options = {"temperature": 0, "max_tokens": 64, "tool_choice": "required"}
    model = OpenAIChatModel(model="smollm2-135m", base_url=gate.url, api_key="any", max_retries=0, options=options)
    yield model
    await model.aclose()


async def test_a_dotted_name_is_refused_on_the_raw_wire(gate, strict_model):
    """FC-50."""
    tools = [{"type": "function", "function": FORM_SAVE}]
    with pytest.raises(ChatModelError) as raised:
        async for _ in strict_model.stream([{"role": "user", "content": "Save the form."}], tools):
            pass
    assert raised.value.code == "bad_request"
    assert "form.save" in gate.refused[0]
    assert gate.passed == []


async def test_our_client_has_the_dotted_capability_carried_out_after_approval(gate, strict_model):
    """FC-50."""
    saved, asked, finished = [], [], []
    registry = Registry()
    registry.register(
        Capability(
            name="form.save",
            description="Save the form.",
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
            risk="mutating",
            handler=lambda: saved.append("saved"),
        )
    )

    def decide(event):
        if event.change is ApprovalChange.ADDED:
            asked.append(event.request.name)
            asyncio.get_running_loop().call_soon(registry.approvals.approve, event.request)

    registry.approvals.attach(decide)
    agent = Agent(registry, strict_model, instructions="You operate a form.", max_turns=2)
    agent.observe(lambda event: isinstance(event, CallFinished) and finished.append(event.outcome.status))
    end = await agent.run("Save the form.")
    # A model that has to call has to call again: the second request shows that the history passes the gate too.
    assert end.reason is RunEndReason.TURN_CAP
    assert gate.refused == []
    assert [tool["function"]["name"] for request in gate.passed for tool in request["tools"]] == ["form_save"] * 2
    assert asked == ["form.save"] * len(saved)
    assert finished == [Status.OK] * len(saved)
    assert saved


async def test_an_answer_comes_through_the_gate_whole(strict_model):
    assembler = Assembler()
    async for delta in strict_model.stream([{"role": "user", "content": "Say hello."}], []):
        assembler.feed(delta)
    answer = assembler.finish()
    assert answer.text
    assert answer.finish_reason in ("stop", "length")
    assert not answer.cut


def opening(customer, call_id):
    arguments = json.dumps({"customer": customer})
    return {"id": call_id, "type": "function", "function": {"name": "customer_open", "arguments": arguments}}


async def test_parallel_calls_of_a_real_server_are_kept_apart_and_answered_in_order(gate):
    """FC-51: an answer with two calls, as the server streams them; each gets its own outcome, in order."""
    registry, opened = Registry(), []
    registry.register(
        Capability(
            name="customer.open",
            description="Open a customer.",
            input_schema={
                "type": "object",
                "properties": {"customer": {"type": "string", "enum": ["Ada", "Alan"]}},
                "required": ["customer"],
                "additionalProperties": False,
            },
            risk="read",
            handler=lambda customer: opened.append(customer),  # noqa: PLW0108 - called by keyword
        )
    )
    options = {
        "temperature": 0,
        "max_tokens": 200,
        "tool_choice": "required",
        "parallel_tool_calls": True,
        "chat_template_kwargs": {"worked_examples": False},
    }
    model = OpenAIChatModel(model="smollm2-135m", base_url=gate.url, api_key="any", max_retries=0, options=options)
    agent = Agent(registry, model, max_turns=2)
    # What came before shows the small model how several calls are made at once.
    agent.messages.extend(
        [
            {"role": "user", "content": "Open Alan and Ada"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [opening("Alan", "earlier01"), opening("Ada", "earlier02")],
            },
            {"role": "tool", "tool_call_id": "earlier01", "content": "ok"},
            {"role": "tool", "tool_call_id": "earlier02", "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ]
    )
    try:
        await agent.run("Open Ada and Alan")
    finally:
        await model.aclose()
    history = gate.passed[-1]["messages"]
    start = max(place for place, message in enumerate(history) if message["role"] == "user")
    calls = [call["id"] for message in history[start:] for call in message.get("tool_calls", ())]
    answers = [message["tool_call_id"] for message in history[start:] if message["role"] == "tool"]
    assert opened[:2] == ["Ada", "Alan"]
    assert len(calls) == len(set(calls)) == 2
    assert answers == calls
    assert gate.refused == []
