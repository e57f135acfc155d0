"""The dialog for a new order is a form by its properties alone: the assistant fills it in, the person submits it."""

import asyncio
import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from agentic_qt.core.call import Call, Status
from agentic_qt.qt.forms.form_calls import GestureSettings
from agentic_qt.qt.forms.form_tool import find_form_tool
from agentic_qt.testing.scripted import ScriptedModel, tool
from examples.crm.dialogs import NewOrderDialog
from tests.support.approval_stage import Clock, settle, until

pytestmark = pytest.mark.anyio
ALAN = 3
GIVEN = {"item": "Bombe", "amount": 12.5}


class Orders:
    """The application with the dialog open, as a person opens it."""

    def __init__(self, window, assistant):
        self.window, self.assistant = window, assistant
        self.clock = Clock()

    @property
    def names(self):
        return [registration.name for registration in self.assistant.registry.visible]

    @property
    def stored(self):
        return [(order.item, order.amount_cents) for order in self.window.store.orders(ALAN)]

    async def open_dialog(self):
        self.window.show_orders(ALAN)
        QTest.mouseClick(self.window.detail.orders.new_button, Qt.MouseButton.LeftButton)
        await until(lambda: "order.add" in self.names)
        self.dialog = self.window.findChild(NewOrderDialog)
        self.tool = find_form_tool(self.dialog)
        self.tool.gestures = GestureSettings(clock=self.clock)

    async def until_reviewed(self, task):
        await until(lambda: task.done() or (self.tool.review is not None and self.tool.review.is_shown))
        assert not task.done()

    def press(self):
        for _ in range(12):
            self.clock.now += 0.1
            self.tool.review.watch.beat()
        QTest.mouseClick(self.dialog.ok, Qt.MouseButton.LeftButton)


@pytest.fixture
def orders(built):
    return Orders(built.window, built.assistant)


async def test_the_form_is_a_tool_only_while_the_dialog_is_on_the_screen(orders):
    before = orders.names
    assert "order.add" not in before
    await orders.open_dialog()
    assert orders.names == [*before, "order.add"]
    orders.dialog.reject()
    await settle()
    assert orders.names == before


async def test_the_assistant_fills_the_dialog_in_and_the_person_adds_the_order(orders):
    await orders.open_dialog()
    before = orders.stored
    model = ScriptedModel([tool("order.add", GIVEN), "The order is added."])
    orders.assistant.chat_model = model
    task = asyncio.ensure_future(orders.assistant.send("A Bombe for 12.50, please"))
    await orders.until_reviewed(task)
    assert (orders.dialog.item.text(), orders.dialog.amount.value()) == ("Bombe", 12.5)
    assert orders.stored == before
    assert orders.assistant.registry.approvals.pending == ()
    orders.press()
    end = await asyncio.wait_for(task, 10)
    assert end.text == "The order is added."
    assert sorted(orders.stored) == sorted([*before, ("Bombe", 1250)])
    told = json.loads(model.requests[1].messages[-1]["content"])
    added = next(order for order in orders.window.store.orders(ALAN) if order.item == "Bombe")
    assert told["data"]["response"] == {"order": added.id, "customer": "Alan Turing"}
    assert told["data"]["result"] == "accepted"
    await settle()
    assert "order.add" not in orders.names


async def test_what_the_person_corrects_is_what_is_stored(orders):
    await orders.open_dialog()
    task = asyncio.ensure_future(orders.assistant.registry.execute(Call(name="order.add", input=GIVEN)))
    await orders.until_reviewed(task)
    orders.dialog.amount.setValue(99)
    orders.press()
    assert (await asyncio.wait_for(task, 5)).data["submitted"] == {"item": "Bombe", "amount": 99}
    assert ("Bombe", 9900) in orders.stored


@pytest.mark.parametrize("how", ["reject", "close_window"])
async def test_a_dialog_that_is_closed_adds_nothing(orders, how):
    await orders.open_dialog()
    before = orders.stored
    task = asyncio.ensure_future(orders.assistant.registry.execute(Call(name="order.add", input=GIVEN)))
    await orders.until_reviewed(task)
    {"reject": orders.dialog.reject, "close_window": orders.window.close}[how]()
    assert (await asyncio.wait_for(task, 5)).status in {Status.DENIED, Status.CANCELLED}
    assert orders.stored == before


async def test_a_rule_of_the_business_reaches_the_model_and_the_person(orders, elsewhere):
    await orders.open_dialog()
    task = asyncio.ensure_future(
        orders.assistant.registry.execute(Call(name="order.add", input={"item": " ", "amount": 1}))
    )
    outcome = await asyncio.wait_for(task, 5)
    assert (outcome.status, outcome.code) == (Status.FAILED, "submit_disabled")
    task = asyncio.ensure_future(orders.assistant.registry.execute(Call(name="order.add", input=GIVEN)))
    await orders.until_reviewed(task)
    elsewhere.delete_customer(ALAN)
    orders.press()
    outcome = await asyncio.wait_for(task, 5)
    assert (outcome.status, outcome.code) == (Status.FAILED, "customer_not_found")
