"""Which adapter a widget has: those of the library, and those that an application registers for its own widgets."""

from typing import Final

from PySide6.QtGui import QDoubleValidator, QIntValidator
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QCalendarWidget,
    QCheckBox,
    QComboBox,
    QDateTimeEdit,
    QDoubleSpinBox,
    QGroupBox,
    QLabel,
    QLCDNumber,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QProgressBar,
    QSpinBox,
    QTextEdit,
    QTreeView,
    QWidget,
)

from agentic_qt.qt.forms.adapters.base import Adapter
from agentic_qt.qt.forms.adapters.check import ButtonSetAdapter, CheckAdapter, TriStateAdapter
from agentic_qt.qt.forms.adapters.choice import ComboBoxAdapter, ItemViewAdapter
from agentic_qt.qt.forms.adapters.date import CalendarAdapter, DateTimeEditAdapter
from agentic_qt.qt.forms.adapters.number import NumberEditAdapter, SliderAdapter, SpinBoxAdapter
from agentic_qt.qt.forms.adapters.text import LineEditAdapter, TextAreaAdapter
from agentic_qt.qt.forms.adapters.value import ColourAdapter, FileAdapter, UserPropertyAdapter, user_property

CHECK: Final = CheckAdapter()
BUTTONS: Final = ButtonSetAdapter()
_TRI_STATE: Final = TriStateAdapter()
_LINE: Final = LineEditAdapter()
_NUMBER_LINE: Final = NumberEditAdapter()
_COLOUR: Final = ColourAdapter()
_FILE: Final = FileAdapter()
_USER_PROPERTY: Final = UserPropertyAdapter()

_BUILT_IN: Final[dict[type[QWidget], Adapter]] = {
    QPlainTextEdit: TextAreaAdapter(),
    QTextEdit: TextAreaAdapter(),
    QSpinBox: SpinBoxAdapter(),
    QDoubleSpinBox: SpinBoxAdapter(),
    QAbstractSlider: SliderAdapter(),
    QComboBox: ComboBoxAdapter(),
    QListView: ItemViewAdapter(),
    QTreeView: ItemViewAdapter(),
    QDateTimeEdit: DateTimeEditAdapter(),
    QCalendarWidget: CalendarAdapter(),
}
_CHECKABLE: Final = (QAbstractButton, QGroupBox)
_NUMBERS: Final = (QIntValidator, QDoubleValidator)
_NO_INPUTS: Final = (QLabel, QLCDNumber, QProgressBar, *_CHECKABLE)
"""They show or are pressed and take nothing, whatever their USER property."""

_registered: dict[type[QWidget], Adapter] = {}
_known: dict[type, Adapter | None] = {}


def register_adapter(widget_type: type[QWidget], adapter: Adapter) -> None:
    """Let widgets of a class, and of its subclasses that have none of their own, be fields of forms.

    A later adapter of the same class replaces an earlier one; one of the library's own classes may be replaced too.
    """
    _registered[widget_type] = adapter
    _known.clear()


def unregister_adapter(widget_type: type[QWidget]) -> None:
    """Forget the adapter that was registered for a class; the second time does nothing."""
    _registered.pop(widget_type, None)
    _known.clear()


def adapter_of(widget: QWidget, param_type: object = None) -> Adapter | None:
    """Return how a widget is described, read and written; None when it is no field.

    Args:
        widget: The widget.
        param_type: Its `toolParamType`: ``"color"`` and ``"file"`` count.
    """
    if param_type == "color":
        return _COLOUR
    if param_type == "file":
        return _FILE if isinstance(widget, QLineEdit) else None
    kind = type(widget)
    if kind not in _known:
        _known[kind] = _of_class(kind)
    adapter = _known[kind]
    if adapter is None:
        return _checkable(widget) or _generic(widget)
    if adapter is _LINE and isinstance(widget, QLineEdit):
        return _NUMBER_LINE if isinstance(widget.validator(), _NUMBERS) else _LINE
    return adapter


def _of_class(kind: type) -> Adapter | None:
    for base in kind.__mro__:
        adapter = _registered.get(base) or _BUILT_IN.get(base)
        if adapter is not None:
            return adapter
        if base is QLineEdit:
            return _LINE
    return None


def _checkable(widget: QWidget) -> Adapter | None:
    if isinstance(widget, QCheckBox):
        return _TRI_STATE if widget.isTristate() else CHECK
    if isinstance(widget, _CHECKABLE) and widget.isCheckable():
        return CHECK
    return None


def _generic(widget: QWidget) -> Adapter | None:
    if isinstance(widget, _NO_INPUTS):
        return None
    return _USER_PROPERTY if user_property(widget) is not None else None
