"""A call made through agent.execute is the call that is meant, in every respect."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from agentic_qt import Outcome, Policy, Registry, Target
from agentic_qt.core.call import Call
from agentic_qt.core.capability import Capability
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.events import AuditEvent, AuditKind
from agentic_qt.core.forwarding import meant_by
from agentic_qt.core.meta import DESCRIBE, EXECUTE, META_NAMES, SEARCH, register_meta
from agentic_qt.core.policy import Decision
from tests.support.declare import call, declare, text_capability
from tests.support.meta_calls import data, execute, recording

pytestmark = pytest.mark.anyio


@pytest.fixture
def meta(registry: Registry) -> Registry:
    register_meta(registry)
    return registry


@pytest.mark.parametrize("risk", ["mutating", "destructive"])
async def test_a_risky_call_waits_for_a_person_under_its_real_name_target_and_input(
    meta: Registry, risk: str, approve: list[Any], audit: list[AuditEvent]
) -> None:
    """G36, FC-17: the digest, the approval and the audit are the inner call's."""
    ran: list[str] = []
    meta.register(text_capability(recording(ran), name="note.wipe", risk=risk, target=Target(id="a", label="Notes")))
    direct = await meta.execute(call("note.wipe", target_id="a", input={"text": "all"}))
    outcome = await meta.execute(execute("note.wipe", meta.revision, {"text": "all"}, "a", reason="Tidying up"))
    assert ran == ["all", "all"]
    first, second = approve
    assert (second.name, second.target.id, second.input, second.risk) == ("note.wipe", "a", {"text": "all"}, risk)
    assert (second.digest, second.payload, second.scopes) == (first.digest, first.payload, first.scopes)
    assert second.reason == "Tidying up"
    assert second.call_id == outcome.call_id
    assert replace(outcome, call_id=direct.call_id) == direct
    inner = [event for event in audit if event.call_id == outcome.call_id and event.name == "note.wipe"]
    assert [event.kind for event in inner] == [
        AuditKind.RECEIVED,
        AuditKind.VALIDATED,
        AuditKind.PERMITTED,
        AuditKind.CONFIRMATION_REQUESTED,
        AuditKind.CONFIRMED,
        AuditKind.EXECUTING,
        AuditKind.EXECUTED,
    ]
    assert inner[-1].digest == first.digest


@pytest.mark.parametrize("risk", ["mutating", "destructive"])
async def test_without_a_yes_nothing_runs_through_the_generic_tool(meta: Registry, risk: str, deny: list[Any]) -> None:
    """G36, FC-17: a generic "execute" reaches no risky handler past the gate."""
    ran: list[str] = []
    meta.register(text_capability(recording(ran), risk=risk))
    outcome = await meta.execute(execute("note.add", meta.revision, {"text": "x"}))
    assert (outcome.status, outcome.code) == ("denied", "person")
    assert "not today" in outcome.hint
    assert len(deny) == 1
    assert ran == []


async def test_without_an_approver_nothing_runs_through_the_generic_tool(meta: Registry) -> None:
    """FC-16, FC-17."""
    ran: list[str] = []
    meta.register(text_capability(recording(ran), risk="mutating"))
    outcome = await meta.execute(execute("note.add", meta.revision, {"text": "x"}))
    assert (outcome.status, outcome.code, ran) == ("denied", "no_approver", [])


async def test_each_inner_outcome_passes_through_as_if_the_call_had_been_made_itself(
    meta: Registry, answer: Any
) -> None:
    """G36, FC-17: status, code, hint, retry, applied and data are the inner call's, whatever they are."""

    def decide(request: Any) -> None:
        if request.name == "note.deny":
            meta.approvals.deny(request, "no")
        else:
            meta.approvals.approve(request)

    answer(decide)

    def conflict() -> None:
        raise CapabilityError("conflict", "Read it again.", retryable=True, applied={"rows": 1})

    def crash() -> None:
        raise RuntimeError("a secret")

    meta.register(declare("note.read", handler=lambda: {"status": "ok", "data": [1, None]}))
    meta.register(declare("note.none", handler=lambda: None))
    meta.register(declare("note.conflict", handler=conflict, risk="mutating"))
    meta.register(declare("note.crash", handler=crash, risk="mutating"))
    meta.register(declare("note.off", available=lambda: "it is locked"))
    meta.register(text_capability(lambda text: text, name="note.text"))
    meta.register(declare("note.deny", risk="destructive"))
    meta.register(declare("note.hidden")).suspend("it is elsewhere")
    for name in ("read", "none", "conflict", "crash", "off", "text", "deny", "hidden", "missing"):
        direct = await meta.execute(call(f"note.{name}", revision=meta.revision))
        outcome = await meta.execute(execute(f"note.{name}", meta.revision))
        assert replace(outcome, call_id="") == replace(direct, call_id=""), name
        assert EXECUTE not in outcome.hint


async def test_the_inner_input_is_judged_by_the_inner_schema(meta: Registry) -> None:
    meta.register(text_capability(lambda text: text))
    for given in (None, {}, {"text": 3}, {"text": "x", "confirm": True}):
        outcome = await meta.execute(execute("note.add", meta.revision, given))
        assert (outcome.status, outcome.code) == ("invalid", "schema"), given


@pytest.mark.parametrize(
    "given",
    [
        {"name": "note.add"},
        {"revision": 1},
        {"name": "note.add", "revision": -1},
        {"name": "note.add", "revision": "1"},
        {"name": "note.add", "revision": 1.5},
        {"name": ["note.add"], "revision": 1},
        {"name": "note.add", "revision": 1, "input": "{}"},
        {"name": "note.add", "revision": 1, "input": []},
        {"name": "note.add", "revision": 1, "target": 3},
        {"name": "note.add", "revision": 1, "actor": "admin"},
        {"name": "note.add", "revision": 1, "approved": True},
    ],
)
async def test_what_execute_itself_cannot_read_is_invalid_and_runs_nothing(meta: Registry, given: Any) -> None:
    """FC-18: no argument can satisfy an approval or say who acts."""
    ran: list[int] = []
    meta.register(declare(handler=lambda: ran.append(1)))
    outcome = await meta.execute(Call(name=EXECUTE, input=given))
    assert (outcome.status, outcome.code, ran) == ("invalid", "schema", [])


async def test_execute_is_judged_by_the_revision_of_the_description(meta: Registry) -> None:
    registration = meta.register(declare(description="Add."))
    described = await data(meta, DESCRIBE, name="note.add")
    changed = registration.replace(description="Add one.")
    assert (await meta.execute(execute("note.add", described["revision"]))).ok
    changed.replace(handler=lambda: "something else")
    # The tools that the model was sent are newer than what it was told of the capability.
    outcome = await meta.execute(execute("note.add", described["revision"], revision=meta.revision))
    assert (outcome.status, outcome.code) == ("stale", "changed_since_listing")
    again = await data(meta, DESCRIBE, name="note.add")
    assert (await meta.execute(execute("note.add", again["revision"]))).data == "something else"


async def test_a_target_that_appeared_after_the_search_makes_a_call_without_target_stale(meta: Registry) -> None:
    """FC-27."""
    ran: list[str] = []
    meta.register(declare(handler=lambda: ran.append("a"), target=Target(id="a")))
    found = await data(meta, SEARCH, query="add note")
    meta.register(declare(handler=lambda: ran.append("b"), target=Target(id="b")))
    assert (await meta.execute(execute("note.add", found["revision"]))).status == "stale"
    assert (await meta.execute(execute("note.add", meta.revision))).code == "target_required"
    assert (await meta.execute(execute("note.add", meta.revision, None, "c"))).code == "no_such_target"
    assert (await meta.execute(execute("note.add", meta.revision, None, "b"))).ok
    assert ran == ["b"]


@pytest.mark.parametrize("name", sorted(META_NAMES))
async def test_meta_capabilities_are_not_run_through_execute(meta: Registry, name: str) -> None:
    meta.register(declare())
    inner = {"name": "note.add", "revision": meta.revision, "query": "x", "call_id": "x"}
    outcome = await meta.execute(execute(name, meta.revision, inner))
    assert (outcome.status, outcome.code) == ("invalid", "not_forwarded")


async def test_another_forwarding_capability_does_not_make_a_chain(meta: Registry) -> None:
    (found,) = [registration for registration in meta.registrations if registration.name == EXECUTE]
    meta.register(replace(found.capability, name="other.execute"))
    meta.register(declare())
    inner = {"name": "note.add", "revision": meta.revision}
    outcome = await meta.execute(execute("other.execute", meta.revision, inner))
    assert (outcome.status, outcome.code) == ("invalid", "not_forwarded")
    assert (await meta.execute(Call(name="other.execute", input=inner))).ok


async def test_the_handler_of_execute_does_nothing_when_it_is_called_past_the_registry(meta: Registry) -> None:
    ran: list[int] = []
    meta.register(declare(handler=lambda: ran.append(1)))
    registration: Any = meta.find(EXECUTE)
    with pytest.raises(RuntimeError, match="forwarded by the pipeline"):
        registration.capability.handler(name="note.add", revision=meta.revision)
    assert ran == []


async def test_policy_and_permission_judge_the_inner_call_by_its_name_and_risk() -> None:
    asked: list[str] = []

    def permission(asked_call: Call, capability: Capability) -> bool:
        asked.append(f"{asked_call.name} {capability.name} {asked_call.actor}")
        return asked_call.name != "note.locked"

    registry = Registry(permission=permission, policy=Policy(deny=["customer.*"]))
    register_meta(registry)
    for name in ("note.locked", "customer.open", "note.add"):
        registry.register(declare(name))
    locked = await registry.execute(execute("note.locked", registry.revision, actor="ada"))
    assert (locked.status, locked.code) == ("forbidden", "not_permitted")
    denied = await registry.execute(execute("customer.open", registry.revision))
    assert (denied.status, denied.code) == ("denied", "policy")
    assert (await registry.execute(execute("note.add", registry.revision))).ok
    assert "note.locked note.locked ada" in asked
    assert f"{EXECUTE} {EXECUTE} ada" in asked


async def test_execute_itself_can_be_refused_by_policy() -> None:
    registry = Registry(policy=Policy(deny=[EXECUTE]))
    register_meta(registry)
    registry.register(declare())
    assert (await registry.execute(execute("note.add", registry.revision))).code == "policy"
    assert (await registry.execute(call())).ok


async def test_a_rule_that_asks_for_everything_asks_once_for_the_inner_call(answer: Any) -> None:
    registry = Registry(policy=Policy(rule=lambda _call, _capability: Decision.ASK))
    register_meta(registry)
    registry.register(declare())
    asked: list[str] = []

    def view(event: Any) -> None:
        if event.change == "added":
            asked.append(event.request.name)
            registry.approvals.approve(event.request)

    registry.approvals.attach(view)
    assert (await registry.execute(execute("note.add", registry.revision))).ok
    assert asked == ["note.add"]


async def test_a_repeated_call_id_gets_the_first_outcome_and_runs_nothing_twice(
    meta: Registry, approve: list[Any]
) -> None:
    """FC-24."""
    ran: list[str] = []
    meta.register(text_capability(recording(ran), risk="mutating"))
    first = execute("note.add", meta.revision, {"text": "x"}, id="c1", run="r")
    outcome, again = await asyncio.gather(meta.execute(first), meta.execute(first))
    assert outcome == again == await meta.execute(first)
    assert ran == ["x"]
    assert len(approve) == 1
    other = execute("note.add", meta.revision, {"text": "y"}, id="c1", run="r")
    assert (await meta.execute(other)).code == "call_id_reused"
    assert ran == ["x"]


async def test_stop_reaches_the_inner_call_by_the_id_of_the_outer_one(meta: Registry, answer: Any) -> None:
    asked = answer(lambda request: None)
    meta.register(declare(risk="mutating"))
    waiting = asyncio.ensure_future(meta.execute(execute("note.add", meta.revision, id="c1", run="r")))
    for _ in range(5):
        await asyncio.sleep(0)
    assert [request.call_id for request in asked] == ["c1"]
    assert meta.cancel("c1", run="r")
    outcome = await asyncio.wait_for(waiting, 5)
    assert (outcome.status, outcome.call_id) == ("cancelled", "c1")
    assert meta.approvals.pending == ()


async def test_the_budget_is_the_inner_one_and_a_late_end_is_told_under_the_same_id(
    meta: Registry, approve: list[Any]
) -> None:
    released = asyncio.Event()

    async def stubborn() -> str:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    ends: list[Any] = []
    ended = asyncio.Event()
    meta.observe_late(lambda end: (ends.append(end), ended.set()))
    meta.register(declare(handler=stubborn, risk="mutating", timeout=0.05))
    outcome = await asyncio.wait_for(meta.execute(execute("note.add", meta.revision, id="c1", run="r")), 5)
    assert (outcome.status, outcome.code, outcome.call_id) == ("unknown", "timeout", "c1")
    released.set()
    await asyncio.wait_for(ended.wait(), 5)
    assert (ends[0].call_id, ends[0].run, ends[0].outcome.data) == ("c1", "r", "late")


async def test_a_handler_cannot_use_execute_to_start_a_write_inside_itself(meta: Registry, approve: list[Any]) -> None:
    inner: list[Outcome] = []

    async def outer() -> None:
        inner.append(await meta.execute(execute("note.inner", meta.revision)))

    meta.register(declare("note.inner", risk="mutating"))
    meta.register(declare("note.outer", risk="mutating", handler=outer))
    assert (await meta.execute(execute("note.outer", meta.revision))).ok
    assert (inner[0].status, inner[0].code) == ("invalid", "nested_write")


async def test_views_and_runners_can_see_which_call_is_meant(meta: Registry) -> None:
    asked = execute("note.add", 7, {"text": "x"}, "a", id="c1", run="r", client="assistant")
    meant = Call(name="note.add", input={"text": "x"}, target_id="a", revision=7, id="c1", run="r", client="assistant")
    assert meant_by(meta, asked) == meant
    plain = call("note.add")
    assert meant_by(meta, plain) is plain
    for given in ({}, {"name": 3, "revision": 1}, {"name": "a.b", "revision": 1, "input": "x"}, [], None):
        odd: Any = Call(name=EXECUTE, input=given)  # type: ignore[arg-type]
        assert meant_by(meta, odd) is odd
