"""The gates of one call, one by one and in order."""

import asyncio
from typing import Any

import pytest

from agentic_qt import Registry, Target
from agentic_qt.core.policy import Decision, Policy
from tests.support.declare import TEXT, call, declare, text_capability

pytestmark = pytest.mark.anyio


async def test_the_result_of_a_handler_is_the_outcomes_data(registry: Registry) -> None:
    registry.register(text_capability(lambda text: {"length": len(text)}))
    outcome = await registry.execute(call(input={"text": "four"}))
    assert (outcome.status, outcome.data, outcome.retry, outcome.applied) == ("ok", {"length": 4}, "not_needed", False)
    assert outcome.ok
    assert outcome.call_id
    assert outcome.revision == registry.revision


@pytest.mark.parametrize("make", ["sync", "async", "nested"])
async def test_none_is_a_result(registry: Registry, make: str) -> None:
    """G21, FC-01: every call reaches exactly one outcome, whatever the handler returns."""

    async def none() -> None:
        await asyncio.sleep(0)

    registry.register(declare(handler=none if make == "async" else lambda: None, nested=make == "nested"))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.data) == ("ok", None)


async def test_an_unknown_name_is_unavailable_and_similar_names_are_told(registry: Registry) -> None:
    registry.register(declare("customer.delete"))
    outcome = await registry.execute(call("customer.delet"))
    assert (outcome.status, outcome.code, outcome.retry) == ("unavailable", "no_such_capability", "after_listing")
    assert "customer.delete" in outcome.hint


async def test_a_named_target_is_that_target_or_unavailable_and_never_another(registry: Registry) -> None:
    """G18, FC-27."""
    ran: list[str] = []
    for name in ("a", "b"):
        registry.register(
            declare(handler=lambda name=name: ran.append(name), target=Target(id=name, label=f"Board {name}"))
        )
    assert (await registry.execute(call(target_id="b"))).status == "ok"
    outcome = await registry.execute(call(target_id="c"))
    assert (outcome.status, outcome.code) == ("unavailable", "no_such_target")
    assert "a (Board a)" in outcome.hint
    assert ran == ["b"]


async def test_a_single_target_that_is_not_the_named_one_is_not_used(registry: Registry) -> None:
    """G18, FC-27."""
    registry.register(declare(target=Target(id="a")))
    assert (await registry.execute(call(target_id="b"))).code == "no_such_target"
    registry.register(declare("other.x"))
    assert (await registry.execute(call("other.x", target_id="a"))).code == "no_such_target"


async def test_several_targets_and_none_named_is_invalid(registry: Registry) -> None:
    """G18."""
    for name in ("a", "b"):
        registry.register(declare(target=Target(id=name)))
    outcome = await registry.execute(call(revision=registry.revision))
    assert (outcome.status, outcome.code) == ("invalid", "target_required")
    assert "a, b" in outcome.hint
    assert (await registry.execute(call())).code == "target_required"


async def test_a_call_planned_when_one_target_lived_is_stale_when_a_second_has_appeared(registry: Registry) -> None:
    """G18."""
    registry.register(declare(target=Target(id="a")))
    planned = registry.revision
    registry.register(declare(target=Target(id="b")))
    assert (await registry.execute(call(revision=planned))).status == "stale"


async def test_a_call_planned_while_only_one_target_was_shown_does_not_run_on_one_that_is_shown_instead(
    registry: Registry,
) -> None:
    ran: list[str] = []
    a = registry.register(declare(handler=lambda: ran.append("a"), target=Target(id="a")))
    b = registry.register(declare(handler=lambda: ran.append("b"), target=Target(id="b")))
    b.suspend()
    planned = registry.revision
    assert (await registry.execute(call(revision=planned))).status == "ok"
    a.suspend()
    b.resume()
    assert (await registry.execute(call(revision=planned))).status == "stale"
    assert ran == ["a"]


async def test_another_registration_that_opens_elsewhere_makes_no_call_stale(registry: Registry) -> None:
    registry.register(declare())
    planned = registry.revision
    registry.register(declare("drawer.open")).suspend()
    assert (await registry.execute(call(revision=planned))).status == "ok"


async def test_a_registration_that_came_after_the_plan_is_stale_for_it(registry: Registry) -> None:
    registry.register(declare()).dispose()
    planned = registry.revision
    registry.register(declare())
    assert (await registry.execute(call(revision=planned))).status == "stale"


async def test_a_suspended_capability_is_unavailable_with_its_reason(registry: Registry) -> None:
    registry.register(declare()).suspend("the page is hidden")
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code) == ("unavailable", "suspended")
    assert "the page is hidden" in outcome.hint


@pytest.mark.parametrize(
    ("answer", "words"),
    [("nothing is selected", "nothing is selected"), (False, "disabled"), (None, "disabled"), (1, "disabled")],
)
async def test_available_means_true_and_nothing_else(registry: Registry, answer: Any, words: str) -> None:
    registry.register(declare(available=lambda: answer))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code) == ("unavailable", "not_available")
    assert words in outcome.hint


async def test_an_availability_that_cannot_be_read_is_unavailable(registry: Registry, caplog: Any) -> None:
    registry.register(declare(available=lambda: 1 / 0))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code) == ("unavailable", "availability_error")
    assert "division" not in outcome.hint


async def test_invalid_input_names_every_place_and_what_was_expected(registry: Registry, approve: list) -> None:
    """FC-51, FC-34: nobody is asked about a call that cannot run."""
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["text", "count"],
    }
    registry.register(declare(input_schema=schema, handler=lambda text, count: None, risk="destructive"))
    outcome = await registry.execute(call(input={"count": "three"}))
    assert outcome.status == "invalid"
    assert {issue["path"] for issue in outcome.data["issues"]} == {"/text", "/count"}
    assert "/text" in outcome.hint
    assert approve == []


async def test_unknown_properties_are_refused_unless_the_schema_wants_them(registry: Registry, approve: list) -> None:
    """G17, FC-18: no argument can satisfy an approval, since no argument gets in that was not declared."""
    registry.register(text_capability(lambda text: text, risk="destructive"))
    for extra in ("confirm", "approved", "approved_by", "_target", "ctx"):
        outcome = await registry.execute(call(input={"text": "x", extra: True}))
        assert (outcome.status, outcome.data["issues"][0]["path"]) == ("invalid", f"/{extra}")
    assert approve == []
    open_schema = {"type": "object", "properties": {}, "additionalProperties": True}
    registry.register(declare("open.x", input_schema=open_schema, handler=lambda **rest: rest))
    assert (await registry.execute(call("open.x", input={"any": 1}))).data == {"any": 1}


async def test_a_parameter_that_the_handler_needs_and_the_schema_does_not_require_is_invalid_when_missing(
    registry: Registry,
) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    registry.register(declare(input_schema=schema, handler=lambda text: text))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.data["issues"][0]["path"]) == ("invalid", "/text")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (2**53, "unsafe_integer"),
        (-(2**53), "unsafe_integer"),
        (1e300, "unsafe_integer"),
        (float("nan"), "not_finite"),
        (float("inf"), "not_finite"),
        ("x" * 70_000, "too_large"),
        ({1: "a"}, "bad_key"),
        (object(), "not_json"),
        ("\ud800", "bad_text"),
    ],
)
async def test_values_beyond_the_limits_are_invalid_with_a_code(registry: Registry, value: Any, code: str) -> None:
    """G15."""
    registry.register(declare(input_schema={"type": "object", "properties": {"v": {}}}, handler=lambda v: v))
    outcome = await registry.execute(call(input={"v": value}))
    assert (outcome.status, outcome.code) == ("invalid", code)


async def test_nesting_beyond_64_is_invalid(registry: Registry) -> None:
    """G15."""
    registry.register(declare(input_schema={"type": "object", "properties": {"v": {}}}, handler=lambda v: v))
    value: Any = []
    for _ in range(70):
        value = [value]
    assert (await registry.execute(call(input={"v": value}))).code == "too_deep"


@pytest.mark.parametrize("bad", [{"name": None}, {"input": None}, {"input": [1]}, {"input": "{}"}])
async def test_a_malformed_call_is_invalid_and_raises_nothing(registry: Registry, bad: dict) -> None:
    """G21."""
    outcome = await registry.execute(call(**{"name": "x.y", **bad}))
    assert (outcome.status, outcome.code) == ("invalid", "bad_call")


async def test_an_integral_float_is_an_integer_before_the_first_gate_for_reads_as_well(registry: Registry) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    registry.register(declare(input_schema=schema, handler=lambda n: {"is_int": isinstance(n, int), "n": n}))
    assert (await registry.execute(call(input={"n": 1.0}))).data == {"is_int": True, "n": 1}


async def test_the_handler_gets_a_copy_that_shares_nothing_with_the_callers_input(registry: Registry) -> None:
    """G02."""
    kept: list = []
    schema = {"type": "object", "properties": {"rows": {"type": "array"}}}
    registry.register(declare(input_schema=schema, handler=lambda rows: kept.append(rows) or "done"))
    rows = [[1]]
    await registry.execute(call(input={"rows": rows}))
    rows[0].append(2)
    assert kept == [[[1]]]


@pytest.mark.parametrize(
    ("verdict", "status"),
    [(True, "ok"), (False, "forbidden"), (None, "forbidden"), (1, "forbidden"), ("Not on Sundays.", "forbidden")],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_only_true_permits(verdict: Any, status: str, is_async: bool) -> None:
    """G19."""

    async def later(call: Any, capability: Any) -> Any:
        await asyncio.sleep(0)
        return verdict

    registry = Registry(permission=later if is_async else lambda call, capability: verdict)
    registry.register(declare())
    outcome = await registry.execute(call(actor="ada"))
    assert outcome.status == status
    if isinstance(verdict, str):
        assert verdict in outcome.hint


async def test_a_permission_hook_that_fails_forbids(caplog: Any) -> None:
    """G19."""
    registry = Registry(permission=lambda call, capability: 1 / 0)
    registry.register(declare())
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code) == ("forbidden", "permission_error")


async def test_what_is_on_the_deny_list_never_runs_and_is_asked_about_by_nobody() -> None:
    """G19."""
    ran: list = []
    registry = Registry(policy=Policy(deny=["customer.*"], rule=lambda call, capability: Decision.ALLOW))
    registry.register(declare("customer.read", handler=lambda: ran.append(1)))
    registry.register(declare("order.read"))
    outcome = await registry.execute(call("customer.read"))
    assert (outcome.status, outcome.code) == ("denied", "policy")
    assert (await registry.execute(call("order.read"))).status == "ok"
    assert ran == []


async def test_a_policy_that_fails_denies(caplog: Any) -> None:
    """G19."""
    registry = Registry(policy=Policy(rule=lambda call, capability: 1 / 0))
    registry.register(declare())
    assert (await registry.execute(call())).code == "policy"


async def test_a_read_that_talks_to_the_outside_is_asked_about(registry: Registry) -> None:
    """G20, threat 20."""
    registry.register(declare(egress=True))
    assert (await registry.execute(call())).code == "no_approver"


async def test_a_rule_of_the_application_can_let_a_change_run_and_can_ask_about_a_read(approve: list) -> None:
    decisions = {"a.write": Decision.ALLOW, "a.read": Decision.ASK}
    registry = Registry(policy=Policy(rule=lambda call, capability: decisions.get(capability.name)))
    registry.register(declare("a.write", risk="mutating"))
    registry.register(declare("a.read"))
    assert (await registry.execute(call("a.write"))).status == "ok"
    assert (await registry.execute(call("a.read"))).code == "no_approver"


async def test_reads_run_while_a_person_reads_about_a_write(registry: Registry, answer: Any) -> None:
    answer(lambda request: None)
    registry.register(declare("a.write", risk="mutating"))
    registry.register(declare("a.read"))
    waiting = asyncio.ensure_future(registry.execute(call("a.write")))
    await asyncio.sleep(0)
    assert (await registry.execute(call("a.read"))).status == "ok"
    registry.approvals.deny_all()
    assert (await waiting).status == "denied"


async def test_a_schema_is_checked_once_for_any_number_of_registrations(registry: Registry, monkeypatch: Any) -> None:
    first = registry.register(declare("a.x", input_schema=TEXT, handler=lambda text: text))
    second = registry.register(declare("b.x", input_schema=dict(TEXT), handler=lambda text: text))
    assert first.declared.schema is second.declared.schema
