"""Modes: which tools a request offers, and that it changes nothing about what may run."""

import asyncio
import json

import pytest

from agentic_qt.client.agent import Agent
from agentic_qt.client.events import CallStarted, RunEndReason
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.meta import CALL_STATUS, DESCRIBE, EXECUTE, META_NAMES, SEARCH, register_meta
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.names import to_wire
from agentic_qt.testing import ScriptedModel, tool
from tests.support.agent_kit import approving, capability

pytestmark = pytest.mark.anyio

NUMBER = {"n": {"type": "integer"}}
META = {to_wire(name) for name in META_NAMES}


def offered(request):
    return [entry["function"]["name"] for entry in request.tools]


def last(messages):
    return json.loads(messages[-1]["content"])


def many(registry, count):
    for number in range(count):
        registry.register(capability(f"thing{number}.show", lambda: None))
    registry.register(capability("invoice.print", lambda: "printed"))


async def test_all_offers_everything_and_no_tools_that_find_tools():
    registry = Registry()
    many(registry, 3)
    register_meta(registry)
    model = ScriptedModel(["Hi."])
    await Agent(registry, model, mode="all").run("Hi")
    assert offered(model.requests[0]) == [*[f"thing{n}_show" for n in range(3)], "invoice_print", to_wire(CALL_STATUS)]


async def test_narrow_offers_what_fits_the_request_beside_the_meta_tools_in_a_stable_order():
    registry = Registry()
    many(registry, 200)
    model = ScriptedModel(["Hi.", "Hi."])
    agent = Agent(registry, model, mode="narrow")
    await agent.run("Print the invoice")
    names = offered(model.requests[0])
    assert "invoice_print" in names
    assert set(names) >= META
    assert len(names) <= 8 + len(META)
    await agent.run("Print the invoice")
    assert offered(model.requests[1]) == names


async def test_what_the_run_has_used_stays_visible():
    registry = Registry()
    many(registry, 200)
    model = ScriptedModel([tool("thing7.show"), "Done."])
    await Agent(registry, model, mode="narrow").run("Print the invoice")
    assert "thing7_show" not in offered(model.requests[0])
    assert "thing7_show" in offered(model.requests[1])


async def test_a_call_of_a_tool_that_was_not_shown_is_judged_by_the_gates_and_not_by_the_list():
    registry = Registry()
    many(registry, 200)
    written = []
    registry.register(capability("secret.write", lambda: written.append(1), risk="mutating"))
    model = ScriptedModel([[tool("thing150.show"), tool("secret.write"), tool("no.such")], "Done."])
    await Agent(registry, model, mode="narrow").run("Print the invoice")
    told = [json.loads(message["content"]) for message in model.requests[1].messages if message["role"] == "tool"]
    assert [entry["status"] for entry in told] == ["ok", "denied", "unavailable"]
    assert told[1]["code"] == "no_approver"
    assert written == []


async def test_meta_offers_four_tools_and_a_write_through_them_is_approved_as_itself():
    """FC-17."""
    registry = Registry()
    many(registry, 200)
    seen, asked = [], []
    registry.register(capability("page.write", lambda n: seen.append(n) or "ok", risk="mutating", properties=NUMBER))

    def decide(event):
        if event.change is ApprovalChange.ADDED:
            asked.append((event.request.name, dict(event.request.input)))
            registry.approvals.approve(event.request)

    registry.approvals.attach(decide)

    def execute(messages):
        found = last(messages)["data"]
        arguments = {"name": "page.write", "input": {"n": 5}, "revision": found["revision"]}
        return tool(EXECUTE, arguments)

    model = ScriptedModel([tool(SEARCH, {"query": "page write"}), execute, "Done."])
    agent = Agent(registry, model, mode="meta")
    started = []
    agent.observe(lambda event: started.append(event.call.name) if isinstance(event, CallStarted) else None)
    end = await agent.run("Write 5 on the page")
    assert end.reason is RunEndReason.COMPLETED
    assert set(offered(model.requests[0])) == META
    assert asked == [("page.write", {"n": 5})]
    assert seen == [5]
    assert started == [SEARCH, "page.write"]
    assert last(agent.messages[:-1]) == {"status": "ok", "from": "page.write", "data": "ok"}


async def test_writes_through_the_meta_tool_run_in_order_like_any_others():
    registry = approving(Registry())
    seen = []
    registry.register(capability("page.write", lambda n: seen.append(n) or n, risk="mutating", properties=NUMBER))

    def turn(_messages):
        revision = registry.revision
        return [tool(EXECUTE, {"name": "page.write", "input": {"n": n}, "revision": revision}) for n in range(5)]

    agent = Agent(registry, ScriptedModel([turn, "Done."]), mode="meta")
    await agent.run("Write")
    assert seen == [0, 1, 2, 3, 4]


async def test_auto_offers_everything_while_it_is_small_and_narrows_when_it_is_not():
    registry = Registry()
    many(registry, 20)
    model = ScriptedModel(["Hi."] * 3)
    agent = Agent(registry, model)
    await agent.run("Print the invoice")
    assert len(offered(model.requests[0])) == 21
    assert registry.find(DESCRIBE) is None
    many_more = Agent(registry, model, tool_tokens=100)
    await many_more.run("Print the invoice")
    assert set(offered(model.requests[1])) >= META
    assert len(offered(model.requests[1])) < 21
    many_more.close()
    for number in range(120):
        registry.register(capability(f"other{number}.show", lambda: None))
    await agent.run("Print the invoice")
    assert len(offered(model.requests[2])) <= 128
    assert "invoice_print" in offered(model.requests[2])


async def test_agents_of_one_registry_share_its_meta_tools_and_the_one_that_brought_them_takes_them():
    registry = Registry()
    many(registry, 3)
    first = Agent(registry, ScriptedModel(["Hi."]), mode="meta")
    second = Agent(registry, ScriptedModel(["Hi."]), mode="meta")
    assert (await first.run("Hi")).reason is RunEndReason.COMPLETED
    assert (await second.run("Hi")).reason is RunEndReason.COMPLETED
    second.close()
    assert registry.find(EXECUTE) is not None
    first.close()
    assert registry.find(EXECUTE) is None


def test_a_mode_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="most"):
        Agent(Registry(), ScriptedModel([]), mode="most")


async def test_after_an_unknown_outcome_the_way_to_find_out_is_offered():
    """FC-04, FC-39."""
    registry = approving(Registry())
    go = asyncio.Event()
    deaf_done = asyncio.Event()

    async def deaf():
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        deaf_done.set()
        return "done"

    registry.register(capability("it.write", deaf, risk="mutating", timeout=0.05))

    def ask_for_it(messages):
        return tool(CALL_STATUS, {"call_id": last(messages)["call_id"]})

    model = ScriptedModel([tool("it.write"), ask_for_it, "Unknown still."])
    agent = Agent(registry, model)
    await asyncio.wait_for(agent.run("Write"), 5)
    assert [offered(request) for request in model.requests[:2]] == [["it_write"], ["it_write", to_wire(CALL_STATUS)]]
    answers = [json.loads(message["content"]) for message in agent.messages if message["role"] == "tool"]
    assert (answers[0]["status"], answers[1]["data"]["state"]) == ("unknown", "unknown")
    go.set()
    await asyncio.wait_for(deaf_done.wait(), 2)
