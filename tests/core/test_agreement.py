"""What was agreed to is what runs, as long as it is agreed to: the last look before a handler starts."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from agentic_qt import Approval, ApprovalQueue, Registry
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent
from agentic_qt.core.policy import Decision, Policy
from tests.support.declare import call, declare, text_capability

pytestmark = pytest.mark.anyio

ROWS = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}


async def turn(times: int = 5) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


def digest_of(text: str) -> str:
    payload = json.dumps({"input": {"text": text}, "name": "note.add", "targetId": None}, separators=(",", ":"))
    return hashlib.sha256(payload.encode()).hexdigest()


def remember(registry: Registry, scope: str = "session") -> None:
    def view(event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            registry.approvals.approve(event.request, scope=scope)

    registry.approvals.attach(view)


async def queued(registry: Registry, then: Callable[[], None], **fields: Any) -> tuple[Any, list]:
    """Run a write that has to wait for the lane, do something meanwhile, and return its outcome and what ran."""
    ran: list = []
    release = asyncio.Event()
    registry.register(declare("slow.write", handler=release.wait, risk="mutating"))
    registry.register(text_capability(lambda text: ran.append(text) or "done", risk="mutating", **fields))
    slow = asyncio.ensure_future(registry.execute(call("slow.write")))
    await turn()
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "x"}, run="r")))
    await turn()
    then()
    release.set()
    assert (await slow).ok
    return await waiting, ran


async def test_an_approval_that_expires_while_the_lane_is_taken_does_not_run() -> None:
    """FC-31: only an unexpired approval runs."""
    now = [1000.0]
    registry = Registry(approvals=ApprovalQueue(expiry=10, clock=lambda: now[0]), clock=lambda: now[0])
    registry.approvals.attach(
        lambda event: event.change is ApprovalChange.ADDED and registry.approvals.approve(event.request)
    )
    outcome, ran = await queued(registry, lambda: now.__setitem__(0, 1010.0))
    assert (outcome.status, outcome.code, ran) == ("denied", "expired", [])


async def test_a_grant_that_is_revoked_while_the_lane_is_taken_does_not_run(registry: Registry) -> None:
    """FC-23."""
    remember(registry)

    def revoke() -> None:
        for grant in registry.approvals.grants:
            registry.approvals.grants.revoke(grant.id)

    registry.register(declare("first.write", risk="mutating"))
    await registry.execute(call("first.write"))
    outcome, ran = await queued(registry, revoke)
    assert (outcome.status, ran) == ("ok", ["x"])  # its own "session" yes: it was asked and agreed to
    release = asyncio.Event()
    registry.register(declare("other.write", handler=release.wait, risk="mutating"))
    await registry.execute(call(input={"text": "y"}))
    slow = asyncio.ensure_future(registry.execute(call("other.write")))
    await turn()
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "z"})))
    await turn()
    revoke()
    release.set()
    await slow
    outcome = await waiting
    assert (outcome.status, outcome.code) == ("stale", "approval_revoked")
    assert ran == ["x", "y"]


async def test_a_change_that_policy_let_run_is_not_run_when_policy_wants_a_person_meanwhile() -> None:
    """FC-35."""
    decision = [Decision.ALLOW]
    registry = Registry(policy=Policy(rule=lambda call, capability: decision[0]))
    outcome, ran = await queued(registry, lambda: decision.__setitem__(0, Decision.ASK))
    assert (outcome.status, outcome.code, ran) == ("stale", "policy_changed", [])


async def test_a_read_is_not_run_unasked_when_policy_wants_a_person_after_a_slow_permission() -> None:
    """FC-35."""
    decision = [Decision.ALLOW]
    ran: list = []

    async def permission(call: Any, capability: Any) -> bool:
        await asyncio.sleep(0)
        decision[0] = Decision.ASK
        return True

    registry = Registry(permission=permission, policy=Policy(rule=lambda call, capability: decision[0]))
    registry.register(declare(handler=lambda: ran.append(1)))
    assert (await registry.execute(call())).code == "policy_changed"
    assert ran == []


async def test_rule_and_permission_judge_the_input_that_a_person_made_of_it(registry: Registry) -> None:
    """FC-35: an edit gets past no rule."""
    seen: list = []
    ran: list = []

    def permission(asked: Any, capability: Any) -> bool:
        seen.append(asked.input["text"])
        return True

    def rule(asked: Any, capability: Any) -> Decision | None:
        return Decision.DENY if asked.input["text"] == "forbidden" else None

    for new, expected in (("better", "ok"), ("forbidden", "denied")):
        registry = Registry(permission=permission, policy=Policy(rule=rule))
        registry.register(text_capability(lambda text: ran.append(text) or "done", risk="mutating"))
        asked: list = []

        def view(event: ApprovalEvent, registry: Registry = registry, asked: list = asked, new: str = new) -> None:
            if event.change is not ApprovalChange.ADDED:
                return
            asked.append(event.request)
            if len(asked) == 1:
                registry.approvals.edit(event.request, {"text": new})
            else:
                registry.approvals.approve(event.request)

        registry.approvals.attach(view)
        assert (await registry.execute(call(input={"text": "x"}))).status == expected
        assert len(asked) == (2 if new == "better" else 1)
    assert ran == ["better"]
    assert seen == ["x", "better", "better", "x"]


async def test_an_edit_that_an_approver_agrees_to_in_one_act_is_judged_by_the_rule_too() -> None:
    def rule(asked: Any, capability: Any) -> Decision | None:
        return Decision.DENY if asked.input["text"] == "forbidden" else None

    ran: list = []
    registry = Registry(policy=Policy(rule=rule))

    def approver(request: Any) -> Approval:
        return Approval(request_id=request.id, digest=digest_of("forbidden"), granted=True, input={"text": "forbidden"})

    registry.register(text_capability(lambda text: ran.append(text) or "done", risk="mutating", approver=approver))
    assert (await registry.execute(call(input={"text": "x"}))).code == "policy"
    assert ran == []


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_approver_that_edits_for_ever_is_denied(registry: Registry, is_async: bool) -> None:
    asked: list = []

    def edit(request: Any) -> Approval:
        asked.append(request)
        return Approval(request_id=request.id, digest="", granted=False, code="edited", input={"text": f"{len(asked)}"})

    async def edit_later(request: Any) -> Approval:
        return edit(request)

    registry.register(text_capability(lambda text: 1, risk="mutating", approver=edit_later if is_async else edit))
    outcome = await registry.execute(call(input={"text": "x"}))
    assert (outcome.status, outcome.code) == ("denied", "approval_error")
    assert len(asked) == 20


async def test_after_an_edit_in_one_act_the_facts_are_those_of_the_new_input(registry: Registry) -> None:
    rows = {"old": 1, "new": 5}
    ran: list = []
    world: list = []

    def approver(request: Any) -> Approval:
        for change in world:
            change()
        return Approval(request_id=request.id, digest=digest_of("new"), granted=True, input={"text": "new"})

    registry.register(
        text_capability(
            lambda text: ran.append(text) or "done",
            risk="mutating",
            approver=approver,
            preview=lambda text: {"version": rows[text]},
        )
    )
    assert (await registry.execute(call(input={"text": "old"}))).ok
    world.append(lambda: rows.update(old=2))  # what the person saw does not hold any more
    outcome = await registry.execute(call(input={"text": "old"}))
    assert (outcome.status, outcome.code) == ("stale", "changed_since_approval")
    assert ran == ["new"]


async def test_nobody_who_is_shown_the_input_can_change_what_runs() -> None:
    """Threat 5: what runs is the parsed canonical bytes."""
    kept: list = []

    def spoil(given: Any) -> None:
        given["rows"].append("evil")

    def permission(asked: Any, capability: Any) -> bool:
        spoil(asked.input)
        return True

    def preview(rows: list) -> int:
        rows.append("evil")
        return 1

    def rule(asked: Any, capability: Any) -> None:
        spoil(asked.input)

    registry = Registry(permission=permission, policy=Policy(rule=rule))

    def view(event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            spoil(event.request.input)
            registry.approvals.approve(event.request.id)

    registry.approvals.attach(view)
    registry.register(
        declare(input_schema=ROWS, handler=lambda rows: kept.append(rows) or "done", risk="mutating", preview=preview)
    )
    assert (await registry.execute(call(input={"rows": [1]}))).ok
    assert kept == [[1]]


async def test_rules_judge_the_input_that_runs_and_not_one_that_is_changed_behind_them() -> None:
    """Threat 5: the caller keeps a hand on its own dictionary."""
    given = {"text": "harmless"}
    seen: list = []

    async def permission(asked: Any, capability: Any) -> bool:
        given["text"] = "something else"
        seen.append(asked.input["text"])
        return True

    registry = Registry(permission=permission)
    ran: list = []
    registry.register(text_capability(lambda text: ran.append(text) or "done"))
    await registry.execute(call(input=given))
    assert (seen, ran) == (["harmless"], ["harmless"])


@pytest.mark.parametrize("expires_at", [float("nan"), 0.0, float("-inf")])
async def test_a_yes_without_a_time_to_come_is_no_yes(registry: Registry, expires_at: float) -> None:
    def approver(request: Any) -> Approval:
        return Approval(request_id=request.id, digest=request.digest, granted=True, expires_at=expires_at)

    registry.register(declare(risk="mutating", approver=approver))
    assert (await registry.execute(call())).code == "expired"


async def test_a_yes_that_comes_after_the_registration_went_is_not_remembered(registry: Registry) -> None:
    registry.approvals.attach(lambda event: None)
    registration = registry.register(declare(risk="mutating"))
    waiting = asyncio.ensure_future(registry.execute(call(run="r")))
    await turn()
    registration.dispose()
    assert registry.approvals.approve(registry.approvals.pending[0], scope="session")
    assert (await waiting).status == "unavailable"
    assert len(registry.approvals.grants) == 0


async def test_a_yes_for_a_run_that_ended_meanwhile_is_not_remembered(registry: Registry) -> None:
    registry.approvals.attach(lambda event: None)
    registry.register(declare(risk="mutating"))
    waiting = asyncio.ensure_future(registry.execute(call(run="r")))
    await turn()
    registry.end_run("r")
    assert registry.approvals.approve(registry.approvals.pending[0], scope="run")
    assert (await waiting).ok
    assert len(registry.approvals.grants) == 0


async def test_a_grant_of_one_person_does_not_cover_another_at_the_same_window(registry: Registry) -> None:
    """FC-40."""
    asked: list = []

    def view(event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            asked.append(event.request.actor)
            registry.approvals.approve(event.request, scope="session")

    registry.approvals.attach(view)
    registry.register(declare(risk="mutating"))
    for actor in ("ada", "ada", "bob"):
        await registry.execute(call(actor=actor))
    assert asked == ["ada", "bob"]


async def test_a_session_grant_still_holds_the_handler_to_the_facts_of_its_preview() -> None:
    """Nobody looks at the facts then, but what the preview said must hold until the handler starts."""
    row = [1]
    slow = [False]

    async def permission(asked: Any, capability: Any) -> bool:
        if slow[0]:
            await asyncio.sleep(0)
            row[0] += 1
        return True

    registry = Registry(permission=permission)
    remember(registry)
    ran: list = []
    registry.register(
        text_capability(lambda text: ran.append(text) or "done", risk="mutating", preview=lambda text: row[0])
    )
    assert (await registry.execute(call(input={"text": "x"}))).ok
    slow[0] = True
    assert (await registry.execute(call(input={"text": "y"}))).code == "changed_since_approval"
    assert ran == ["x"]


async def test_stopping_one_clients_call_leaves_another_clients_request_of_the_same_id_alone(
    registry: Registry,
) -> None:
    """FC-62."""
    registry.approvals.attach(lambda event: None)
    registry.register(declare(risk="mutating"))
    one, two = (asyncio.ensure_future(registry.execute(call(id="c1", client=client))) for client in ("a", "b"))
    await turn()
    assert registry.cancel("c1", client="a")
    assert (await one).status == "cancelled"
    assert [request.client for request in registry.approvals.pending] == ["b"]
    registry.approvals.deny_all()
    assert (await two).code == "person"


async def test_every_view_hears_of_a_request_before_it_hears_of_its_decision(registry: Registry) -> None:
    """FC-83: the first view decides at once; the second must not be left with a card."""
    second: list = []
    remember(registry, "once")
    registry.approvals.attach(lambda event: second.append(event.change.value))
    registry.register(declare(risk="mutating"))
    assert (await registry.execute(call())).ok
    assert second == ["added", "settled"]


async def test_a_single_name_on_the_deny_list_may_be_a_string() -> None:
    registry = Registry(policy=Policy(deny="note.add"))
    registry.register(declare())
    registry.register(declare("n"))
    assert (await registry.execute(call())).code == "policy"
    assert (await registry.execute(call("n"))).ok
