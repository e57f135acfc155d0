"""Forms that submit by themselves, and what the application's own handler may say."""

import asyncio
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QVBoxLayout

from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.call import Status
from agentic_qt.core.errors import DeclarationError
from agentic_qt.core.registry import Registry
from agentic_qt.qt.forms.exposing import form_tool
from agentic_qt.qt.forms.form_tool import current_submission
from tests.support.approval_stage import until
from tests.support.form_stage import FormStage, make_form, outcome_of

pytestmark = pytest.mark.anyio


def approving(seen):
    """A registry with a person who says yes, and notes what was asked."""
    registry = Registry()

    def view(event):
        if event.change is ApprovalChange.ADDED:
            seen.append(event.request)
            registry.approvals.approve(event.request)

    registry.approvals.attach(view)
    return registry


def plain_form():
    form = make_form()
    for name in ("toolName", "toolDescription"):
        form.setProperty(name, None)
    return form


async def test_a_read_with_auto_submit_runs_at_once():
    """Probe auto_valid."""
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    activated = []
    stage.tool.tool_activated.connect(activated.append)
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Hue", "people": 2}, id="c1"))
    assert outcome.data == {"submitted": {"city": "Hue", "people": 2}}
    assert stage.booked == [{"city": "Hue", "people": 2}]
    assert stage.asked == [True]
    assert activated == ["c1"]
    assert stage.form.property("toolFormActive") is None


async def test_a_mutating_form_with_auto_submit_asks_with_old_and_new():
    seen = []
    stage = FormStage(make_form(toolAutoSubmit=True), registry=approving(seen))
    await stage.open()
    assert (await outcome_of(stage.call({"city": "Hue"}))).ok
    assert seen[0].facts == {"changes": {"city": {"old": "Hanoi", "new": "Hue"}}, "also_submitted": {"people": 1}}
    assert stage.booked == [{"city": "Hue", "people": 1}]


async def test_auto_submit_of_a_destructive_form_is_ignored_and_linted():
    stage = FormStage(make_form(toolAutoSubmit="true", toolRisk="destructive"))
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    assert not task.done()
    assert any("destructive" in text for text in scope_lints(stage))
    stage.pass_time()
    stage.press_submit()
    stage.pass_time()
    QTest.mouseClick(stage.tool.review.second.button, Qt.MouseButton.LeftButton)
    assert (await outcome_of(task)).ok


def scope_lints(stage):
    from agentic_qt.qt.scope import find_scope

    return find_scope(stage.form).lints


async def test_an_input_that_a_widget_refuses_changes_nothing():
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    stage.city.setMaxLength(5)
    stage.exposed.scan()
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Ho Chi Minh City"}))
    assert outcome.status is Status.INVALID
    assert stage.city.text() == "Hanoi"
    assert stage.booked == []


async def test_a_disabled_submit_button_is_no_submission():
    """Probe auto_disabled_button: the browser submits all the same."""
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    await stage.open()
    stage.button.setEnabled(False)
    outcome = await outcome_of(stage.call({"city": "Hue"}))
    assert (outcome.status, outcome.code) == (Status.FAILED, "submit_disabled")
    assert stage.city.text() == "Hanoi"


async def test_the_slot_of_the_button_answers_through_a_future():
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    await stage.open()
    answers = []

    def slot():
        future = asyncio.get_running_loop().create_future()
        answers.append(future)
        current_submission(stage.form).respond_with(future)

    stage.button.clicked.connect(slot)
    task = stage.call({"city": "Hue"})
    await until(lambda: bool(answers))
    assert not task.done()
    answers[0].set_result({"found": 3})
    assert (await outcome_of(task)).data == {"submitted": {"city": "Hue", "people": 1}, "response": {"found": 3}}


async def test_stop_while_the_application_answers_cancels_and_frees_the_form():
    """Probe auto_abort_while_responding; FC-03."""
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    cancelled = []
    stage.tool.tool_cancelled.connect(cancelled.append)
    await stage.open()
    future = asyncio.get_running_loop().create_future()
    stage.button.clicked.connect(lambda: current_submission(stage.form).respond_with(future))
    task = stage.call({"city": "Hue"}, id="c9")
    await until(lambda: bool(stage.booked))
    stage.registry.cancel("c9")
    assert (await outcome_of(task)).status is Status.CANCELLED
    assert cancelled == ["c9"]
    assert not stage.tool.is_active


async def test_field_errors_reach_the_model():
    """Probe respond_reject_error: the browser loses the reason."""
    seen = []
    stage = FormStage(make_form(toolAutoSubmit=True), registry=approving(seen))
    stage.button.clicked.connect(
        lambda: current_submission(stage.form).fail("taken", "Nothing is free", fields={"city": "is fully booked"})
    )
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Hue"}))
    assert (outcome.status, outcome.code) == (Status.FAILED, "taken")
    assert outcome.hint == "Nothing is free; /city: is fully booked"


async def test_a_second_call_while_the_first_is_answered_is_busy():
    """Probe auto_second_call_while_responding: in the browser the second gets the first one's result."""
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    await stage.open()
    future = asyncio.get_running_loop().create_future()
    stage.button.clicked.connect(lambda: current_submission(stage.form).respond_with(future))
    first = stage.call({"city": "Hue"}, id="1")
    await until(lambda: bool(stage.booked))
    second = await outcome_of(stage.call({"city": "Vinh"}, id="2"))
    assert (second.status, second.code) == (Status.BUSY, "form_busy")
    future.set_result("first")
    assert (await outcome_of(first)).data["response"] == "first"
    assert stage.booked == [{"city": "Hue", "people": 1}]


async def test_a_reset_after_the_submission_changes_nothing_of_the_outcome():
    """Probe auto_reset_in_handler: the browser reports it as cancelled."""
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    stage.button.clicked.connect(stage.city.clear)
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Hue"}))
    assert outcome.data["submitted"]["city"] == "Hue"


async def test_undo_puts_the_fields_back():
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    await stage.open()
    await outcome_of(stage.call({"city": "Hue", "people": 5}))
    assert stage.tool.undo() == ()
    assert (stage.city.text(), stage.people.value()) == ("Hanoi", 1)


async def test_a_form_named_in_code_calls_its_handler_for_people_and_for_agents():
    stage = FormStage(plain_form())
    told = []

    async def book(submission):
        told.append((submission.agent_invoked, submission.values["city"]))
        return {"number": 7}

    form_tool(stage.form, name="trip.book", description="Book.", risk="read", auto_submit=True, on_submit=book)
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Hue"}))
    assert outcome.data["response"] == {"number": 7}
    stage.press_submit()
    await until(lambda: len(told) == 2)
    assert told == [(True, "Hue"), (False, "Hue")]


async def test_the_applications_own_check_refuses_before_the_submission():
    stage = FormStage(plain_form())
    form_tool(
        stage.form,
        name="trip.book",
        description="Book.",
        risk="read",
        auto_submit=True,
        validate=lambda values: {"city": "is closed"} if values["city"] == "Hue" else None,
    )
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Hue"}))
    assert (outcome.code, "/city: is closed" in outcome.hint) == ("not_accepted", True)
    assert stage.booked == []
    assert stage.city.text() == "Hanoi"
    assert (await outcome_of(stage.call({"city": "Vinh"}))).ok


async def test_a_form_that_declares_itself_cannot_be_named_in_code_too():
    stage = FormStage()
    with pytest.raises(DeclarationError, match=r"trip\.book"):
        form_tool(stage.form, name="trip.other", description="Book.")


async def test_a_dialog_answers_with_its_result_and_values():
    """Probe dialog_method."""
    stage = FormStage(plain_form())
    dialog = QDialog(stage.window)
    dialog.setObjectName("ask")
    edit = QLineEdit()
    edit.setObjectName("reason")
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
    box.accepted.connect(dialog.accept)
    box.rejected.connect(dialog.reject)
    layout = QVBoxLayout(dialog)
    layout.addWidget(edit)
    layout.addWidget(box)
    form_tool(dialog, name="reason.give", description="Say why.", risk="read", auto_submit=True)
    await stage.open()
    dialog.show()
    outcome = await outcome_of(stage.call({"reason": "because"}, name="reason.give"))
    assert outcome.data == {"submitted": {"reason": "because"}, "result": "accepted"}
    assert not dialog.isVisible()


async def test_a_form_may_be_reset_before_each_fill():
    """Probe values_persist: in the browser the values of an earlier call leak into the next one."""
    stage = FormStage(plain_form())
    form_tool(stage.form, name="trip.book", description="Book.", risk="read", auto_submit=True, reset=True)
    await stage.open()
    assert (await outcome_of(stage.call({"city": "Hue", "people": 4}))).ok
    outcome = await outcome_of(stage.call({"people": 2}))
    assert outcome.data["submitted"] == {"city": "Hanoi", "people": 2}


async def test_a_form_named_in_code_follows_its_fields():
    stage = FormStage(plain_form())
    tool = form_tool(stage.form, name="trip.book", description="Book.")
    await stage.open()
    before = stage.registry.revision
    stage.city.setEnabled(False)
    await until(lambda: list(tool.registration.input_schema["properties"]) == ["people"])
    assert stage.registry.revision > before
    tool.dispose()
    stage.city.setEnabled(True)
    assert stage.registry.registrations == ()


async def test_a_form_is_not_filled_while_the_person_holds_the_mouse():
    """FC-03: the state is Qt's own, so it cannot stay behind."""
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    await stage.open()
    QTest.mousePress(stage.city, Qt.MouseButton.LeftButton)
    outcome = await outcome_of(stage.call({"city": "Hue"}))
    assert (outcome.status, "the user is interacting" in outcome.hint) == (Status.UNAVAILABLE, True)
    assert stage.city.text() == "Hanoi"
    QTest.mouseRelease(stage.city, Qt.MouseButton.LeftButton)
    assert (await outcome_of(stage.call({"city": "Hue"}))).ok


@pytest.fixture
def hooked(monkeypatch):
    """What the application's own hook was told of errors in slots."""
    told = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: told.append(str(error)))
    return told


@pytest.mark.parametrize("answers", [False, True])
async def test_a_slot_that_raises_fails_the_call_and_its_error_stays_here(hooked, answers):
    """FC-71: the press itself returns as if nothing had happened."""
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    hook = sys.excepthook

    async def never_asked():
        return "answered"

    def slot():
        if answers:
            current_submission(stage.form).respond_with(never_asked())
        raise RuntimeError("the secret database")

    stage.button.clicked.connect(slot)
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Hue"}))
    assert (outcome.status, outcome.code) == (Status.FAILED, "handler_error")
    assert "secret" not in outcome.hint
    assert hooked == ["the secret database"]
    assert sys.excepthook is hook
    assert not stage.tool.is_active


async def test_what_a_slot_says_of_its_failure_goes_before_its_error(hooked):
    """FC-71"""
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))

    def slot():
        current_submission(stage.form).fail("taken", "Nothing is free.")
        raise RuntimeError

    stage.button.clicked.connect(slot)
    await stage.open()
    outcome = await outcome_of(stage.call({"city": "Hue"}))
    assert (outcome.status, outcome.code) == (Status.FAILED, "taken")
    assert len(hooked) == 1


async def test_an_error_in_a_slot_while_nothing_is_submitted_is_no_business_of_a_call(hooked):
    """FC-71"""
    stage = FormStage(make_form(toolAutoSubmit=True, toolReadOnly=True))
    await stage.open()
    stage.window.windowTitleChanged.connect(lambda _title: 1 / 0)
    future = asyncio.get_running_loop().create_future()
    stage.button.clicked.connect(lambda: current_submission(stage.form).respond_with(future))
    task = stage.call({"city": "Hue"})
    await until(lambda: bool(stage.booked))
    stage.window.setWindowTitle("other")
    future.set_result("done")
    assert (await outcome_of(task)).ok
    assert hooked == ["division by zero"]


async def test_a_slot_behind_a_reviewed_form_that_raises_fails_the_call(hooked):
    """FC-71"""
    stage = FormStage()
    stage.button.clicked.connect(lambda: 1 / 0)
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    stage.press_submit()
    outcome = await outcome_of(task)
    assert (outcome.status, outcome.code, outcome.applied) == (Status.FAILED, "handler_error", None)
