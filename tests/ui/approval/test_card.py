"""The card: what unlocks it, what its buttons tell the queue."""

import asyncio

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QWidget

from agentic_qt.core.capability import Target
from agentic_qt.core.grants import Scope
from agentic_qt.ui.approval.card import ApprovalCard
from tests.support.approval_stage import Stage, click, make_destructive, make_request, settle, until

pytestmark = pytest.mark.anyio


def card_of(stage: Stage) -> ApprovalCard:
    card = stage.views.panel.card
    assert card is not None
    return card


async def test_an_isolated_click_on_approve_approves_once(stage: Stage) -> None:
    await stage.open()
    answer = await stage.ask()
    stage.pass_time(1.1)
    click(card_of(stage).approve_button)
    approval = await asyncio.wait_for(answer, 1)
    assert approval.granted
    assert approval.scope is Scope.ONCE


async def test_an_isolated_click_on_deny_denies_with_the_reason(stage: Stage) -> None:
    await stage.open()
    answer = await stage.ask()
    card = card_of(stage)
    card.reason.setText("  Wrong Ada ")
    stage.pass_time(1.1)
    click(card.deny_button)
    approval = await asyncio.wait_for(answer, 1)
    assert (approval.granted, approval.code, approval.reason) == (False, "person", "Wrong Ada")


async def test_deny_passes_the_same_guard(stage: Stage) -> None:
    """G10, threat 10: a stray press may not deny either."""
    await stage.open()
    answer = await stage.ask()
    stage.pass_time(0.5)
    click(card_of(stage).deny_button)
    await settle()
    assert not answer.done()
    assert "Too soon" in card_of(stage).status.text()


async def test_return_in_the_reason_leads_to_deny_and_decides_nothing(stage: Stage) -> None:
    await stage.open()
    answer = await stage.ask()
    card = card_of(stage)
    stage.pass_time(2)
    card.reason.setFocus()
    QTest.keyClick(stage.window.windowHandle(), Qt.Key.Key_N)
    QTest.keyClick(stage.window.windowHandle(), Qt.Key.Key_Return)
    await settle()
    assert card.deny_button.hasFocus()
    assert not answer.done()
    stage.pass_time(0.6)
    QTest.keyClick(stage.window.windowHandle(), Qt.Key.Key_Return)
    approval = await asyncio.wait_for(answer, 1)
    assert approval.reason == "n"


async def test_destructive_takes_two_gestures_on_two_buttons_in_two_places(stage: Stage) -> None:
    """FC-21."""
    await stage.open()
    answer = await stage.ask(make_destructive())
    card = card_of(stage)
    stage.pass_time(1.1)
    first = QRect(card.approve_button.mapToGlobal(card.approve_button.rect().topLeft()), card.approve_button.size())
    click(card.approve_button)
    await settle()
    assert not answer.done()
    assert card.confirming
    second = QRect(card.confirm_button.mapToGlobal(card.confirm_button.rect().topLeft()), card.confirm_button.size())
    assert not first.intersects(second)
    stage.pass_time(0.6)
    click(card.confirm_button)  # isolated, but the second button has only just appeared
    assert "Too soon" in card.status.text()
    await settle()
    assert not answer.done()
    stage.pass_time(1.1)
    click(card.confirm_button)
    assert (await asyncio.wait_for(answer, 1)).granted


async def test_a_second_click_on_the_first_button_never_approves_destructive(stage: Stage) -> None:
    await stage.open()
    answer = await stage.ask(make_destructive())
    card = card_of(stage)
    for _ in range(5):
        stage.pass_time(2)
        click(card.approve_button)
        await settle()
    assert not answer.done()


async def test_destructive_offers_nothing_to_remember(stage: Stage) -> None:
    """G07."""
    await stage.open()
    await stage.ask(make_destructive(scopes=tuple(Scope)))
    card = card_of(stage)
    assert card.scope_button.isHidden()
    assert not card.scope_menu.actions()


async def test_approve_stays_locked_until_the_end_was_seen(stage: Stage) -> None:
    """G11, FC-20: by the keyboard too."""
    await stage.open()
    fields = {f"field_{index}": f"value {index}" for index in range(60)}
    answer = await stage.ask(make_request(input=fields))
    card = card_of(stage)
    assert not card.approve_button.isEnabled()
    stage.pass_time(2)
    click(card.approve_button)
    assert not answer.done()
    card.payload.setFocus()
    QTest.keyClick(stage.window.windowHandle(), Qt.Key.Key_PageDown)
    await settle()
    assert not card.approve_button.isEnabled()
    QTest.keyClick(stage.window.windowHandle(), Qt.Key.Key_End)
    await until(card.approve_button.isEnabled)
    stage.pass_time(1.1)
    click(card.approve_button)
    assert (await asyncio.wait_for(answer, 1)).granted


async def test_a_folded_value_keeps_approve_locked_until_it_was_unfolded_and_its_end_seen(stage: Stage) -> None:
    """G11, FC-20: 20 kB whose tail is dangerous."""
    await stage.open()
    await stage.ask(make_request(input={"script": "echo\n" * 4000 + "rm -rf /"}))
    card = card_of(stage)
    bar = card.payload.verticalScrollBar()
    bar.setValue(bar.maximum())
    await settle()
    assert not card.approve_button.isEnabled()
    assert card.payload.folded == 1
    buttons = card.payload.findChildren(QAbstractButton)
    unfold = next(button for button in buttons if "20008 characters" in button.text().replace(",", ""))
    click(unfold)
    await until(lambda: bar.maximum() > 4000)
    assert not card.approve_button.isEnabled()
    bar.setValue(bar.maximum())
    await until(card.approve_button.isEnabled)


async def test_unfolding_starts_the_guard_anew(stage: Stage) -> None:
    await stage.open()
    answer = await stage.ask()
    card = card_of(stage)
    stage.pass_time(2)
    card.payload.changed.emit()
    click(card.approve_button)
    await settle()
    assert not answer.done()


async def test_markup_is_shown_as_what_it_is(stage: Stage) -> None:
    """G12, threat 8: in labels, tooltips and titles."""
    evil = "<font color=#fff>x</font><br><b>Approved by IT</b>"
    await stage.open()
    await stage.ask(make_request(title=f"Update {evil}", reason=evil, input={"email": evil, evil: 1}))
    card = card_of(stage)
    labels = card.findChildren(QLabel)
    assert sum(evil in label.text() for label in labels) >= 4
    assert all(label.textFormat() is Qt.TextFormat.PlainText for label in labels)
    assert not any(evil in widget.toolTip() for widget in card.findChildren(QWidget))


async def test_no_text_is_cut_in_a_narrow_dock(stage: Stage) -> None:
    """FC-20: each label is as high as all of its text needs."""
    stage.window.resize(280, 640)
    await stage.open()
    facts = {"changes": {"email": {"old": "ada.lovelace@old.example.org", "new": "ada@example.com"}}}
    await stage.ask(make_request(facts=facts, input={"email": "ada@example.com", "key": "k" * 700}, reason="why " * 40))
    await settle()
    card = card_of(stage)
    labels = [label for label in card.payload.findChildren(QLabel) if label.isVisible() and label.text()]
    assert len(labels) > 8
    assert card.payload.folded == 1
    assert [label.text() for label in labels if label.heightForWidth(label.width()) > label.height()] == []
    inside = card.payload.viewport().width()
    assert all(label.mapTo(card.payload.widget(), label.rect().topRight()).x() <= inside for label in labels)


async def test_a_long_title_makes_no_wide_buttons_and_is_complete_on_the_card(stage: Stage) -> None:
    stage.window.resize(280, 640)
    title = "Delete customer " + "with everything " * 20
    await stage.open()
    await stage.ask(make_destructive(title=title, target=Target(id="t" * 200, label="label " * 40)))
    assert stage.window.width() == 280
    card = card_of(stage)
    assert title in [label.text() for label in card.findChildren(QLabel)]
    assert title in card.confirm_button.accessibleName()


async def test_remembering_passes_the_guard_twice_and_grants_the_chosen_scope(stage: Stage) -> None:
    await stage.open()
    answer = await stage.ask()
    card = card_of(stage)
    stage.pass_time(1.1)
    click(card.scope_button)
    await until(card.scope_menu.isVisible)
    action = next(a for a in card.scope_menu.actions() if a.data() == Scope.RUN.value)
    where = card.scope_menu.actionGeometry(action).center()
    QTest.mouseClick(card.scope_menu, Qt.MouseButton.LeftButton, pos=where)  # at once: refused
    await settle()
    assert not answer.done()
    stage.pass_time(0.6)
    click(card.scope_button)
    await until(card.scope_menu.isVisible)
    stage.pass_time(0.6)
    QTest.mouseClick(card.scope_menu, Qt.MouseButton.LeftButton, pos=where)
    approval = await asyncio.wait_for(answer, 1)
    assert approval.scope is Scope.RUN


async def test_a_yes_for_fifteen_minutes_carries_its_end(stage: Stage) -> None:
    """FC-40."""
    await stage.open()
    answer = await stage.ask()
    card = card_of(stage)
    stage.pass_time(1.1)
    click(card.scope_button)
    await until(card.scope_menu.isVisible)
    action = next(a for a in card.scope_menu.actions() if "15 minutes" in a.text())
    stage.pass_time(0.6)
    where = card.scope_menu.actionGeometry(action).center()
    QTest.mouseClick(card.scope_menu, Qt.MouseButton.LeftButton, pos=where)
    approval = await asyncio.wait_for(answer, 1)
    assert (approval.scope, approval.remember_for) == (Scope.SESSION, 900)


async def test_a_menu_item_that_code_triggers_is_refused(stage: Stage) -> None:
    await stage.open()
    answer = await stage.ask()
    stage.pass_time(2)
    card_of(stage).scope_menu.actions()[0].trigger()
    await settle()
    assert not answer.done()


async def test_an_application_action_passes_the_same_guard(stage: Stage) -> None:
    await stage.open()
    action = stage.window.addAction("Approve")
    action.setShortcut("F9")
    await stage.ask()
    card = card_of(stage)
    action.triggered.connect(card.approve_by_action)
    stage.pass_time(0.5)
    QTest.keyClick(stage.window.windowHandle(), Qt.Key.Key_F9)
    assert "Too soon" in card.status.text()
    stage.pass_time(2)
    action.trigger()
    assert "not pressed by a person" in card.status.text()
    assert stage.queue.pending
    QTest.keyClick(stage.window.windowHandle(), Qt.Key.Key_F9)
    await until(lambda: not stage.queue.pending)


async def test_a_refused_press_does_not_move_the_buttons(stage: Stage) -> None:
    await stage.open()
    await stage.ask()
    card = card_of(stage)
    before = card.approve_button.mapToGlobal(card.approve_button.rect().topLeft())
    click(card.approve_button)
    await settle()
    assert card.approve_button.mapToGlobal(card.approve_button.rect().topLeft()) == before


async def test_the_time_left_is_shown_and_can_be_extended(stage: Stage) -> None:
    await stage.open()
    await stage.ask()
    card = card_of(stage)
    stage.wall.now += 25 * 60
    card.refresh_expiry()
    assert any("5 min" in label.text() for label in card.findChildren(QLabel))
    click(card.wait_button)
    await settle()
    assert any("30 min" in label.text() for label in card.findChildren(QLabel))


async def test_every_control_has_an_accessible_name(stage: Stage) -> None:
    await stage.open()
    await stage.ask()
    card = card_of(stage)
    controls = [*card.findChildren(QAbstractButton), *card.findChildren(QLineEdit), card.payload, card]
    assert [control for control in controls if not control.accessibleName()] == []


async def test_approve_is_reached_by_tab_from_the_payload(stage: Stage) -> None:
    """FC-21."""
    await stage.open()
    await stage.ask()
    card = card_of(stage)
    card.payload.setFocus()
    for _ in range(12):
        if card.approve_button.hasFocus():
            break
        QTest.keyClick(stage.window.windowHandle(), Qt.Key.Key_Tab)
    assert card.approve_button.hasFocus()
