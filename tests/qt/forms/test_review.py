"""A form under review: filled where the person sees it, submitted by their own hand alone."""

import asyncio

import pytest
from PySide6.QtCore import QBuffer, QByteArray, QEvent, QPointF, Qt
from PySide6.QtGui import QAccessible, QKeyEvent, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtUiTools import QUiLoader
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QTabWidget, QWidget

from agentic_qt.core.call import Status
from agentic_qt.core.policy import Decision, Policy
from agentic_qt.core.registry import Registry
from tests.support.approval_stage import settle, until
from tests.support.form_stage import FormStage, make_form, outcome_of

pytestmark = pytest.mark.anyio

FORM = """<ui version="4.0"><class>Form</class><widget class="QWidget" name="trip">
<property name="toolName" stdset="0"><string notr="true">trip.book</string></property>
<property name="toolDescription" stdset="0"><string notr="true">Book a trip.</string></property>
<layout class="QVBoxLayout" name="rows">
<item><widget class="QLineEdit" name="city"><property name="text"><string>Hanoi</string></property></widget></item>
<item><widget class="QPushButton" name="book"><property name="text"><string>Book</string></property></widget></item>
</layout></widget></ui>"""


def load_form():
    buffer = QBuffer()
    buffer.setData(QByteArray(FORM.encode()))
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    return QUiLoader().load(buffer)


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
    assert stage.tool.review.problems
    stage.city.setText("Vinh")
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).data["submitted"]["city"] == "Vinh"


async def test_reject_denies_and_puts_the_form_back():
    form = make_form()
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel | QDialogButtonBox.StandardButton.Reset)
    form.layout().addRow(box)
    form.setProperty("toolSubmitButton", "book")
    stage = FormStage(form)
    cancelled = []
    stage.tool.tool_cancelled.connect(cancelled.append)
    await stage.open()
    task = await stage.begin({"city": "Hue"}, id="c7")
    QTest.mouseClick(box.button(QDialogButtonBox.StandardButton.Cancel), Qt.MouseButton.LeftButton)
    outcome = await outcome_of(task)
    assert (outcome.status, outcome.code) == (Status.DENIED, "person")
    assert stage.city.text() == "Hanoi"
    assert cancelled == ["c7"]


async def test_reset_cancels_and_leaves_what_the_form_made_of_it():
    """Probe manual_reset_button."""
    form = make_form()
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Reset)
    form.layout().addRow(box)
    form.setProperty("toolSubmitButton", "book")
    stage = FormStage(form)
    reset = box.button(QDialogButtonBox.StandardButton.Reset)
    reset.clicked.connect(lambda: stage.city.setText("blank"))
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    QTest.mouseClick(reset, Qt.MouseButton.LeftButton)
    outcome = await outcome_of(task)
    assert (outcome.status, outcome.applied) == (Status.CANCELLED, False)
    assert stage.city.text() == "blank"


async def test_escape_rejects():
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.city.setFocus()
    stage.key(Qt.Key.Key_Escape)
    assert (await outcome_of(task)).status is Status.DENIED


@pytest.mark.parametrize("how", ["hide", "close", "delete"])
async def test_a_form_that_goes_away_cancels_the_call(how, delete):
    """Probes manual_form_removed and dialog_closed_while_pending: the browser's dialog hangs for ever."""
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    {"hide": stage.form.hide, "close": stage.window.close, "delete": lambda: delete(stage.form)}[how]()
    outcome = await outcome_of(task)
    assert outcome.status is Status.CANCELLED
    assert stage.booked == []


async def test_a_form_of_a_ui_file_may_be_deleted_under_review(delete):
    """What C++ made counts as valid for longer than it lives."""
    form = load_form()
    stage = FormStage(form)
    await stage.open()
    (tool,) = stage.exposed.tools
    task = stage.call({"city": "Hue"})
    await until(lambda: task.done() or (tool.review is not None and tool.review.is_shown))
    assert not task.done(), task.result()
    del form
    stage.place.removeWidget(stage.form)
    delete(stage.form)
    assert (await outcome_of(task)).status is Status.CANCELLED


async def test_a_form_that_hides_for_a_moment_stays_under_review():
    """A dock does that when it is floated."""
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.form.hide()
    stage.form.show()
    await settle()
    assert not task.done()
    await until(lambda: stage.tool.review.is_shown)
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).ok


async def test_a_submit_button_that_is_deleted_cancels_the_call(delete):
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    delete(stage.button)
    assert (await outcome_of(task)).status is Status.CANCELLED
    assert stage.city.text() == "Hanoi"


async def test_stop_ends_the_review_and_frees_the_form():
    """FC-03: what waits for a person is let go in bounded time, whatever ends the call."""
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"}, id="c1")
    assert stage.registry.cancel("c1")
    outcome = await outcome_of(task)
    assert outcome.status is Status.CANCELLED
    assert stage.city.text() == "Hanoi"
    assert stage.form.property("toolFormActive") is None
    stage.press_submit()
    assert stage.booked == [{"city": "Hanoi", "people": 1}]
    assert stage.asked == [False]


async def test_a_review_expires():
    """FC-03."""
    stage = FormStage(expiry=0.05)
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Hue"}))
    assert (outcome.status, outcome.code) == (Status.DENIED, "expired")
    assert stage.city.text() == "Hanoi"
    assert stage.tool.review is None


async def test_a_call_that_a_gate_refuses_after_the_submit_frees_the_form():
    """FC-03: the guard on the form is released although the handler never ran."""
    verdicts = iter([True, "no longer"])
    registry = Registry(permission=lambda call, capability: next(verdicts))
    stage = FormStage(registry=registry)
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    stage.press_submit()
    outcome = await outcome_of(task)
    assert outcome.status is Status.FORBIDDEN
    assert stage.city.text() == "Hanoi"
    assert stage.booked == []
    assert stage.tool.review is None


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
