"""A person who writes, or cancels one call, while a run is under way."""

import asyncio
import json

import pytest

from agentic_qt.client.agent import Agent
from agentic_qt.client.chat_model import Delta
from agentic_qt.client.events import Interjected, RunEndReason
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.registry import Registry
from agentic_qt.testing import ScriptedModel, tool
from tests.support.agent_kit import HeldModel, approving, capability

pytestmark = pytest.mark.anyio

NUMBER = {"n": {"type": "integer"}}


def results(agent):
    return [json.loads(message["content"]) for message in agent.messages if message["role"] == "tool"]


def asking(registry):
    """Attach a person who takes her time; returns the requests and what became of them."""
    asked, settled = asyncio.Queue(), []

    def view(event):
        if event.change is ApprovalChange.ADDED:
            asked.put_nowait(event.request)
        elif event.change is ApprovalChange.SETTLED:
            settled.append(event.approval)

    registry.approvals.attach(view)
    return asked, settled


def writing(registry, name="it.write"):
    seen = []
    registry.register(
        capability(name, lambda n: seen.append(n) or n, risk="mutating", properties=NUMBER, required=["n"])
    )
    return seen


async def test_typing_settles_the_waiting_approval_as_cancelled_and_both_go_together():
    """FC-37."""
    registry = Registry()
    asked, settled = asking(registry)
    seen = writing(registry)
    model = ScriptedModel([["I write 1.", tool("it.write", {"n": 1}, id="a")], "Then 2."])
    agent = Agent(registry, model)
    events = []
    agent.observe(events.append)
    running = asyncio.create_task(agent.run("Write"))
    await asked.get()
    assert agent.interject("No: 2, please.")
    end = await running
    assert (end.reason, end.text) == (RunEndReason.COMPLETED, "Then 2.")
    assert [message["role"] for message in model.requests[1].messages] == ["user", "assistant", "tool", "user"]
    assert model.requests[1].messages[-1]["content"] == "No: 2, please."
    (outcome,) = results(agent)
    assert (outcome["status"], outcome["code"], outcome["applied"]) == ("cancelled", "interrupted", False)
    assert "wrote a new message" in outcome["hint"]
    assert [(approval.granted, approval.code) for approval in settled] == [(False, "cancelled")]
    assert registry.approvals.pending == ()
    assert seen == []
    assert Interjected(run=end.run, text="No: 2, please.", thread=agent.thread.id) in events


async def test_a_run_that_is_asked_for_while_an_approval_waits_is_such_a_message():
    """FC-37."""
    registry = Registry()
    asked, _ = asking(registry)
    writing(registry)
    agent = Agent(registry, ScriptedModel([[tool("it.write", {"n": 1})], "Then not."]))
    running = asyncio.create_task(agent.run("Write"))
    await asked.get()
    end = await agent.run("Leave it.")
    assert end is await running
    assert [message["role"] for message in agent.messages] == ["user", "assistant", "tool", "user", "assistant"]


async def test_calls_of_the_turn_that_have_not_begun_do_not_begin():
    """FC-37, FC-36."""
    registry = Registry()
    asked, _ = asking(registry)
    seen = writing(registry)
    calls = [tool("it.write", {"n": n}, id=f"c{n}") for n in range(3)]
    agent = Agent(registry, ScriptedModel([calls, "Fine."]))
    running = asyncio.create_task(agent.run("Write"))
    registry.approvals.approve(await asked.get())
    await asked.get()
    agent.interject("Enough.")
    await running
    assert seen == [0]
    assert [entry.get("code", entry["status"]) for entry in results(agent)] == ["ok", "interrupted", "interrupted"]
    assert asked.empty()


async def test_what_is_written_while_a_call_runs_goes_after_its_result():
    """FC-37."""
    registry = approving(Registry())
    entered, go = asyncio.Event(), asyncio.Event()

    async def write():
        entered.set()
        await go.wait()
        return "written"

    registry.register(capability("it.write", write, risk="mutating"))
    model = ScriptedModel([[tool("it.write")], "Done, and seen."])
    agent = Agent(registry, model)
    running = asyncio.create_task(agent.run("Write"))
    await entered.wait()
    agent.interject("And thank you.")
    agent.interject("Really.")
    go.set()
    await running
    assert results(agent)[0]["data"] == "written"
    sent = model.requests[1].messages
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user", "user"]
    assert [message["content"] for message in sent[3:]] == ["And thank you.", "Really."]


async def test_what_is_written_while_the_answer_comes_is_answered_in_the_same_run():
    model = ScriptedModel(["Hello.", "Bye."])
    agent = Agent(Registry(), model)
    agent.observe(lambda event: getattr(event, "turn", 0) == 1 and agent.interject("And bye."))
    end = await agent.run("Hi")
    assert (end.turns, end.text) == (2, "Bye.")
    assert [message["content"] for message in agent.messages] == ["Hi", "Hello.", "And bye.", "Bye."]


async def test_an_approval_that_is_asked_for_after_the_person_has_written_is_withdrawn_at_once():
    """FC-37."""
    registry = Registry()
    asking(registry)
    entered, go = asyncio.Event(), asyncio.Event()

    async def preview(n):
        entered.set()
        await go.wait()
        return {"n": n}

    registry.register(
        capability("it.write", lambda n: n, risk="mutating", properties=NUMBER, required=["n"], preview=preview)
    )
    agent = Agent(registry, ScriptedModel([[tool("it.write", {"n": 1})], "Fine."]))
    running = asyncio.create_task(agent.run("Write"))
    await entered.wait()
    agent.interject("Wait.")
    go.set()
    end = await running
    assert end.reason is RunEndReason.COMPLETED
    assert results(agent)[0]["code"] == "interrupted"
    assert registry.approvals.pending == ()


async def test_nothing_that_was_written_is_lost_when_the_run_is_stopped():
    model = HeldModel(Delta(text="Hel"))
    agent = Agent(Registry(), model)
    running = asyncio.create_task(agent.run("Hi"))
    await model.waiting.wait()
    agent.interject("More.")
    agent.stop()
    assert not agent.interject("Too late.")
    await running
    assert [message["content"] for message in agent.messages] == ["Hi", "Hel", "More."]
    assert not agent.interject("Nothing runs.")


async def test_words_of_the_person_lift_the_breakers():
    """FC-41."""
    registry = Registry()
    decisions = iter(["deny", "deny", "approve"])

    def decide(event):
        if event.change is ApprovalChange.ADDED:
            getattr(registry.approvals, next(decisions))(event.request)

    registry.approvals.attach(decide)
    seen = writing(registry)
    agent = Agent(registry, ScriptedModel([*[[tool("it.write", {"n": n})] for n in range(4)], "Done."]))
    agent.observe(lambda event: getattr(event, "turn", 0) == 3 and agent.interject("Now you may."))
    end = await agent.run("Write")
    assert end.reason is RunEndReason.COMPLETED
    assert [entry.get("code", entry["status"]) for entry in results(agent)] == ["person", "person", "interrupted", "ok"]
    assert seen == [3]


async def test_one_call_is_cancelled_and_the_run_goes_on():
    registry = Registry()
    entered = asyncio.Event()

    async def wait_for_ever():
        entered.set()
        await asyncio.Event().wait()

    registry.register(capability("it.wait", wait_for_ever))
    registry.register(capability("it.read", lambda: "read"))
    agent = Agent(registry, ScriptedModel([[tool("it.wait"), tool("it.read")], "Done."]))
    running = asyncio.create_task(agent.run("Go"))
    await entered.wait()
    run = agent._run.id
    assert not agent.cancel_call("nonsense")
    assert agent.cancel_call(f"{run}.1.1")
    end = await asyncio.wait_for(running, 2)
    assert end.reason is RunEndReason.COMPLETED
    assert [entry["status"] for entry in results(agent)] == ["cancelled", "ok"]
    assert not agent.cancel_call(f"{run}.1.1")


async def test_a_call_that_has_not_begun_can_be_cancelled_too():
    registry = Registry()
    asked, _ = asking(registry)
    seen = writing(registry)
    agent = Agent(registry, ScriptedModel([[tool("it.write", {"n": n}) for n in range(3)], "Done."]))
    running = asyncio.create_task(agent.run("Go"))
    first = await asked.get()
    assert agent.cancel_call(f"{agent._run.id}.1.2")
    registry.approvals.approve(first)
    registry.approvals.approve(await asked.get())
    await running
    assert seen == [0, 2]
    assert [entry["status"] for entry in results(agent)] == ["ok", "cancelled", "ok"]


async def test_a_cancelled_approval_costs_only_its_own_call():
    registry = Registry()
    asked, _ = asking(registry)
    seen = writing(registry)
    agent = Agent(registry, ScriptedModel([[tool("it.write", {"n": n}) for n in range(2)], "Done."]))
    running = asyncio.create_task(agent.run("Go"))
    assert agent.cancel_call((await asked.get()).call_id)
    registry.approvals.approve(await asked.get())
    assert (await running).reason is RunEndReason.COMPLETED
    assert seen == [1]
    assert [entry["status"] for entry in results(agent)] == ["cancelled", "ok"]
