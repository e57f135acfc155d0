"""Adapters: the registry of them, widgets of strangers, and what a single kind knows that others do not."""

import pytest
from PySide6.QtCore import Property, QDate, QDateTime, Qt, QTime, Signal
from PySide6.QtGui import QColor, QIntValidator, QTextCursor
from PySide6.QtWidgets import (
    QColorDialog,
    QCompleter,
    QDateEdit,
    QDateTimeEdit,
    QGroupBox,
    QKeySequenceEdit,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QSpinBox,
    QTableWidget,
    QTextBrowser,
    QTextEdit,
    QTimeEdit,
    QWidget,
)

from agentic_qt.qt.forms.adapters.base import Adapter
from agentic_qt.qt.forms.adapters.registry import register_adapter, unregister_adapter
from agentic_qt.qt.forms.fill import FillError, fill, restore, take_snapshot
from agentic_qt.qt.forms.synthesise import input_schema
from agentic_qt.qt.forms.walker import walk


class Face(QWidget):
    """A widget of a stranger, without a USER property."""

    changed = Signal()

    def __init__(self):
        super().__init__()
        self.numbers = [1]


class FaceAdapter(Adapter):
    def schema(self, control, profile, *, required=False, live=True):
        return {"type": "array", "items": {"type": "integer"}}

    def get(self, control):
        return list(control.numbers)

    def set(self, control, value):
        control.numbers = list(value)
        control.changed.emit()

    def changed(self, control):
        return (control.changed,)


class Rating(QWidget):
    """A widget of a stranger whose class says what a user edits."""

    rated = Signal(int)

    def __init__(self):
        super().__init__()
        self._stars = 2

    def stars(self):
        return self._stars

    def set_stars(self, value):
        self._stars = min(value, 5)
        self.rated.emit(value)

    star_count = Property(int, stars, set_stars, notify=rated, user=True)


@pytest.fixture
def faces():
    register_adapter(Face, FaceAdapter())
    yield
    unregister_adapter(Face)


def schema(form, key):
    return input_schema(form)["properties"][key]


def refused(form, values):
    with pytest.raises(FillError) as refusal:
        fill(form, values)
    return [issue.keyword for issue in refusal.value.issues]


def test_a_registered_adapter_makes_a_field(make_form, faces):
    form = make_form(("face", Face(), "Face:"))
    expected = {"type": "array", "items": {"type": "integer"}, "description": "Face", "default": [1]}
    assert schema(form, "face") == expected
    filled = fill(form, {"face": [3, 4]})
    assert filled.after.values == {"face": [3, 4]}
    assert restore(form, filled.before) == ()
    assert take_snapshot(form).values == {"face": [1]}


def test_subclasses_share_the_adapter_until_they_have_their_own(make_form, faces):
    class Grimace(Face):
        pass

    class Other(FaceAdapter):
        def get(self, control):
            return [0]

    form = make_form(("face", Grimace()))
    assert take_snapshot(form).values == {"face": [1]}
    register_adapter(Grimace, Other())
    assert take_snapshot(form).values == {"face": [0]}
    unregister_adapter(Grimace)
    unregister_adapter(Grimace)
    assert take_snapshot(form).values == {"face": [1]}


def test_without_an_adapter_a_strange_widget_is_no_field(make_form):
    assert input_schema(make_form(("face", Face())))["properties"] == {}


def test_an_adapter_that_raises_leaves_the_form_as_it_was(make_form, faces):
    """FC-71"""

    class Broken(FaceAdapter):
        def set(self, control, value):
            raise ZeroDivisionError

    register_adapter(Face, Broken())
    form = make_form(("line", QLineEdit("old")), ("face", Face()))
    with pytest.raises(FillError) as refusal:
        fill(form, {"line": "new", "face": [2]})
    assert (refusal.value.code, refusal.value.issues[0].pointer) == ("handler_error", "/face")
    assert take_snapshot(form).values == {"line": "old", "face": [1]}


def test_an_adapter_that_cannot_put_back_keeps_no_other_field_from_it(make_form, faces):
    class Broken(FaceAdapter):
        def set(self, control, value):
            super().set(control, value)
            raise ZeroDivisionError

        def restore(self, control, state):
            raise ZeroDivisionError

    register_adapter(Face, Broken())
    form = make_form(("face", Face()), ("line", QLineEdit("old")))
    with pytest.raises(FillError) as refusal:
        fill(form, {"line": "new", "face": [2]})
    assert refusal.value.left == ("face",)
    assert take_snapshot(form).values == {"line": "old", "face": [2]}


def test_the_user_property_is_a_field_of_its_type(make_form):
    form = make_form(("stars", Rating()))
    assert schema(form, "stars") == {"type": "integer", "default": 2}
    assert fill(form, {"stars": 4}).after.values == {"stars": 4}
    field = walk(form).fields[0]
    assert len(field.adapter.changed(field.control)) == 1
    assert refused(form, {"stars": 9}) == ["not_taken"]
    assert take_snapshot(form).values == {"stars": 4}


def test_a_key_sequence_may_be_written_in_any_way(make_form):
    edit = QKeySequenceEdit()
    assert fill(make_form(("keys", edit)), {"keys": "shift+ctrl+s"}).after.values == {"keys": "Ctrl+Shift+S"}


@pytest.mark.parametrize("widget", [QTableWidget, QProgressBar, QPushButton, QTextBrowser])
def test_what_shows_or_acts_is_no_field(make_form, widget):
    assert input_schema(make_form(("a", widget())))["properties"] == {}


def test_a_named_widget_that_nobody_can_fill_is_told(make_form):
    table = QTableWidget()
    table.setProperty("toolParamName", "cells")
    dropped = walk(make_form(("t", table))).dropped
    assert [(drop.key, drop.reason) for drop in dropped] == [("cells", "unsupported")]


def test_a_completer_gives_examples(make_form):
    line = QLineEdit()
    line.setCompleter(QCompleter(["Hanoi", "Hue"], line))
    assert schema(make_form(("city", line)), "city") == {"type": "string", "examples": ["Hanoi", "Hue"]}


def test_a_line_for_integers_is_an_integer(make_form):
    line = QLineEdit("7")
    line.setValidator(QIntValidator(1, 12, line))
    form = make_form(("n", line))
    assert schema(form, "n") == {"type": "integer", "minimum": 1, "maximum": 12, "default": 7}
    assert input_schema(form, "chromium")["properties"]["n"] == {"type": "string"}
    assert fill(form, {"n": 12}).after.values == {"n": 12}
    assert refused(form, {"n": 13}) == ["maximum"]


def test_an_input_mask_is_told_and_judges(make_form):
    line = QLineEdit()
    line.setInputMask("00-00;_")
    form = make_form(("code", line))
    assert schema(form, "code")["description"] == "input mask 00-00"
    assert fill(form, {"code": "12-34"}).after.values == {"code": "12-34"}
    assert refused(form, {"code": "ab-cd"}) == ["not_taken"]
    assert line.text() == "12-34"


def test_protected_blanks_survive(make_form):
    area = QPlainTextEdit()
    form = make_form(("t", area))
    assert fill(form, {"t": "a\u00a0b\r\nc"}).after.values == {"t": "a\u00a0b\nc"}


def test_undoing_is_one_step(make_form):
    area = QTextEdit("old")
    fill(make_form(("t", area)), {"t": "new\nlines"})
    area.undo()
    assert area.toPlainText() == "old"
    assert area.textCursor().movePosition(QTextCursor.MoveOperation.Start)


@pytest.mark.parametrize(
    ("shape", "value", "expected"),
    [
        ("HH:mm", "09:30:00", "09:30"),
        ("HH:mm:ss", "09:30", "09:30:00"),
        ("HH:mm:ss.zzz", "09:30:15.5", "09:30:15.500"),
    ],
)
def test_a_time_is_kept_as_exactly_as_it_is_shown(make_form, shape, value, expected):
    edit = QTimeEdit()
    edit.setDisplayFormat(shape)
    assert fill(make_form(("t", edit)), {"t": value}).after.values == {"t": expected}


def test_a_time_finer_than_what_is_shown_is_refused(make_form):
    edit = QTimeEdit()
    edit.setDisplayFormat("HH:mm")
    assert refused(make_form(("t", edit)), {"t": "09:30:15"}) == ["pattern"]


def test_bounds_of_times_are_told_and_hold(make_form):
    edit = QTimeEdit()
    edit.setDisplayFormat("HH:mm")
    edit.setTimeRange(QTime(9, 0), QTime(17, 30))
    form = make_form(("t", edit))
    assert schema(form, "t")["description"] == "hh:mm, from 09:00 to 17:30"
    assert refused(form, {"t": "18:00"}) == ["refused"]


def test_a_month_and_a_week_start_at_the_first_day_that_the_bounds_allow(make_form):
    month, week = QDateEdit(), QDateEdit()
    month.setDisplayFormat("MM.yyyy")
    week.setProperty("toolParamType", "week")
    for edit in (month, week):
        edit.setDateRange(QDate(2026, 1, 15), QDate(2026, 12, 31))
    form = make_form(("m", month), ("w", week))
    assert fill(form, {"m": "2026-01", "w": "2026-W03"}).changes == ()
    fill(form, {"m": "2026-02", "w": "2026-W05"})
    assert fill(form, {"m": "2026-01", "w": "2026-W03"}).after.values == {"m": "2026-01", "w": "2026-W03"}
    assert (month.date(), week.date()) == (QDate(2026, 1, 15), QDate(2026, 1, 15))
    assert refused(form, {"m": "2025-12"}) == ["refused"]


def test_what_a_date_field_does_not_show_comes_back_too(make_form):
    edit = QDateTimeEdit(QDateTime(QDate(2026, 5, 5), QTime(9, 30, 15)))
    edit.setDisplayFormat("yyyy-MM-dd HH:mm")
    form = make_form(("w", edit))
    filled = fill(form, {"w": "2026-06-06T10:00"})
    assert edit.time() == QTime(10, 0)
    assert restore(form, filled.before) == ()
    assert edit.time() == QTime(9, 30, 15)


def test_a_special_date_is_no_default(make_form):
    edit = QDateEdit(QDate(2026, 1, 1))
    edit.setMinimumDate(QDate(2026, 1, 1))
    edit.setSpecialValueText("never")
    assert "default" not in schema(make_form(("d", edit)), "d")


@pytest.mark.parametrize("make", [QColorDialog, lambda: QLineEdit("#000000"), QPushButton])
def test_a_colour_is_written_as_hex(make_form, make):
    widget = make()
    widget.setProperty("toolParamType", "color")
    if isinstance(widget, QColorDialog):
        widget.setWindowFlags(Qt.WindowType.Widget)
    form = make_form(("ink", widget))
    assert fill(form, {"ink": "#FF8800"}).after.values == {"ink": "#ff8800"}
    assert refused(form, {"ink": "red"}) == ["pattern"]


def test_a_property_of_type_color_stays_one(make_form):
    button = QPushButton()
    button.setProperty("toolParamType", "color")
    button.setProperty("color", QColor("red"))
    form = make_form(("ink", button))
    filled = fill(form, {"ink": "#00ff00"})
    assert button.property("color") == QColor("#00ff00")
    assert restore(form, filled.before) == ()
    assert button.property("color") == QColor("red")


def test_files_are_opt_in_and_may_be_several(make_form):
    line = QLineEdit()
    line.setProperty("toolParamType", "file")
    line.setProperty("toolMultiple", True)
    form = make_form(("files", line))
    assert schema(form, "files") == {"type": "array", "items": {"type": "string"}, "description": "paths of files"}
    assert fill(form, {"files": ["a.txt", "b c.txt"]}).after.values == {"files": ["a.txt", "b c.txt"]}
    assert line.text() == "a.txt;b c.txt"
    assert refused(form, {"files": ["a;b"]}) == ["refused"]


def test_declared_bounds_narrow_those_of_the_widget(make_form):
    box = QSpinBox(minimum=0, maximum=100)
    for name, value in (("toolMinimum", 10), ("toolMaximum", "500"), ("toolStep", 5)):
        box.setProperty(name, value)
    form = make_form(("n", box))
    assert schema(form, "n") == {"type": "integer", "minimum": 10, "maximum": 100, "multipleOf": 5}
    assert refused(form, {"n": 12}) == ["multipleOf"]


def test_a_checkable_box_is_clicked(make_form):
    box = QGroupBox("Extra", checkable=True, checked=False)
    log = []
    box.clicked.connect(lambda: log.append("clicked"))
    fill(make_form(("extra", box)), {"extra": True})
    assert (box.isChecked(), log) == (True, ["clicked"])
