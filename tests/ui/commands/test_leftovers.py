"""What earlier sessions left, in the panel: offered again, never run by itself, closed by a person."""

import asyncio

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.values import Command
from agentic_qt.core.journal import Intent
from agentic_qt.core.registry import Registry
from agentic_qt.ui.approval.payload import describe
from agentic_qt.ui.assistant import Assistant
from agentic_qt.ui.commands import strip
from tests.support.assistant_stage import until
from tests.support.command_kit import ANN, make_service
from tests.support.leftover_stage import LeftoverStage, crash

pytestmark = pytest.mark.anyio


@pytest.fixture
async def opened(qapp, url):
    """Opens windows on the store, and closes them and their services."""
    made = []

    async def open_stage(**options):
        service = make_service(url)
        await service.start()
        stage = LeftoverStage(service, **options)
        made.append((stage, service))
        return await stage.open()

    yield open_stage
    for stage, service in made:
        await stage.close()
        await service.close()


async def test_nothing_is_shown_when_nothing_is_left(opened):
    stage = await opened()
    assert stage.views.leftovers is None


async def test_a_waiting_approval_is_shown_again_and_runs_only_after_it_was_approved_anew(opened, url, inspector):
    """G31, FC-38: resume goes through the pipeline, and the approval's own card asks."""
    await crash(url, "asked")
    stage = await opened()
    assert stage.strip.isVisible()
    assert stage.strip.toggle.text() == "From last time: one thing waits for you"
    assert stage.card.left.title == "Delete customer"
    assert stage.card.left.reason == "asked for"
    assert stage.card.left.target == "customer:1"
    assert QApplication.focusWidget() is stage.field
    assert inspector.entries() == {}
    await stage.press(stage.card, "resume")
    await until(lambda: stage.registry.approvals.pending)
    assert inspector.entries() == {}
    assert stage.strip.area.isHidden(), "the approval needs the room"
    await stage.approve()
    await until(lambda: stage.card.ended)
    assert stage.card.state.word == "Done"
    assert inspector.entries() == {"delete 1": 1}
    assert not stage.strip.area.isHidden()
    await stage.looked()
    await stage.press(stage.card, "close")
    assert stage.cards == []
    assert not stage.strip.isVisible()


async def test_a_denied_one_says_so_and_is_not_offered_again(opened, url, inspector):
    """FC-38"""
    await crash(url, "asked")
    stage = await opened()
    await stage.press(stage.card, "resume")
    await until(lambda: stage.registry.approvals.pending)
    stage.registry.approvals.deny(stage.registry.approvals.pending[0])
    await until(lambda: stage.card.ended)
    assert stage.card.state.word == "Denied by you"
    await stage.reload()
    assert stage.card.ended
    assert inspector.entries() == {}
    assert inspector.rows("SELECT state FROM agentic_proposal") == [("rejected",)]


async def test_a_second_press_on_resume_asks_only_once(opened, url):
    """FC-24"""
    await crash(url, "asked")
    stage = await opened()
    await stage.press(stage.card, "resume")
    QTest.mouseClick(stage.card.buttons["resume"], Qt.MouseButton.LeftButton)
    await until(lambda: stage.registry.approvals.pending)
    await stage.reload()
    assert len(stage.registry.approvals.pending) == 1
    assert stage.card.busy


async def test_discarding_takes_one_deliberate_press(opened, url, inspector):
    """FC-38: a press that comes too soon, or right after another, closes nothing."""
    await crash(url, "asked")
    stage = await opened()
    card = stage.card
    await until(lambda: card.guard.is_shown)
    QTest.mouseClick(card.buttons["discard"], Qt.MouseButton.LeftButton)
    assert "Too soon" in card.status.text()
    stage.pass_time(2)
    stage.field.setFocus()
    QTest.keyClick(stage.field, Qt.Key.Key_A)
    QTest.mouseClick(card.buttons["discard"], Qt.MouseButton.LeftButton)
    assert "Not counted" in card.status.text()
    card.buttons["discard"].click()
    await stage.reload()
    assert not card.busy
    assert not card.ended
    await stage.press(card, "discard")
    await until(lambda: card.ended)
    assert card.state.word == "Discarded"
    assert inspector.rows("SELECT state FROM agentic_proposal") == [("cancelled",)]
    assert inspector.entries() == {}


async def test_what_was_approved_and_not_done_says_so_and_is_asked_anew(opened, url, inspector):
    """G31, FC-39"""
    await crash(url, "approved")
    stage = await opened()
    assert stage.card.left.kind == "waiting"
    assert "ann had approved it" in stage.card.sentence.text()
    await stage.press(stage.card, "resume")
    await stage.approve()
    await until(lambda: stage.card.ended)
    assert stage.card.state.word == "Done"
    assert inspector.entries() == {"delete 1": 1}


async def test_discarding_what_was_approved_puts_a_tombstone_under_its_id(opened, url, inspector):
    """FC-39"""
    await crash(url, "claimed")
    stage = await opened()
    command_id = stage.card.left.command_id
    await stage.press(stage.card, "discard")
    await until(lambda: stage.card.ended)
    assert stage.card.state.word == "Discarded"
    assert (await stage.service.status(command_id)).code == "abandoned"
    assert inspector.entries() == {}


async def test_a_row_that_changed_meanwhile_is_shown_as_it_is_now_before_it_is_approved(opened, url):
    """FC-22, FC-25"""
    await crash(url, "asked")
    stage = await opened()
    rename = Command.of("customer.rename", {"id": 1, "name": "Bea"}, command_id="r", expected_version=1)
    assert (await stage.service.submit(rename, ANN)).ok
    await stage.press(stage.card, "resume")
    await until(lambda: stage.registry.approvals.pending)
    assert stage.registry.approvals.pending[0].facts == {"id": 1, "name": "Bea", "version": 2}


async def test_a_row_that_changes_while_it_is_asked_is_told_as_changed_meanwhile(opened, url, inspector):
    """FC-22, FC-25: nothing is written."""
    await crash(url, "asked")
    stage = await opened()
    await stage.press(stage.card, "resume")
    await until(lambda: stage.registry.approvals.pending)
    inspector.change("UPDATE customer SET version = 9")
    await stage.approve()
    await until(lambda: not stage.card.busy)
    await stage.looked()
    assert inspector.entries() == {}
    shown = stage.card.state.word + stage.card.state.sentence + stage.card.status.text()
    assert "changed meanwhile" in shown


async def test_a_window_that_closes_while_it_is_asked_leaves_it_for_the_next_start(opened, url, inspector):
    """FC-09, FC-38"""
    await crash(url, "asked")
    stage = await opened()
    await stage.press(stage.card, "resume")
    await until(lambda: stage.registry.approvals.pending)
    stage.window.close()
    await until(lambda: not stage.views.leftovers.busy)
    await stage.close()
    await stage.service.close()
    assert inspector.entries() == {}
    again = await opened()
    assert [card.left.kind for card in again.cards] == ["waiting"]


async def test_what_cannot_be_resumed_now_goes_on_waiting_and_says_why(opened, url, inspector):
    """FC-38: a capability that is not there yet costs nobody the proposal."""
    await crash(url, "asked")
    stage = await opened()
    suspended = stage.registry.find("customer.delete")
    suspended.suspend()
    await stage.press(stage.card, "resume")
    await until(lambda: "Not available" in stage.card.status.text())
    assert (stage.card.ended, stage.card.left.kind) == (False, "waiting")
    suspended.resume()
    await stage.press(stage.card, "resume")
    await stage.approve()
    await until(lambda: stage.card.ended)
    assert inspector.entries() == {"delete 1": 1}


async def test_the_strip_leaves_half_of_the_panel_to_the_conversation(opened, url):
    async with make_service(url) as before:
        for at in range(8):
            await before.journal.intent(interrupted(at=float(at)))
    stage = await opened()
    assert len(stage.cards) == 8
    assert stage.strip.toggle.text() == "From last time: 8 things wait for you"
    panel = stage.assistant.panel
    await until(lambda: stage.strip.area.height() > 0)
    assert stage.strip.area.height() <= panel.height() / 2
    assert panel.pages.height() > panel.height() / 5
    stage.cards[-2].buttons["not_happened"].setFocus()
    QTest.keyClick(stage.cards[-2].buttons["not_happened"], Qt.Key.Key_Tab)
    assert stage.cards[-1].buttons["happened"].hasFocus()
    assert not stage.cards[-1].buttons["happened"].visibleRegion().isEmpty()


async def test_very_many_things_are_shown_one_screen_after_the_other(opened, url, monkeypatch):
    monkeypatch.setattr(strip, "MOST_CARDS", 3)
    async with make_service(url) as before:
        for at in range(5):
            await before.journal.intent(interrupted(at=float(at)))
    stage = await opened()
    assert len(stage.cards) == 3
    assert stage.strip.toggle.text() == "From last time: 5 things wait for you"
    await stage.press(stage.cards[0], "happened")
    await until(lambda: len(stage.strip.cards) == 4)
    assert stage.strip.toggle.text() == "From last time: 4 things wait for you"


async def test_a_capability_that_is_declared_later_gives_its_title(opened, url):
    """A window may declare its capabilities after the assistant was attached."""
    await crash(url, "asked")
    stage = await opened()
    declared = stage.registry.find("customer.delete")
    declared.dispose()
    await stage.reload()
    assert stage.card.left.title == "customer.delete"
    stage.registry.register(declared.capability)
    await until(lambda: stage.card.left.title == "Delete customer")


async def test_many_values_are_behind_one_more_press(opened, url):
    async with make_service(url) as before:
        values = ",".join(f'"v{number}":{number}' for number in range(9))
        await before.journal.intent(interrupted(payload=f'{{"input":{{{values}}},"name":"mail.send","targetId":null}}'))
    stage = await opened()
    more = stage.card.buttons["more"]
    assert more.text() == "Show all 9 values"
    assert not stage.card._rows.isVisible()
    stage.strip.area.ensureWidgetVisible(more)
    QTest.mouseClick(more, Qt.MouseButton.LeftButton)
    assert stage.card._rows.isVisible()
    assert not more.isVisible()


async def test_no_widget_is_without_a_parent(opened, url):
    await crash(url, "approved")
    stage = await opened()
    await stage.press(stage.card, "audit")
    await until(lambda: not stage.views.audit_view.busy)
    homeless = [
        widget
        for widget in QApplication.allWidgets()
        if widget.parentWidget() is None and type(widget).__module__.startswith("agentic_qt")
    ]
    assert homeless == []


async def test_a_window_that_is_destroyed_at_once_takes_everything_along(opened, url, caplog):
    """FC-09"""
    await crash(url, "asked")
    stage = await opened()
    await stage.press(stage.card, "resume")
    await until(lambda: stage.registry.approvals.pending)
    stage.window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert stage.registry.approvals.pending == ()
    await until(lambda: not stage.views.leftovers.busy)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_what_was_closed_elsewhere_is_told_when_it_is_pressed_here(opened, url):
    """FC-38: two windows on one store stay in step."""
    await crash(url, "asked")
    stage = await opened()
    card = stage.card
    await stage.service.proposals.cancel(card.left.proposal_id)
    await stage.press(card, "resume")
    await until(lambda: card.ended)
    assert card.state.word == "Decided or found out meanwhile"
    assert stage.registry.approvals.pending == ()


async def test_coming_back_to_the_window_looks_again(opened, url):
    await crash(url, "asked")
    stage = await opened()
    card = stage.card
    await stage.service.proposals.cancel(card.left.proposal_id)
    other = QMainWindow()
    other.show()
    other.activateWindow()
    await until(other.isActiveWindow)
    await stage.looked()
    assert not card.ended
    stage.window.activateWindow()
    await until(lambda: card.ended)


def interrupted(**fields):
    payload = '{"input":{"to":"ada\u202e@example.com"},"name":"mail.send","targetId":null}'
    known = {"at": 1.0, "payload": payload, **fields}
    return Intent(
        call_id="x",
        name="mail.send",
        target_id=None,
        digest="a" * 64,
        actor="ann",
        client="assistant",
        run="r",
        **known,
    )


@pytest.mark.parametrize(("button", "status"), [("happened", "ok"), ("not_happened", "failed")])
async def test_a_person_says_what_became_of_an_interrupted_call(opened, url, inspector, button, status):
    """FC-04, FC-39"""
    async with make_service(url) as before:
        await before.journal.intent(interrupted())
    stage = await opened()
    card = stage.card
    assert card.left.title == "mail.send"
    assert card.left.sections[0].rows[0].value.full == "ada\\u{202e}@example.com"
    await stage.press(card, button)
    await until(lambda: card.ended)
    ((written,),) = inspector.rows("SELECT status FROM agentic_intent")
    assert (written == "ok") is (status == "ok")
    await stage.reload()
    assert stage.cards == [card]


async def test_a_store_that_cannot_be_read_is_a_card_with_a_way_out(qapp, url, monkeypatch):
    await crash(url, "asked")
    service = make_service(url)
    stage = LeftoverStage(service)  # the service was not started: the host forgot it, or its disk is away
    try:
        await stage.open()
        assert stage.strip.problem is not None
        assert "store_closed" in stage.strip.problem.words.text()
        assert stage.strip.isVisible()
        await service.start()
        QTest.mouseClick(stage.strip.problem.retry_button, Qt.MouseButton.LeftButton)
        await until(lambda: stage.cards)
        assert stage.strip.problem is None
    finally:
        await stage.close()
        await service.close()


async def test_an_action_that_cannot_be_written_leaves_the_card_as_it_was(opened, url, monkeypatch):
    await crash(url, "asked")
    stage = await opened()

    async def fail(*_arguments, **_fields):
        raise CommandError("store_error", "The store could not be written.")

    with monkeypatch.context() as patch:
        patch.setattr(stage.service.proposals, "cancel", fail)
        await stage.press(stage.card, "discard")
        await until(lambda: "store_error" in stage.card.status.text())
    assert not stage.card.ended
    await stage.looked()
    await stage.press(stage.card, "discard")
    await until(lambda: stage.card.ended)


async def test_an_error_of_the_application_leaves_no_card_busy_for_ever(opened, url, monkeypatch, caplog):
    await crash(url, "asked")
    stage = await opened()

    async def fail(*_arguments, **_fields):
        raise RuntimeError("secret words")

    with monkeypatch.context() as patch:
        patch.setattr(stage.service.proposals, "cancel", fail)
        await stage.press(stage.card, "discard")
        await until(lambda: "its log says more" in stage.card.status.text())
    assert "secret words" not in stage.card.status.text()
    assert "secret words" in caplog.text
    assert not stage.card.busy


async def test_a_desk_of_another_registry_is_refused(opened):
    stage = await opened()
    with pytest.raises(ValueError, match="another registry"):
        Assistant.attach(QMainWindow(), registry=Registry(), desk=stage.desk)


async def test_the_approval_says_who_resumed_it(opened, url):
    await crash(url, "asked")
    stage = await opened()
    await stage.press(stage.card, "resume")
    await until(lambda: stage.registry.approvals.pending)
    rows = describe(stage.registry.approvals.pending[0]).sections[0].rows
    assert [row.value.full for row in rows] == ["you, resumed from last time"]


async def test_the_strip_is_folded_and_unfolded_with_the_keyboard(opened, url):
    await crash(url, "asked")
    stage = await opened()
    toggle = stage.strip.toggle
    toggle.setFocus()
    QTest.keyClick(toggle, Qt.Key.Key_Space)
    assert stage.strip.area.isHidden()
    QTest.keyClick(toggle, Qt.Key.Key_Space)
    assert not stage.strip.area.isHidden()


async def test_every_button_is_reached_with_tab_and_has_a_name(opened, url):
    await crash(url, "approved")
    stage = await opened()
    stage.strip.toggle.setFocus()
    reached = []
    for _ in range(4):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        reached.append(QApplication.focusWidget())
    wanted = [stage.card.buttons[name] for name in ("resume", "discard", "audit")]
    assert reached[:3] == wanted
    assert all(button.accessibleName() and button.accessibleDescription() for button in wanted)


async def test_pressing_with_the_keyboard_keeps_the_focus_in_the_strip(opened, url):
    await crash(url, "asked")
    stage = await opened()
    card = stage.card
    card.buttons["discard"].setFocus()
    await until(lambda: card.guard.is_shown)
    for _ in range(6):
        await asyncio.sleep(0)
    stage.pass_time(2)
    QTest.keyClick(card.buttons["discard"], Qt.Key.Key_Return)
    await until(lambda: card.ended)
    assert stage.strip.isAncestorOf(QApplication.focusWidget())
    await stage.looked()
    card.buttons["close"].setFocus()
    QTest.keyClick(card.buttons["close"], Qt.Key.Key_Space)
    assert stage.cards == []
    assert QApplication.focusWidget() is stage.assistant.panel.composer.field


async def test_detaching_takes_the_strip_away(opened, url):
    await crash(url, "asked")
    stage = await opened()
    stage.assistant.detach()
    assert not stage.assistant.panel.has_audit
    await stage.desk.close()


async def test_what_is_left_is_announced(opened, url, monkeypatch):
    spoken = []
    monkeypatch.setattr(strip, "announce", lambda widget, text, **_: spoken.append(text))
    await crash(url, "asked")
    stage = await opened()
    await stage.reload()
    assert spoken == ["From last time: one thing waits for you"]
