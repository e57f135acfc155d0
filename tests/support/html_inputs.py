"""The Qt twins of HTML's input elements, each a widget with its limits and its value."""

import re
from decimal import Decimal

from PySide6.QtCore import QDate, QDateTime, QRegularExpression, Qt, QTime
from PySide6.QtGui import QRegularExpressionValidator, QValidator
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QComboBox,
    QCompleter,
    QDateEdit,
    QDateTimeEdit,
    QDoubleSpinBox,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSlider,
    QSpinBox,
    QTimeEdit,
)

NUMBER = re.compile(r"-?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?")
INT_MAX = 2**31 - 1
WIDE = 10.0**15
NOT_FIELDS = {"submit", "button", "reset", "image", "file"}


class ShapeValidator(QValidator):
    """A check that gives no pattern away and takes blanks off the ends, as e-mail and URL fields in a browser do."""

    def __init__(self, shape, parent):
        super().__init__(parent)
        self.shape = re.compile(shape)

    def validate(self, text, position):
        good = not text.strip() or self.shape.fullmatch(text.strip())
        return (QValidator.State.Acceptable if good else QValidator.State.Intermediate, text.strip(), position)


SHAPES = {"email": r"[^@\s]+@[^@\s]+", "url": r"[A-Za-z][A-Za-z0-9+.-]*:\S+"}


def make_input(element, parent):
    """The widget of an input, select or textarea; a plain button where a form has no field."""
    if element.tag == "select":
        return make_select(element, parent)
    if element.tag == "textarea":
        return make_text_area(element, parent)
    kind = element.type
    if kind in NOT_FIELDS:
        return QPushButton(element.get("value"), parent)
    make = {
        "number": make_number, "range": make_range, "checkbox": make_button, "radio": make_button, "date": make_date,
        "month": make_date, "week": make_date, "time": make_time, "datetime-local": make_time, "color": make_color,
    }.get(kind, make_line)  # fmt: skip
    return make(element, parent)


def make_line(element, parent):
    edit = QLineEdit(parent)
    kind = element.type
    edit.setReadOnly("readonly" in element and kind != "hidden")
    if kind == "password":
        edit.setEchoMode(QLineEdit.EchoMode.Password)
    if "pattern" in element:
        edit.setValidator(QRegularExpressionValidator(QRegularExpression(element.get("pattern")), edit))
    elif kind in SHAPES:
        edit.setValidator(ShapeValidator(SHAPES[kind], edit))
    if kind == "hidden":
        edit.hide()
    if element.get("maxlength").isdecimal():
        edit.setMaxLength(int(element.get("maxlength")))
    if element.get("minlength").isdecimal():
        edit.setProperty("toolMinLength", int(element.get("minlength")))
    edit.setPlaceholderText(element.get("placeholder"))
    edit.setText(element.get("value"))
    return edit


def add_completer(edit, element, root):
    lists = [other for other in root.walk() if other.tag == "datalist" and other.get("id") == element.get("list")]
    if lists:
        edit.setCompleter(QCompleter([option.get("value") for option in lists[0].elements], edit))


def make_text_area(element, parent):
    edit = QPlainTextEdit(parent)
    edit.setReadOnly("readonly" in element)
    edit.setPlainText(element.text().removeprefix("\n"))
    for attribute, name in (("minlength", "toolMinLength"), ("maxlength", "toolMaxLength")):
        if element.get(attribute).isdecimal():
            edit.setProperty(name, int(element.get(attribute)))
    return edit


def make_button(element, parent):
    button = QCheckBox(parent) if element.type == "checkbox" else QRadioButton(parent)
    button.setProperty("toolValue", element.get("value", "on"))
    button.setChecked("checked" in element)
    return button


def make_color(element, parent):
    button = QPushButton(parent)
    button.setProperty("toolParamType", "color")
    value = element.get("value")
    button.setProperty("toolColor", value if re.fullmatch("#[0-9a-fA-F]{6}", value) else "#000000")
    return button


def make_number(element, parent):
    """A spin box; bounds that the element has not are marked as none, and those it cannot hold are declared."""
    low, high, value = (number(element.get(name)) for name in ("min", "max", "value"))
    step = step_of(element)
    known = [given for given in (low, high, value, step) if given is not None]
    whole = all(given == int(given) and abs(given) <= INT_MAX + 1 for given in known) and element.get("step") != "any"
    box = QSpinBox(parent) if whole else QDoubleSpinBox(parent)
    if not whole:
        free = element.get("step").strip().lower() == "any"
        box.setDecimals(15 if free else max(places_of(given) for given in known))
    convert = int if whole else float
    widest = INT_MAX if whole else WIDE
    odd = low is not None and high is not None and low > high  # the browser keeps such a range; no widget does
    for bound, name, set_bound, fallback in (
        (low, "toolMinimum", box.setMinimum, -widest - (1 if whole else 0)),
        (high, "toolMaximum", box.setMaximum, widest),
    ):
        set_bound(convert(fallback if bound is None or odd else bound))
        if bound is None or odd:
            box.setProperty(name, "none" if bound is None else float(bound))
    finish_number(box, element, step, value, convert)
    box.setReadOnly("readonly" in element)
    return box


def make_range(element, parent):
    low, high, value = (number(element.get(name)) for name in ("min", "max", "value"))
    step = step_of(element)
    known = [given for given in (low, high, value, step) if given is not None]
    whole = all(given == int(given) and abs(given) <= INT_MAX for given in known)
    if whole:
        box, convert = QSlider(Qt.Orientation.Horizontal, parent), int
    else:
        box, convert = QDoubleSpinBox(parent), float
        box.setProperty("toolParamType", "range")
        box.setDecimals(max(places_of(given) for given in known))
    first = Decimal(0) if low is None else low
    box.setRange(convert(first), convert(max(first, Decimal(100) if high is None else high)))
    if low is None:
        box.setProperty("toolMinimum", "none")
    finish_number(box, element, step, value, convert)
    return box


def finish_number(box, element, step, value, convert):
    if element.get("step").strip().lower() == "any":
        box.setProperty("toolStep", "any")
    else:
        box.setSingleStep(convert(step or 1))
        box.setProperty("toolStep", float(step or 1))  # in HTML a step is a limit, in Qt it is a habit
    box.setValue(convert(value if value is not None else 0))
    if value is not None and number(element.get("min")) is None and Decimal(repr(box.value())) != value:
        box.setProperty("toolStepBase", float(value))  # a browser counts from a value that the widget does not take
    if "pattern" in element:
        box.setProperty("toolPattern", element.get("pattern"))


def number(text):
    return Decimal(text) if NUMBER.fullmatch(text) else None


def step_of(element):
    step = number(element.get("step"))
    return step if step is not None and step > 0 else None


def places_of(value):
    return max(0, -int(value.normalize().as_tuple().exponent))


def make_date(element, parent):
    edit = QDateEdit(parent)
    kind = element.type
    edit.setDisplayFormat("yyyy-MM" if kind == "month" else "yyyy-MM-dd")
    if kind == "week":
        edit.setProperty("toolParamType", "week")
    for name, set_date in (("min", edit.setMinimumDate), ("max", edit.setMaximumDate), ("value", edit.setDate)):
        day = date_of(kind, element.get(name), last=name == "max")
        if day is not None and day.isValid():
            set_date(day)
    edit.setReadOnly("readonly" in element)
    return edit


def date_of(kind, text, *, last):
    if kind == "date":
        return QDate.fromString(text, "yyyy-MM-dd")
    if kind == "month":
        first = QDate.fromString(f"{text}-01", "yyyy-MM-dd")
        return QDate(first.year(), first.month(), first.daysInMonth()) if last and first.isValid() else first
    match = re.fullmatch(r"(\d{4})-W(\d\d)", text)
    if match is None:
        return None
    thursday = QDate(int(match[1]), 1, 4)
    monday = thursday.addDays(1 - thursday.dayOfWeek()).addDays(7 * (int(match[2]) - 1))
    return monday.addDays(6) if last else monday


def make_time(element, parent):
    is_time = element.type == "time"
    edit = QTimeEdit(parent) if is_time else QDateTimeEdit(parent)
    step = step_of(element)
    clock = "HH:mm"
    if step is not None and step % 60 != 0:
        clock = "HH:mm:ss" if step % 1 == 0 else "HH:mm:ss.zzz"
    edit.setDisplayFormat(clock if is_time else f"yyyy-MM-ddT{clock}")
    if is_time:
        parts = (edit.setMinimumTime, edit.setMaximumTime, edit.setTime)
        read = QTime.fromString
    else:
        parts = (edit.setMinimumDateTime, edit.setMaximumDateTime, edit.setDateTime)
        read = QDateTime.fromString
    for name, set_moment in zip(("min", "max", "value"), parts, strict=True):
        moment = read(element.get(name), Qt.DateFormat.ISODate)
        if moment.isValid():
            set_moment(moment)
    edit.setReadOnly("readonly" in element)
    return edit


def make_select(element, parent):
    options = list(options_of(element))
    if "multiple" in element or number(element.get("size", "1")) not in {None, Decimal(0), Decimal(1)}:
        view = QListWidget(parent)
        if "multiple" in element:
            view.setSelectionMode(QAbstractItemView.SelectionMode.MultiSelection)
        for text, value, disabled, selected in options:
            item = QListWidgetItem(text, view)
            item.setData(Qt.ItemDataRole.UserRole, value)
            item.setSelected(selected)
            if disabled:
                item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEnabled)
        return view
    combo = QComboBox(parent)
    for index, (text, value, disabled, selected) in enumerate(options):
        combo.addItem(text, value)
        combo.model().item(index).setEnabled(not disabled)
        if selected:
            combo.setCurrentIndex(index)
    return combo


def options_of(select):
    for element in select.walk():
        if element.tag == "option":
            group = element.parent
            disabled = "disabled" in element or (group.tag == "optgroup" and "disabled" in group)
            text = element.text()
            yield text, element.get("value", " ".join(text.split())), disabled, "selected" in element
