"""Probes of what happens around a submission: who is told, of what, and when; each has a test of its own."""

import sys

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton

from agentic_qt.core.call import Status
from agentic_qt.qt.forms.form_tool import current_submission
from tests.support.approval_stage import settle, until
from tests.support.form_play import Play
from tests.support.form_probes import make_twin, result_of, shown
from tests.support.form_stage import FormStage, outcome_of

pytestmark = pytest.mark.anyio


# --- The submission --------------------------------------------------------------------------------------------------


async def test_a_submit_button_outside_the_form_is_pressed_for_it():
    """Probe manual_submit_outside: toolSubmitButton names what the attribute form ties."""
    form = make_twin("manual_submit_outside")
    (button,) = form.page.findChildren(QPushButton)
    button.setObjectName("go")
    form.setProperty("toolSubmitButton", "go")
    stage = FormStage(form.page)
    await stage.open()
    task = await stage.begin({"a": "hi"}, "t")
    assert not task.done()
    assert result_of("manual_submit_outside")["settled"] == "pending"
    assert (shown(form), button.property("toolSubmitActive")) == ({"a": "hi"}, True)
    stage.pass_time()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert (await outcome_of(task)).data["submitted"] == {"a": "hi"}


async def test_a_slot_that_raises_fails_the_call(monkeypatch):
    """Probe handler_throws."""
    told = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: told.append(kind))
    play = Play("handler_throws")
    play.buttons[0].clicked.connect(lambda: 1 / 0)
    await play.open()
    outcome = await outcome_of(await play.begin())
    assert (outcome.status, told) == (Status.FAILED, [ZeroDivisionError])
    assert result_of("handler_throws")["settled"] == "rejected"
    assert shown(play.form) == result_of("handler_throws")["values"]


async def test_after_a_refused_call_the_person_submits_alone():
    """Probe auto_user_fixes_after_failed_validation: the browser has filled what was right, we nothing."""
    play = Play("auto_user_fixes_after_failed_validation")
    browser = result_of("auto_user_fixes_after_failed_validation")
    told = []
    play.buttons[0].clicked.connect(lambda: told.append(current_submission(play.form)))
    stage = await play.open()
    stage.tool.submitted.connect(told.append)
    outcome = await outcome_of(await play.begin())
    assert outcome.status is Status.INVALID
    assert browser["first"]["settled"] == "rejected"
    assert (shown(play.form), browser["first"]["values"]) == ({"a": "", "b": ""}, {"a": "", "b": "x"})
    QTest.keyClicks(play.form.findChildren(QLineEdit)[0], "user")
    play.press()
    await settle()
    assert [(one.agent_invoked, one.values["a"]) for one in told] == [(False, "user")] * 2
    assert "agentInvoked=false" in browser["after"]["log"][-1]
    assert not stage.tool.is_active


async def test_a_form_that_clicks_its_button_at_each_change_submits_nothing_while_it_is_filled():
    """Probe handler_submits_on_change: the browser submits, in the form's own name; here only a person's act does."""
    play = Play("handler_submits_on_change")
    browser = result_of("handler_submits_on_change")
    told = []
    play.form.findChildren(QLineEdit)[0].editingFinished.connect(play.buttons[0].click)
    play.buttons[0].clicked.connect(lambda: told.append(current_submission(play.form).agent_invoked))
    await play.open()
    task = await play.begin()
    assert not task.done()
    assert browser["settled"] == "pending"
    assert shown(play.form) == browser["values"]
    assert told == []
    assert sum("agentInvoked=false" in line for line in browser["log"]) == 1
    play.press()
    assert (await outcome_of(task)).ok
    assert told == [True]


async def test_the_submission_knows_the_button():
    """Probe auto_named_button."""
    play = Play("auto_named_button")
    told = []
    play.buttons[0].setObjectName("act")
    play.buttons[0].clicked.connect(lambda: told.append(current_submission(play.form).button))
    await play.open()
    assert (await outcome_of(await play.begin())).ok
    assert told == ["act"]
    assert result_of("auto_named_button")["value"].startswith('["act"')


async def test_auto_submit_clicks_the_button_for_there_is_no_other_event():
    """Probe auto_click_listener: a browser's form has an event of its own, and its button is not clicked."""
    play = Play("auto_click_listener")
    told = []
    play.buttons[0].clicked.connect(lambda: told.append("clicked"))
    await play.open()
    assert (await outcome_of(await play.begin())).ok
    assert told == ["clicked"]
    assert result_of("auto_click_listener")["value"] == "false"


# --- While the application answers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("probe_id", ["auto_reset_while_responding", "auto_renamed_while_responding"])
async def test_what_was_submitted_stays_submitted(probe_id):
    """Probes auto_reset_while_responding and auto_renamed_while_responding: the browser says that it was cancelled."""
    play = Play(probe_id)
    future = play.answer_later()
    stage = await play.open()
    task = await play.begin()
    if probe_id == "auto_reset_while_responding":
        play.form.findChildren(QLineEdit)[0].clear()
    else:
        play.rename()
        await settle()
    assert not task.done()
    future.set_result("late")
    assert (await outcome_of(task)).data == {"submitted": play.inputs[0], "response": "late"}
    assert result_of(probe_id)["settled"] == "rejected"
    await until(lambda: not stage.tool.is_active)


async def test_a_form_that_is_removed_while_it_answers_still_answers():
    """Probe auto_removed_while_responding: the browser says that it was cancelled."""
    play = Play("auto_removed_while_responding")
    future = play.answer_later()
    stage = await play.open()
    task = await play.begin()
    play.remove()
    await until(lambda: not shiboken6.isValid(play.form))
    await settle()
    assert stage.registry.registrations == ()
    assert not task.done()
    future.set_result("late")
    assert (await outcome_of(task)).data == {"submitted": play.inputs[0], "response": "late"}
    assert result_of("auto_removed_while_responding")["settled"] == "rejected"


# --- The signals of a call -------------------------------------------------------------------------------------------


async def test_the_form_is_told_that_it_was_filled_before_it_is_submitted():
    """Probe toolactivated_before_submit: the browser tells its page after the submission."""
    play = Play("toolactivated_before_submit")
    log = []
    play.form.findChildren(QLineEdit)[0].textEdited.connect(lambda _text: log.append("input"))
    play.buttons[0].clicked.connect(lambda: log.append("submit"))
    stage = await play.open()
    stage.tool.tool_activated.connect(lambda _call: log.append("toolactivated"))
    assert (await outcome_of(await play.begin())).ok
    assert log == ["input", "toolactivated", "submit"]
    told = [line.split()[0] for line in result_of("toolactivated_before_submit")["log"]]
    assert told == ["input", "change", "submit", "toolactivated"]


async def test_a_form_hears_nothing_of_a_call_that_was_refused():
    """Probe tool_events_on_error: the browser tells its page of an activation that never was."""
    play = Play("tool_events_on_error")
    heard = []
    stage = await play.open()
    stage.tool.tool_activated.connect(heard.append)
    stage.tool.tool_cancelled.connect(heard.append)
    before = shown(play.form)
    assert (await outcome_of(await play.begin())).status is Status.INVALID
    assert (heard, shown(play.form)) == ([], before)
    assert [line.split()[0] for line in result_of("tool_events_on_error")["log"]] == ["toolactivated"]


async def test_when_the_form_is_told_it_is_filled_and_marked():
    """Probe activated_handler_sees_filled."""
    play = Play("activated_handler_sees_filled")
    seen = []
    stage = await play.open()

    def look():
        marks = play.form.property("toolFormActive"), play.buttons[0].property("toolSubmitActive")
        seen.append((shown(play.form), *marks))

    stage.tool.tool_activated.connect(look)
    await play.begin()
    browser = result_of("activated_handler_sees_filled")["seen"]
    assert seen == [(browser["values"], browser["formActive"], browser["submitActive"] == ["go"])]
    assert seen == [({"a": "x"}, True, True)]
