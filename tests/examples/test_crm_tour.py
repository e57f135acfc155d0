"""The scripted tour that stands in for a chat model."""

import json

import pytest

from agentic_qt.client.assembler import Assembler
from agentic_qt.commands.desk import CommandDesk
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.snapshot import Snapshot
from examples.crm.capabilities import capabilities
from examples.crm.tour import TourModel

pytestmark = pytest.mark.anyio


async def ask(messages, tools):
    assembler = Assembler()
    async for delta in TourModel().stream(messages, tools):
        assembler.feed(delta)
    return assembler.finish()


@pytest.fixture
def tools(window, backend):
    registry = Registry()
    desk = CommandDesk(registry, backend.service, actor_of=lambda _name: backend.actor)
    for declared in capabilities(window, desk):
        registry.register(declared)
    return Snapshot.of(registry).tools


async def test_each_message_gets_the_next_step_and_says_that_it_is_no_ai(tools):
    names = []
    for count in range(1, 5):
        answer = await ask([{"role": "user", "content": "anything"}] * count, tools)
        assert "no AI" in answer.text
        names += [call.name for call in answer.tool_calls]
        assert not answer.cut
    assert names == ["customer_update", "customers_search", "customer_delete", "customer_update"]


@pytest.mark.parametrize(("status", "word"), [("ok", "Done"), ("denied", "not done")])
async def test_after_the_step_it_ends_the_run(tools, status, word):
    messages = [
        {"role": "user", "content": "anything"},
        {"role": "tool", "tool_call_id": "x", "content": json.dumps({"status": status})},
    ]
    answer = await ask(messages, tools)
    assert word in answer.text
    assert answer.tool_calls == ()


async def test_step_whose_tool_is_not_offered_makes_no_call():
    answer = await ask([{"role": "user", "content": "anything"}], [])
    assert answer.tool_calls == ()
    assert "cannot be used now" in answer.text
