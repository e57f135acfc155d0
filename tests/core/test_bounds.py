"""What the core keeps, tells and repeats: bounded, ordered, plain, and no secrets."""

import asyncio
import gc
import json
import threading
import tracemalloc
from typing import Any

import pytest

from agentic_qt import DeclarationError, Registry, Target
from agentic_qt.core.flight import Flight
from agentic_qt.core.journal import MemoryJournal
from agentic_qt.core.policy import Decision, Policy
from agentic_qt.core.recording import MASK
from agentic_qt.core.sealing import SealError, seal
from agentic_qt.schema.canonical import canonical, digest
from tests.support.declare import TEXT, call, declare, text_capability

pytestmark = pytest.mark.anyio


# Memory


async def test_ten_thousand_calls_leave_no_more_behind_than_a_thousand() -> None:
    registry = Registry(journal=MemoryJournal(limit=10))
    registry.approvals.attach(lambda event: event.approval or registry.approvals.approve(event.request))
    registry.register(declare("a.read", input_schema=TEXT, handler=lambda text: text))
    registry.register(declare("a.write", input_schema=TEXT, handler=lambda text: text, risk="mutating"))

    async def calls(number: int, start: int) -> None:
        for index in range(start, start + number):
            await registry.execute(call("a.read", input={"text": "x"}))
            await registry.execute(call("a.write", input={"text": "x" * 500}, id=f"w{index}"))
            await registry.execute(call("no.such", id=f"n{index}", run=f"r{index % 7}"))
            await registry.execute(call("a.read", input={"text": 1}, run=f"r{index % 7}"))
            if index % 50 == 0:
                for run in range(7):
                    registry.end_run(f"r{run}")

    def flights() -> int:
        gc.collect()
        return sum(isinstance(thing, Flight) for thing in gc.get_objects())

    def memory() -> int:
        # Of what a call can leave behind: a thread of an earlier test may be importing something meanwhile.
        ours = [tracemalloc.Filter(inclusive=True, filename_pattern=name) for name in ("*/agentic_qt/*", "*/json/*")]
        return sum(found.size for found in tracemalloc.take_snapshot().filter_traces(ours).statistics("filename"))

    tracemalloc.start()
    await calls(1250, 0)
    many, before = flights(), memory()
    await calls(1250, 1250)
    many_more, after = flights(), memory()
    tracemalloc.stop()
    assert before > 100_000
    pipeline = registry._pipeline
    assert many_more <= many + 400
    assert after < before + 1_000_000
    assert not pipeline._open
    assert not pipeline.budget._running
    assert not pipeline._lane._waiting
    assert pipeline._lane.holder is None
    assert len(pipeline.ledger._loose) <= 1000
    assert not registry.approvals.pending
    registry.end_run("r0")
    assert "r0" not in pipeline.ledger._runs


async def test_a_call_that_ends_after_its_run_did_is_forgotten_too(registry: Registry) -> None:
    release = asyncio.Event()
    registry.register(declare(handler=release.wait))
    waiting = asyncio.ensure_future(registry.execute(call(id="c1", run="r")))
    await asyncio.sleep(0)
    registry.end_run("r")
    release.set()
    assert (await waiting).ok
    assert registry.call_status("c1", run="r") is None
    assert registry._pipeline.ledger._runs == {}


async def test_waiting_writes_that_gave_up_leave_the_line() -> None:
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW))
    registry._pipeline._lane.patience = 0.001
    release = asyncio.Event()
    registry.register(declare(handler=release.wait, risk="mutating"))
    slow = asyncio.ensure_future(registry.execute(call()))
    await asyncio.sleep(0)
    for _ in range(20):
        assert (await registry.execute(call())).code == "lane_busy"
    assert len(registry._pipeline._lane._waiting) == 0
    release.set()
    assert (await slow).ok


async def test_one_timer_serves_all_requests(registry: Registry, approve: list, monkeypatch: Any) -> None:
    """A timer for each would hold every payload until its expiry, half an hour later."""
    loop = asyncio.get_running_loop()
    timers: list = []
    real = loop.call_at
    monkeypatch.setattr(loop, "call_at", lambda *args, **kwargs: timers.append(args) or real(*args, **kwargs))
    registry.register(declare(risk="mutating"))
    for _ in range(50):
        assert (await registry.execute(call())).ok
    assert len(timers) == 1


# Observers


def test_every_observer_sees_changes_in_their_order_even_when_one_causes_another(registry: Registry) -> None:
    seen: list = []
    registry.observe(lambda change: change.kind == "mounted" and change.registration.dispose())
    registry.observe(lambda change: seen.append((change.kind.value, change.revision)))
    registry.register(declare())
    assert seen == [("mounted", 1), ("disposed", 2)]
    assert registry.registrations == ()


@pytest.mark.parametrize("how", ["dispose", "suspend", "replace", "stop"])
@pytest.mark.parametrize("nested", [False, True])
async def test_what_an_audit_observer_takes_away_at_the_last_moment_does_not_run(how: str, nested: bool) -> None:
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW))
    ran: list = []
    registration = registry.register(declare(handler=lambda: ran.append(1), risk="mutating", nested=nested))

    def observer(event: Any) -> None:
        if event.kind.value == "executing":
            if how == "stop":
                registry.cancel("c1")
            elif how == "replace":
                registration.replace(handler=lambda: ran.append(2))
            else:
                getattr(registration, how)()

    registry.audit(observer)
    ends: list = []
    registry.audit(lambda event: ends.append(event.kind.value) if event.status else None)
    outcome = await registry.execute(call(id="c1"))
    expected = {"dispose": "unavailable", "suspend": "unavailable", "replace": "stale", "stop": "cancelled"}
    assert (outcome.status, ran) == (expected[how], [])
    assert ends == ["rejected"]


async def test_an_observer_may_execute_and_every_call_has_one_end(registry: Registry) -> None:
    started: list = []
    ends: dict = {}

    def observer(event: Any) -> None:
        if event.kind.value == "executing" and not started:
            started.append(asyncio.ensure_future(registry.execute(call("other.read", id="inner"))))
        if event.kind.value in ("executed", "rejected"):
            ends.setdefault(event.call_id, []).append(event.status)

    registry.audit(observer)
    registry.audit(lambda event: 1 / 0)
    registry.register(declare())
    registry.register(declare("other.read"))
    assert (await registry.execute(call(id="outer"))).ok
    assert (await started[0]).ok
    assert ends == {"outer": ["ok"], "inner": ["ok"]}


# Results


def test_results_that_are_no_plain_data_are_refused_whatever_they_raise() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("no words")

    cyclic: list = []
    cyclic.append(cyclic)
    deep: Any = []
    for _ in range(70):
        deep = [deep]
    very_deep: Any = []
    for _ in range(100_000):
        very_deep = [very_deep]
    for value in (cyclic, deep, very_deep, {("a", 1): 1}, {"\ud800": 1}, ["\ud800"], float("nan"), {Odd(), Odd()}):
        with pytest.raises(SealError) as caught:
            seal(value)
        assert caught.value.code == "result_not_json"


def test_the_size_of_a_result_counts_bytes_and_not_characters() -> None:
    assert seal("x" * 1_000_000)
    with pytest.raises(SealError, match="bytes"):
        seal("\u4e00" * 500_000)


def test_keys_that_are_numbers_become_text() -> None:
    assert seal({1: "a", None: "b"}) == {"1": "a", "null": "b"}


# Secrets


SECRET = {
    "type": "object",
    "$defs": {"pin": {"type": "integer", "writeOnly": True}},
    "properties": {
        "password": {"type": "string", "format": "password", "maxLength": 3},
        "pin": {"$ref": "#/$defs/pin"},
        "login": {"type": "object", "properties": {"token": {"type": "string", "writeOnly": True, "pattern": "^t"}}},
        "name": {"type": "string", "maxLength": 3},
    },
}


async def test_what_is_wrong_with_a_secret_is_said_without_the_secret(registry: Registry) -> None:
    """Threats 17 and 18."""
    registry.register(declare(input_schema=SECRET, handler=lambda **given: 1))
    given = {"password": "canary-1", "pin": "canary-2", "login": {"token": "canary-3"}, "name": "shown-4"}
    outcome = await registry.execute(call(input=given))
    assert outcome.code == "schema"
    assert "canary" not in str(outcome)
    assert "shown-4" in outcome.hint
    assert {issue["path"] for issue in outcome.data["issues"]} == {"/password", "/pin", "/login/token", "/name"}


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (SECRET, {"password": MASK, "pin": MASK, "login": MASK, "name": "Ada"}),
        (
            {"type": "object", "additionalProperties": {"type": ["string", "integer", "object"], "writeOnly": True}},
            {"password": MASK, "pin": MASK, "login": MASK, "name": MASK},
        ),
    ],
)
async def test_a_journal_is_told_of_a_secret_without_the_secret(schema: dict, written: dict) -> None:
    """Threat 18: it outlives the call; the digest is of what really ran."""
    journal, ran = MemoryJournal(), []
    registry = Registry(journal=journal, policy=Policy(rule=lambda call, capability: Decision.ALLOW))
    registry.register(declare(input_schema=schema, handler=lambda **given: ran.append(given), risk="mutating"))
    digests: list[str] = []
    registry.audit(lambda event: digests.append(event.digest))
    given = {"password": "can", "pin": 7, "login": {"token": "tok"}, "name": "Ada"}
    assert (await registry.execute(call(input=given))).ok
    ((intent, _outcomes),) = journal.entries
    assert json.loads(intent.payload) == {"input": written, "name": "note.add", "targetId": None}
    real = canonical({"input": given, "name": "note.add", "targetId": None})
    assert (intent.digest, ran) == (digest(real), [given])
    assert digests[-1] == intent.digest


# Targets


async def test_a_plan_without_a_target_never_hits_another_one_that_is_left_over(registry: Registry) -> None:
    """FC-27: the only target that was shown is gone, the one that was hidden is back."""
    ran: list = []
    a = registry.register(declare(handler=lambda: ran.append("a"), target=Target(id="a")))
    b = registry.register(declare(handler=lambda: ran.append("b"), target=Target(id="b")))
    a.suspend()
    planned = registry.revision
    b.dispose()
    a.resume()
    assert (await registry.execute(call(revision=planned))).code == "targets_changed"
    assert (await registry.execute(call(revision=registry.revision))).ok
    assert ran == ["a"]


async def test_when_the_only_target_is_gone_the_plan_is_told_so(registry: Registry) -> None:
    """FC-11."""
    registration = registry.register(declare(target=Target(id="a")))
    planned = registry.revision
    registration.dispose()
    assert (await registry.execute(call(revision=planned))).code == "no_such_capability"


@pytest.mark.parametrize("how", ["dispose", "suspend", "move"])
async def test_a_plan_that_should_have_named_one_of_two_targets_does_not_hit_the_one_that_stays(
    registry: Registry, how: str
) -> None:
    """FC-27."""
    ran: list = []
    registry.register(declare(handler=lambda: ran.append("a"), target=Target(id="a")))
    b = registry.register(declare(handler=lambda: ran.append("b"), target=Target(id="b")))
    planned = registry.revision
    if how == "move":
        b.replace(name="other.add")
    else:
        getattr(b, how)()
    assert (await registry.execute(call(revision=planned))).code == "targets_changed"
    assert ran == []


async def test_a_target_that_was_hidden_and_shown_again_is_still_the_only_one(registry: Registry) -> None:
    registration = registry.register(declare(target=Target(id="a")))
    planned = registry.revision
    registration.suspend()
    registration.resume()
    assert (await registry.execute(call(revision=planned))).ok


async def test_a_replacement_that_is_suspended_stays_so_and_can_be_resumed(registry: Registry) -> None:
    registration = registry.register(declare(target=Target(id="a")))
    registration.suspend("hidden")
    successor = registration.replace(target=Target(id="b"))
    assert (await registry.execute(call(target_id="b"))).code == "suspended"
    successor.resume()
    assert (await registry.execute(call(target_id="b"))).ok
    assert (await registry.execute(call(target_id="a"))).code == "no_such_target"


async def test_the_label_of_a_target_is_no_part_of_what_is_signed(registry: Registry, approve: list) -> None:
    registration = registry.register(declare(target=Target(id="a", label="One"), risk="mutating"))
    await registry.execute(call())
    registration.replace(target=Target(id="a", label="Two"))
    await registry.execute(call())
    assert approve[0].digest == approve[1].digest
    assert [request.target.label for request in approve] == ["One", "Two"]


# Declarations


def test_what_an_open_schema_lets_through_is_invalid_when_the_handler_has_no_place_for_it(registry: Registry) -> None:
    async def scenario() -> None:
        for schema in (
            {"type": "object", "additionalProperties": True, "properties": {"text": {}}},
            {"type": "object", "properties": {"text": {}}, "patternProperties": {"^x": {}}},
        ):
            registration = registry.register(
                declare(input_schema=schema, handler=lambda text="": text, risk="mutating")
            )
            outcome = await registry.execute(call(input={"xyz": 1}))
            assert (outcome.status, outcome.code) == ("invalid", "schema")
            assert "/xyz" in outcome.hint
            registration.dispose()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "half\ud800"}, "name"),
        ({"target": Target(id="half\ud800")}, "target"),
        ({"target": Target(id="t" * 100_000)}, "target"),
        ({"target": Target(id="t", label=7)}, "target"),
        ({"title": None}, "title"),
        ({"egress": "no"}, "egress"),
        ({"confirms_itself": 1}, "confirms_itself"),
        ({"input_schema": TEXT, "handler": eval("lambda text, /: text")}, "position"),
        ({"preview": lambda more: more}, "more"),
        (
            {
                "input_schema": {"type": "object", "properties": {"text": {}}},
                "handler": lambda text="": 1,
                "preview": lambda text: 1,
            },
            "text",
        ),
    ],
)
def test_a_declaration_that_could_only_fail_later_is_refused_at_once(
    registry: Registry, fields: dict, words: str
) -> None:
    with pytest.raises(DeclarationError, match=words):
        registry.register(declare(**{"name": "note.add", **fields}))


@pytest.mark.parametrize("what", [None, "note.add", object()])
def test_only_a_capability_can_be_registered(registry: Registry, what: Any) -> None:
    with pytest.raises(DeclarationError, match="Capability"):
        registry.register(what)


def test_a_replacement_with_a_field_that_does_not_exist_is_refused(registry: Registry) -> None:
    registration = registry.register(declare())
    with pytest.raises(DeclarationError, match="wrong_field"):
        registration.replace(wrong_field=1)
    assert not registration.disposed


async def test_available_is_asked_in_the_loops_thread_once_for_a_read_and_twice_for_a_change(
    registry: Registry, approve: list
) -> None:
    asked: list = []

    def available() -> bool:
        asked.append(threading.get_ident())
        return True

    async def slow_available() -> bool:
        return True

    registry.register(declare("a.read", available=available))
    registry.register(text_capability(lambda text: 1, available=available, risk="mutating"))
    await registry.execute(call("a.read"))
    assert len(asked) == 1
    await registry.execute(call(input={"text": "x"}))
    assert len(asked) == 3
    assert set(asked) == {threading.get_ident()}
    with pytest.raises(DeclarationError, match="at once"):
        registry.register(declare("b.read", available=slow_available))
