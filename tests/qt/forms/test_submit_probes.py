"""What a browser did with a form under review or being submitted, and what we do: each deviation with its reason."""

import asyncio
import json

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QPushButton

from agentic_qt.qt.forms.form_tool import current_submission
from tests.support.approval_stage import settle, until
from tests.support.form_probes import PROBES, make_twin, shown
from tests.support.form_stage import FormStage

pytestmark = pytest.mark.anyio

SAME = {
    "manual_pending": ("wait", ""),
    "manual_user_clicks": ("press", "second"),
    "manual_user_edits_then_clicks": ("edit_and_press", "second"),
    "manual_enter_key": ("enter", ""),
    "manual_second_submit_button": ("press_second", "second"),
    "manual_reset_js": ("reset_by_code", ""),
    "manual_reset_button": ("reset", ""),
    "manual_abort_signal": ("stop", ""),
    "manual_form_removed": ("remove", ""),
    "manual_form_moved": ("move", ""),
    "manual_toolname_changed": ("rename", ""),
    "manual_tooldescription_changed": ("describe", ""),
    "manual_tooltitle_changed": ("entitle", ""),
    "manual_autosubmit_added": ("make_automatic", ""),
    "manual_submit_disabled": ("disabled", ""),
    "manual_submit_hidden": ("hidden_button", ""),
    "manual_no_submit_button": ("wait", ""),
    "auto_valid": ("wait", ""),
    "auto_no_button": ("wait", ""),
    "respond_string": ("respond", ""),
    "respond_empty_string": ("respond", ""),
    "respond_null": ("respond", ""),
    "respond_number": ("respond", ""),
    "respond_zero": ("respond", ""),
    "respond_bool": ("respond", ""),
    "respond_array": ("respond", ""),
    "respond_object": ("respond", ""),
    "respond_non_promise": ("respond", ""),
    "respond_reject_error": ("fail", ""),
    "respond_reject_string": ("fail", ""),
    "respond_never_settles": ("never", ""),
    "dialog_method": ("dialog", ""),
    "dialog_method_manual": ("dialog_and_press", "after"),
}
"""Probe -> what is done, and where in the probe the end stands; settled as in the browser."""

DEVIATIONS = {
    "manual_field_added": ("add_field", "pending", "the person sees the new field and submits it or not"),
    "manual_hidden_form": ("hidden_form", "rejected", "nobody can review what is hidden: unavailable"),
    "manual_js_requestSubmit": ("click_by_code", "pending", "only a person's act submits"),
    "page_autosubmits_on_activated": ("click_by_code", "pending", "only a person's act submits"),
    "manual_button_type_button": ("wait", "pending", "Qt's buttons have no type: the only one there is submits"),
    "manual_user_clicks_no_respond": ("press", "resolved", "an answer is no duty: the submitted values are one"),
    "handler_no_respond": ("wait", "resolved", "an answer is no duty: the submitted values are one"),
    "manual_required_left_empty": ("wait", "rejected", "what the schema requires must be given"),
    "auto_disabled_button": ("disabled", "rejected", "a disabled button submits nothing"),
    "auto_reset_in_handler": ("reset_after", "resolved", "what was submitted stays submitted"),
    "auto_reset_after_await": ("reset_after", "resolved", "what was submitted stays submitted"),
    "dialog_closed_while_pending": ("dialog_and_close", "rejected", "no call hangs for ever"),
}
"""Probe -> what is done, how we settle, and why not as the browser."""

PUT_BACK = {"manual_abort_signal", "manual_toolname_changed", "manual_tooldescription_changed",
            "manual_tooltitle_changed", "manual_autosubmit_added", "manual_form_moved"}  # fmt: skip
"""Ends without a submission where the browser leaves the agent's values, and we put back what stood there."""


class Play:
    """One probe's form on a stage, and what people, pages and callers do to it."""

    def __init__(self, probe_id):
        probe = PROBES[probe_id]
        self.probe = probe
        form = make_twin(probe_id)
        self.form = form
        self.inputs = [json.loads(event["input"]) for event in probe["devtools"] if event["event"] == "toolInvoked"]
        if form.property("toolAutoSubmit"):
            form.setProperty("toolReadOnly", True)  # the browser asks nobody
        buttons = form.findChildren(QPushButton)
        for number, button in enumerate(buttons):
            button.setObjectName(f"go{number}")
        if len(buttons) > 1:
            is_reset = "reset" in probe["html"]
            form.setProperty("toolSubmitButton", "go0" if is_reset else "go0 go1")
        self.buttons = buttons
        self.before = shown(form)
        self.dialog = None

    async def run(self, action, *, waits=False):
        begin = getattr(self, f"before_{action}", None)
        if begin is not None:
            begin()
        stage = self.stage = FormStage(self.form, placed=self.dialog is None)
        await stage.open()
        if self.dialog is not None:
            self.dialog.setParent(stage.window, Qt.WindowType.Dialog)
            self.dialog.show()
            stage.exposed.scan()
        task = stage.call(self.inputs[0] if self.inputs else {}, name="t", id="c1")
        await _until_it_waits(stage, task)
        if stage.tool.review is not None:
            stage.pass_time()
        do = getattr(self, action, None)
        if do is not None and not task.done():
            do()
        await asyncio.wait([task], timeout=0.1 if waits else 2)
        settled = "pending" if not task.done() else "resolved" if task.result().ok else "rejected"
        outcome = task.result() if task.done() else None
        values = shown(self.form) if shiboken6.isValid(self.form) else None
        if not task.done():
            stage.registry.cancel("c1")
            await asyncio.wait([task])
        return settled, outcome, values

    def press(self, which=0):
        QTest.mouseClick(self.buttons[which], Qt.MouseButton.LeftButton)

    def press_second(self):
        self.press(1)

    def edit_and_press(self):
        edit = self.form.findChildren(QLineEdit)[0]
        edit.setText("user edited")
        self.press()

    def enter(self):
        self.form.findChildren(QLineEdit)[0].setFocus()
        self.stage.key(Qt.Key.Key_Return)

    def click_by_code(self):
        self.buttons[0].click()

    def before_reset_by_code(self):
        extra = QPushButton("Reset", self.form)
        extra.setObjectName("rs")
        self._as_reset(extra)

    def before_reset(self):
        self._as_reset(self.buttons[1])

    def _as_reset(self, button):
        self.form.setProperty("toolSubmitButton", "go0")
        box = QDialogButtonBox(self.form)
        self.form.layout().addWidget(box)
        box.addButton(button, QDialogButtonBox.ButtonRole.ResetRole)
        edit = self.form.findChildren(QLineEdit)[0]
        initial = edit.text()
        button.clicked.connect(lambda: edit.setText(initial))
        self.reset_button = button

    def reset_by_code(self):
        self.reset_button.click()

    def reset(self):
        QTest.mouseClick(self.reset_button, Qt.MouseButton.LeftButton)

    def stop(self):
        self.stage.registry.cancel("c1")

    def remove(self):
        self.form.deleteLater()

    def move(self):
        self.form.setParent(self.stage.window.statusBar())
        self.form.show()

    def rename(self):
        self.form.setProperty("toolName", "t2")

    def describe(self):
        self.form.setProperty("toolDescription", "d2")

    def entitle(self):
        self.form.setProperty("toolTitle", "a title")

    def make_automatic(self):
        self.form.setProperty("toolAutoSubmit", True)

    def add_field(self):
        edit = QLineEdit(self.form)
        edit.setObjectName("z")
        edit.show()

    def before_disabled(self):
        self.buttons[0].setEnabled(False)

    def before_hidden_button(self):
        self.buttons[0].hide()

    def before_hidden_form(self):
        self.form.hide()

    def before_respond(self):
        result = self.probe["result"]
        try:
            answer = json.loads(result["value"])
        except ValueError:
            answer = result["value"]
        self.answer = answer
        self.buttons[0].clicked.connect(lambda: current_submission(self.form).respond_with(answer))

    def before_fail(self):
        self.buttons[0].clicked.connect(lambda: current_submission(self.form).fail("no_stock", "No stock."))

    def before_never(self):
        self.buttons[0].clicked.connect(
            lambda: current_submission(self.form).respond_with(asyncio.get_running_loop().create_future())
        )

    def before_reset_after(self):
        edit = self.form.findChildren(QLineEdit)[0]
        self.buttons[0].clicked.connect(edit.clear)

    def before_dialog(self):
        self.dialog = QDialog()
        self.form.page.setParent(self.dialog)
        self.buttons[0].clicked.connect(self.dialog.accept)

    before_dialog_and_press = before_dialog
    before_dialog_and_close = before_dialog

    def dialog_and_press(self):
        self.press()

    def dialog_and_close(self):
        self.dialog.close()


async def _until_it_waits(stage, task):
    """Until it has ended, is under review, or waits for the application's answer."""

    def waits():
        tool = stage.tool
        return task.done() or tool.submission is not None or (tool.review is not None and tool.review.is_shown)

    await until(waits)


def browsers_end(probe_id, where):
    result = PROBES[probe_id]["result"]
    return result[where] if where else result


@pytest.mark.parametrize("probe_id", SAME)
async def test_it_ends_as_in_the_browser(probe_id):
    action, where = SAME[probe_id]
    browser = browsers_end(probe_id, where)
    play = Play(probe_id)
    settled, outcome, values = await play.run(action, waits=browser["settled"] == "pending")
    assert settled == browser["settled"], outcome
    if action == "respond":
        assert outcome.data["response"] == play.answer
    if probe_id in PUT_BACK:
        assert values == play.before
    elif values is not None and "values" in browser:
        known = {key: value for key, value in browser["values"].items() if key in values}
        assert values == known


@pytest.mark.parametrize("probe_id", DEVIATIONS)
async def test_it_ends_otherwise_for_a_reason(probe_id):
    action, expected, reason = DEVIATIONS[probe_id]
    settled, outcome, _values = await Play(probe_id).run(action, waits=expected == "pending")
    assert settled == expected, outcome
    assert reason
    browser = PROBES[probe_id]["result"]
    assert "settled" not in browser or browser["settled"] != settled


async def test_a_person_who_submits_alone_is_told_as_such():
    """Probe manual_user_submits_without_agent."""
    play = Play("manual_user_submits_without_agent")
    told = []
    play.buttons[0].clicked.connect(lambda: told.append(current_submission(play.form).agent_invoked))
    stage = FormStage(play.form)
    await stage.open()
    play.press()
    await settle()
    assert told == [False]
