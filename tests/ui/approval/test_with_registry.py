"""The views at the end of the real route: what a click lets run."""

import asyncio
from typing import Any

import pytest

from agentic_qt.core.call import Call, Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry
from tests.support.approval_stage import Stage, click, settle, until

pytestmark = pytest.mark.anyio


def make_registry(stage: Stage, ran: list[str], risk: str) -> Registry:
    registry = Registry(approvals=stage.queue, clock=stage.wall)

    def rename(name: str) -> None:
        ran.append(name)

    registry.register(
        Capability(
            name="customer.rename",
            description="Rename a customer.",
            input_schema={
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "additionalProperties": False,
            },
            risk=risk,
            handler=rename,
            preview=lambda name: {"old": {"name": "Ada"}},
        )
    )
    return registry


async def begin(stage: Stage, registry: Registry, name: str = "Grace") -> "asyncio.Task[Any]":
    call = Call(name="customer.rename", input={"name": name}, run="r1", client="assistant")
    task = asyncio.ensure_future(registry.execute(call))
    await until(lambda: stage.views.panel.card is not None and stage.views.panel.card.guard.is_shown)
    await settle()
    return task


async def test_an_isolated_click_lets_exactly_the_shown_call_run(stage: Stage) -> None:
    """G01, G10."""
    ran: list[str] = []
    await stage.open()
    task = await begin(stage, make_registry(stage, ran, "mutating"))
    stage.pass_time(1.1)
    click(stage.views.panel.card.approve_button)
    outcome = await asyncio.wait_for(task, 2)
    assert outcome.status is Status.OK
    assert ran == ["Grace"]


async def test_a_stray_click_lets_nothing_run_and_deny_says_who(stage: Stage) -> None:
    """FC-21."""
    ran: list[str] = []
    await stage.open()
    task = await begin(stage, make_registry(stage, ran, "destructive"))
    card = stage.views.panel.card
    click(card.approve_button)
    stage.pass_time(2)
    click(card.deny_button)
    outcome = await asyncio.wait_for(task, 2)
    assert (outcome.status, outcome.code, ran) == (Status.DENIED, "person", [])


async def test_a_stopped_call_closes_its_card_and_never_runs(stage: Stage) -> None:
    """FC-14."""
    ran: list[str] = []
    await stage.open()
    task = await begin(stage, make_registry(stage, ran, "mutating"))
    task.cancel()
    await until(lambda: stage.views.cards == ())
    await asyncio.wait([task], timeout=2)
    assert ran == []


async def test_a_window_that_is_closed_denies_the_call(stage: Stage) -> None:
    """FC-09."""
    ran: list[str] = []
    await stage.open()
    task = await begin(stage, make_registry(stage, ran, "mutating"))
    stage.window.close()
    outcome = await asyncio.wait_for(task, 2)
    assert (outcome.status, outcome.code, ran) == (Status.DENIED, "window_closed", [])


async def test_a_remembered_run_is_not_asked_again(stage: Stage) -> None:
    ran: list[str] = []
    await stage.open()
    registry = make_registry(stage, ran, "mutating")
    task = await begin(stage, registry)
    stage.queue.approve(stage.queue.pending[0], scope="run")
    await asyncio.wait_for(task, 2)
    call = Call(name="customer.rename", input={"name": "Alan"}, run="r1", client="assistant")
    outcome = await asyncio.wait_for(registry.execute(call), 2)
    assert (outcome.status, ran) == (Status.OK, ["Grace", "Alan"])
