"""Results that are too long for one message: cut, kept, and read on piece by piece."""

import gc
import json
import weakref

import pytest

from agentic_qt.client import long_results
from agentic_qt.client.agent import Agent
from agentic_qt.client.budgets import Budgets
from agentic_qt.core.call import Call
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.results import MAX_RESULT, READ_MORE
from agentic_qt.testing import ScriptedModel, tool
from tests.support.agent_kit import capability

pytestmark = pytest.mark.anyio


def last(messages):
    return json.loads(messages[-1]["content"])


def rows(count=4000):
    return [{"id": number, "name": f"Kundin {number} \u00fc\u8bbe\x01"} for number in range(count)]


async def test_a_huge_result_can_be_read_to_its_end_and_nothing_of_it_is_lost():
    """FC-59."""
    registry = Registry()
    registry.register(capability("rows.list", rows))
    pieces = []

    def read_on(messages):
        told = last(messages)["data"]
        if "head" in told:
            pieces.append(told["head"])
            offset = len(told["head"])
            pieces.append(told["handle"])
        else:
            pieces.append(told["text"])
            offset = told["next_offset"]
        if offset is None:
            return "All read."
        return tool(READ_MORE, {"handle": pieces[1], "offset": offset})

    model = ScriptedModel([tool("rows.list"), *[read_on] * 60], chunk_size=10_000)
    agent = Agent(registry, model, budgets=Budgets(turns=60, tokens=10_000_000))
    end = await agent.run("List")
    assert (end.reason, end.text) == ("completed", "All read."), agent.messages[-1]
    head, _handle, *rest = pieces
    assert json.loads("".join([head, *rest])) == rows()
    answers = [message["content"] for message in agent.messages if message["role"] == "tool"]
    assert len(answers) > 5
    assert all(len(answer.encode()) <= MAX_RESULT for answer in answers)
    assert "elided" not in json.loads(answers[1])["data"]


async def test_the_tool_that_reads_on_is_there_only_when_there_is_something_to_read():
    registry = Registry()
    registry.register(capability("rows.list", rows))
    model = ScriptedModel([tool("rows.list"), "Done.", "Hello."])
    agent = Agent(registry, model)
    await agent.run("List")
    names = [[entry["function"]["name"] for entry in request.tools] for request in model.requests]
    assert names == [["rows_list"], ["rows_list", "agent_read_more"]]
    assert "agent_read_more" in last(agent.messages[:-1])["data"]["marker"]
    agent.clear()
    assert registry.find(READ_MORE) is None


async def test_a_handle_is_of_use_to_its_own_client_only():
    registry = Registry()
    registry.register(capability("rows.list", rows))
    agent = Agent(registry, ScriptedModel([tool("rows.list"), "Done."]))
    await agent.run("List")
    handle = last(agent.messages[:-1])["data"]["handle"]
    call = {"name": READ_MORE, "input": {"handle": handle, "offset": 0}}
    assert (await registry.execute(Call(**call, client="assistant"))).ok
    assert (await registry.execute(Call(**call, client="mcp"))).code == "no_such_result"
    past = await registry.execute(Call(name=READ_MORE, input={"handle": handle, "offset": 10**9}, client="assistant"))
    assert (past.data["text"], past.data["next_offset"]) == ("", None)


async def test_the_memory_is_bounded_and_the_oldest_results_go_first(monkeypatch):
    monkeypatch.setattr(long_results, "MAX_KEPT", 300_000)
    registry = Registry()
    registry.register(capability("rows.list", rows))
    agent = Agent(registry, ScriptedModel([[tool("rows.list"), tool("rows.list"), tool("rows.list")], "Done."]))
    await agent.run("List")
    handles = [
        json.loads(message["content"])["data"]["handle"] for message in agent.messages if message["role"] == "tool"
    ]
    codes = []
    for handle in handles:
        call = Call(name=READ_MORE, input={"handle": handle, "offset": 0}, client="assistant")
        codes.append((await registry.execute(call)).code)
    assert codes[0] == "no_such_result"
    assert codes[-1] == ""


async def test_an_application_that_has_taken_the_name_keeps_it():
    registry = Registry()
    registry.register(capability("rows.list", rows))
    own = registry.register(capability(READ_MORE, lambda: "mine"))
    agent = Agent(registry, ScriptedModel([tool("rows.list"), "Done."]))
    await agent.run("List")
    told = last(agent.messages[:-1])["data"]
    assert "handle" not in told
    assert "ask for less" in told["marker"]
    agent.close()
    assert not own.disposed


async def test_closing_an_agent_leaves_nothing_of_it_in_the_registry():
    registry = Registry()
    registry.register(capability("rows.list", rows))
    agent = Agent(registry, ScriptedModel([tool("rows.list"), "Done."]), mode="narrow")
    await agent.run("List")
    assert len(registry.registrations) > 1
    agent.close()
    assert [registration.name for registration in registry.registrations] == ["rows.list"]


async def test_kept_results_keep_no_registry_alive():
    registry = Registry()
    registry.register(capability("rows.list", rows))
    await Agent(registry, ScriptedModel([tool("rows.list"), "Done."])).run("List")
    gone = weakref.ref(registry)
    del registry
    gc.collect()
    assert gone() is None
