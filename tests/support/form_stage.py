"""A window with a form, a registry and a clock in the hand of the test."""

import asyncio
from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QFormLayout,
    QLineEdit,
    QMainWindow,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from agentic_qt.core.call import Call, Outcome
from agentic_qt.core.registry import Registry
from agentic_qt.qt.forms.exposing import ExposedForms, expose_forms
from agentic_qt.qt.forms.form_calls import GestureSettings
from agentic_qt.qt.forms.form_tool import FormTool, current_submission
from agentic_qt.qt.scope import provide
from tests.support.approval_stage import Clock, settle, until


def make_form(parent: QWidget | None = None, name: str = "trip.book", **properties: Any) -> QWidget:
    """A form of a city, a number of people and a button, declared by its properties."""
    form = QWidget(parent)
    form.setObjectName("trip")
    rows = QFormLayout(form)
    city = QLineEdit("Hanoi")
    city.setObjectName("city")
    rows.addRow("&City:", city)
    people = QSpinBox(minimum=1, maximum=9)
    people.setObjectName("people")
    rows.addRow("People:", people)
    button = QPushButton("&Book")
    button.setObjectName("book")
    rows.addRow(button)
    for key, value in {"toolName": name, "toolDescription": "Book a trip.", **properties}.items():
        form.setProperty(key, value)
    return form


class FormStage:
    """The window; `form` may be given, else it is that of `make_form`; not placed, it stands elsewhere."""

    def __init__(
        self, form: QWidget | None = None, *, registry: Registry | None = None, placed: bool = True, **options: Any
    ) -> None:
        self.clock = Clock()
        self.gestures = GestureSettings(clock=self.clock, **options)
        self.registry = registry or Registry()
        self.window = QMainWindow()
        self.form = form or make_form()
        middle = QWidget()
        self.place = QVBoxLayout(middle)
        self.elsewhere = QLineEdit()
        self.place.addWidget(self.elsewhere)
        if placed:
            self.place.addWidget(self.form)
        self.window.setCentralWidget(middle)
        self.window.resize(420, 320)
        provide(self.window, self.registry)
        self.progress: list[str] = []
        self.registry.observe_progress(lambda told: self.progress.append(told.progress.message))
        self.exposed: ExposedForms = expose_forms(self.window, gestures=self.gestures)
        self.booked: list[dict[str, Any]] = []
        self.asked: list[bool] = []
        self.button = self.form.findChild(QPushButton, "book")
        if self.button is not None:
            self.button.clicked.connect(self._book)

    def _book(self) -> None:
        submission = current_submission(self.form)
        self.booked.append(dict(submission.values))
        self.asked.append(submission.agent_invoked)

    @property
    def tool(self) -> FormTool:
        return self.exposed.tools[0]

    @property
    def city(self) -> QLineEdit:
        return self.form.findChild(QLineEdit, "city")

    @property
    def people(self) -> QSpinBox:
        return self.form.findChild(QSpinBox, "people")

    async def open(self) -> None:
        self.window.show()
        self.window.activateWindow()
        self.elsewhere.setFocus()
        await until(self.window.isActiveWindow)
        await settle()

    def call(self, values: Mapping[str, Any], name: str = "trip.book", **fields: Any) -> "asyncio.Task[Outcome]":
        return asyncio.ensure_future(self.registry.execute(Call(name=name, input=values, **fields)))

    async def begin(self, values: Mapping[str, Any], name: str = "trip.book", **fields: Any) -> "asyncio.Task[Outcome]":
        """Start a call and wait until its review is on the screen."""
        task = self.call(values, name, **fields)
        tool = self.exposed.find(name) or self.tool
        await until(lambda: task.done() or (tool.review is not None and tool.review.is_shown))
        return task

    def pass_time(self, seconds: float = 1.2) -> None:
        """Let time pass while the event loop lives."""
        review = self.tool.review
        while seconds > 0:
            self.clock.now += 0.1
            seconds -= 0.1
            if review is not None:
                review.watch.beat()

    def press_submit(self) -> None:
        QTest.mouseClick(self.button, Qt.MouseButton.LeftButton)

    def key(self, key: Qt.Key) -> None:
        QTest.keyClick(self.window.windowHandle(), key)


async def outcome_of(task: "asyncio.Task[Outcome]") -> Outcome:
    return await asyncio.wait_for(task, 3)
