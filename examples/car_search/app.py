"""The window around ``cars.ui``: what its two buttons do. That its forms are tools stands in the .ui file alone."""

import os
from pathlib import Path
from typing import Any

from PySide6.QtCore import QDate, QFile, QIODevice, QObject, Qt
from PySide6.QtUiTools import QUiLoader
from PySide6.QtWidgets import QHeaderView, QMainWindow, QTableWidget, QTableWidgetItem

import agentic_qt
from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.openai import OpenAIChatModel
from examples.car_search.cars import Garage

UI_FILE = Path(__file__).with_name("cars.ui")
COUNTS = {0: "No car fits: ask for less", 1: "1 car fits"}
SUGGESTIONS = (
    "Find an electric family car",
    "Book the Toyota Corolla for Ada Lovelace for three days",
)


class CarSearch(QMainWindow):
    def __init__(self, garage: Garage | None = None) -> None:
        super().__init__()
        self.setWindowTitle("Car search")
        self.garage = garage or Garage()
        file = QFile(str(UI_FILE))
        file.open(QIODevice.OpenModeFlag.ReadOnly)
        page = QUiLoader().load(file)
        self.setCentralWidget(page)
        self.resize(1180, 560)
        self.ui: dict[str, Any] = {child.objectName(): child for child in page.findChildren(QObject)}
        self.ui["pick_up"].setDate(QDate.currentDate().addDays(1))
        self.ui["pick_up"].setMinimumDate(QDate.currentDate())
        table = self.ui["results"]
        table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        table.itemSelectionChanged.connect(self._take_selected)
        self.ui["search_button"].clicked.connect(self.search)
        self.ui["book_button"].clicked.connect(self.book)
        self.search()

    def search(self) -> None:
        submission = agentic_qt.current_submission(self.ui["search"])
        found = self.garage.search(**submission.values)
        table = self.ui["results"]
        table.setRowCount(len(found))
        for row, car in enumerate(found):
            for column, text in enumerate((car.name, car.fuel, str(car.seats), f"{car.price} €")):
                item = QTableWidgetItem(text)
                if column > 1:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                table.setItem(row, column, item)
        self.ui["count"].setText(COUNTS.get(len(found), f"{len(found)} cars fit"))
        submission.respond_with(
            [{"car": car.name, "fuel": car.fuel, "seats": car.seats, "euros_a_day": car.price} for car in found]
        )

    def book(self) -> None:
        submission = agentic_qt.current_submission(self.ui["booking"])
        if not submission.values["driver"].strip():
            self._say("Who drives? Give a name.")
            submission.fail("driver_missing", "A booking needs a driver.", fields={"driver": "is empty"})
            return
        try:
            booking = self.garage.book(**submission.values)
        except ValueError as error:
            self._say(f"{error}.")
            submission.fail("booked_already", f"{error}.", fields={"pick_up": "is taken"})
            return
        self._say(f"Booked: {booking.car} for {booking.driver}, {booking.price} €. Your number is {booking.number}.")
        submission.respond_with({"number": booking.number, "price": booking.price})

    def _say(self, text: str) -> None:
        self.ui["message"].setText(text)

    def _take_selected(self) -> None:
        row = self.ui["results"].currentRow()
        if row >= 0:
            self.ui["car"].setCurrentText(self.ui["results"].item(row, 0).text())


def show(chat_model: ChatModel | None = None) -> CarSearch:
    window = CarSearch()
    name = os.environ.get("OPENAI_MODEL")  # with OPENAI_BASE_URL and OPENAI_API_KEY; without, the dock says what to do
    model = chat_model or (OpenAIChatModel(model=name) if name else None)
    agentic_qt.Assistant.attach(window, chat_model=model, suggestions=SUGGESTIONS)
    agentic_qt.expose_forms(window)
    window.show()
    return window
