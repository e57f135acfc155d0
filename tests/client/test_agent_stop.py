"""Stop: it answers in time, nothing more starts, and every open call has an honest end."""

import asyncio
import gc
import json
import time
import weakref

import pytest

from agentic_qt.client.agent import Agent
from agentic_qt.client.chat_model import ChatModelError, Delta
from agentic_qt.client.events import CallFinished, CallStarted, RunEnded, RunEndReason, TextDelta
from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.flight import LateEnd
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.history import repair
from agentic_qt.testing import ScriptedModel, tool
from tests.support.agent_kit import HeldModel, approving, capability

pytestmark = pytest.mark.anyio

PROMISED = 0.1


async def stopped_in_time(agent, running):
    """Stop and wait for the end; the promise is 100 ms."""
    begun = time.monotonic()
    assert agent.stop()
    end = await running
    took = time.monotonic() - begun
    assert took < PROMISED
    assert end.reason is RunEndReason.STOPPED
    assert not agent.running
    assert repair(agent.messages) == agent.messages
    return end


def results(agent):
    return [json.loads(message["content"]) for message in agent.messages if message["role"] == "tool"]


class Gate:
    """A handler that waits, deaf to its cancellation or not."""

    def __init__(self, *, deaf=False):
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.deaf = deaf
        self.ended = asyncio.Event()

    async def __call__(self):
        self.entered.set()
        while not self.open.is_set():
            try:
                await self.open.wait()
            except asyncio.CancelledError:
                if not self.deaf:
                    raise
        self.ended.set()
        return "done"


async def test_stop_in_the_middle_of_an_answer_closes_the_stream_and_keeps_what_was_said():
    """FC-54."""
    model = HeldModel(Delta(text="Hel"))
    agent = Agent(Registry(), model)
    running = asyncio.create_task(agent.run("Hi"))
    await model.waiting.wait()
    end = await stopped_in_time(agent, running)
    assert end.text == "Hel"
    assert model.closed.is_set()
    assert agent.messages == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hel"}]


async def test_a_stream_that_does_not_close_is_not_waited_for():
    """FC-54."""
    release = asyncio.Event()

    class Stubborn(HeldModel):
        async def stream(self, messages, tools):
            self.waiting.set()
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            yield Delta(text="too late")

    model = Stubborn()
    agent = Agent(Registry(), model)
    told = []
    agent.observe(told.append)
    running = asyncio.create_task(agent.run("Hi"))
    await model.waiting.wait()
    await stopped_in_time(agent, running)
    release.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not any(isinstance(event, TextDelta) for event in told)
    assert isinstance(told[-1], RunEnded)


async def test_stop_while_a_read_runs_cancels_it():
    """G25, FC-54."""
    registry = Registry()
    gate = Gate()
    registry.register(capability("it.read", gate.__call__))
    agent = Agent(registry, ScriptedModel([[tool("it.read")], "never"]))
    running = asyncio.create_task(agent.run("Go"))
    await gate.entered.wait()
    await stopped_in_time(agent, running)
    assert [entry["status"] for entry in results(agent)] == ["cancelled"]


async def test_no_further_call_starts_after_stop():
    """G25, FC-54."""
    registry = approving(Registry())
    gate = Gate()
    registry.register(capability("it.write", gate.__call__, risk="mutating"))
    registry.register(capability("it.next", lambda: pytest.fail("it started"), risk="mutating"))
    turn = [tool("it.write", id="a"), tool("it.next", id="b"), tool("it.next", id="c")]
    model = ScriptedModel([turn, "never"])
    agent = Agent(registry, model)
    events = []
    agent.observe(events.append)
    running = asyncio.create_task(agent.run("Go"))
    await gate.entered.wait()
    await stopped_in_time(agent, running)
    answers = results(agent)
    assert [entry["status"] for entry in answers] == ["cancelled"] * 3
    assert answers[1]["applied"] is answers[2]["applied"] is False
    assert len(model.requests) == 1
    pairs = [(type(event), event.call_id[-1]) for event in events if isinstance(event, CallStarted | CallFinished)]
    assert [number for kind, number in pairs if kind is CallStarted] == ["1", "2", "3"]
    assert [number for kind, number in pairs if kind is CallFinished] == ["1", "2", "3"]


async def test_stop_withdraws_an_approval_and_a_later_click_does_nothing():
    """G25, FC-14, FC-54."""
    registry = Registry()
    asked = asyncio.Event()
    registry.approvals.attach(lambda event: asked.set())
    registry.register(capability("it.write", lambda: pytest.fail("it ran"), risk="mutating"))
    agent = Agent(registry, ScriptedModel([[tool("it.write")], "never"]))
    running = asyncio.create_task(agent.run("Go"))
    await asked.wait()
    (request,) = registry.approvals.pending
    await stopped_in_time(agent, running)
    assert registry.approvals.pending == ()
    assert registry.approvals.approve(request) is False
    assert [entry["status"] for entry in results(agent)] == ["cancelled"]


async def test_a_write_that_does_not_end_is_unknown_and_its_late_end_is_told():
    """FC-54, FC-04."""
    registry = approving(Registry())
    gate = Gate(deaf=True)
    registry.register(capability("it.write", gate.__call__, risk="mutating"))
    agent = Agent(registry, ScriptedModel([[tool("it.write")], "never"]))
    late = asyncio.Event()
    told = []

    def watch(event):
        if isinstance(event, CallFinished):
            told.append(event)
            if event.late:
                late.set()

    agent.observe(watch)
    running = asyncio.create_task(agent.run("Go"))
    await gate.entered.wait()
    end = await stopped_in_time(agent, running)
    assert [entry["status"] for entry in results(agent)] == ["unknown"]
    assert results(agent)[0]["call_id"] == f"{end.run}.1.1"
    gate.open.set()
    await asyncio.wait_for(late.wait(), 5)
    assert [(event.outcome.status, event.late) for event in told] == [
        (Status.UNKNOWN, False),
        (Status.OK, True),
    ]
    assert told[0].call_id == told[1].call_id


@pytest.mark.parametrize(("risk", "status"), [("mutating", "unknown"), ("read", "cancelled")])
async def test_a_call_that_the_registry_cannot_end_is_given_up_within_the_promise(monkeypatch, risk, status):
    """FC-54: whatever holds the registry, the person is answered; the end of a risky call is told when it comes."""
    registry = Registry()
    entered, release, late = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def execute(call):
        entered.set()
        await release.wait()
        return Outcome(status=Status.OK, data="after all", call_id=call.id)

    registry.register(capability("it.do", lambda: None, risk=risk))
    monkeypatch.setattr(registry, "execute", execute)
    agent = Agent(registry, ScriptedModel([[tool("it.do")], "never"]))
    told = []
    agent.observe(lambda event: told.append(event) if isinstance(event, CallFinished) else None)
    agent.observe(lambda event: late.set() if getattr(event, "late", False) else None)
    running = asyncio.create_task(agent.run("Go"))
    await entered.wait()
    await stopped_in_time(agent, running)
    assert [entry["status"] for entry in results(agent)] == [status]
    release.set()
    if status == "unknown":
        await asyncio.wait_for(late.wait(), 5)
        assert told[-1].outcome.data == "after all"


async def test_a_call_whose_end_is_still_not_known_when_its_task_ends_is_told_when_it_is(monkeypatch):
    """FC-04."""
    registry = Registry()
    entered, release = asyncio.Event(), asyncio.Event()

    async def execute(call):
        entered.set()
        await release.wait()
        return Outcome(status=Status.UNKNOWN, call_id=call.id)

    registry.register(capability("it.do", lambda: None, risk="mutating"))
    monkeypatch.setattr(registry, "execute", execute)
    agent = Agent(registry, ScriptedModel([[tool("it.do")], "never"]))
    told = []
    agent.observe(lambda event: told.append(event) if isinstance(event, CallFinished) else None)
    running = asyncio.create_task(agent.run("Go"))
    await entered.wait()
    end = await stopped_in_time(agent, running)
    release.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert [event.late for event in told] == [False]
    late = LateEnd(call_id=f"{end.run}.1.1", client="assistant", run=end.run, outcome=Outcome(status=Status.OK, data=1))
    for _ in range(2):
        registry.lates.tell(late)
    assert [(event.outcome.status, event.late) for event in told[1:]] == [(Status.OK, True)]


async def test_cancelling_the_task_of_a_run_stops_it_the_same_way_and_passes_on():
    """FC-54."""
    registry = approving(Registry())
    gate = Gate()
    registry.register(capability("it.write", gate.__call__, risk="mutating"))
    agent = Agent(registry, ScriptedModel([[tool("it.write"), tool("it.write")], "never"]))
    ends = []
    agent.observe(lambda event: ends.append(event.end) if isinstance(event, RunEnded) else None)
    running = asyncio.create_task(agent.run("Go"))
    await gate.entered.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [end.reason for end in ends] == [RunEndReason.STOPPED]
    assert [(entry["status"], entry["code"]) for entry in results(agent)] == [("cancelled", "stopped")] * 2
    assert not agent.running


async def test_cancelling_twice_leaves_no_run_half_done():
    model = HeldModel(Delta(text="Hel"))
    agent = Agent(Registry(), model)
    ended = asyncio.Event()
    agent.observe(lambda event: ended.set() if isinstance(event, RunEnded) else None)
    running = asyncio.create_task(agent.run("Hi"))
    await model.waiting.wait()
    running.cancel()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(ended.wait(), 5)
    assert not agent.running
    assert model.closed.is_set()


async def test_an_error_and_stop_in_the_same_moment_leave_nothing_behind(caplog):
    class Failing(HeldModel):
        async def stream(self, messages, tools):
            yield Delta(text="Hel")
            agent.stop()
            raise ChatModelError("offline")

    agent = Agent(Registry(), Failing())
    assert (await agent.run("Hi")).reason is RunEndReason.STOPPED
    gc.collect()
    await asyncio.sleep(0)
    assert caplog.text == ""


def test_a_loop_that_is_shut_down_in_a_run_leaves_a_valid_history():
    gates, agents = [], []

    async def main():
        registry = approving(Registry())
        gates.append(Gate())
        registry.register(capability("it.write", gates[0].__call__, risk="mutating"))
        agents.append(Agent(registry, ScriptedModel([[tool("it.write")], "never"])))
        running = asyncio.create_task(agents[0].run("Go"))
        await gates[0].entered.wait()
        return running

    running = asyncio.run(main())  # cancels every task at its end
    assert running.cancelled()
    assert not agents[0].running
    assert [entry["status"] for entry in results(agents[0])] == ["cancelled"]
    assert not gates[0].ended.is_set()


@pytest.mark.parametrize("kind", ["stream", "read", "approval", "deaf"])
async def test_stop_keeps_its_promise_on_the_gui_loop(qapp, kind):
    """G25, FC-54, FC-14."""
    registry = Registry()
    gate = Gate(deaf=kind == "deaf")
    reached = gate.entered
    model = HeldModel(Delta(text="Hel"))
    if kind == "stream":
        reached = model.waiting
    else:
        registry.register(capability("it.do", gate.__call__, risk="read" if kind == "read" else "mutating"))
        model = ScriptedModel([[tool("it.do")], "never"])
    if kind == "approval":
        reached = asyncio.Event()
        registry.approvals.attach(lambda event: reached.set())
    else:
        approving(registry)
    agent = Agent(registry, model)
    running = asyncio.create_task(agent.run("Go"))
    await asyncio.wait_for(reached.wait(), 5)
    await stopped_in_time(agent, running)
    expected = {"stream": [], "read": ["cancelled"], "approval": ["cancelled"], "deaf": ["unknown"]}
    assert [entry["status"] for entry in results(agent)] == expected[kind]
    gate.open.set()
    if kind == "deaf":
        await asyncio.wait_for(gate.ended.wait(), 5)


async def test_stop_from_an_observer_of_the_first_call_starts_none():
    """FC-54."""
    registry = Registry()
    registry.register(capability("it.read", lambda: pytest.fail("it started")))
    agent = Agent(registry, ScriptedModel([[tool("it.read"), tool("it.read")], "never"]))
    agent.observe(lambda event: agent.stop() if isinstance(event, CallStarted) else None)
    end = await agent.run("Go")
    assert end.reason is RunEndReason.STOPPED
    assert [entry["status"] for entry in results(agent)] == ["cancelled", "cancelled"]


async def test_stop_before_the_first_request_sends_none():
    model = ScriptedModel([])
    agent = Agent(Registry(), model)
    running = asyncio.create_task(agent.run("Hi"))
    agent.observe(lambda event: agent.stop())
    end = await running
    assert end.reason is RunEndReason.STOPPED
    assert model.requests == []


async def test_stop_with_nothing_to_stop_says_so():
    agent = Agent(Registry(), ScriptedModel(["Hello."]))
    assert agent.stop() is False
    assert (await agent.run("Hi")).reason is RunEndReason.COMPLETED
    assert agent.stop() is False


async def test_after_stop_the_conversation_goes_on():
    """FC-54, FC-57."""
    registry = approving(Registry())
    gate = Gate()
    registry.register(capability("it.write", gate.__call__, risk="mutating"))
    model = ScriptedModel([[tool("it.write")], "Hello again."])
    agent = Agent(registry, model)
    running = asyncio.create_task(agent.run("Go"))
    await gate.entered.wait()
    await stopped_in_time(agent, running)
    assert (await agent.run("Still there?")).text == "Hello again."
    assert [message["role"] for message in model.requests[1].messages] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]


async def test_a_registry_keeps_no_agent_alive_after_its_runs():
    registry = Registry()
    registry.register(capability("it.read", lambda: 1))
    agent = Agent(registry, ScriptedModel([[tool("it.read")], "Done."]))
    await agent.run("Go")
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None
