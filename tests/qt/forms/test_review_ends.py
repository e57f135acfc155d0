"""How a review ends without a submission: what the call hears of it, and what is left of the form."""

import pytest
from PySide6.QtCore import QBuffer, QByteArray, Qt
from PySide6.QtTest import QTest
from PySide6.QtUiTools import QUiLoader
from PySide6.QtWidgets import QDialogButtonBox

from agentic_qt.core.call import Status
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
