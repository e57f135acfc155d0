"""One probe's form on a stage, and what people, pages and callers do to it."""

import asyncio
import json

import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QPushButton

from agentic_qt.qt.forms.form_tool import current_submission
from tests.support.approval_stage import until
from tests.support.form_probes import PROBES, make_twin, shown
from tests.support.form_stage import FormStage


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

    async def open(self):
        """Show the form."""
        stage = self.stage = FormStage(self.form, placed=self.dialog is None)
        await stage.open()
        if self.dialog is not None:
            self.dialog.setParent(stage.window, Qt.WindowType.Dialog)
            self.dialog.show()
            stage.exposed.scan()
        return stage

    async def begin(self, number=0):
        """Start the probe's call until it has ended, or a person could press, or the application is to answer."""
        stage = self.stage
        task = stage.call(self.inputs[number] if self.inputs else {}, name="t", id=f"c{number + 1}")
        await _until_it_waits(stage, task)
        if stage.tool.review is not None:
            stage.pass_time()
        return task

    def answer_later(self):
        """A future that the form's slot answers with."""
        future = asyncio.get_running_loop().create_future()
        self.buttons[0].clicked.connect(lambda: current_submission(self.form).respond_with(future))
        return future

    async def run(self, action, *, waits=False):
        """Start the probe's call, do something, and say how the call settled, its outcome and the form's values."""
        before = getattr(self, f"before_{action}", None)
        if before is not None:
            before()
        stage = await self.open()
        task = await self.begin()
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

    def before_refuse_reset(self):
        self._as_reset(QPushButton("Reset", self.form))
        self.reset_button.clicked.disconnect()

    refuse_reset = reset

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

    before_never = answer_later

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

    def close_window(self):
        self.stage.window.close()

    def dialog_and_close(self):
        self.dialog.close()


async def _until_it_waits(stage, task):
    """Until it has ended, is under review, or waits for the application's answer."""

    def waits():
        tool = stage.tool
        return task.done() or tool.submission is not None or (tool.review is not None and tool.review.is_shown)

    await until(waits)
