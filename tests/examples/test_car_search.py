"""The car search: a .ui file alone declares a search and a booking; a person submits the booking."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QPushButton

from agentic_qt import Assistant
from agentic_qt.core.call import Call
from agentic_qt.core.registry import Registry
from agentic_qt.devtools.lint_command import lint_file
from agentic_qt.qt.forms.exposing import expose_forms
from agentic_qt.qt.forms.form_calls import GestureSettings
from agentic_qt.qt.scope import provide
from agentic_qt.testing.scripted import ScriptedModel, tool
from examples.car_search import app
from tests.support.approval_stage import Clock, until

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]


class Cars:
    def __init__(self):
        self.clock = Clock()
        self.cars = app.CarSearch()
        self.registry = Registry()
        provide(self.cars, self.registry)
        self.exposed = expose_forms(self.cars, gestures=GestureSettings(clock=self.clock))
        self.cars.show()
        self.cars.activateWindow()

    def call(self, name, **given):
        return asyncio.ensure_future(self.registry.execute(Call(name=name, input=given)))

    async def press_book(self):
        review = self.exposed.find("car.book").review
        for _ in range(15):
            self.clock.now += 0.1
            review.watch.beat()
        QTest.mouseClick(self.cars.ui["book_button"], Qt.MouseButton.LeftButton)


async def test_the_search_runs_at_once_and_tells_what_fits(qapp):
    stage = Cars()
    outcome = await asyncio.wait_for(stage.call("car.search", kind="family", fuel="hybrid"), 3)
    assert outcome.data["response"] == [{"car": "Toyota Corolla", "fuel": "hybrid", "seats": 5, "euros_a_day": 52}]
    assert stage.cars.ui["results"].rowCount() == 1
    assert stage.cars.ui["count"].text() == "1 car fits"


async def test_the_booking_waits_for_the_person_and_shows_that_it_does(qapp):
    stage = Cars()
    frame = stage.cars.ui["booking"]
    plain = frame.grab().toImage().pixelColor(frame.width() // 2, 1)
    task = stage.call("car.book", car="VW Golf", driver="Ada Lovelace", days=3)
    tool_ = stage.exposed.find("car.book")
    await until(lambda: tool_.review is not None and tool_.review.is_shown)
    highlight = QApplication.palette().highlight().color()
    assert frame.grab().toImage().pixelColor(frame.width() // 2, 1) == highlight != plain
    assert stage.cars.garage.bookings == []
    await stage.press_book()
    outcome = await asyncio.wait_for(task, 3)
    assert outcome.data["response"] == {"number": "B1001", "price": 141}
    assert [(known.car, known.driver) for known in stage.cars.garage.bookings] == [("VW Golf", "Ada Lovelace")]
    assert "Booked" in stage.cars.ui["message"].text()


async def test_a_booking_that_clashes_says_which_field_is_to_blame(qapp):
    stage = Cars()
    stage.cars.ui["driver"].setText("Grace Hopper")
    stage.cars.book()
    task = stage.call("car.book", car="Renault Clio", driver="Ada Lovelace")
    tool_ = stage.exposed.find("car.book")
    await until(lambda: tool_.review is not None and tool_.review.is_shown)
    await stage.press_book()
    outcome = await asyncio.wait_for(task, 3)
    assert (outcome.code, "/pick_up: is taken" in outcome.hint) == ("booked_already", True)
    assert len(stage.cars.garage.bookings) == 1


async def test_a_person_alone_searches_and_books_as_ever(qapp):
    stage = Cars()
    stage.cars.ui["kind"].setCurrentText("van")
    QTest.mouseClick(stage.cars.ui["search_button"], Qt.MouseButton.LeftButton)
    assert stage.cars.ui["results"].rowCount() == 2
    stage.cars.ui["results"].selectRow(0)
    assert stage.cars.ui["car"].currentText() == "Ford Transit"
    QTest.mouseClick(stage.cars.ui["book_button"], Qt.MouseButton.LeftButton)
    assert stage.cars.garage.bookings == []
    assert "Who drives" in stage.cars.ui["message"].text()


async def test_the_assistant_is_offered_both_forms(qapp, monkeypatch):
    model = ScriptedModel([tool("car.search", {"kind": "van"}), "The Ford Transit is the cheapest."])
    attached = []
    attach = Assistant.attach
    monkeypatch.setattr(Assistant, "attach", lambda *given, **named: attached.append(attach(*given, **named)))
    window = app.show(model)
    await asyncio.wait_for(attached[0].send("A van, please"), 10)
    offered = {entry["function"]["name"] for entry in model.requests[0].tools}
    assert {"car_search", "car_book"} <= offered
    assert window.findChild(QLabel, "count").text() == "2 cars fit"
    assert window.findChild(QFrame, "booking").property("toolFormActive") is None
    assert window.findChild(QPushButton, "book_button").isEnabled()
    window.close()


def test_the_ui_file_has_no_finding(qapp):
    assert lint_file(app.UI_FILE) == []


START_AND_CLOSE = """
import sys
from PySide6.QtCore import QTimer
import agentic_qt
from examples.car_search.app import show

def main():
    window = show()
    QTimer.singleShot(0, window.close)
    return window

sys.exit(agentic_qt.run(main))
"""


def test_it_starts_and_ends_headless():
    done = subprocess.run(
        [sys.executable, "-c", START_AND_CLOSE], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
