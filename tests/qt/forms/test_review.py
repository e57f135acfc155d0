"""A form under review: filled where the person sees it, submitted by their own hand alone."""

import asyncio
import logging
from html import escape

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QAccessible, QKeyEvent, QMouseEvent, QValidator
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QTabWidget, QToolTip, QWidget

from agentic_qt.core.call import Status
from agentic_qt.core.policy import Decision, Policy
from agentic_qt.core.registry import Registry
from tests.support.approval_stage import settle, until
from tests.support.form_stage import FormStage, make_form, outcome_of

pytestmark = pytest.mark.anyio


async def test_the_form_is_filled_and_waits_until_a_person_presses_submit():
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue", "people": 3})
    assert (stage.city.text(), stage.people.value()) == ("Hue", 3)
    assert stage.progress == ["awaiting_submit"]
    assert stage.form.property("toolFormActive") is True
    assert stage.button.property("toolSubmitActive") is True
    assert stage.window.focusWidget() is stage.elsewhere
    assert stage.booked == []
    stage.pass_time()
    stage.press_submit()
    outcome = await outcome_of(task)
    assert outcome.status is Status.OK
    assert outcome.data == {"submitted": {"city": "Hue", "people": 3}}
    assert stage.booked == [{"city": "Hue", "people": 3}]
    assert stage.asked == [True]
    assert stage.form.property("toolFormActive") is None
    assert stage.button.property("toolSubmitActive") is None


async def test_no_second_confirmation_is_asked_for():
    stage = FormStage()
    await stage.open()
    seen = []
    stage.registry.approvals.observe(seen.append)
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).ok
    assert seen == []


async def test_what_the_person_edits_is_what_runs_with_a_digest_of_its_own():
    """G33"""
    stage = FormStage()
    digests = set()
    stage.registry.audit(lambda event: digests.add(event.digest))
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.city.setFocus()
    stage.city.selectAll()
    QTest.keyClicks(stage.city, "Da Lat")
    stage.people.setValue(4)
    stage.pass_time()
    stage.press_submit()
    outcome = await outcome_of(task)
    assert outcome.data["submitted"] == {"city": "Da Lat", "people": 4}
    assert stage.booked == [{"city": "Da Lat", "people": 4}]
    assert len(digests - {""}) == 2


async def test_code_cannot_press_submit_for_the_person():
    """G33: Probe page_autosubmits_on_activated: the browser lets a page submit by itself."""
    stage = FormStage()
    stage.tool.tool_activated.connect(stage.button.click)
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    stage.button.click()
    await settle()
    assert not task.done()
    assert stage.booked == []
    stage.press_submit()
    assert (await outcome_of(task)).ok


async def test_events_that_code_made_up_submit_nothing():
    """G33"""
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    where = QPointF(stage.button.rect().center())
    for kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
        left = Qt.MouseButton.LeftButton
        event = QMouseEvent(kind, where, stage.button.mapToGlobal(where), left, left, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(stage.button, event)
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        key = QKeyEvent(kind, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier, " ")
        QApplication.sendEvent(stage.button, key)
    QApplication.sendEvent(
        stage.city, QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier)
    )
    await settle()
    assert not task.done()
    assert stage.booked == []
    task.cancel()
    await asyncio.wait([task])


async def test_a_press_right_after_the_fill_does_not_count_and_may_be_repeated():
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.press_submit()
    await settle()
    assert not task.done()
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).ok
    assert len(stage.booked) == 1


async def test_a_burst_of_typing_submits_nothing():
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    stage.city.setFocus()
    QTest.keyClicks(stage.city, "x")
    stage.key(Qt.Key.Key_Return)
    await settle()
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Return])
async def test_the_focused_button_is_pressed_by_keys(key):
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.button.setFocus()
    stage.pass_time()
    stage.key(key)
    assert (await outcome_of(task)).ok
    assert len(stage.booked) == 1


async def test_return_in_a_field_submits_after_a_pause():
    """Probe manual_enter_key."""
    stage = FormStage()
    direct = []
    stage.city.returnPressed.connect(lambda: direct.append(1))
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.city.setFocus()
    stage.pass_time()
    stage.key(Qt.Key.Key_Return)
    assert (await outcome_of(task)).ok
    assert direct == []


async def test_the_mnemonic_submits():
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    QTest.keyClick(stage.window.windowHandle(), Qt.Key.Key_B, Qt.KeyboardModifier.AltModifier)
    assert (await outcome_of(task)).ok


async def test_an_assistive_technology_submits():
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    interface = QAccessible.queryAccessibleInterface(stage.button)
    interface.actionInterface().doAction("Press")
    assert (await outcome_of(task)).ok
    assert stage.asked == [True]


async def test_a_submit_that_the_form_refuses_keeps_the_review_open():
    """Probe manual_required_left_empty: the browser ends the review."""
    form = make_form()
    form.findChild(QWidget, "city").setProperty("toolRequired", True)
    stage = FormStage(form)
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.city.clear()
    stage.pass_time()
    stage.press_submit()
    await settle()
    assert not task.done()
    (problem,) = stage.tool.review.problems
    assert problem.startswith("City: ")
    assert QToolTip.text() == f"<qt>Not submitted yet. {escape(problem)}</qt>"
    stage.city.setText("Vinh")
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).data["submitted"]["city"] == "Vinh"


async def test_a_check_that_fails_is_told_to_the_person_and_keeps_the_review_open(caplog):
    """FC-71: a press that does nothing and says nothing would be worse."""

    class Broken(QValidator):
        works = True

        def validate(self, text, place):
            if not self.works:
                raise RuntimeError("the secret database")
            return self.State.Acceptable, text, place

    form = make_form()
    validator = Broken(form)
    form.findChild(QLineEdit, "city").setValidator(validator)
    stage = FormStage(form)
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    validator.works = False
    stage.pass_time()
    with caplog.at_level(logging.CRITICAL):
        stage.press_submit()
    await settle()
    assert not task.done()
    assert stage.tool.review.problems == ("The application could not check it.",)
    validator.works = True
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).ok


async def test_what_changes_between_submit_and_run_is_stale():
    """FC-25: the person's document changed between plan and save."""
    stage: FormStage

    def permission(call, capability):
        if stage.tool.review is not None and stage.tool.review.submitted:
            stage.city.setText("elsewhere")
        return True

    stage = FormStage(registry=Registry(permission=permission))
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    stage.press_submit()
    outcome = await outcome_of(task)
    assert (outcome.status, outcome.code) == (Status.STALE, "changed_since_approval")
    assert stage.booked == []


async def test_a_second_call_on_the_same_form_is_busy():
    """Probe manual_second_call_same_tool: in the browser the second call steals the form."""
    stage = FormStage()
    await stage.open()
    first = await stage.begin({"city": "Hue"}, id="one")
    second = await outcome_of(stage.call({"city": "Vinh"}, id="two"))
    assert second.status is Status.BUSY
    assert stage.city.text() == "Hue"
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(first)).data["submitted"]["city"] == "Hue"


async def test_a_changed_tool_cancels_the_review():
    """Probe manual_tooldescription_changed."""
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.form.setProperty("toolDescription", "Something else.")
    outcome = await outcome_of(task)
    assert outcome.status is Status.CANCELLED
    await until(lambda: stage.tool.registration.capability.description == "Something else.")


async def test_a_read_only_form_is_submitted_by_the_person_too():
    stage = FormStage(make_form(toolReadOnly=True))
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    assert stage.progress == ["awaiting_submit"]
    assert not task.done()
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).ok


async def test_policy_that_allows_leaves_the_submit_to_the_person():
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW))
    stage = FormStage(registry=registry)
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    assert not task.done()
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).ok


async def test_fields_on_another_page_of_the_form_are_brought_into_sight():
    form = make_form()
    tabs = QTabWidget()
    tabs.addTab(QWidget(), "first")
    page = QWidget()
    inner = make_form(page)
    for name in ("toolName", "toolDescription"):
        inner.setProperty(name, None)
    tabs.addTab(page, "second")
    form.layout().addRow(tabs)
    for widget in inner.findChildren(QWidget):
        if widget.objectName() == "city":
            widget.setObjectName("hotel")
        elif widget.objectName() == "people":
            widget.setObjectName("rooms")
    form.setProperty("toolSubmitButton", "book")
    stage = FormStage(form)
    await stage.open()
    task = await stage.begin({"hotel": "Saigon"})
    assert tabs.currentIndex() == 1
    assert stage.window.focusWidget() is stage.elsewhere
    task.cancel()
    await asyncio.wait([task])
