"""What it costs to describe and to fill a form of 200 fields, in CPU time: other work on the machine does not count."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import shiboken6
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QCalendarWidget,
    QCheckBox,
    QComboBox,
    QDateEdit,
    QFormLayout,
    QGroupBox,
    QLineEdit,
    QListWidget,
    QRadioButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from agentic_qt.devtools.bench.measuring import Row
from agentic_qt.qt.forms.fill import fill
from agentic_qt.qt.forms.synthesise import synthesise

FIELDS = 200
DESCRIBE_LIMIT_MS = 5.0
FILL_LIMIT_MS = 50.0


def measure(rounds: int) -> list[Row]:
    """Measure a form with five kinds of fields in equal parts; the first description is not counted."""
    _application = QApplication.instance() or QApplication([])
    form = make_form(FIELDS)
    synthesise(form)
    values = [_values(turn) for turn in range(2)]
    turns = iter(range(10**9))
    rows = [
        Row(
            name=f"describing a form of {FIELDS} fields, CPU",
            value=_median(lambda: synthesise(form), rounds),
            unit="ms",
            limit=DESCRIBE_LIMIT_MS,
        ),
        Row(
            name=f"filling a form of {FIELDS} fields, CPU",
            # Each time other values, since a field that holds its value already is left alone.
            value=_median(lambda: fill(form, values[next(turns) % 2]), rounds),
            unit="ms",
            limit=FILL_LIMIT_MS,
        ),
    ]
    forms = [form]
    for kind, make in _WIDE.items():
        forms.append(make_wide_form(FIELDS, make))
        synthesise(forms[-1])
        value = _median(partial(synthesise, forms[-1]), rounds)
        rows.append(Row(name=f"describing a form of {FIELDS} {kind}, CPU", value=value, unit="ms"))
    for made in forms:
        shiboken6.delete(made)  # now, since no event loop turns, and it must go before the application
    return rows


def make_wide_form(fields: int, make: Callable[[], QWidget]) -> QWidget:
    """Return a form of so many fields of one kind, each of many widgets: the slowest forms that there are."""
    form, layout = _empty_form()
    for number in range(fields):
        widget = make()
        widget.setObjectName(f"field{number}")
        layout.addRow(f"The field {number}:", widget)
    return form


def make_form(fields: int) -> QWidget:
    """Return a form of so many fields of five kinds, with labels."""
    form, layout = _empty_form()
    for number in range(fields // 5):
        combo = QComboBox()
        for option in range(8):
            combo.addItem(f"Option {option}", f"o{option}")
        widgets = (QLineEdit(), QSpinBox(), combo, QCheckBox("Wanted"), QDateEdit())
        for kind, widget in zip(("text", "number", "choice", "check", "date"), widgets, strict=True):
            widget.setObjectName(f"{kind}{number}")
            layout.addRow(f"The {kind} of {number}:", widget)
    return form


def _empty_form() -> tuple[QWidget, QFormLayout]:
    form = QWidget()
    form.setProperty("toolName", "bench.form")
    form.setProperty("toolDescription", "A large form")
    return form, QFormLayout(form)


def _radio_group() -> QWidget:
    box = QGroupBox("One of three")
    layout = QVBoxLayout(box)
    for name in ("one", "two", "three"):
        button = QRadioButton(name)
        button.setObjectName(name)
        layout.addWidget(button)
    return box


def _list() -> QWidget:
    items = QListWidget()
    items.setSelectionMode(QAbstractItemView.SelectionMode.MultiSelection)
    items.addItems([f"Item {number}" for number in range(8)])
    return items


_WIDE: Final[dict[str, Callable[[], QWidget]]] = {
    "groups of radio buttons": _radio_group,
    "lists": _list,
    "calendars": QCalendarWidget,
}


def _values(turn: int) -> dict[str, object]:
    values: dict[str, object] = {}
    for number in range(FIELDS // 5):
        values |= {
            f"text{number}": f"text {turn}",
            f"number{number}": 10 + turn,
            f"choice{number}": f"o{1 + turn}",
            f"check{number}": bool(turn),
            f"date{number}": f"2026-05-{10 + turn}",
        }
    return values


def _median(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(max(5, rounds)):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1000)
    return statistics.median(times)
