"""Dates and times: QDateEdit, QTimeEdit, QDateTimeEdit, QCalendarWidget; ISO 8601 on the wire.

What a field holds is told by its displayed sections, or by ``toolParamType``: date, time, datetime, month, week.
A month is its first day, a week (ISO 8601) its Monday, or the first day after it that the bounds allow.
"""

import re
from collections.abc import Callable
from datetime import date
from typing import Any, Final

from PySide6.QtCore import QDate, QDateTime, QTime, SignalInstance
from PySide6.QtWidgets import QCalendarWidget, QDateTimeEdit

from agentic_qt.qt.forms.adapters.base import Adapter, JsonSchema, Profile

_TIME: Final = "([01][0-9]|2[0-3]):[0-5][0-9]"
_SECONDS: Final = "(:[0-5][0-9])?"
_MILLIS: Final = r"(:[0-5][0-9](\.[0-9]{1,3})?)?"
_DAY: Final = "[0-9]{4}-(0[1-9]|1[0-2])-[0-9]{2}T"
_PATTERNS: Final = {
    "month": "^[0-9]{4}-(0[1-9]|1[0-2])$",
    "week": "^[0-9]{4}-W(0[1-9]|[1-4][0-9]|5[0-3])$",
}
_SHAPES: Final = {
    "date": "YYYY-MM-DD",
    "month": "YYYY-MM",
    "week": "YYYY-Www (ISO week)",
    "time": "hh:mm",
    "datetime": "YYYY-MM-DDThh:mm",
}
_WORDS: Final = {
    "date": "a date", "month": "a month", "week": "a week", "time": "a time", "datetime": "a date and time",
}  # fmt: skip
_FIRST: Final = QDate(1752, 9, 14)
_LAST: Final = QDate(9999, 12, 31)
# Numbers: operators of enumerations cost more than all else here.
_DATES: Final = QDateTimeEdit.Section.DateSections_Mask.value
_TIMES: Final = QDateTimeEdit.Section.TimeSections_Mask.value
_DAYS_SHOWN: Final = QDateTimeEdit.Section.DaySection.value
_MONTH: Final = QDateTimeEdit.Section.MonthSection.value
_SECONDS_SHOWN: Final = QDateTimeEdit.Section.SecondSection.value
_MILLIS_SHOWN: Final = QDateTimeEdit.Section.MSecSection.value
_MIDNIGHT: Final = QTime(0, 0)
_CLOCK: Final = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?")


class DateTimeEditAdapter(Adapter):
    """QDateEdit, QTimeEdit and QDateTimeEdit."""

    def usable(self, control: QDateTimeEdit, profile: Profile) -> bool:  # noqa: ARG002
        """Return whether it may be written."""
        return not control.isReadOnly()

    def schema(
        self,
        control: QDateTimeEdit,
        profile: Profile,
        *,
        required: bool = False,  # noqa: ARG002 - it is never empty
        live: bool = True,  # noqa: ARG002 - it has no options
    ) -> JsonSchema:
        """Return a string schema; a browser writes its pattern into ``format``."""
        kind = kind_of(control)
        if kind == "date":
            return {"type": "string", "format": "date"}
        keyword = "format" if profile == "chromium" else "pattern"
        return {"type": "string", keyword: _PATTERNS.get(kind) or _clock_pattern(control, kind)}

    def note(self, control: QDateTimeEdit) -> str:
        """Return how to write it, and its bounds."""
        kind = kind_of(control)
        finer = _finer(control) if kind in {"time", "datetime"} else ""
        return _joined(_SHAPES[kind] + finer, _bounds(control, kind))

    def get(self, control: QDateTimeEdit) -> str:
        """Return what is shown, as ISO 8601."""
        kind = kind_of(control)
        return _written(control, kind, control.date(), control.time() if kind in {"time", "datetime"} else _MIDNIGHT)

    def default(self, control: QDateTimeEdit) -> str | None:
        """Return the value, unless it stands for "none"."""
        special = control.specialValueText()
        return None if special and control.dateTime() == control.minimumDateTime() else self.get(control)

    def normal(self, control: QDateTimeEdit, value: Any) -> Any:
        """Return it with the places that the field shows; a part below them must be zero to be left out."""
        if not isinstance(value, str):
            return value
        kind = kind_of(control)
        moment = _moment(kind, value)
        if moment is None:
            return value
        written = _written(control, kind, *moment)
        return written if _moment(kind, written) == moment else value

    def refusal(self, control: QDateTimeEdit, value: str) -> str:
        """Return the bounds that the widget would silently force upon the value."""
        kind = kind_of(control)
        moment = _moment(kind, value)
        wanted = f"{_WORDS[kind]} as {_SHAPES[kind]}"
        if moment is None or _written(control, kind, *moment) != value:
            return wanted
        low, high = _limits(control, kind)
        return "" if low <= value <= high else f"{wanted} from {low} to {high}"

    def set(self, control: QDateTimeEdit, value: str) -> None:
        """Set and commit it, as leaving the field does."""
        moment = _moment(kind_of(control), value)
        if moment is None or self.get(control) == value:
            return
        day, clock = moment
        kind = kind_of(control)
        if kind == "time":
            control.setTime(clock)
        elif kind == "datetime":
            control.setDateTime(QDateTime(day, clock, control.timeZone()))
        else:
            control.setDate(max(day, control.minimumDate(), key=QDate.toJulianDay))
        control.editingFinished.emit()

    def changed(self, control: QDateTimeEdit) -> tuple[SignalInstance, ...]:
        """Return dateTimeChanged."""
        return (control.dateTimeChanged,)

    def snapshot(self, control: QDateTimeEdit) -> QDateTime:
        """Return the moment, with what is not shown of it."""
        return control.dateTime()

    def restore(self, control: QDateTimeEdit, state: QDateTime) -> None:
        """Put the moment back."""
        if control.dateTime() != state:
            control.setDateTime(state)
            control.editingFinished.emit()


class CalendarAdapter(Adapter):
    """QCalendarWidget: a date."""

    def usable(self, control: QCalendarWidget, profile: Profile) -> bool:  # noqa: ARG002
        """Return whether a day may be selected."""
        return control.selectionMode() != QCalendarWidget.SelectionMode.NoSelection

    def schema(
        self,
        control: QCalendarWidget,  # noqa: ARG002 - the base's signature
        profile: Profile,  # noqa: ARG002 - both say the same
        *,
        required: bool = False,  # noqa: ARG002 - it is never empty
        live: bool = True,  # noqa: ARG002 - it has no options
    ) -> JsonSchema:
        """Return a date schema."""
        return {"type": "string", "format": "date"}

    def note(self, control: QCalendarWidget) -> str:
        """Return how to write it, and its bounds."""
        return _joined(_SHAPES["date"], _bounds(control, "date"))

    def get(self, control: QCalendarWidget) -> str:
        """Return the selected day."""
        return control.selectedDate().toString("yyyy-MM-dd")

    def refusal(self, control: QCalendarWidget, value: str) -> str:
        """Return the bounds that the widget would silently force upon the value."""
        wanted = f"{_WORDS['date']} as {_SHAPES['date']}"
        if _moment("date", value) is None:
            return wanted
        low, high = _limits(control, "date")
        return "" if low <= value <= high else f"{wanted} from {low} to {high}"

    def set(self, control: QCalendarWidget, value: str) -> None:
        """Select the day, and tell as a click does."""
        day = QDate.fromString(value, "yyyy-MM-dd")
        if control.selectedDate() != day:
            control.setSelectedDate(day)
            control.clicked.emit(control.selectedDate())

    def changed(self, control: QCalendarWidget) -> tuple[SignalInstance, ...]:
        """Return selectionChanged."""
        return (control.selectionChanged,)


def kind_of(control: QDateTimeEdit) -> str:
    """Return what a field holds: date, time, datetime, month or week."""
    declared = control.property("toolParamType")
    if isinstance(declared, str) and declared in _SHAPES:
        return declared
    sections = control.displayedSections().value
    if sections & _TIMES:
        return "datetime" if sections & _DATES else "time"
    return "month" if sections & _MONTH and not sections & _DAYS_SHOWN else "date"


def _joined(shape: str, bounds: str) -> str:
    return f"{shape}, {bounds}" if bounds else shape


def _precision(control: QDateTimeEdit) -> int:
    sections = control.displayedSections().value
    return 2 if sections & _MILLIS_SHOWN else 1 if sections & _SECONDS_SHOWN else 0


def _finer(control: QDateTimeEdit) -> str:
    return ("", ":ss", ":ss.zzz")[_precision(control)]


def _clock_pattern(control: QDateTimeEdit, kind: str) -> str:
    finer = ("", _SECONDS, _MILLIS)[_precision(control)]
    return f"^{_DAY if kind == 'datetime' else ''}{_TIME}{finer}$"


def _written(control: QDateTimeEdit, kind: str, day: QDate, clock: QTime) -> str:
    if kind == "week":
        week, year = day.weekNumber()
        return f"{year:04}-W{week:02}"
    if kind == "month":
        return day.toString("yyyy-MM")
    written = day.toString("yyyy-MM-dd")
    if kind == "date":
        return written
    shown = clock.toString(("HH:mm", "HH:mm:ss", "HH:mm:ss.zzz")[_precision(control)])
    return shown if kind == "time" else f"{written}T{shown}"


def _limits(control: Any, kind: str) -> tuple[str, str]:
    low, high = control.minimumDate(), control.maximumDate()
    if kind == "date":
        return low.toString("yyyy-MM-dd"), high.toString("yyyy-MM-dd")
    times = (control.minimumTime(), control.maximumTime())
    return _written(control, kind, low, times[0]), _written(control, kind, high, times[1])


def _bounds(control: Any, kind: str) -> str:
    if kind == "time":
        has_low, has_high = control.minimumTime() > QTime(0, 0), control.maximumTime() < QTime(23, 59, 59)
    else:
        has_low, has_high = control.minimumDate() > _FIRST, control.maximumDate() < _LAST
    if not has_low and not has_high:
        return ""
    low, high = _limits(control, kind)
    return " ".join(([f"from {low}"] if has_low else []) + ([f"to {high}"] if has_high else []))


def _moment(kind: str, text: str) -> tuple[QDate, QTime] | None:
    """Return the date and the time that a text of the kind means; None for one that means nothing."""
    day, clock = date(2000, 1, 1), QTime(0, 0)
    head, _, tail = text.partition("T") if kind == "datetime" else (text, "", text)
    try:
        if kind != "time":
            day = _DAYS.get(kind, date.fromisoformat)(head)
    except ValueError:
        return None
    if kind in {"time", "datetime"}:
        match = _CLOCK.fullmatch(tail)
        if match is None:
            return None
        hour, minute, second, part = (piece or "0" for piece in match.groups())
        clock = QTime(int(hour), int(minute), int(second), int(part.ljust(3, "0")))
        if not clock.isValid():
            return None
    return QDate(day.year, day.month, day.day), clock


def _month(text: str) -> date:
    return date.fromisoformat(f"{text}-01")


def _week(text: str) -> date:
    year, _, week = text.partition("-W")
    return date.fromisocalendar(int(year), int(week), 1)


_DAYS: Final[dict[str, Callable[[str], date]]] = {"month": _month, "week": _week}
