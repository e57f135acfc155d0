"""Random forms of real widgets with inputs that are valid, and inputs that are not, for property tests."""

import re
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from PySide6.QtCore import QDate, QRegularExpression, Qt, QTime
from PySide6.QtGui import QDoubleValidator, QIntValidator, QRegularExpressionValidator
from PySide6.QtWidgets import (
    QAbstractItemView,
    QButtonGroup,
    QCalendarWidget,
    QCheckBox,
    QComboBox,
    QDateEdit,
    QDateTimeEdit,
    QDial,
    QDoubleSpinBox,
    QFormLayout,
    QGroupBox,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSlider,
    QSpinBox,
    QTextEdit,
    QTimeEdit,
    QWidget,
)

LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)
# U+FDD0 and U+FDD1 mark frames inside a document of Qt, and U+FFFC stands for an object.
PAGES = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\ufdd0\ufdd1\ufffc")
    | st.sampled_from("\n\t"),
    max_size=20,
)
WORDS = st.text("abcdefgh", min_size=1, max_size=5)
CHOICES = st.lists(WORDS, min_size=1, max_size=5, unique=True)
WRONG = [None, {"a": 1}, [["x"]]]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One field: how to make it, an input that it takes, and one that it refuses."""

    kind: str
    options: Any
    good: Any
    bad: Any


@st.composite
def line_edits(draw):
    most = draw(st.none() | st.integers(1, 6))
    good = draw(LINES)
    if most is not None:
        good = good[: most // 2]
    bad = draw(st.sampled_from([1, True, "two\nlines", *WRONG, *(["x" * (most + 1)] if most else [])]))
    return Spec(kind="line", options=most, good=good, bad=bad)


@st.composite
def patterns(draw):
    return Spec(
        kind="pattern", options=r"[A-Z]{2}\d{1,3}", good=draw(st.from_regex(r"\A[A-Z]{2}[0-9]{1,3}\Z")), bad="ab1"
    )


@st.composite
def areas(draw):
    kind = draw(st.sampled_from(["plain", "rich"]))
    return Spec(kind=kind, options=None, good=draw(PAGES), bad=draw(st.sampled_from([1, "\x00", *WRONG])))


@st.composite
def integers(draw):
    kind = draw(st.sampled_from(["spin", "slider", "dial", "intline"]))
    low = draw(st.integers(-(10**6), 10**6))
    high = low + draw(st.integers(0, 10**6))
    bad = draw(st.sampled_from([high + 1, low - 1, low + 0.5, str(low), True, *WRONG]))
    return Spec(kind=kind, options=(low, high), good=draw(st.integers(low, high)), bad=bad)


@st.composite
def decimals(draw):
    places = draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["double", "doubleline"]))
    low, high = -1000.0, 1000.0
    good = round(draw(st.floats(low, high, allow_nan=False)), places)
    too_fine = 0.5 * 10**-places
    return Spec(
        kind=kind, options=(low, high, places), good=good, bad=draw(st.sampled_from([1000.5, too_fine, "1", *WRONG]))
    )


@st.composite
def checks(draw):
    kind = draw(st.sampled_from(["check", "toggle", "box"]))
    return Spec(kind=kind, options=draw(st.booleans()), good=draw(st.booleans()), bad=draw(st.sampled_from([1, "x"])))


@st.composite
def choices(draw):
    values = draw(CHOICES)
    kind = draw(st.sampled_from(["combo", "numbers", "radio", "list"]))
    if kind == "numbers":
        values = [str(number) for number, _ in enumerate(values)]
    return Spec(kind=kind, options=values, good=draw(st.sampled_from(values)), bad=draw(st.sampled_from(["zz", 1])))


@st.composite
def editables(draw):
    return Spec(kind="editable", options=draw(CHOICES), good=draw(LINES), bad=draw(st.sampled_from([1, "a\nb"])))


@st.composite
def several(draw):
    values = draw(CHOICES)
    kind = draw(st.sampled_from(["checks", "multi"]))
    if kind == "checks" and len(values) == 1:
        values = [*values, "zzz"]
    good = draw(st.lists(st.sampled_from(values), unique=True))
    bad = draw(st.sampled_from(["x", ["zz"], [values[0], values[0]]]))
    return Spec(kind=kind, options=values, good=good, bad=bad)


@st.composite
def moments(draw):
    kind = draw(st.sampled_from(["date", "month", "week", "time", "seconds", "datetime", "calendar"]))
    day = draw(st.dates(min_value=QDate(1900, 1, 1).toPython(), max_value=QDate(2100, 12, 31).toPython()))
    clock = draw(st.times())
    year, week, _ = day.isocalendar()
    good = {
        "date": day.isoformat(),
        "calendar": day.isoformat(),
        "month": f"{day.year}-{day.month:02}",
        "week": f"{year}-W{week:02}",
        "time": f"{clock:%H:%M}",
        "seconds": f"{clock:%H:%M:%S}",
        "datetime": f"{day.isoformat()}T{clock:%H:%M}",
    }[kind]
    bad = draw(st.sampled_from(["tomorrow", "2026-02-30", "25:00", "9:5", "1700-01-01T00:00", "1700-01", 5, *WRONG]))
    return Spec(kind=kind, options=None, good=good, bad=bad)


@st.composite
def colours(draw):
    good = "#" + "".join(draw(st.lists(st.sampled_from("0123456789abcdef"), min_size=6, max_size=6)))
    return Spec(kind="color", options=None, good=good, bad=draw(st.sampled_from(["red", "#fff", 1])))


FIELDS = st.one_of(
    line_edits(), patterns(), areas(), integers(), decimals(), checks(), choices(), editables(), several(), moments(),
    colours(),
)  # fmt: skip
FORMS = st.lists(FIELDS, min_size=1, max_size=7)


def build(specs):
    """A form of the fields f0, f1, ... in that order."""
    form = QWidget()
    form.setProperty("toolName", "random.form")
    form.setProperty("toolDescription", "A random form")
    layout = QFormLayout(form)
    for place, spec in enumerate(specs):
        layout.addRow(f"Field {place}:", MAKERS[spec.kind](form, f"f{place}", spec.options))
    return form


def named(widget, name):
    widget.setObjectName(name)
    return widget


def make_line(form, name, most):
    edit = named(QLineEdit(form), name)
    if most is not None:
        edit.setMaxLength(most)
    return edit


def make_pattern(form, name, pattern):
    edit = named(QLineEdit(form), name)
    edit.setValidator(QRegularExpressionValidator(QRegularExpression(pattern), edit))
    return edit


def make_number_line(form, name, options):
    edit = named(QLineEdit(form), name)
    low, high, *places = options
    edit.setValidator(QDoubleValidator(low, high, places[0], edit) if places else QIntValidator(low, high, edit))
    return edit


def ranged(kind):
    def make(form, name, options):
        widget = named(kind(form), name)
        widget.setRange(options[0], options[1])
        return widget

    return make


def make_double(form, name, options):
    box = named(QDoubleSpinBox(form), name)
    box.setDecimals(options[2])
    box.setRange(options[0], options[1])
    return box


def make_check(kind):
    def make(form, name, checked):
        button = named(kind(form), name)
        button.setCheckable(True)
        button.setChecked(checked)
        return button

    return make


def make_combo(form, name, values, *, data=str, editable=False):
    combo = named(QComboBox(form), name)
    combo.setEditable(editable)
    for place, value in enumerate(values):
        combo.addItem(value if editable else f"Text {place}", None if editable else data(value))
    return combo


def make_list(form, name, values, *, several=False):
    view = named(QListWidget(form), name)
    if several:
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
    for value in values:
        QListWidgetItem(f"Text of {value}", view).setData(Qt.ItemDataRole.UserRole, value)
    return view


def make_buttons(form, name, values, *, exclusive):
    box = QWidget(form)
    group = named(QButtonGroup(box), name)
    group.setExclusive(exclusive)
    layout = QFormLayout(box)
    for value in values:
        button = (QRadioButton if exclusive else QCheckBox)(f"Text of {value}", box)
        button.setProperty("toolValue", value)
        group.addButton(button)
        layout.addRow(button)
    return box


def make_moment(kind, shape, param_type=""):
    def make(form, name, _):
        edit = named(kind(form), name)
        edit.setDisplayFormat(shape)
        edit.setTime(QTime(0, 0))
        if param_type:
            edit.setProperty("toolParamType", param_type)
        return edit

    return make


def make_color(form, name, _):
    button = named(QPushButton(form), name)
    button.setProperty("toolParamType", "color")
    button.setProperty("toolColor", "#010203")
    return button


MAKERS = {
    "line": make_line,
    "pattern": make_pattern,
    "plain": lambda form, name, _: named(QPlainTextEdit(form), name),
    "rich": lambda form, name, _: named(QTextEdit(form), name),
    "intline": make_number_line,
    "doubleline": make_number_line,
    "spin": ranged(QSpinBox),
    "slider": ranged(QSlider),
    "dial": ranged(QDial),
    "double": make_double,
    "check": make_check(QCheckBox),
    "toggle": make_check(QPushButton),
    "box": make_check(QGroupBox),
    "combo": make_combo,
    "numbers": lambda form, name, values: make_combo(form, name, values, data=int),
    "editable": lambda form, name, values: make_combo(form, name, values, editable=True),
    "radio": lambda form, name, values: make_buttons(form, name, values, exclusive=True),
    "checks": lambda form, name, values: make_buttons(form, name, values, exclusive=False),
    "list": make_list,
    "multi": lambda form, name, values: make_list(form, name, values, several=True),
    "date": make_moment(QDateEdit, "yyyy-MM-dd"),
    "month": make_moment(QDateEdit, "yyyy-MM"),
    "week": make_moment(QDateEdit, "yyyy-MM-dd", "week"),
    "time": make_moment(QTimeEdit, "HH:mm"),
    "seconds": make_moment(QTimeEdit, "HH:mm:ss"),
    "datetime": make_moment(QDateTimeEdit, "yyyy-MM-dd HH:mm"),
    "calendar": lambda form, name, _: named(QCalendarWidget(form), name),
    "color": make_color,
}


STATE = ("text", "plainText", "value", "checked", "currentIndex", "currentText", "dateTime", "selectedDate")


def whole_state(form):
    """Everything that a fill may touch, read without the code under test."""
    state = []
    for widget in form.findChildren(QWidget):
        if re.match("qt_", widget.objectName()):
            continue
        known = [name for name in STATE if widget.metaObject().indexOfProperty(name) >= 0]
        state += [(widget.objectName(), name, str(widget.property(name))) for name in known]
        if isinstance(widget, QListWidget):
            state.append([item.isSelected() for item in map(widget.item, range(widget.count()))])
        state.append(str(widget.property("toolColor")))
    return state


def wanted(spec):
    """The value that a field is to give back for a good input: lists in the order of the options."""
    if isinstance(spec.good, list):
        return [value for value in spec.options if value in spec.good]
    return spec.good
