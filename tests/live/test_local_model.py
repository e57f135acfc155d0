"""The embedded model for real: its process, its answers, and its end."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import aclosing

import pytest

from agentic_qt.client.agent import Agent
from agentic_qt.client.assembler import Assembler
from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.events import CallFinished, RunEndReason, TextDelta, TurnStarted
from agentic_qt.client.few_shot import examples_of
from agentic_qt.client.local import TEMPLATE, LocalChatModel
from agentic_qt.client.local_process import StartUp
from agentic_qt.client.weights import find_smollm2
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry

pytestmark = pytest.mark.anyio

TEXT = {"type": "string", "minLength": 1}
OPEN = {
    "type": "function",
    "function": {
        "name": "customer_open",
        "description": "Open a customer.",
        "parameters": {"type": "object", "properties": {"customer": TEXT}, "required": ["customer"]},
    },
}
ASK = [{"role": "user", "content": "Open Ada Lovelace"}]
SECONDS = 120


async def ask(model, messages=ASK, tools=(OPEN,)):
    assembler = Assembler()
    async with aclosing(model.stream(messages, list(tools))) as stream:
        async for delta in stream:
            assembler.feed(delta)
    return assembler.finish()


async def gone(pid: int) -> None:
    """Wait until a process that may not be our child has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.add_reader(handle, lambda: ended.done() or ended.set_result(None))
    try:
        await asyncio.wait_for(ended, 10)
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def calls_of(assembled):
    return [(call.name, json.loads(call.arguments)) for call in assembled.tool_calls]


async def test_it_turns_a_request_into_a_call_made_of_the_users_words(local_model):
    seen = []
    local_model.observe(seen.append)
    answer = await ask(local_model)
    assert calls_of(answer) == [("customer_open", {"customer": "Ada Lovelace"})]
    assert not answer.cut
    assert seen == [StartUp.STARTING, StartUp.LOADING, StartUp.READY]
    await local_model.aclose()
    assert local_model.pid is None
    assert seen[-1] is local_model.state is StartUp.STOPPED


async def test_it_lives_on_the_applications_loop(qapp, local_model):
    assert calls_of(await ask(local_model)) == [("customer_open", {"customer": "Ada Lovelace"})]
    pid = local_model.pid
    await local_model.aclose()
    await gone(pid)


async def test_a_run_ends_after_one_call_that_a_person_approved(local_model):
    done = []
    registry = Registry()
    registry.register(
        Capability(
            name="customer.update",
            description="Change one field of a customer.",
            input_schema={
                "type": "object",
                "properties": {
                    "customer": TEXT,
                    "field": {"type": "string", "enum": ["name", "email", "city"]},
                    "value": TEXT,
                },
                "required": ["customer", "field", "value"],
                "additionalProperties": False,
            },
            risk="mutating",
            handler=lambda customer, field, value: done.append((customer, field, value)),
            examples=(
                (
                    "Set the email of Grace Hopper to grace@example.com",
                    {"customer": "Grace Hopper", "field": "email", "value": "grace@example.com"},
                ),
                (
                    "Change the city of Marie Curie to Lyon",
                    {"customer": "Marie Curie", "field": "city", "value": "Lyon"},
                ),
            ),
        )
    )

    def asked(event):
        if event.change is ApprovalChange.ADDED:
            asyncio.get_running_loop().call_soon(registry.approvals.approve, event.request)

    registry.approvals.attach(asked)
    model = LocalChatModel(examples=lambda: examples_of(registry))
    try:
        end = await Agent(registry, model).run("Set the email of Ada Lovelace to ada@example.com")
    finally:
        await model.aclose()
    assert done == [("Ada Lovelace", "email", "ada@example.com")]
    assert (end.reason, end.text, end.turns) == (RunEndReason.COMPLETED, "Done.", 2)


def shop():
    """Return a registry with two things to do, and what was done."""
    done = []
    registry = Registry()
    schema = {
        "type": "object",
        "properties": {"customer": TEXT},
        "required": ["customer"],
        "additionalProperties": False,
    }
    for name, verb, risk in (("customer.open", "Open", "read"), ("customer.delete", "Delete", "destructive")):
        registry.register(
            Capability(
                name=name,
                description=f"{verb} a customer.",
                input_schema=schema,
                risk=risk,
                handler=lambda customer, name=name: done.append((name, customer)),
                examples=((f"{verb} Grace Hopper", {"customer": "Grace Hopper"}),),
            )
        )
    return registry, done


async def test_two_steps_are_made_one_after_the_other_and_each_change_is_asked_for(local_model):
    registry, done = shop()
    asked = []

    def decide(event):
        if event.change is ApprovalChange.ADDED:
            asked.append((event.request.name, list(done)))
            asyncio.get_running_loop().call_soon(registry.approvals.approve, event.request)

    registry.approvals.attach(decide)
    local_model._examples = lambda: examples_of(registry)
    end = await Agent(registry, local_model).run("Open Ada Lovelace, then delete Alan Turing")
    assert done == [("customer.open", "Ada Lovelace"), ("customer.delete", "Alan Turing")]
    assert asked == [("customer.delete", [("customer.open", "Ada Lovelace")])]
    assert (end.reason, end.text, end.turns) == (RunEndReason.COMPLETED, "Done.", 3)


async def test_after_a_denied_step_the_rest_is_not_begun(local_model):
    registry, done = shop()

    def decide(event):
        if event.change is ApprovalChange.ADDED:
            asyncio.get_running_loop().call_soon(registry.approvals.deny, event.request, "no")

    registry.approvals.attach(decide)
    local_model._examples = lambda: examples_of(registry)
    end = await Agent(registry, local_model).run("Delete Alan Turing, then open Ada Lovelace")
    assert done == []
    assert "the rest was not begun" in end.text


async def test_what_is_not_understood_is_said_and_nothing_is_done(local_model):
    registry, done = shop()
    local_model._examples = lambda: examples_of(registry)
    end = await Agent(registry, local_model).run("Print the customer list")
    assert done == []
    assert (end.reason, end.text, end.turns) == (RunEndReason.COMPLETED, "I did not understand that.", 1)


async def test_stop_in_mid_stream_ends_the_run_and_the_next_one_works(local_model):
    registry, done = shop()
    local_model._examples = lambda: examples_of(registry)
    bare = Agent(Registry(), local_model)
    bare.observe(lambda event: isinstance(event, TextDelta) and bare.stop())
    assert (await bare.run("Tell me a long story.")).reason is RunEndReason.STOPPED
    assert (await Agent(registry, local_model).run("Open Ada Lovelace")).reason is RunEndReason.COMPLETED
    assert done == [("customer.open", "Ada Lovelace")]


async def test_stop_while_a_call_is_being_decided_ends_the_run_before_anything_runs(local_model):
    registry, done = shop()
    local_model._examples = lambda: examples_of(registry)
    agent = Agent(registry, local_model)
    await local_model.start()
    agent.observe(
        lambda event: isinstance(event, TurnStarted) and asyncio.get_running_loop().call_later(0.02, agent.stop)
    )
    assert (await agent.run("Open Ada Lovelace")).reason is RunEndReason.STOPPED
    assert done == []


async def test_a_process_killed_between_two_steps_starts_again_for_the_second(local_model):
    registry, done = shop()
    local_model._examples = lambda: examples_of(registry)
    pids = []

    def kill(event):
        if isinstance(event, CallFinished) and not pids:
            pids.append(local_model.pid)
            os.kill(pids[0], signal.SIGKILL)

    agent = Agent(registry, local_model)
    agent.observe(kill)
    end = await agent.run("Open Ada Lovelace, then open Alan Turing")
    assert done == [("customer.open", "Ada Lovelace"), ("customer.open", "Alan Turing")]
    assert end.reason is RunEndReason.COMPLETED
    assert local_model.pid not in (None, *pids)


async def test_without_tools_it_answers_in_words(local_model):
    answer = await ask(local_model, [{"role": "user", "content": "Say hello."}], ())
    assert answer.text
    assert not answer.tool_calls


async def test_requests_at_the_same_time_are_answered_one_after_the_other(local_model):
    requests = [[{"role": "user", "content": f"Open {name}"}] for name in ("Ada Lovelace", "Alan Turing")]
    answers = await asyncio.gather(*(ask(local_model, request) for request in requests))
    assert [calls_of(answer)[0][1] for answer in answers] == [
        {"customer": "Ada Lovelace"},
        {"customer": "Alan Turing"},
    ]


async def test_a_process_killed_in_mid_stream_cuts_the_answer_and_the_next_request_starts_it_again(local_model):
    await local_model.start()
    first = local_model.pid
    assembler = Assembler()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentic_qt.client.local._MOST_TOKENS", 4000)
        async with aclosing(local_model.stream([{"role": "user", "content": "Tell me a story."}], [])) as stream:
            async for delta in stream:
                assembler.feed(delta)
                if delta.text and first is not None:
                    os.kill(first, signal.SIGKILL)
                    await gone(first)
                    first, dead = None, first
    assert assembler.finish().cut
    assert calls_of(await ask(local_model)) == [("customer_open", {"customer": "Ada Lovelace"})]
    assert local_model.pid not in (None, dead)


async def test_a_killed_process_ends_a_run_with_a_type(local_model):
    await local_model.start()
    agent = Agent(Registry(), local_model)
    agent.observe(lambda event: hasattr(event, "text") and local_model.pid and os.kill(local_model.pid, signal.SIGKILL))
    end = await agent.run("Tell me a story.")
    assert end.reason in (RunEndReason.CUT_STREAM, RunEndReason.ERROR)
    assert end.reason is RunEndReason.CUT_STREAM or end.error is not None


async def test_weights_that_cannot_be_read_are_a_typed_error(tmp_path):
    weights = tmp_path / "broken.gguf"
    weights.write_bytes(b"GGUF and nothing more")
    model = LocalChatModel(weights)
    with pytest.raises(ChatModelError) as raised:
        await model.start()
    assert raised.value.code == "server"
    assert model.pid is None
    assert model.state is StartUp.FAILED


async def test_a_caller_that_stops_waiting_leaves_no_process(local_model):
    pids = []
    local_model.observe(lambda state: state is StartUp.LOADING and pids.append(local_model.pid))
    starting = asyncio.create_task(local_model.start())
    while not pids:
        await asyncio.wait({starting}, timeout=0.01)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await gone(pids[0])
    assert local_model.pid is None


async def test_nothing_but_loopback_is_listened_on_and_a_key_is_wanted(local_model):
    await local_model.start()
    endpoint = await local_model._process.endpoint()
    host, _, port = endpoint.base_url.removeprefix("http://").removesuffix("/v1").partition(":")
    assert host == "127.0.0.1"
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b" 401 " in await reader.readline()
    writer.close()
    await writer.wait_closed()
    for other in socket.gethostbyname_ex(socket.gethostname())[2]:
        if not other.startswith("127."):
            with pytest.raises(OSError):
                await asyncio.open_connection(other, int(port))


async def test_the_process_ends_with_its_standard_input_on_every_platform():
    settings = {
        "model": str(find_smollm2()), "template": str(TEMPLATE), "alias": "m", "threads": 1, "context": 512, "key": "k"
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "agentic_qt.client.local_server",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    process.stdin.write(json.dumps(settings).encode() + b"\n")
    while json.loads(await process.stdout.readline())["event"] != "ready":
        pass
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 10) == 0


PARENT = """
import asyncio
from agentic_qt.client.local import LocalChatModel

async def main():
    model = LocalChatModel()
    await model.start()
    print(model.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the end of a grandchild is watched by a Linux handle")
async def test_the_process_ends_when_the_application_is_killed():
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdin=subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    pid = int(await asyncio.wait_for(parent.stdout.readline(), SECONDS))
    parent.kill()
    await parent.wait()
    await gone(pid)
