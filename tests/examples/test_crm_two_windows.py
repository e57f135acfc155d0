"""Two windows with a service each on one file: what one of them did is a conflict for the other, and told as one."""

import asyncio

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.call import Call, Status
from examples.crm import chat_model
from examples.crm.app import build
from examples.crm.backend import open_backend
from tests.examples.test_crm_window import box, click_row, idle, press, retype

pytestmark = pytest.mark.anyio
ADA, ALAN = 1, 3


class Window:
    """One window as a process of its own would have it."""

    def __init__(self, backend, parts):
        self.backend, self.parts, self.window = backend, parts, parts.window

    async def save(self, field, text):
        click_row(self.window, ADA)
        retype(self.window, field, text)
        self.window.actions_.save.trigger()
        await idle(self.window)

    async def call(self, name, *, before=lambda: None, **arguments):
        """Let the assistant call; a person approves after `before`."""
        queue = self.parts.assistant.registry.approvals

        async def approve(request):
            found = before()
            if found is not None:
                await found
            queue.approve(request)

        def told(event):
            if event.change is ApprovalChange.ADDED:
                self.answering = asyncio.ensure_future(approve(event.request))

        remove = queue.observe(told)
        try:
            call = Call(name=name, input=arguments, actor=self.backend.actor.name)
            return await self.parts.assistant.registry.execute(call)
        finally:
            remove()


@pytest.fixture
async def windows(qapp, path, tmp_path, monkeypatch, anyio_backend):
    monkeypatch.setattr(chat_model, "embedded_available", lambda: False)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    made = []
    for number in range(2):
        backend = await open_backend(path)
        settings = QSettings(str(tmp_path / f"{number}.ini"), QSettings.Format.IniFormat)
        parts = build(backend, settings)
        parts.window.show()
        made.append(Window(backend, parts))
    yield made
    for each in made:
        each.parts.assistant.detach()
        each.window.form.show_customer(None)
        each.window.close()
        await each.parts.desk.close()
        await each.backend.close()


async def test_second_save_of_one_customer_is_a_conflict_and_told_as_one(windows):
    """FC-22"""
    first, second = windows
    click_row(second.window, ADA)
    retype(second.window, "city", "Rome")
    await first.save("city", "Paris")
    second.window.actions_.save.trigger()
    await idle(second.window)
    assert box().text() == "The customer was not saved."
    assert "changed meanwhile by another window" in box().informativeText()
    press(box(), "OK")
    assert first.backend.store.customer(ADA).city == "Paris"
    assert second.window.form.values()["city"] == "Rome"
    second.window.actions_.revert.trigger()
    assert second.window.form.values()["city"] == "Paris"
    await second.save("city", "Rome")
    assert first.backend.store.customer(ADA).city == "Rome"


async def test_person_of_the_other_window_is_faster_than_an_approval(windows):
    """FC-35, FC-22"""
    first, second = windows
    outcome = await second.call(
        "customer.update",
        customer="Ada Lovelace",
        field="city",
        value="Rome",
        before=lambda: first.save("city", "Paris"),
    )
    assert (outcome.status, outcome.code) == (Status.STALE, "changed_since_approval")
    assert second.backend.store.customer(ADA).city == "Paris"


async def test_write_between_the_last_look_and_the_command_is_a_conflict_too(windows, elsewhere, monkeypatch):
    """FC-22: the version is checked in the command's own transaction."""
    _first, second = windows
    submit = second.backend.service.submit

    async def late(command, actor):
        elsewhere.update_customer(ALAN, {"phone": "+44 20 7946 0999"})
        return await submit(command, actor)

    monkeypatch.setattr(second.backend.service, "submit", late)
    outcome = await second.call("customer.delete", customer="Alan Turing")
    assert (outcome.status, outcome.code) == (Status.STALE, "version_conflict")
    assert second.backend.store.customer(ALAN).phone == "+44 20 7946 0999"


async def test_customer_deleted_in_one_window_is_not_there_for_the_assistant_of_the_other(windows):
    first, second = windows
    assert (await first.call("customer.delete", customer="Alan Turing")).status is Status.OK
    outcome = await second.call("customer.delete", customer="3")
    assert (outcome.status, outcome.code) == (Status.FAILED, "customer_not_found")


async def test_both_windows_delete_the_same_customer_and_one_does(windows):
    """FC-04"""
    outcomes = await asyncio.gather(*(each.call("customer.delete", customer="Alan Turing") for each in windows))
    assert sorted(outcome.status is Status.OK for outcome in outcomes) == [False, True]
    entries = await windows[0].backend.service.history(type_="customer.delete")
    assert [entry.event for entry in entries].count("succeeded") == 1
    assert len(windows[0].backend.store.customers()) == 239


async def test_undo_in_one_window_of_what_the_other_changed_since_does_nothing(windows):
    first, second = windows
    await first.save("city", "Paris")
    second.window.refresh()
    await second.save("city", "Rome")
    first.window.actions_.undo.trigger()
    await idle(first.window)
    assert "changed since" in first.window.statusBar().currentMessage()
    assert first.backend.store.customer(ADA).city == "Rome"
    assert not QApplication.activeModalWidget()
