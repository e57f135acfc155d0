"""What it costs to describe and to fill a form of 200 fields, in CPU time: other work on the machine does not count."""

import statistics
import time
from collections.abc import Callable

from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QDateEdit, QFormLayout, QLineEdit, QSpinBox, QWidget

from agentic_qt.devtools.bench.measuring import Row
from agentic_qt.qt.forms.fill import fill
from agentic_qt.qt.forms.synthesise import synthesise

FIELDS = 200
DESCRIBE_LIMIT_MS = 5.0
FILL_LIMIT_MS = 50.0


def measure(rounds: int) -> list[Row]:
    """Measure a form with five kinds of fields in equal parts; the first description is not counted."""
    application = QApplication.instance() or QApplication([])
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
    form.deleteLater()
    application.sendPostedEvents()
    return rows


def make_form(fields: int) -> QWidget:
    """Return a form of so many fields of five kinds, with labels."""
    form = QWidget()
    form.setProperty("toolName", "bench.form")
    form.setProperty("toolDescription", "A large form")
    layout = QFormLayout(form)
    for number in range(fields // 5):
        combo = QComboBox()
        for option in range(8):
            combo.addItem(f"Option {option}", f"o{option}")
        widgets = (QLineEdit(), QSpinBox(), combo, QCheckBox("Wanted"), QDateEdit())
        for kind, widget in zip(("text", "number", "choice", "check", "date"), widgets, strict=True):
            widget.setObjectName(f"{kind}{number}")
            layout.addRow(f"The {kind} of {number}:", widget)
    return form


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
