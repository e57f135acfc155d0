"""What the audit tells, and what it and the log never hold."""

import logging
from typing import Any

import pytest

from agentic_qt import Registry
from tests.support.declare import call, declare, text_capability

pytestmark = pytest.mark.anyio


def kinds(audit: list) -> list[str]:
    return [event.kind.value for event in audit]


async def test_a_read_is_received_validated_permitted_executing_and_executed(registry: Registry, audit: list) -> None:
    registry.register(declare())
    await registry.execute(call(id="c1", actor="ada", client="k", run="r"))
    assert kinds(audit) == ["received", "validated", "permitted", "executing", "executed"]
    assert [event.seq for event in audit] == [1, 2, 3, 4, 5]
    assert {(event.call_id, event.actor, event.client, event.run, event.name) for event in audit} == {
        ("c1", "ada", "k", "r", "note.add")
    }
    assert audit[-1].status == "ok"
    assert audit[0].duration <= audit[-1].duration
    assert audit[0].at <= audit[-1].at


async def test_an_approved_change_tells_of_the_confirmation_under_its_digest(
    registry: Registry, audit: list, approve: list
) -> None:
    registry.register(declare(risk="mutating"))
    await registry.execute(call())
    assert kinds(audit) == [
        "received",
        "validated",
        "permitted",
        "confirmation_requested",
        "confirmed",
        "executing",
        "executed",
    ]
    assert {event.digest for event in audit if event.kind.value in ("confirmed", "executing", "executed")} == {
        approve[0].digest
    }


async def test_a_denied_change_ends_rejected(registry: Registry, audit: list, deny: list) -> None:
    registry.register(declare(risk="mutating"))
    await registry.execute(call())
    assert kinds(audit)[-3:] == ["confirmation_requested", "denied", "rejected"]
    assert (audit[-1].status, audit[-1].code) == ("denied", "person")


async def test_a_call_that_a_gate_refuses_ends_rejected(registry: Registry, audit: list) -> None:
    await registry.execute(call("no.such"))
    assert kinds(audit) == ["received", "rejected"]
    assert (audit[-1].status, audit[-1].code) == ("unavailable", "no_such_capability")


async def test_neither_the_audit_nor_the_log_at_info_holds_an_input_value(
    registry: Registry, audit: list, approve: list, caplog: Any
) -> None:
    """G28, threat 18."""
    caplog.set_level(logging.DEBUG, logger="agentic_qt")
    canary = "canary-4711"
    registry.register(text_capability(lambda text: text, risk="mutating", preview=lambda text: {"was": text}))
    assert (await registry.execute(call(input={"text": canary}))).data == canary
    assert (await registry.execute(call(input={"text": canary, "more": canary}))).status == "invalid"
    assert canary not in str([event.as_dict() for event in audit])
    assert canary not in caplog.text


async def test_a_call_that_repeats_an_id_is_told_as_rejected_and_not_as_run(registry: Registry, audit: list) -> None:
    registry.register(declare())
    for _ in range(2):
        await registry.execute(call(id="c1"))
    assert kinds(audit) == ["received", "validated", "permitted", "executing", "executed", "received", "rejected"]
