"""What the card of a call says, and what a person can say on the card of a call whose end is not known."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from agentic_qt.core.call import Status
from agentic_qt.core.capability import Capability, Target
from agentic_qt.core.registry import Registry
from agentic_qt.testing.scripted import tool
from agentic_qt.ui import call_cards
from tests.support.assistant_stage import AssistantStage, click_on, settled, until

pytestmark = pytest.mark.anyio


def declare(registry, handler, target="main", **fields):
    schema = {
        "type": "object",
        "properties": {"customer": {"type": "string", "title": "Customer name"}},
        "required": ["customer"],
        "additionalProperties": False,
    }
    return registry.register(
        Capability(
            name="customer.update",
            title="Change customer",
            description="Change a customer.",
            input_schema=schema,
            handler=handler,
            target=Target(id=target, label=f"Window {target}"),
            **{"risk": "read", **fields},
        )
    )


async def stage_with(registry, *calls):
    return await AssistantStage([[call] for call in calls] + ["Well."], registry=registry).open()


async def test_the_only_place_of_a_capability_gives_title_target_and_labels(qapp):
    """A window's capabilities have a target that a model need not name."""
    registry = Registry()
    declare(registry, lambda customer: {"ok": True})
    stage = await stage_with(registry, tool("customer_update", {"customer": "Ada"}))
    await stage.say("Go")
    card = stage.cards[0]
    assert (card.title, card.target) == ("Change customer", "Window main (main)")
    assert card.arguments == (("Customer name", "Ada"),)
    assert "customer.update" not in stage.text


async def test_one_of_several_places_is_named_only_when_the_model_chose_it(qapp):
    registry = Registry()
    declare(registry, lambda customer: None, "left")
    declare(registry, lambda customer: None, "right")
    stage = await stage_with(
        registry,
        tool("customer_update", {"customer": "Ada"}),
        tool("customer_update", {"customer": "Ada", "_target": "right"}),
    )
    await stage.say("Go")
    assert [(card.title, card.target) for card in stage.cards] == [
        ("Change customer", ""),
        ("Change customer", "Window right (right)"),
    ]


class Lost:
    """A capability whose handler never tells what became of it, until it is let go."""

    def __init__(self):
        self.registry = Registry()
        self.go = asyncio.Event()
        self.runs = 0
        self.ended = False
        self.registry.approvals.attach(self._approve)
        declare(self.registry, self._handle, risk="mutating", timeout=0.05)

    def _approve(self, event):
        if event.change == "added":
            self.registry.approvals.approve(event.request)

    async def _handle(self, customer):
        self.runs += 1
        while not self.go.is_set():
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                continue
        self.ended = True

    async def stage(self):
        stage = await stage_with(self.registry, tool("customer_update", {"customer": "Ada"}))
        await stage.say("Go")
        assert stage.cards[0].outcome.status is Status.UNKNOWN
        return stage


@pytest.fixture
async def lost(qapp):
    made = Lost()
    yield made
    made.go.set()
    await until(lambda: made.ended)


@pytest.mark.parametrize(
    ("words", "status", "applied", "shown"),
    [
        ("It happened", Status.OK, True, "It happened, as you found"),
        ("It did not happen", Status.FAILED, False, "It did not happen, as you found"),
    ],
)
async def test_a_person_can_say_what_became_of_a_call(qapp, lost, words, status, applied, shown):
    """FC-04: the way out of `unknown` when nobody else knows."""
    stage = await lost.stage()
    card = stage.cards[0]
    assert "Outcome not known" in stage.text
    assert "check in the application" in stage.text
    told = []
    lost.registry.observe_late(told.append)
    click_on(stage.transcript, words)
    await settled(stage.transcript)
    assert card.outcome.status is status
    assert shown in stage.text
    assert "check in the application" not in stage.text
    (late,) = told
    assert late.call_id == card.call_id
    assert (late.outcome.status, late.outcome.code, late.outcome.applied) == (status, "settled_by_person", applied)
    assert lost.runs == 1


async def test_the_card_of_an_unknown_call_stays_open_and_is_answered_by_keyboard(qapp, lost):
    """FC-04."""
    stage = await lost.stage()
    view = stage.transcript
    click_on(view, "Change customer")  # does not fold it away
    await settled(view)
    assert not view.document().find("It happened").isNull()
    view.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(20):
        if "not\u00a0happen" in view.textCursor().selectedText():
            break
        QTest.keyClick(view, Qt.Key.Key_Tab)
    QTest.keyClick(view, Qt.Key.Key_Return)
    await settled(view)
    assert stage.cards[0].outcome.status is Status.FAILED


async def test_a_late_end_takes_the_question_away(qapp, lost):
    """FC-04."""
    stage = await lost.stage()
    lost.go.set()
    await until(lambda: stage.cards[0].outcome.status is Status.OK)
    await settled(stage.transcript)
    assert "Done, late" in stage.text
    assert "check in the application" not in stage.text


async def test_a_call_that_is_still_under_way_cannot_be_settled_yet(qapp, lost, monkeypatch):
    stage = await lost.stage()
    monkeypatch.setattr(lost.registry, "settle", lambda *_args, **_names: False)
    click_on(stage.transcript, "It happened")
    await settled(stage.transcript)
    assert stage.cards[0].outcome.status is Status.UNKNOWN
    assert "still under way" in stage.text


async def test_an_unknown_end_is_announced(qapp, lost, monkeypatch):
    """FC-81."""
    said = []
    monkeypatch.setattr(call_cards, "announce", lambda _widget, text, **_how: said.append(text))
    await lost.stage()
    assert "Outcome not known: Change customer. Please check it." in said
