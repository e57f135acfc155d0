"""The agent's loop: turns, calls, ends."""

import asyncio
import json

import pytest

from agentic_qt.client.agent import Agent
from agentic_qt.client.chat_model import ChatModelError, Delta, ToolCallDelta, Usage
from agentic_qt.client.events import (
    CallFinished,
    CallProgressed,
    CallStarted,
    MessageFinished,
    ReasoningDelta,
    RunEnded,
    RunEndReason,
    RunStarted,
    TextDelta,
    TurnStarted,
)
from agentic_qt.core.capability import Target
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.history import repair
from agentic_qt.protocol.messages import ToolCall
from agentic_qt.testing import ScriptedModel, tool
from tests.support.agent_kit import HeldModel, approving, capability

pytestmark = pytest.mark.anyio

NUMBER = {"n": {"type": "integer"}}
FOUND = '{"status":"ok","from":"customer.find","data":{"name":"Ada","n":7}}'


def results(agent):
    return [json.loads(message["content"]) for message in agent.messages if message["role"] == "tool"]


def watch(agent):
    events = []
    agent.observe(events.append)
    return events


def counting(registry, *, risk="read"):
    """Register `it.do`, which notes what it was told."""
    seen = []

    def do(n):
        seen.append(n)

    registry.register(capability("it.do", do, risk=risk, properties=NUMBER, required=["n"]))
    return seen


def fragment(text, index=0, **more):
    return Delta(tool_calls=(ToolCallDelta(index=index, arguments=text, **more),))


# Runs


async def test_a_question_is_answered_and_told_as_it_comes():
    model = ScriptedModel(["Hello there, Ada."], chunk_size=6)
    agent = Agent(Registry(), model, instructions="Be brief.")
    events = watch(agent)
    end = await agent.run("Hi")
    assert (end.reason, end.text, end.turns) == (RunEndReason.COMPLETED, "Hello there, Ada.", 1)
    assert [type(event) for event in events] == [
        RunStarted,
        TurnStarted,
        TextDelta,
        TextDelta,
        TextDelta,
        MessageFinished,
        RunEnded,
    ]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello there, Ada."
    assert {event.run for event in events} == {end.run}
    assert events[-1].end is end
    assert agent.messages == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello there, Ada."},
    ]
    assert model.requests[0].messages[0] == {"role": "system", "content": "Be brief."}
    assert model.requests[0].tools == []


async def test_a_call_runs_and_its_result_goes_back_to_the_model():
    """FC-50."""
    registry = Registry()
    registry.register(capability("customer.find", lambda n: {"name": "Ada", "n": n}, properties=NUMBER))
    model = ScriptedModel([["I look.", tool("customer.find", {"n": 7}, id="t1")], "It is Ada."])
    agent = Agent(registry, model)
    events = watch(agent)
    end = await agent.run("Who is 7?")
    assert (end.reason, end.text, end.turns) == (RunEndReason.COMPLETED, "It is Ada.", 2)
    assert model.requests[1].messages[1:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "t1",
                    "type": "function",
                    "function": {"name": "customer_find", "arguments": '{"n": 7}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "t1", "content": FOUND},
    ]
    started = next(event for event in events if isinstance(event, CallStarted))
    finished = next(event for event in events if isinstance(event, CallFinished))
    assert started.call.name == "customer.find"
    assert started.call_id == finished.call_id == f"{end.run}.1.1"
    assert finished.outcome.data == {"name": "Ada", "n": 7}


async def test_a_handler_that_returns_none_is_answered():
    """FC-01."""
    registry = Registry()
    registry.register(capability("it.do", lambda: None))
    agent = Agent(registry, ScriptedModel([[tool("it.do")], "Done."]))
    end = await agent.run("Do it")
    assert end.reason is RunEndReason.COMPLETED
    assert results(agent) == [{"status": "ok", "data": None}]


async def test_the_approval_shows_the_models_own_words_as_its_reason():
    registry = Registry()
    counting(registry, risk="mutating")
    reasons = []
    registry.approvals.attach(lambda event: (reasons.append(event.request.reason), registry.approvals.deny_all("No.")))
    agent = Agent(registry, ScriptedModel([["You asked for it.", tool("it.do", {"n": 1})], "Sorry."]), actor="ada")
    await agent.run("Do it")
    assert reasons[0] == "You asked for it."
    assert results(agent)[0]["status"] == "denied"


async def test_calls_are_made_in_the_name_of_the_actor_and_the_client_of_the_session():
    calls = []
    registry = Registry(permission=lambda call, _: calls.append(call) or True)
    registry.register(capability("it.read", lambda **_: 1, properties={"actor": {}}))
    model = ScriptedModel([[tool("it.read", {"actor": "admin"})], "Done."])
    end = await Agent(registry, model, actor="ada", client="palette").run("Go")
    assert [(call.actor, call.client, call.run) for call in calls] == [("ada", "palette", end.run)]


async def test_a_handler_that_cancels_its_own_task_costs_neither_the_answer_nor_the_run():
    registry = approving(Registry())

    async def cancels_itself():
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    registry.register(capability("it.cancel", cancels_itself))
    agent = Agent(registry, ScriptedModel([[tool("it.cancel"), tool("it.cancel")], "Done."]))
    assert (await agent.run("Go")).reason is RunEndReason.COMPLETED
    assert [entry["status"] for entry in results(agent)] == ["cancelled", "cancelled"]


async def test_every_tool_call_gets_one_answer_in_order_whatever_it_is():
    """G27, FC-58, FC-57."""
    registry = approving(Registry())
    counting(registry, risk="mutating")
    registry.register(capability("it.fail", lambda: 1 / 0))
    registry.register(capability("it.read", lambda: "read"))
    turn = [
        tool("it.do", {"n": 1}, id="a"),
        tool("it.unknown", {}, id="b"),
        tool("it.do", '{"n":', id="c"),
        tool("it.fail", {}, id="d"),
        tool("it.do", {"n": "x"}, id="e"),
        tool("it.read", "", id="f"),
        ToolCall(id="g", name="it.read", arguments="{}"),
    ]
    model = ScriptedModel([turn, "Done."])
    agent = Agent(registry, model)
    end = await agent.run("Go")
    assert end.reason is RunEndReason.COMPLETED
    answers = model.requests[1].messages[2:]
    assert [message["tool_call_id"] for message in answers] == list("abcdefg")
    assert [entry["status"] for entry in results(agent)] == [
        "ok",
        "unavailable",
        "invalid",
        "failed",
        "invalid",
        "ok",
        "unavailable",
    ]
    assert "ZeroDivisionError" not in json.dumps(results(agent))


async def test_missing_fields_are_told_to_the_model_which_can_mend_them():
    """FC-51."""
    registry = approving(Registry())
    seen = counting(registry, risk="mutating")
    model = ScriptedModel([[tool("it.do", {})], [tool("it.do", {"n": 3})], "Done."])
    agent = Agent(registry, model)
    await agent.run("Do it")
    assert [entry["status"] for entry in results(agent)] == ["invalid", "ok"]
    assert "/n" in results(agent)[0]["hint"]
    assert seen == [3]


async def test_reads_run_side_by_side():
    registry = Registry()
    started = []
    both = asyncio.Event()

    async def look(n):
        started.append(n)
        if len(started) == 2:
            both.set()
        await both.wait()  # a time-out of the test when the second never starts
        return n

    registry.register(capability("it.look", look, properties=NUMBER))
    agent = Agent(registry, ScriptedModel([[tool("it.look", {"n": 1}), tool("it.look", {"n": 2})], "Done."]))
    await agent.run("Look")
    assert [entry["data"] for entry in results(agent)] == [1, 2]


async def test_writes_run_in_order_and_reads_after_a_write_see_it():
    registry = approving(Registry())
    log = []

    async def write(n):
        log.append(f"begin {n}")
        await asyncio.sleep(0)
        log.append(f"end {n}")

    registry.register(capability("it.write", write, risk="mutating", properties=NUMBER))
    registry.register(capability("it.read", lambda: list(log)))
    turn = [
        tool("it.write", {"n": 1}),
        tool("it.write", {"n": 2}),
        tool("it.read"),
        tool("it.write", {"n": 3}),
    ]
    agent = Agent(registry, ScriptedModel([turn, "Done."]))
    await agent.run("Write")
    assert log == ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]
    assert results(agent)[2]["data"] == ["begin 1", "end 1", "begin 2", "end 2"]


async def test_parallel_results_that_come_out_of_order_are_sent_in_order():
    """FC-58."""
    registry = Registry()
    second = asyncio.Event()

    async def look(n):
        if n == 1:
            await second.wait()
        return n

    registry.register(capability("it.look", look, properties=NUMBER))
    agent = Agent(registry, ScriptedModel([[tool("it.look", {"n": 1}), tool("it.look", {"n": 2})], "Done."]))
    events = watch(agent)
    agent.observe(lambda event: second.set() if isinstance(event, CallFinished) else None)
    await agent.run("Look")
    assert [event.outcome.data for event in events if isinstance(event, CallFinished)] == [2, 1]
    assert [entry["data"] for entry in results(agent)] == [1, 2]


async def test_a_named_target_is_used_and_no_other():
    """FC-27."""
    registry = approving(Registry())
    ran = []
    for board in ("b1", "b2"):
        handler = lambda board=board: ran.append(board)  # noqa: E731
        registry.register(capability("board.clear", handler, risk="mutating", target=Target(id=board)))
    turns = [[tool("board.clear", {"_target": "b2"}), tool("board.clear", {"_target": "b9"}), tool("board.clear")]]
    agent = Agent(registry, ScriptedModel([*turns, "Done."]))
    await agent.run("Clear b2")
    assert ran == ["b2"]
    assert [entry["status"] for entry in results(agent)] == ["ok", "unavailable", "invalid"]


async def test_tool_call_ids_that_repeat_across_turns_are_different_calls():
    """FC-62."""
    registry = approving(Registry())
    seen = counting(registry, risk="mutating")
    turns = [[tool("it.do", {"n": n}, id="call_0")] for n in (1, 2, 1)]
    agent = Agent(registry, ScriptedModel([*turns, "Done."]))
    events = watch(agent)
    await agent.run("Go")
    assert seen == [1, 2, 1]
    assert len({event.call_id for event in events if isinstance(event, CallFinished)}) == 3


async def test_tool_calls_without_ids_each_get_an_answer():
    """FC-60, FC-62."""
    registry = Registry()
    registry.register(capability("it.echo", lambda n: n, properties=NUMBER))
    turn = [fragment(f'{{"n":{n}}}', index=n, name="it_echo") for n in (0, 1)]
    agent = Agent(registry, ScriptedModel([[*turn, Delta(finish_reason="tool_calls", done=True)], "Done."]))
    await agent.run("Go")
    assert [entry["data"] for entry in results(agent)] == [0, 1]
    assert len({message["tool_call_id"] for message in agent.messages if message["role"] == "tool"}) == 2


async def test_a_catalogue_that_changed_between_turns_is_shown_anew():
    registry = Registry()
    registration = registry.register(capability("it.first", lambda: registration.suspend()))  # noqa: PLW0108 - later
    registry.register(capability("it.second", lambda: "two"))
    model = ScriptedModel([[tool("it.first")], [tool("it.second")], "Done."])
    await Agent(registry, model).run("Go")
    names = [[entry["function"]["name"] for entry in request.tools] for request in model.requests]
    assert names == [["it_first", "it_second"], ["it_second"], ["it_second"]]


async def test_progress_of_a_handler_is_told_under_its_call():
    registry = Registry()
    registry.register(capability("it.work", lambda ctx: ctx.progress(1, 2, "half")))
    agent = Agent(registry, ScriptedModel([[tool("it.work")], "Done."]))
    events = watch(agent)
    end = await agent.run("Go")
    (told,) = [event for event in events if isinstance(event, CallProgressed)]
    assert (told.run, told.call_id, told.progress.message) == (end.run, f"{end.run}.1.1", "half")


async def test_no_more_tools_are_offered_than_providers_take():
    registry = Registry()
    for number in range(130):
        registry.register(capability(f"it.do{number}", lambda: None))
    model = ScriptedModel(["Hi."])
    await Agent(registry, model, mode="all").run("Hi")
    assert len(model.requests[0].tools) == 128


async def test_two_hundred_calls_in_one_message_are_answered_and_accepted_again():
    registry = Registry()
    registry.register(capability("it.echo", lambda n: n, properties=NUMBER))
    model = ScriptedModel([[tool("it.echo", {"n": n}) for n in range(200)], "Done."])
    agent = Agent(registry, model)
    await agent.run("Go")
    assert [entry["data"] for entry in results(agent)] == list(range(200))
    assert all(len(message.get("tool_calls", ())) <= 128 for message in model.requests[1].messages)


# How runs end


async def test_at_the_turn_cap_the_open_calls_still_run():
    registry = approving(Registry())
    seen = counting(registry, risk="mutating")
    model = ScriptedModel([[tool("it.do", {"n": n})] for n in range(9)])
    agent = Agent(registry, model, max_turns=3)
    end = await agent.run("Go")
    assert (end.reason, end.turns) == (RunEndReason.TURN_CAP, 3)
    assert seen == [0, 1, 2]
    assert len(results(agent)) == 3
    assert repair(agent.messages) == agent.messages


async def test_finish_reason_tool_calls_without_any_ends_the_run():
    """FC-61."""
    model = ScriptedModel([[Delta(text="Hm."), Delta(finish_reason="tool_calls", done=True)]])
    end = await Agent(Registry(), model).run("Go")
    assert (end.reason, end.turns) == (RunEndReason.COMPLETED, 1)


async def test_an_answer_of_nothing_ends_the_run_as_empty():
    """FC-61."""
    agent = Agent(Registry(), ScriptedModel([[Delta(finish_reason="stop", done=True)]]))
    end = await agent.run("Go")
    assert end.reason is RunEndReason.EMPTY
    assert agent.messages == [{"role": "user", "content": "Go"}]


async def test_finish_reason_stop_with_calls_runs_them():
    """FC-61."""
    registry = approving(Registry())
    seen = counting(registry, risk="mutating")
    turn = [fragment('{"n":4}', id="a", name="it_do"), Delta(finish_reason="stop", done=True)]
    end = await Agent(registry, ScriptedModel([turn, "Done."])).run("Go")
    assert end.reason is RunEndReason.COMPLETED
    assert seen == [4]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        (Delta(finish_reason="length", done=True), RunEndReason.LENGTH),
        (Delta(finish_reason="content_filter", done=True), RunEndReason.CONTENT_FILTER),
        (Delta(), RunEndReason.CUT_STREAM),
    ],
)
@pytest.mark.parametrize("arguments", ['{"n":4}', '{"n":'])
async def test_a_call_that_was_cut_off_never_runs_even_when_it_parses(finish, reason, arguments):
    """G26, FC-61, FC-60."""
    registry = approving(Registry())
    seen = counting(registry, risk="mutating")
    model = ScriptedModel([[Delta(text="I do"), fragment(arguments, id="a", name="it_do"), finish], "Hello."])
    agent = Agent(registry, model)
    events = watch(agent)
    end = await agent.run("Go")
    assert (end.reason, end.text) == (reason, "I do")
    assert seen == []
    assert not any(isinstance(event, CallStarted) for event in events)
    assert not any("tool_calls" in message for message in agent.messages)
    assert (await agent.run("And now?")).reason is RunEndReason.COMPLETED


async def test_deltas_of_sloppy_providers_become_the_right_calls():
    """FC-60."""
    registry = Registry()
    registry.register(capability("it.echo", lambda n: n, properties=NUMBER))
    turn = [
        fragment("", index=None, id="a", name="it_echo"),
        fragment('{"n"', index=None, id="a", name="it_echo"),
        fragment(":1}", index=None),
        fragment('{"n":2}', index=None, id="b", name="it_echo"),
        Delta(finish_reason="tool_calls", done=True),
    ]
    agent = Agent(registry, ScriptedModel([turn, "Done."]))
    await agent.run("Go")
    assert [entry["data"] for entry in results(agent)] == [1, 2]


async def test_a_provider_error_ends_the_run_and_can_be_tried_again():
    error = ChatModelError("rate_limit", "slow down", retry_after=2.0)
    model = ScriptedModel([error, "Hello."])
    agent = Agent(Registry(), model)
    end = await agent.run("Hi")
    assert (end.reason, end.error) == (RunEndReason.ERROR, error)
    assert agent.messages == [{"role": "user", "content": "Hi"}]
    events = watch(agent)
    again = await agent.retry()
    assert again.reason is RunEndReason.COMPLETED
    assert again.run != end.run
    assert events[0] == RunStarted(run=again.run, text="", thread=agent.thread.id, branch=agent.thread.branch.id)
    assert model.requests[0].messages == model.requests[1].messages


@pytest.mark.parametrize(
    "turn",
    [
        [Delta(text="Hel"), ChatModelError("offline", "gone")],
        [Delta(text="Hel"), Delta(error=ChatModelError("offline", "gone"), done=True)],
    ],
)
async def test_an_error_in_the_middle_of_an_answer_keeps_no_half_of_it(turn):
    agent = Agent(Registry(), ScriptedModel([turn, "Hello."]))
    events = watch(agent)
    end = await agent.run("Hi")
    assert (end.reason, end.error.code, end.text) == (RunEndReason.ERROR, "offline", "Hel")
    assert MessageFinished(run=end.run, text="Hel") in events
    assert agent.messages == [{"role": "user", "content": "Hi"}]
    await agent.retry()
    assert [message["content"] for message in agent.messages] == ["Hi", "Hello."]


async def test_an_error_after_calls_keeps_their_results_and_retry_goes_on_from_there():
    registry = approving(Registry())
    seen = counting(registry, risk="mutating")
    model = ScriptedModel([[tool("it.do", {"n": 1})], ChatModelError("server"), "Done."])
    agent = Agent(registry, model)
    assert (await agent.run("Go")).reason is RunEndReason.ERROR
    assert (await agent.retry()).reason is RunEndReason.COMPLETED
    assert seen == [1]
    assert [message["role"] for message in agent.messages] == ["user", "assistant", "tool", "assistant"]


async def test_retry_after_an_answer_asks_for_another_one():
    agent = Agent(Registry(), ScriptedModel(["One.", "Two."]))
    await agent.run("Hi")
    await agent.retry()
    assert [message["content"] for message in agent.messages] == ["Hi", "Two."]


async def test_retry_with_nothing_to_send_sends_nothing():
    model = ScriptedModel([])
    assert (await Agent(Registry(), model).retry()).reason is RunEndReason.EMPTY
    assert model.requests == []


async def test_a_chat_model_that_breaks_ends_the_run_and_leaves_a_valid_history(caplog):
    """G27."""
    registry = Registry()
    registry.register(capability("it.read", lambda: 1))
    model = ScriptedModel([[tool("it.read")], lambda messages: 1 / 0, "Hello."])
    agent = Agent(registry, model)
    end = await agent.run("Hi")
    assert (end.reason, end.error) == (RunEndReason.ERROR, None)
    assert "ZeroDivisionError" in caplog.text
    assert repair(agent.messages) == agent.messages
    assert not agent.running
    assert (await agent.run("Again")).reason is RunEndReason.COMPLETED


async def test_a_registry_that_breaks_its_promise_still_gives_each_call_an_answer(caplog, monkeypatch):
    """G21, G27."""
    registry = Registry()
    registry.register(capability("it.read", lambda: 1))

    async def broken(call):
        raise RuntimeError("secret")

    monkeypatch.setattr(registry, "execute", broken)
    agent = Agent(registry, ScriptedModel([[tool("it.read"), tool("it.read")], "Hm."]))
    assert (await agent.run("Go")).reason is RunEndReason.COMPLETED
    assert [(entry["status"], entry["code"]) for entry in results(agent)] == [("unknown", "internal_error")] * 2
    assert "secret" in caplog.text
    assert "secret" not in json.dumps(agent.messages)


async def test_names_that_collide_on_the_wire_end_the_run_and_are_logged(caplog):
    """FC-50."""
    registry = Registry()
    registry.register(capability("form.save", lambda: 1))
    registry.register(capability("form_save", lambda: 1))
    model = ScriptedModel([])
    end = await Agent(registry, model).run("Hi")
    assert end.reason is RunEndReason.ERROR
    assert "WireNameError" in caplog.text
    assert model.requests == []


async def test_an_observer_that_fails_harms_no_run():
    agent = Agent(Registry(), ScriptedModel(["Hello."]))
    agent.observe(lambda event: 1 / 0)
    assert (await agent.run("Hi")).reason is RunEndReason.COMPLETED


# What surrounds a run


async def test_a_second_run_is_refused_while_one_is_under_way():
    model = HeldModel()
    agent = Agent(Registry(), model)
    first = asyncio.create_task(agent.run("One"))
    await model.waiting.wait()
    events = watch(agent)
    assert (await agent.run("Two")).reason is RunEndReason.BUSY
    assert (await agent.retry()).reason is RunEndReason.BUSY
    assert events == []
    with pytest.raises(RuntimeError, match="chat model"):
        agent.chat_model = ScriptedModel([])
    with pytest.raises(RuntimeError, match="clear"):
        agent.clear()
    agent.stop()
    await first
    assert [message["content"] for message in agent.messages] == ["One"]
    agent.chat_model = ScriptedModel(["Hello."])
    agent.clear()
    assert agent.messages == []
    assert (await agent.run("Three")).reason is RunEndReason.COMPLETED


async def test_a_new_run_may_begin_as_soon_as_the_end_was_told():
    agent = Agent(Registry(), ScriptedModel(["One.", "Two."]))
    runs = []

    def again(event):
        if isinstance(event, RunEnded) and not runs:
            runs.append(asyncio.create_task(agent.run("More")))

    agent.observe(again)
    await agent.run("Hi")
    assert (await runs[0]).text == "Two."


async def test_a_history_that_was_left_broken_is_repaired_before_it_is_sent():
    """G27, FC-57."""
    model = ScriptedModel(["Hello."])
    agent = Agent(Registry(), model)
    agent.messages.extend(
        [
            {"role": "tool", "tool_call_id": "orphan", "content": "x"},
            {"role": "user", "content": "Before"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "form.save", "arguments": ""}}],
            },
        ]
    )
    await agent.run("Now")
    sent = model.requests[0].messages
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "form_save", "arguments": "{}"}
    assert json.loads(sent[2]["content"])["code"] == "no_result"


async def test_tokens_are_added_up_and_unknown_fields_go_back_to_the_model():
    registry = Registry()
    registry.register(capability("it.read", lambda: 1))
    first = [
        Delta(reasoning="Hm.", extra={"reasoning_content": "Hm."}),
        fragment("{}", id="a", name="it_read"),
        Delta(finish_reason="tool_calls", usage=Usage(input_tokens=10, output_tokens=2), done=True),
    ]
    second = [
        Delta(text="Done."),
        Delta(finish_reason="stop", usage=Usage(input_tokens=20, output_tokens=3), done=True),
    ]
    model = ScriptedModel([first, second])
    agent = Agent(registry, model)
    events = watch(agent)
    end = await agent.run("Go")
    assert end.usage == Usage(input_tokens=30, output_tokens=5)
    assert model.requests[1].messages[1]["reasoning_content"] == "Hm."
    assert ReasoningDelta(run=end.run, text="Hm.") in events


async def test_an_approval_for_the_run_ends_with_the_run():
    registry = Registry()
    seen = counting(registry, risk="mutating")
    asked = []

    def decide(event):
        if event.change == "added":
            asked.append(event.request.input["n"])
            registry.approvals.approve(event.request, scope="run")

    registry.approvals.attach(decide)
    turns = [[tool("it.do", {"n": 1}), tool("it.do", {"n": 2})], "Done.", [tool("it.do", {"n": 3})], "Done."]
    agent = Agent(registry, ScriptedModel(turns))
    await agent.run("Go")
    await agent.run("Go")
    assert seen == [1, 2, 3]
    assert asked == [1, 3]
    assert len(registry.approvals.grants) == 0


def test_a_cap_that_allows_no_request_is_refused():
    with pytest.raises(ValueError, match="max_turns"):
        Agent(Registry(), ScriptedModel([]), max_turns=0)
