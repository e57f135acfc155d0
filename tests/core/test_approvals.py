"""Asking a person: what is bound, what counts as a yes, and what is remembered."""

import asyncio
import hashlib
import json
from typing import Any

import pytest

from agentic_qt import Approval, ApprovalQueue, CapabilityError, Registry, Target
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent
from tests.support.declare import TEXT, call, declare, text_capability

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def turn() -> None:
    """Let everything that is ready run."""
    for _ in range(5):
        await asyncio.sleep(0)


def writer(ran: list, **fields: Any) -> Any:
    fields.setdefault("risk", "mutating")
    return text_capability(lambda text: ran.append(text) or "done", **fields)


async def test_a_read_asks_nobody_and_a_change_asks_once(registry: Registry, approve: list) -> None:
    registry.register(declare("a.read"))
    registry.register(declare("a.write", risk="mutating"))
    await registry.execute(call("a.read"))
    assert approve == []
    assert (await registry.execute(call("a.write"))).status == "ok"
    assert len(approve) == 1


async def test_the_digest_is_sha_256_of_the_canonical_json_of_name_target_and_input(
    registry: Registry, approve: list
) -> None:
    """G01."""
    registry.register(writer([], target=Target(id="t1", label="Notes")))
    await registry.execute(call(input={"text": "Grüße € \u2028"}, target_id="t1"))
    request = approve[0]
    payload = '{"input":{"text":"Grüße € \u2028"},"name":"note.add","targetId":"t1"}'
    assert request.payload == payload
    assert request.digest == hashlib.sha256(payload.encode()).hexdigest()
    assert request.input == {"text": "Grüße € \u2028"}


async def test_digests_are_injective_where_joined_lines_are_not(registry: Registry, approve: list) -> None:
    """G01, FC-32."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    registry.register(declare(input_schema=schema, handler=lambda a="", b="": None, risk="mutating"))
    for given in ({"a": "x\ny", "b": ""}, {"a": "x", "b": "y"}, {"a": "x\n", "b": "y"}, {"a": 'x","b":"y'}):
        await registry.execute(call(input=given))
    assert len({request.digest for request in approve}) == 4


async def test_without_an_approver_a_change_is_denied(registry: Registry) -> None:
    """G04, FC-16 in the core: no UI, no change."""
    registry.register(declare(risk="mutating"))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code, outcome.applied) == ("denied", "no_approver", False)


async def test_an_observer_is_no_approver(registry: Registry) -> None:
    """G04."""
    registry.approvals.observe(lambda event: None)
    registry.register(declare(risk="mutating"))
    assert (await registry.execute(call())).code == "no_approver"


async def test_a_no_carries_the_persons_reason_and_runs_nothing(registry: Registry, deny: list) -> None:
    ran: list = []
    registry.register(writer(ran))
    outcome = await registry.execute(call(input={"text": "x"}))
    assert (outcome.status, outcome.code, outcome.retry) == ("denied", "person", "no")
    assert "not today" in outcome.hint
    assert ran == []


async def test_a_view_that_fails_denies_nothing_and_approves_nothing(registry: Registry, caplog: Any) -> None:
    registry.approvals.attach(lambda event: 1 / 0)
    registry.register(declare(risk="mutating"))
    waiting = asyncio.ensure_future(registry.execute(call()))
    await turn()
    assert not waiting.done()
    registry.approvals.deny_all()
    assert (await waiting).code == "person"


@pytest.mark.parametrize(
    "answer",
    [True, "approve", None, 1, {"granted": True}, Approval(request_id="a1", digest="0" * 64, granted=True)],
    ids=["true", "string", "none", "one", "dict", "wrong-digest"],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_anything_but_an_explicit_matching_approval_denies(
    registry: Registry, answer: Any, is_async: bool
) -> None:
    """G05, FC-31, FC-15."""
    ran: list = []

    async def later(request: Any) -> Any:
        return answer

    registry.register(writer(ran, approver=later if is_async else lambda request: answer))
    outcome = await registry.execute(call(input={"text": "x"}))
    assert (outcome.status, outcome.code) == ("denied", "approval_error")
    assert ran == []


async def test_an_approver_that_raises_denies(registry: Registry, caplog: Any) -> None:
    """G05, FC-15."""
    ran: list = []
    for number, error in enumerate([ValueError("no"), asyncio.CancelledError(), SystemExit(1)]):

        async def raises(request: Any, error: BaseException = error) -> Any:
            raise error

        if isinstance(error, SystemExit):
            continue  # ends the application, not the approval
        registry.register(writer(ran, name=f"n.{number}", approver=raises))
        outcome = await registry.execute(call(f"n.{number}", input={"text": "x"}))
        assert (outcome.status, outcome.code) == ("denied", "approval_error")
    assert ran == []


async def test_a_yes_for_another_request_is_no_yes(registry: Registry) -> None:
    """G01, G05."""
    ran: list = []

    def reuse(request: Any) -> Approval:
        return Approval(request_id="another", digest=request.digest, granted=True)

    registry.register(writer(ran, approver=reuse))
    assert (await registry.execute(call(input={"text": "x"}))).code == "approval_error"
    assert ran == []


async def test_a_yes_that_has_expired_is_no_yes() -> None:
    """G05."""
    clock = Clock()
    ran: list = []
    registry = Registry(clock=clock)

    def late(request: Any) -> Approval:
        clock.now += 10
        return Approval(request_id=request.id, digest=request.digest, granted=True, expires_at=clock.now)

    registry.register(writer(ran, approver=late))
    assert (await registry.execute(call(input={"text": "x"}))).code == "expired"
    assert ran == []


async def test_an_own_approver_can_say_yes(registry: Registry) -> None:
    ran: list = []

    async def person(request: Any) -> Approval:
        await asyncio.sleep(0)
        return Approval(request_id=request.id, digest=request.digest, granted=True)

    registry.register(writer(ran, approver=person))
    assert (await registry.execute(call(input={"text": "x"}))).status == "ok"
    assert ran == ["x"]


async def test_what_an_own_approver_let_the_person_edit_runs_when_its_new_digest_is_approved(
    registry: Registry,
) -> None:
    """G01."""
    ran: list = []

    def edit(request: Any, digest_of: str) -> Approval:
        payload = json.dumps(
            {"input": {"text": digest_of}, "name": "note.add", "targetId": None}, separators=(",", ":"), sort_keys=True
        )
        digest = hashlib.sha256(payload.encode()).hexdigest()
        return Approval(request_id=request.id, digest=digest, granted=True, input={"text": "edited"})

    registration = registry.register(writer(ran, approver=lambda request: edit(request, "edited")))
    assert (await registry.execute(call(input={"text": "x"}))).status == "ok"
    registration.replace(approver=lambda request: edit(request, "something else"))
    assert (await registry.execute(call(input={"text": "x"}))).code == "approval_error"
    assert ran == ["edited"]


async def test_edited_input_is_checked_and_asked_about_anew(registry: Registry) -> None:
    ran: list = []
    asked: list = []

    def view(event: ApprovalEvent) -> None:
        if event.change is not ApprovalChange.ADDED:
            return
        asked.append(event.request)
        if len(asked) == 1:
            registry.approvals.edit(event.request, {"text": "better"})
        else:
            registry.approvals.approve(event.request)

    registry.approvals.attach(view)
    registry.register(writer(ran))
    assert (await registry.execute(call(input={"text": "x"}))).status == "ok"
    assert ran == ["better"]
    assert asked[0].digest != asked[1].digest
    asked.clear()
    registry.approvals.attach(lambda event: None)


async def test_edited_input_that_breaks_the_schema_is_invalid(registry: Registry, answer: Any) -> None:
    answer(lambda request: registry.approvals.edit(request, {"text": 3}))
    registry.register(writer([]))
    assert (await registry.execute(call(input={"text": "x"}))).status == "invalid"


@pytest.mark.parametrize(
    "change", ["input", "revision", "permission", "facts", "replaced", "disposed", "disabled", "suspended"]
)
async def test_what_changed_while_the_person_read_does_not_run(change: str) -> None:
    """G03, FC-35, FC-22, threats 5 and 15: every gate runs again after the approval."""
    world = {"permitted": True, "enabled": True, "row": 1}
    ran: list = []
    registry = Registry(permission=lambda call, capability: world["permitted"])
    capability = writer(
        ran,
        available=lambda: world["enabled"] or "it was disabled",
        preview=lambda text: {"version": world["row"]},
    )
    registration = registry.register(capability)
    requests: list = []
    registry.approvals.attach(lambda event: requests.append(event.request))
    given = {"text": "agreed"}
    waiting = asyncio.ensure_future(registry.execute(call(input=given, revision=registry.revision)))
    await turn()
    match change:
        case "input":
            given["text"] = "something else"
        case "revision":
            registry.register(declare("other.x"))
        case "permission":
            world["permitted"] = False
        case "facts":
            world["row"] = 2
        case "replaced":
            registration.replace(handler=lambda text: ran.append("evil"))
        case "disposed":
            registration.dispose()
        case "disabled":
            world["enabled"] = False
        case "suspended":
            registration.suspend()
    registry.approvals.approve(requests[0])
    outcome = await waiting
    expected = {
        "input": "ok",
        "revision": "ok",
        "permission": "forbidden",
        "facts": "stale",
        "replaced": "stale",
        "disposed": "unavailable",
        "disabled": "unavailable",
        "suspended": "unavailable",
    }
    assert outcome.status == expected[change]
    assert ran == (["agreed"] if outcome.ok else [])
    if change == "facts":
        assert outcome.code == "changed_since_approval"


async def test_the_person_sees_the_facts_of_the_preview(registry: Registry, approve: list) -> None:
    registry.register(writer([], preview=lambda text: {"old": "before", "new": text}))
    await registry.execute(call(input={"text": "after"}))
    assert approve[0].facts == {"old": "before", "new": "after"}
    assert len(approve[0].facts_digest) == 64


async def test_a_preview_that_says_it_cannot_be_done_asks_nobody(registry: Registry, approve: list) -> None:
    def preview(text: str) -> None:
        raise CapabilityError("open_orders", "The customer has open orders.")

    registry.register(writer([], preview=preview))
    outcome = await registry.execute(call(input={"text": "x"}))
    assert (outcome.status, outcome.code, outcome.applied) == ("failed", "open_orders", False)
    assert approve == []


async def test_a_preview_that_fails_denies(registry: Registry, approve: list, caplog: Any) -> None:
    """G05, FC-15."""
    registry.register(writer([], preview=lambda text: 1 / 0))
    assert (await registry.execute(call(input={"text": "x"}))).code == "approval_error"
    assert approve == []


async def test_one_approval_is_worth_one_call(registry: Registry, approve: list) -> None:
    """G06, FC-22."""
    registry.register(writer([]))
    await registry.execute(call(input={"text": "x"}))
    await registry.execute(call(input={"text": "x"}))
    assert len(approve) == 2


async def scoped(registry: Registry, scope: str) -> list:
    asked: list = []

    def view(event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            asked.append(event.request)
            registry.approvals.approve(event.request, scope=scope if scope in event.request.scopes else "once")

    registry.approvals.attach(view)
    return asked


@pytest.mark.parametrize(
    ("scope", "other", "asked_again"),
    [
        ("digest", {"input": {"text": "x"}}, False),
        ("digest", {"input": {"text": "y"}}, True),
        ("digest", {"input": {"text": "x"}, "client": "other"}, True),
        ("run", {"input": {"text": "y"}}, False),
        ("run", {"input": {"text": "y"}, "run": "r2"}, True),
        ("run", {"input": {"text": "y"}, "run": None}, True),
        ("run", {"input": {"text": "y"}, "client": "other"}, True),
        ("run", {"input": {"text": "y"}, "target_id": "b"}, True),
        ("session", {"input": {"text": "y"}, "run": "r2"}, False),
        ("session", {"input": {"text": "y"}, "client": "other"}, True),
        ("session", {"input": {"text": "y"}, "target_id": "b"}, True),
        ("session", {"name": "note.change", "input": {"text": "y"}}, True),
    ],
)
async def test_a_remembered_approval_covers_what_it_names_and_nothing_else(
    registry: Registry, scope: str, other: dict, asked_again: bool
) -> None:
    """G09, FC-40."""
    for name in ("note.add", "note.change"):
        for target in ("a", "b"):
            registry.register(writer([], name=name, target=Target(id=target)))
    asked = await scoped(registry, scope)
    first = {"name": "note.add", "input": {"text": "x"}, "target_id": "a", "run": "r1", "client": "assistant"}
    assert (await registry.execute(call(**first))).ok
    assert (await registry.execute(call(**{**first, **other}))).ok
    assert len(asked) == (2 if asked_again else 1)


async def test_a_remembered_exact_call_covers_the_facts_too(registry: Registry) -> None:
    """G09: A call with empty input is no blank cheque."""
    row = {"version": 1}
    registry.register(declare("form.save", risk="mutating", preview=lambda: dict(row)))
    asked = await scoped(registry, "digest")
    await registry.execute(call("form.save"))
    await registry.execute(call("form.save"))
    assert len(asked) == 1
    row["version"] = 2
    await registry.execute(call("form.save"))
    assert len(asked) == 2


@pytest.mark.parametrize("how", ["replace", "dispose", "revoke", "end_run"])
async def test_a_remembered_approval_ends(registry: Registry, how: str) -> None:
    """G08, FC-23, threat 15."""
    registration = registry.register(writer([]))
    asked = await scoped(registry, "run")
    planned = {"input": {"text": "x"}, "run": "r1"}
    await registry.execute(call(**planned))
    assert [grant.name for grant in registry.approvals.grants] == ["note.add"]
    match how:
        case "replace":
            registration.replace(description="Harmless words.")
        case "dispose":
            registration.dispose()
            registry.register(writer([]))
        case "revoke":
            (grant,) = registry.approvals.grants
            assert registry.approvals.grants.revoke(grant.id)
        case "end_run":
            registry.end_run("r1")
    assert len(registry.approvals.grants) == 0
    await registry.execute(call(**planned))
    assert len(asked) == 2


@pytest.mark.parametrize("scope", ["digest", "run", "session"])
async def test_a_destructive_call_can_be_approved_once_and_no_more(registry: Registry, scope: str) -> None:
    """G07."""
    errors: list = []

    def view(event: ApprovalEvent) -> None:
        if event.change is not ApprovalChange.ADDED:
            return
        assert [offered.value for offered in event.request.scopes] == ["once"]
        try:
            registry.approvals.approve(event.request, scope=scope)
        except ValueError as error:
            errors.append(error)
            registry.approvals.deny(event.request)

    registry.approvals.attach(view)
    registry.register(writer([], risk="destructive"))
    assert (await registry.execute(call(input={"text": "x"}, run="r"))).status == "denied"
    assert len(errors) == 1


async def test_an_own_approver_cannot_remember_a_destructive_call_either(registry: Registry) -> None:
    """G07."""

    def eager(request: Any) -> Approval:
        return Approval(request_id=request.id, digest=request.digest, granted=True, scope="session")

    registry.register(writer([], risk="destructive", approver=eager))
    assert (await registry.execute(call(input={"text": "x"}))).code == "approval_error"
    assert len(registry.approvals.grants) == 0


async def test_a_capability_that_confirms_itself_is_not_asked_about_twice(registry: Registry, approve: list) -> None:
    """FC-28."""
    registry.register(writer([], confirms_itself=True, risk="destructive"))
    assert (await registry.execute(call(input={"text": "x"}))).ok
    assert approve == []


async def test_an_unanswered_request_expires_and_a_late_yes_does_nothing(audit: list, registry: Registry) -> None:
    """G05."""
    clock = Clock()
    ran: list = []
    queue = ApprovalQueue(expiry=0.01, clock=clock)
    registry = Registry(approvals=queue, clock=clock)
    events: list[ApprovalEvent] = []
    queue.attach(events.append)
    registry.register(writer(ran))
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "x"})))
    await turn()
    clock.now += 1
    outcome = await asyncio.wait_for(waiting, 5)
    assert (outcome.status, outcome.code) == ("denied", "expired")
    assert not queue.approve(events[0].request)
    assert [event.change for event in events] == ["added", "settled"]
    assert ran == []


async def test_keep_waiting_extends_the_expiry() -> None:
    clock = Clock()
    queue = ApprovalQueue(expiry=100.0, clock=clock)
    registry = Registry(approvals=queue, clock=clock)
    queue.attach(lambda event: None)
    registry.register(writer([]))
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "x"})))
    await turn()
    (request,) = queue.pending
    clock.now += 99
    assert queue.extend(request)
    assert queue.expires_at(request) == clock.now + 100
    clock.now += 99
    assert queue.approve(request)
    assert (await waiting).ok


async def test_a_yes_after_the_expiry_denies_even_before_the_timer_fires() -> None:
    """G05."""
    clock = Clock()
    queue = ApprovalQueue(expiry=100.0, clock=clock)
    registry = Registry(approvals=queue, clock=clock)
    queue.attach(lambda event: None)
    registry.register(writer([]))
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "x"})))
    await turn()
    clock.now += 101
    assert not queue.approve(queue.pending[0])
    assert (await waiting).code == "expired"


async def test_when_the_last_view_leaves_what_is_pending_is_denied(registry: Registry) -> None:
    """FC-09 in the core."""
    detach_one = registry.approvals.attach(lambda event: None)
    detach_two = registry.approvals.attach(lambda event: None)
    registry.register(writer([]))
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "x"})))
    await turn()
    detach_one()
    await turn()
    assert not waiting.done()
    detach_two()
    assert (await waiting).code == "window_closed"


async def test_every_view_is_told_of_the_one_decision_and_a_second_one_does_nothing(registry: Registry) -> None:
    views: list[list] = [[], []]
    for view in views:
        registry.approvals.attach(view.append)
    registry.register(writer([]))
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "x"})))
    await turn()
    (request,) = registry.approvals.pending
    assert registry.approvals.deny(request, "no")
    assert not registry.approvals.approve(request)
    assert not registry.approvals.deny(request)
    assert (await waiting).status == "denied"
    assert [[event.change for event in view] for view in views] == [["added", "settled"]] * 2


async def test_parallel_approvals_settle_alone_and_in_any_order(registry: Registry) -> None:
    """FC-36."""
    ran: list = []
    registry.approvals.attach(lambda event: None)
    registry.register(writer(ran))
    waiting = [asyncio.ensure_future(registry.execute(call(input={"text": text}))) for text in "abc"]
    await turn()
    by_text = {request.input["text"]: request for request in registry.approvals.pending}
    registry.approvals.approve(by_text["c"])
    registry.approvals.deny(by_text["a"], "not this")
    registry.approvals.approve(by_text["b"])
    outcomes = [await one for one in waiting]
    assert [outcome.status for outcome in outcomes] == ["denied", "ok", "ok"]
    assert sorted(ran) == ["b", "c"]


async def test_stopping_a_call_withdraws_its_request_from_every_view(registry: Registry) -> None:
    """G25, FC-14 in the core."""
    events: list[ApprovalEvent] = []
    ran: list = []
    registry.approvals.attach(events.append)
    registry.register(writer(ran))
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "x"}, id="c1")))
    await turn()
    assert registry.cancel("c1")
    outcome = await waiting
    assert (outcome.status, outcome.applied) == ("cancelled", False)
    assert [event.change for event in events] == ["added", "settled"]
    assert not registry.approvals.approve(events[0].request)
    assert ran == []


async def test_cancelling_the_callers_task_withdraws_the_request_and_passes_through(registry: Registry) -> None:
    events: list[ApprovalEvent] = []
    registry.approvals.attach(events.append)
    registry.register(writer([]))
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "x"}, id="c1")))
    await turn()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert registry.approvals.pending == ()
    assert [event.change for event in events] == ["added", "settled"]
    assert registry.call_status("c1").status == "cancelled"


async def test_a_request_that_differs_from_the_pending_one_cannot_approve_it(registry: Registry) -> None:
    """G01."""
    from dataclasses import replace

    registry.approvals.attach(lambda event: None)
    registry.register(writer([]))
    waiting = asyncio.ensure_future(registry.execute(call(input={"text": "x"})))
    await turn()
    (request,) = registry.approvals.pending
    assert not registry.approvals.approve(replace(request, payload="{}"))
    assert not registry.approvals.approve("another")
    registry.approvals.deny(request.id)
    assert (await waiting).status == "denied"


async def test_facts_that_are_no_json_deny(registry: Registry, approve: list, caplog: Any) -> None:
    """G05."""
    registry.register(declare(risk="mutating", preview=lambda: [object()], input_schema=TEXT, handler=lambda text: 1))
    assert (await registry.execute(call(input={"text": "x"}))).code == "approval_error"
    assert approve == []
