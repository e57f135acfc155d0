"""Threads and branches: where results land, and what is kept when a person goes back."""

import asyncio
import json

import pytest

from agentic_qt.client.agent import Agent
from agentic_qt.client.events import CallFinished, CallStarted, RunEnded, RunEndReason, RunStarted
from agentic_qt.client.threads import BranchKind
from agentic_qt.core.registry import Registry
from agentic_qt.testing import ScriptedModel, tool
from tests.support.agent_kit import capability

pytestmark = pytest.mark.anyio


def words(messages):
    return [message["content"] for message in messages]


class Waiting:
    """A read that waits until it is told to go on."""

    def __init__(self):
        self.entered = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self):
        self.entered.set()
        await self.open.wait()
        return "found"


async def test_a_result_lands_in_the_thread_that_asked_for_it_and_not_in_the_one_that_is_shown():
    """G38, FC-65."""
    registry, read = Registry(), Waiting()
    registry.register(capability("it.read", read))
    agent = Agent(registry, ScriptedModel([[tool("it.read")], "It is found."]))
    events = []
    agent.observe(events.append)
    running = asyncio.create_task(agent.run("Look"))
    await read.entered.wait()
    first, second = agent.thread, agent.new_thread()
    assert agent.messages == []
    read.open.set()
    end = await running
    assert second.messages == []
    assert [message["role"] for message in first.messages] == ["user", "assistant", "tool", "assistant"]
    assert first.messages[-1]["content"] == "It is found."
    kinds = (RunStarted, CallStarted, CallFinished)
    assert {event.thread for event in events if isinstance(event, kinds)} == {first.id}
    assert end.thread == first.id == events[-1].end.thread
    assert isinstance(events[-1], RunEnded)


async def test_a_result_lands_in_the_branch_that_asked_for_it():
    """G38, FC-65."""
    registry, read = Registry(), Waiting()
    registry.register(capability("it.read", read))
    agent = Agent(registry, ScriptedModel(["One.", "Two.", [tool("it.read")], "Three."]))
    await agent.run("Hi")
    await agent.retry()
    first, second = agent.thread.branches
    running = asyncio.create_task(agent.run("Look"))
    await read.entered.wait()
    agent.switch(agent.thread, first)
    read.open.set()
    await running
    assert words(first.messages) == ["Hi", "One."]
    assert [message["role"] for message in second.messages[2:]] == ["user", "assistant", "tool", "assistant"]


async def test_the_late_end_of_a_call_names_the_thread_that_it_belongs_to():
    """FC-65, FC-04."""
    registry = Registry()
    registry.approvals.attach(lambda event: event.change == "added" and registry.approvals.approve(event.request))
    entered, go = asyncio.Event(), asyncio.Event()

    async def deaf():
        entered.set()
        while not go.is_set():
            try:
                await go.wait()
            except asyncio.CancelledError:
                continue
        return "done"

    registry.register(capability("it.write", deaf, risk="mutating"))
    agent = Agent(registry, ScriptedModel([[tool("it.write")]]))
    late = asyncio.get_running_loop().create_future()
    agent.observe(lambda event: getattr(event, "late", False) and late.set_result(event))
    running = asyncio.create_task(agent.run("Write"))
    await entered.wait()
    asked = agent.thread
    agent.stop()
    await running
    agent.new_thread()
    go.set()
    told = await asyncio.wait_for(late, 2)
    assert (told.thread, told.outcome.status) == (asked.id, "ok")
    assert agent.messages == []


async def test_an_edited_message_begins_a_branch_and_the_old_one_is_kept():
    model = ScriptedModel(["Lisbon.", "It rains.", "Oslo."])
    agent = Agent(Registry(), model)
    await agent.run("The capital of Portugal?")
    await agent.run("And the weather?")
    end = await agent.edit(0, "The capital of Norway?")
    assert end.reason is RunEndReason.COMPLETED
    assert words(model.requests[2].messages) == ["The capital of Norway?"]
    first, second = agent.thread.branches
    assert words(first.messages) == ["The capital of Portugal?", "Lisbon.", "And the weather?", "It rains."]
    assert words(agent.messages) == words(second.messages) == ["The capital of Norway?", "Oslo."]
    assert (second.kind, second.parent) == (BranchKind.EDIT, first.id)
    agent.switch(agent.thread, first)
    assert words(agent.messages)[-1] == "It rains."


@pytest.mark.parametrize("place", [1, 2, -1, 9])
async def test_only_what_the_person_wrote_can_be_edited(place):
    agent = Agent(Registry(), ScriptedModel(["Hello."]))
    await agent.run("Hi")
    with pytest.raises(ValueError, match="not one that the person wrote"):
        await agent.edit(place, "Other")
    assert len(agent.thread.branches) == 1


async def test_a_retry_of_an_answer_keeps_the_answer_in_its_own_branch():
    agent = Agent(Registry(), ScriptedModel(["One.", "Two."]))
    await agent.run("Hi")
    await agent.retry()
    first, second = agent.thread.branches
    assert (words(first.messages), words(second.messages)) == (["Hi", "One."], ["Hi", "Two."])
    assert second.kind is BranchKind.RETRY


async def test_what_one_branch_does_to_its_messages_reaches_no_other():
    agent = Agent(Registry(), ScriptedModel(["One.", "Two."]))
    await agent.run("Hi")
    await agent.retry()
    first, second = agent.thread.branches
    second.messages[0]["content"] = "changed"
    assert first.messages[0]["content"] == "Hi"


async def test_threads_can_be_gone_back_to_and_continue_where_they_were():
    model = ScriptedModel(["One.", "Two.", "Three."])
    agent = Agent(Registry(), model)
    await agent.run("First")
    first = agent.thread
    agent.new_thread()
    await agent.run("Second")
    agent.switch(first.id)
    await agent.run("More")
    assert words(model.requests[1].messages) == ["Second"]
    assert words(model.requests[2].messages) == ["First", "One.", "More"]
    assert [words(thread.messages)[0] for thread in agent.threads] == ["First", "Second"]


async def test_a_thread_or_branch_that_does_not_exist_is_refused():
    agent, other = Agent(Registry(), ScriptedModel([])), Agent(Registry(), ScriptedModel([]))
    with pytest.raises(ValueError, match="no thread"):
        agent.switch(other.thread)
    with pytest.raises(ValueError, match="no branch"):
        agent.switch(agent.thread, other.thread.branch)


async def test_a_conversation_can_be_cleared_while_a_run_is_under_way_in_another():
    registry, read = Registry(), Waiting()
    registry.register(capability("it.read", read))
    agent = Agent(registry, ScriptedModel([[tool("it.read")], "Found."]))
    running = asyncio.create_task(agent.run("Look"))
    await read.entered.wait()
    with pytest.raises(RuntimeError, match="clear"):
        agent.clear()
    asked, other = agent.thread, agent.new_thread()
    agent.clear()
    assert other not in agent.threads
    read.open.set()
    await running
    assert asked.messages[-1]["content"] == "Found."
    assert json.loads(asked.messages[2]["content"])["data"] == "found"
