"""Budgets and breakers: how a run ends that would not end by itself."""

import asyncio
import json

import pytest

from agentic_qt.client.agent import Agent
from agentic_qt.client.budgets import Budgets, WorkClock
from agentic_qt.client.chat_model import Delta, ToolCallDelta, Usage
from agentic_qt.client.events import BreakerTripped, BudgetReached, CallFinished, RunEndReason
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.history import repair
from agentic_qt.testing import ScriptedModel, tool
from tests.support.agent_kit import HeldModel, approving, capability

pytestmark = pytest.mark.anyio

NUMBER = {"n": {"type": "integer"}}


def results(agent):
    return [json.loads(message["content"]) for message in agent.messages if message["role"] == "tool"]


def watch(agent, kind):
    events = []
    agent.observe(lambda event: events.append(event) if isinstance(event, kind) else None)
    return events


def counting(registry, name="it.do", risk="read"):
    seen = []
    registry.register(capability(name, lambda n: seen.append(n) or n, risk=risk, properties=NUMBER, required=["n"]))
    return seen


# Budgets


async def test_the_turn_cap_is_told_as_a_budget():
    """G37, FC-64."""
    registry = Registry()
    counting(registry)
    agent = Agent(registry, ScriptedModel([[tool("it.do", {"n": n})] for n in range(9)]), budgets=Budgets(turns=2))
    told = watch(agent, BudgetReached)
    end = await agent.run("Go")
    assert (end.reason, end.budget, end.turns) == (RunEndReason.TURN_CAP, "turns", 2)
    assert told == [BudgetReached(run=end.run, budget="turns", limit=2)]


async def test_calls_beyond_the_budget_are_answered_and_end_the_run():
    """G37, FC-64."""
    registry = Registry()
    seen = counting(registry)
    model = ScriptedModel([[tool("it.do", {"n": n}) for n in range(5)]])
    agent = Agent(registry, model, budgets=Budgets(calls=3))
    told = watch(agent, BudgetReached)
    end = await agent.run("Go")
    assert (end.reason, end.budget) == (RunEndReason.BUDGET, "calls")
    assert seen == [0, 1, 2]
    assert [entry.get("code", entry["status"]) for entry in results(agent)] == ["ok"] * 3 + ["budget"] * 2
    assert [(event.budget, event.limit) for event in told] == [("calls", 3)]
    assert repair(agent.messages) == agent.messages


async def test_writes_have_a_budget_of_their_own_and_only_those_that_ran_count():
    """G37, FC-64."""
    registry = Registry()
    decisions = iter(["deny", "approve", "approve"])

    def decide(event):
        if event.change is ApprovalChange.ADDED:
            getattr(registry.approvals, next(decisions))(event.request)

    registry.approvals.attach(decide)
    seen = counting(registry, risk="mutating")
    counting(registry, "it.read")
    turn = [tool("it.do", {"n": n}) for n in range(4)] + [tool("it.read", {"n": 1})]
    agent = Agent(registry, ScriptedModel([turn]), budgets=Budgets(writes=2))
    end = await agent.run("Go")
    assert (end.reason, end.budget) == (RunEndReason.BUDGET, "writes")
    assert seen == [1, 2]
    assert [entry["status"] for entry in results(agent)] == ["denied", "ok", "ok", "cancelled", "ok"]


@pytest.mark.parametrize("usage", [Usage(input_tokens=900, output_tokens=200), None])
async def test_tokens_are_counted_as_reported_or_else_estimated(usage):
    """G37, FC-64."""
    registry = Registry()
    counting(registry)
    model = ScriptedModel(
        [
            ["word " * 1000, tool("it.do", {"n": 1})]
            if usage is None
            else [*_raw_call("it_do", '{"n":1}'), Delta(finish_reason="tool_calls", usage=usage, done=True)],
            "Never asked for.",
        ],
        chunk_size=1000,
    )
    agent = Agent(registry, model, budgets=Budgets(tokens=1000))
    end = await agent.run("Go")
    assert (end.reason, end.budget, end.turns) == (RunEndReason.BUDGET, "tokens", 1)
    assert results(agent)[0]["status"] == "ok"


def _raw_call(name, arguments):
    yield Delta(tool_calls=(ToolCallDelta(index=0, id="c", name=name, arguments=arguments),))


async def test_time_that_is_used_up_ends_a_call_and_says_that_it_was_not_the_person():
    """FC-64."""
    registry = Registry()

    async def wait_for_ever():
        await asyncio.Event().wait()

    registry.register(capability("it.wait", wait_for_ever))
    counting(registry)
    turn = [tool("it.wait"), tool("it.do", {"n": 1}), tool("it.unknown")]
    agent = Agent(registry, ScriptedModel([turn]), budgets=Budgets(seconds=0.05))
    told = watch(agent, BudgetReached)
    end = await asyncio.wait_for(agent.run("Go"), 2)
    assert (end.reason, end.budget) == (RunEndReason.BUDGET, "seconds")
    assert [event.budget for event in told] == ["seconds"]
    assert [entry["status"] for entry in results(agent)] == ["cancelled", "ok", "unavailable"]


async def test_time_that_is_used_up_ends_a_stream():
    """G37, FC-64, FC-55."""
    model = HeldModel(Delta(text="Hel"))
    agent = Agent(Registry(), model, budgets=Budgets(seconds=0.05))
    end = await asyncio.wait_for(agent.run("Go"), 2)
    assert (end.reason, end.budget, end.text) == (RunEndReason.BUDGET, "seconds", "Hel")
    assert model.closed.is_set()


async def test_the_time_that_a_person_takes_does_not_count():
    registry = Registry()
    seen = counting(registry, risk="mutating")
    loop = asyncio.get_running_loop()

    def decide(event):
        if event.change is ApprovalChange.ADDED:
            loop.call_later(0.2, registry.approvals.approve, event.request)

    registry.approvals.attach(decide)
    agent = Agent(registry, ScriptedModel([[tool("it.do", {"n": 1})], "Done."]), budgets=Budgets(seconds=0.1))
    end = await agent.run("Go")
    assert end.reason is RunEndReason.COMPLETED
    assert seen == [1]


def test_a_work_clock_counts_only_what_is_not_paused():
    now = [0.0]
    clock = WorkClock(lambda: now[0])
    now[0] = 2.0
    clock.pause()
    clock.pause()
    now[0] = 5.0
    clock.resume()
    assert clock.paused
    assert clock.elapsed == 2.0
    clock.resume()
    now[0] = 6.0
    assert clock.elapsed == 3.0


@pytest.mark.parametrize("wrong", [{"turns": 0}, {"calls": -1}, {"seconds": float("nan")}, {"writes": True}])
def test_a_budget_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match="budget"):
        Budgets(**wrong)


# Breakers


async def test_the_same_call_with_the_same_result_is_not_run_a_fourth_time_and_ends_the_run_when_it_goes_on():
    """G37, FC-64."""
    registry = Registry()
    seen = counting(registry)
    agent = Agent(registry, ScriptedModel([[tool("it.do", {"n": 1})] for _ in range(8)]))
    told = watch(agent, BreakerTripped)
    end = await agent.run("Go")
    assert end.reason is RunEndReason.BREAKER
    assert seen == [1, 1, 1]
    assert [entry["status"] for entry in results(agent)] == ["ok", "ok", "ok", "denied", "denied"]
    assert results(agent)[-1]["code"] == "breaker"
    assert [(event.name, event.breaker) for event in told] == [("it.do", "identical_calls")] * 2


async def test_a_model_that_heeds_the_breaker_goes_on():
    """FC-64."""
    registry = Registry()
    counting(registry)
    agent = Agent(registry, ScriptedModel([*([[tool("it.do", {"n": 1})]] * 4), "I give up."]))
    end = await agent.run("Go")
    assert (end.reason, end.text) == (RunEndReason.COMPLETED, "I give up.")


@pytest.mark.parametrize("call", [("it.unknown", "{}"), ("it.do", '{"n":'), ("it.do", {"n": "x"})])
async def test_calls_that_cannot_even_be_made_trip_the_breaker_too(call):
    """FC-64, FC-51."""
    registry = Registry()
    counting(registry)
    agent = Agent(registry, ScriptedModel([[tool(*call)] for _ in range(8)]))
    assert (await agent.run("Go")).reason is RunEndReason.BREAKER


async def test_the_same_call_with_other_results_is_no_circle():
    registry = Registry()
    numbers = iter(range(9))
    registry.register(capability("it.next", lambda: next(numbers)))
    agent = Agent(registry, ScriptedModel([*([[tool("it.next")]] * 6), "Done."]))
    assert (await agent.run("Go")).reason is RunEndReason.COMPLETED


async def test_what_a_person_denied_twice_is_not_asked_about_again():
    """FC-41."""
    registry = Registry()
    asked = []

    def decide(event):
        if event.change is ApprovalChange.ADDED:
            asked.append(event.request.input["n"])
            registry.approvals.deny(event.request, "No.")

    registry.approvals.attach(decide)
    counting(registry, risk="mutating")
    agent = Agent(registry, ScriptedModel([[tool("it.do", {"n": n})] for n in range(8)]))
    told = watch(agent, (BreakerTripped, CallFinished))
    end = await agent.run("Go")
    assert asked == [0, 1]
    assert end.reason is RunEndReason.BREAKER
    assert [entry["code"] for entry in results(agent)] == ["person", "person", "breaker", "breaker"]
    assert "Do not try it again" in results(agent)[2]["hint"]
    assert [event.breaker for event in told if isinstance(event, BreakerTripped)] == ["denials"] * 2


async def test_denials_that_no_person_spoke_do_not_count():
    """FC-41."""
    registry = Registry()  # nobody is there who could approve
    counting(registry, risk="mutating")
    agent = Agent(registry, ScriptedModel([*[[tool("it.do", {"n": n})] for n in range(4)], "I stop."]))
    assert (await agent.run("Go")).reason is RunEndReason.COMPLETED
    assert [entry["code"] for entry in results(agent)] == ["no_approver"] * 4


async def test_a_new_run_begins_with_nothing_remembered():
    registry = approving(Registry())
    seen = counting(registry, risk="mutating")
    agent = Agent(
        registry, ScriptedModel([*([[tool("it.do", {"n": 1})]] * 3), "Done.", [tool("it.do", {"n": 1})], "Done."])
    )
    await agent.run("Go")
    await agent.run("Again")
    assert seen == [1] * 4
