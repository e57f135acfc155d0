"""Dock card and dialog: two views of one request."""

import asyncio
from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QDockWidget, QMainWindow

from agentic_qt.ui.approval.views import ApprovalViews
from tests.support.approval_stage import Stage, click, make_destructive, make_request, settle, until

pytestmark = pytest.mark.anyio


def delete_now() -> None:
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


async def test_the_dock_card_never_takes_the_focus(stage: Stage) -> None:
    """FC-21."""
    await stage.open()
    stage.editor.setFocus()
    await stage.ask()
    QTest.keyClicks(stage.editor, "hello")
    assert stage.editor.hasFocus()
    assert stage.editor.text() == "hello"
    assert stage.views.dialog is None


async def test_the_dialog_comes_up_when_the_panel_is_out_of_sight(stage: Stage) -> None:
    await stage.open()
    stage.host.hide()
    await stage.ask()
    dialog = stage.views.dialog
    assert dialog is not None
    assert dialog.isVisible()
    assert not dialog.isModal()
    assert QApplication.activeModalWidget() is None
    assert dialog.property("agentic_qt_window") is True


async def test_the_dialog_comes_up_when_the_panel_goes_out_of_sight_meanwhile(stage: Stage) -> None:
    await stage.open()
    await stage.ask()
    assert stage.views.dialog is None
    stage.host.hide()
    await until(lambda: stage.views.dialog is not None)


async def test_the_dialog_comes_up_for_a_dock_at_the_back_of_its_tabs(qapp: Any) -> None:
    stage = Stage()
    docks = [QDockWidget(name, stage.window) for name in ("front", "back")]
    for dock in docks:
        dock.setObjectName(dock.windowTitle())
        stage.window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
    docks[1].setWidget(stage.host)
    stage.window.tabifyDockWidget(docks[1], docks[0])
    await stage.open()
    docks[0].raise_()
    await settle()
    await stage.ask()
    assert stage.views.dialog is not None
    stage.close()


async def test_a_person_who_prefers_dialogs_gets_both_and_one_decision_closes_both(stage: Stage) -> None:
    await stage.open()
    stage.views.prefer_dialogs = True
    answer = await stage.ask()
    dialog = stage.views.dialog
    assert dialog is not None
    assert stage.views.panel.card is not None
    stage.pass_time(1.1)
    click(dialog.card.approve_button)
    assert (await asyncio.wait_for(answer, 1)).granted
    assert stage.views.cards == ()
    assert not shiboken6.isValid(dialog) or not dialog.isVisible()
    assert stage.views.panel.isHidden()


async def test_the_first_focus_of_the_dialog_is_on_the_payload_and_a_stray_return_does_nothing(stage: Stage) -> None:
    """FC-21."""
    await stage.open()
    stage.host.hide()
    answer = await stage.ask(make_destructive())
    dialog = stage.views.dialog
    assert dialog is not None
    await until(dialog.isActiveWindow)
    assert dialog.card.payload.hasFocus()
    stage.pass_time(3)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
        stage.pass_time(1)
        QTest.keyClick(dialog.windowHandle(), key)
    await settle()
    assert not answer.done()


async def test_the_dialog_does_not_take_the_focus_from_a_person_who_types(stage: Stage) -> None:
    """FC-21."""
    await stage.open()
    stage.host.hide()
    stage.editor.setFocus()
    await stage.ask()
    dialog = stage.views.dialog
    assert dialog is not None
    assert dialog.testAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
    # The offscreen platform activates every window that is shown; others ask this property.
    assert dialog.windowHandle().property("_q_showWithoutActivating") is True


async def test_escape_denies_only_through_the_guard(stage: Stage) -> None:
    await stage.open()
    stage.host.hide()
    answer = await stage.ask()
    dialog = stage.views.dialog
    assert dialog is not None
    stage.pass_time(0.4)
    QTest.keyClick(dialog.windowHandle(), Qt.Key.Key_Escape)
    await settle()
    assert dialog.isVisible()
    assert not answer.done()
    stage.pass_time(1.1)
    QTest.keyClick(dialog.windowHandle(), Qt.Key.Key_Escape)
    assert (await asyncio.wait_for(answer, 1)).code == "person"


async def test_closing_the_dialog_denies_and_does_not_end_the_application(stage: Stage) -> None:
    """FC-13."""
    await stage.open()
    stage.host.hide()
    answer = await stage.ask()
    dialog = stage.views.dialog
    assert dialog is not None
    assert not dialog.testAttribute(Qt.WidgetAttribute.WA_QuitOnClose)
    dialog.close()
    assert (await asyncio.wait_for(answer, 1)).code == "window_closed"
    assert stage.views.cards == ()


async def test_stop_closes_the_views_and_a_later_click_does_nothing(stage: Stage) -> None:
    """FC-14."""
    await stage.open()
    stage.views.prefer_dialogs = True
    answer = await stage.ask()
    told: list[Any] = []
    cards, dialog = stage.views.cards, stage.views.dialog
    assert dialog is not None
    stage.pass_time(1.1)
    answer.cancel()
    await until(lambda: stage.views.cards == ())
    assert not shiboken6.isValid(dialog) or not dialog.isVisible()
    stage.queue.observe(told.append)
    for card in cards:
        if shiboken6.isValid(card):
            click(card.approve_button)
            card.approve_button.decided.emit()
    assert told == []
    assert stage.queue.pending == ()


async def test_destroying_the_window_denies_what_waits(stage: Stage) -> None:
    """FC-09."""
    await stage.open()
    stage.views.prefer_dialogs = True
    answer = await stage.ask()
    stage.window.deleteLater()
    delete_now()
    assert (await asyncio.wait_for(answer, 1)).code == "window_closed"
    assert not shiboken6.isValid(stage.window)
    assert not stage.queue.has_approver


async def test_closing_the_window_denies_what_waits_and_showing_it_again_asks_again(stage: Stage) -> None:
    """FC-09."""
    await stage.open()
    answer = await stage.ask()
    stage.window.close()
    assert (await asyncio.wait_for(answer, 1)).code == "window_closed"
    await stage.open()
    await stage.ask(make_request(id="a2"))
    assert stage.queue.pending


async def test_a_window_that_refuses_to_close_goes_on_asking(qapp: Any) -> None:
    class Stubborn(QMainWindow):
        def closeEvent(self, event: Any) -> None:
            event.ignore()

    stage = Stage()
    window = Stubborn()
    views = ApprovalViews(stage.queue, window)
    stage.views.detach()
    window.setCentralWidget(views.panel)
    window.show()
    answer = asyncio.ensure_future(stage.queue.ask(make_request()))
    await until(lambda: bool(stage.queue.pending))
    window.close()
    await settle()
    assert not answer.done()
    answer.cancel()
    views.detach()


async def test_a_request_waits_in_the_panel_while_a_foreign_modal_dialog_is_open(stage: Stage) -> None:
    await stage.open()
    stage.views.prefer_dialogs = True
    modal = QDialog(stage.window)
    modal.open()
    await until(lambda: QApplication.activeModalWidget() is modal)
    await stage.ask()
    assert stage.views.dialog is None
    assert stage.views.panel.card is not None
    modal.close()
    await until(lambda: stage.views.dialog is not None)


async def test_requests_are_asked_one_after_the_other_and_each_starts_the_guard_anew(stage: Stage) -> None:
    """FC-24: a double click decides one request."""
    await stage.open()
    first = await stage.ask(make_request())
    second = await stage.ask(make_request(id="a2", input={"customer": "Bob", "email": "b@example.com"}))
    card = stage.views.panel.card
    assert card is not None
    assert card.request.id == "a1"
    stage.pass_time(1.1)
    click(card.approve_button)
    await settle()
    following = stage.views.panel.card
    assert following is not None
    assert following.request.id == "a2"
    await until(lambda: following.guard.is_shown)
    click(following.approve_button)
    await settle()
    assert first.done()
    assert not second.done()


async def test_an_expired_request_says_so_and_offers_to_ask_again(stage: Stage) -> None:
    await stage.open()
    answer = await stage.ask()
    card = stage.views.panel.card
    assert card is not None
    stage.queue.deny(card.request, "Nobody answered in time.", code="expired")
    assert (await answer).code == "expired"
    assert "Expired" in card.status.text()
    assert not card.approve_button.isVisible()
    click(card.again_button)
    assert [request.id for request in stage.again] == ["a1"]
    assert stage.views.cards == ()


async def test_the_next_request_takes_the_place_of_an_expired_one(stage: Stage) -> None:
    await stage.open()
    await stage.ask()
    stage.queue.deny("a1", code="expired")
    await stage.ask(make_request(id="a2"))
    card = stage.views.panel.card
    assert card is not None
    assert card.request.id == "a2"


async def test_attention_is_asked_for_once_while_the_window_is_inactive_and_withdrawn(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FC-83."""
    told: list[str] = []
    monkeypatch.setattr(stage.views.attention, "_alert", lambda: told.append("raised"))
    monkeypatch.setattr(stage.views.attention, "_clear", lambda: told.append("withdrawn"))
    await stage.open()
    await stage.ask()
    assert told == []
    stage.queue.deny("a1")
    monkeypatch.setattr(QApplication, "activeWindow", staticmethod(lambda: None))
    await stage.ask(make_request(id="a2"))
    await stage.ask(make_request(id="a3"))
    assert told == ["raised"]
    stage.queue.deny("a2")
    assert told == ["raised"]
    stage.queue.deny("a3")
    assert told == ["raised", "withdrawn"]


async def test_a_person_who_came_and_left_is_asked_for_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """FC-83."""
    told: list[str] = []
    monkeypatch.setattr(stage.views.attention, "_alert", lambda: told.append("raised"))
    await stage.open()
    monkeypatch.setattr(QApplication, "activeWindow", staticmethod(lambda: None))
    await stage.ask()
    QApplication.sendEvent(stage.window, QEvent(QEvent.Type.WindowActivate))
    await stage.ask(make_request(id="a2"))
    assert told == ["raised", "raised"]


async def test_withdrawing_uses_a_slot_that_this_qt_has(stage: Stage) -> None:
    await stage.open()
    assert stage.window.windowHandle().metaObject().indexOfMethod("_q_clearAlert()") >= 0


async def test_a_new_request_is_announced(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr("agentic_qt.ui.approval.views.announce", lambda widget, words, urgent: told.append(words))
    await stage.open()
    await stage.ask()
    assert told == ["Approval needed: Update customer"]


async def test_a_refused_press_is_announced(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr("agentic_qt.ui.approval.card.announce", lambda widget, words, urgent: told.append(words))
    await stage.open()
    await stage.ask()
    card = stage.views.panel.card
    assert card is not None
    click(card.approve_button)
    assert len(told) == 1
    assert told[0].startswith("Too soon")


async def test_detaching_leaves_nothing_behind(qapp: Any) -> None:
    window = QMainWindow()
    window.show()
    before = len(window.children())
    stage = Stage()
    views = ApprovalViews(stage.queue, window)
    stage.views.detach()
    answer = asyncio.ensure_future(stage.queue.ask(make_request()))
    await until(lambda: bool(stage.queue.pending))
    views.detach()
    assert (await asyncio.wait_for(answer, 1)).code == "window_closed"
    await settle()
    delete_now()
    assert len(window.children()) == before
    assert not stage.queue.has_approver
