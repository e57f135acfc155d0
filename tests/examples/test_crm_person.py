"""What the person changes at the window: each press is one command, and its end is told in words."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from agentic_qt.commands.answers import lost
from agentic_qt.commands.values import CommandStatus
from examples.crm.backend import open_backend
from examples.crm.merge_dialog import MergeDialog
from examples.crm.window import CrmWindow
from tests.examples.test_crm_window import box, click_row, idle, press, retype, shown_ids
from tests.support.approval_stage import until

pytestmark = pytest.mark.anyio
ADA, GRACE, ALAN = 1, 2, 3


async def ends(backend, type_):
    """What the audit says of the commands of a type, the oldest first."""
    return [(entry.event, entry.code) for entry in reversed(await backend.service.history(type_=type_))]


class Slow:
    """A service whose submissions wait until a test lets them go on."""

    def __init__(self, service):
        self.service = service
        self.gate = asyncio.Event()
        self.submitted = []

    def __getattr__(self, name):
        return getattr(self.service, name)

    async def submit(self, command, actor):
        self.submitted.append(command)
        await self.gate.wait()
        return await self.service.submit(command, actor)


class Lossy(Slow):
    """A service whose first answer is lost, after the command was executed or before."""

    def __init__(self, service, *, executes):
        super().__init__(service)
        self.executes = executes

    async def submit(self, command, actor):
        self.submitted.append(command)
        if self.executes:
            await self.service.submit(command, actor)
        return lost(command.command_id, "The answer was lost.")


def use(window, service):
    window.clerk.service = service
    return service


async def test_double_click_on_save_is_one_command(window, backend):
    """FC-04"""
    slow = use(window, Slow(backend.service))
    click_row(window, ADA)
    retype(window, "city", "Paris")
    button = window.form.save_button
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not button.isEnabled()
    assert not window.actions_.save.isEnabled()
    QTest.mouseDClick(button, Qt.MouseButton.LeftButton)
    QTest.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    window.person.save()
    slow.gate.set()
    await idle(window)
    assert len(slow.submitted) == 1
    assert await ends(backend, "customer.update") == [("succeeded", "")]
    assert window.store.customer(ADA).version == 2


async def test_double_click_on_delete_is_one_command(window, backend):
    """FC-04"""
    click_row(window, ALAN)
    window.actions_.delete.trigger()
    asked = box()
    (button,) = [button for button in asked.buttons() if button.text().replace("&", "") == "Delete"]
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    QTest.mouseDClick(button, Qt.MouseButton.LeftButton)
    assert not window.actions_.delete.isEnabled()
    await idle(window)
    assert await ends(backend, "customer.delete") == [("succeeded", "")]
    assert ALAN not in shown_ids(window)
    assert window.statusBar().currentMessage() == "Alan Turing was deleted."


async def test_delete_of_a_customer_that_was_changed_since_it_was_shown_deletes_nothing(window, backend, elsewhere):
    """FC-22"""
    click_row(window, ALAN)
    window.actions_.delete.trigger()
    elsewhere.update_customer(ALAN, {"city": "Wilmslow"})
    press(box(), "Delete")
    await idle(window)
    message = box()
    assert message.text() == "Alan Turing was not deleted."
    assert "changed meanwhile by another window" in message.informativeText()
    assert window.store.customer(ALAN)
    assert window.form.values()["city"] == "Wilmslow"
    assert await ends(backend, "customer.delete") == [("failed", "version_conflict")]


async def test_order_that_was_changed_since_it_was_shown_keeps_its_status(window, elsewhere):
    """FC-22"""
    window.show_orders(GRACE)
    order = next(order for order in window.store.orders(GRACE) if order.id == 1005)
    elsewhere.set_order_status(1005, "cancelled")
    window.detail.orders.status_asked.emit(order, "shipped")
    await idle(window)
    assert box().text() == "The order was not changed."
    assert window.store.order(1005).status == "cancelled"


async def test_what_is_typed_while_the_save_is_under_way_stays(window, backend):
    """FC-25"""
    slow = use(window, Slow(backend.service))
    click_row(window, ADA)
    retype(window, "city", " Paris ")
    window.actions_.save.trigger()
    await until(lambda: slow.submitted)
    retype(window, "phone", "+33 1 99 00 00 01")
    slow.gate.set()
    await idle(window)
    assert window.store.customer(ADA).city == "Paris"
    assert window.form.changes() == {"phone": "+33 1 99 00 00 01"}
    window.actions_.save.trigger()
    await idle(window)
    assert window.store.customer(ADA).phone == "+33 1 99 00 00 01"
    assert not window.form.dirty


async def test_window_that_is_closed_while_it_saves_waits_for_the_end(window, backend):
    slow = use(window, Slow(backend.service))
    click_row(window, ADA)
    retype(window, "city", "Paris")
    window.actions_.save.trigger()
    assert not window.close()
    slow.gate.set()
    await until(lambda: not window.isVisible())
    assert window.store.customer(ADA).city == "Paris"


async def test_window_that_is_closed_while_it_saves_stays_when_nothing_was_saved(window, backend, elsewhere):
    """FC-25"""
    slow = use(window, Slow(backend.service))
    click_row(window, ADA)
    retype(window, "city", "Paris")
    window.actions_.save.trigger()
    elsewhere.update_customer(ADA, {"city": "Rome"})
    window.close()
    slow.gate.set()
    await idle(window)
    assert "Revert to see what is stored" in box().informativeText()
    assert window.isVisible()
    assert window.form.values()["city"] == "Paris"


async def test_second_press_on_close_does_not_wait_and_the_command_is_stored(window, path, backend):
    slow = use(window, Slow(backend.service))
    click_row(window, ADA)
    retype(window, "city", "Paris")
    window.actions_.save.trigger()
    window.close()
    assert window.close()
    slow.gate.set()
    await idle(window)
    assert window.store.customer(ADA).city == "Paris"


async def test_command_that_is_executing_when_everything_is_closed_is_stored(qapp, path, settings):
    own = await open_backend(path)
    window = CrmWindow(own.store, settings, service=own.service, actor=own.actor)
    window.show()
    click_row(window, ALAN)
    window.actions_.delete.trigger()
    press(box(), "Delete")
    await asyncio.sleep(0)
    window.close()
    await own.close()
    again = await open_backend(path)
    try:
        assert [entry.event for entry in await again.service.history(type_="customer.delete")] == ["succeeded"]
        assert len(again.store.customers()) == 239
    finally:
        await again.close()


@pytest.mark.parametrize("executes", [True, False])
async def test_answer_that_was_lost_is_told_and_can_be_asked_for_again(window, backend, executes):
    """FC-24"""
    lossy = use(window, Lossy(backend.service, executes=executes))
    click_row(window, ADA)
    retype(window, "city", "Paris")
    window.actions_.save.trigger()
    await idle(window)
    asked = box()
    assert asked.text() == "The customer may have been saved."
    assert window.form.dirty
    press(asked, "Ask again")
    await idle(window)
    if executes:
        assert not window.form.dirty
        assert window.statusBar().currentMessage() == "Saved."
    else:  # it was not found, which does not say that it is not on its way
        assert box().text() == "The customer may have been saved."
        press(box(), "Close")
    assert len(lossy.submitted) == 1
    assert window.store.customer(ADA).version == (2 if executes else 1)


async def test_service_that_is_closed_is_told_and_nothing_is_lost(window, backend):
    click_row(window, ADA)
    retype(window, "city", "Paris")
    await backend.service.close()
    window.actions_.save.trigger()
    await idle(window)
    assert box().text() == "The customer was not saved."
    assert window.form.values()["city"] == "Paris"


async def test_edits_one_on_another_are_undone_and_done_again_in_order(window, backend):
    click_row(window, ADA)
    for city in ("Paris", "Rome"):
        retype(window, "city", city)
        window.actions_.save.trigger()
        await idle(window)
    seen = []
    for action in ("undo", "undo", "redo", "redo", "undo"):
        assert getattr(window.actions_, action).isEnabled()
        getattr(window.actions_, action).trigger()
        assert not window.actions_.undo.isEnabled()
        await idle(window)
        seen.append(window.store.customer(ADA).city)
    assert seen == ["Paris", "London", "Paris", "Rome", "Paris"]
    assert window.form.values()["city"] == "Paris"
    assert window.actions_.undo.text() == "&Undo Change Ada Lovelace"
    assert {event for event, _code in await ends(backend, "customer.update")} == {"succeeded"}


async def test_customer_that_was_added_again_is_the_one_that_further_steps_change(window):
    window.actions_.new.trigger()
    QTest.keyClicks(window.form.editor("name"), "Barbara Liskov")
    QTest.keyClicks(window.form.editor("email"), "barbara@example.com")
    window.actions_.save.trigger()
    await idle(window)
    first = window.form.customer.id
    retype(window, "city", "Boston")
    window.actions_.save.trigger()
    await idle(window)
    for action in ("undo", "undo", "redo", "redo"):
        getattr(window.actions_, action).trigger()
        await idle(window)
    (again,) = window.store.find_customers("Barbara Liskov")
    assert again.id != first
    assert again.city == "Boston"
    assert window.history.stack.index() == 2


async def test_undo_that_the_service_cannot_do_now_can_be_tried_again(window, backend):
    click_row(window, ADA)
    retype(window, "city", "Paris")
    window.actions_.save.trigger()
    await idle(window)

    class Busy(Slow):
        async def submit(self, command, actor):
            result = await self.service.status("none-of-ours", actor)
            return type(result)(command_id=command.command_id, status=CommandStatus.REFUSED, code="busy", hint="Busy.")

    use(window, Busy(backend.service))
    window.actions_.undo.trigger()
    await idle(window)
    assert "could not be done now" in window.statusBar().currentMessage()
    use(window, backend.service)
    window.actions_.undo.trigger()
    await idle(window)
    assert window.store.customer(ADA).city == "London"


async def open_merge(window, customer_id):
    click_row(window, customer_id)
    assert window.actions_.merge.isEnabled()
    QTest.keyClick(window, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    dialog = window.findChild(MergeDialog)
    await until(dialog.isVisible)
    return dialog


async def test_customers_are_merged_with_the_keyboard_alone(window, backend):
    dialog = await open_merge(window, 5)
    assert not dialog.merge_button.isEnabled()
    assert dialog.list.item(0).text().startswith("Nguyễn Văn An (6)")  # who has the same name comes first
    dialog.search.setFocus()
    QTest.keyClicks(dialog.search, "nguyen van an")
    QTest.keyClick(dialog.search, Qt.Key.Key_Return)
    assert dialog.isVisible()
    QTest.keyClick(dialog.search, Qt.Key.Key_Down)
    assert dialog.focusWidget() is dialog.list
    assert dialog.kept.id == 6
    for widget in (dialog.list, dialog.search):
        QTest.keyClick(widget, Qt.Key.Key_Return)
    assert dialog.isVisible()
    moving = len(window.store.orders(5))
    assert dialog.preview.text().startswith(f"{moving} orders move to Nguyễn Văn An.")
    assert "cannot be undone" in dialog.preview.text()
    QTest.keyClick(dialog.list, Qt.Key.Key_Tab)
    while dialog.focusWidget() is not dialog.merge_button:
        QTest.keyClick(dialog.focusWidget(), Qt.Key.Key_Tab)
        assert dialog.focusWidget() is not dialog.list
    QTest.keyClick(dialog.merge_button, Qt.Key.Key_Space)
    await idle(window)
    assert 5 not in shown_ids(window)
    assert window.form.customer.id == 6
    assert "was merged into" in window.statusBar().currentMessage()
    assert await ends(backend, "customer.merge") == [("succeeded", "")]


async def test_cancelled_merge_and_one_without_a_choice_do_nothing(window, backend):
    dialog = await open_merge(window, ALAN)
    QTest.keyClicks(dialog.search, "zzzz")
    assert dialog.kept is None
    assert not dialog.merge_button.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    await until(lambda: not window.findChildren(MergeDialog))
    assert await ends(backend, "customer.merge") == []


async def test_merge_into_a_customer_that_was_changed_since_it_was_shown_is_a_conflict(window, backend, elsewhere):
    """FC-22"""
    dialog = await open_merge(window, 5)
    dialog.list.setCurrentRow(0)
    elsewhere.update_customer(6, {"city": "Huế"})
    QTest.mouseClick(dialog.merge_button, Qt.MouseButton.LeftButton)
    await idle(window)
    assert box().text() == "Nguyễn Văn An was not merged."
    assert len(window.store.customers()) == 240
    assert await ends(backend, "customer.merge") == [("failed", "version_conflict")]


async def test_customer_with_unsaved_input_is_not_merged(window):
    click_row(window, ADA)
    retype(window, "city", "Paris")
    assert not window.actions_.merge.isEnabled()
