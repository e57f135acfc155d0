"""What the class of a widget says about it in a walk; asked once for each class, since a walk asks for each widget."""

from dataclasses import dataclass
from typing import Final

from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QDialogButtonBox,
    QGroupBox,
    QLabel,
    QLCDNumber,
    QMenu,
    QMenuBar,
    QProgressBar,
    QRadioButton,
    QScrollArea,
    QStatusBar,
    QTabBar,
    QToolBar,
    QWidget,
    QWizardPage,
)

_CLOSED: Final = (
    QAbstractButton, QAbstractSpinBox, QDialogButtonBox, QLCDNumber, QMenu, QMenuBar, QProgressBar, QStatusBar, QTabBar,
    QToolBar,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class WidgetKind:
    """What holds for every widget of one class.

    Args:
        is_label: It says something of other widgets.
        is_button: It is a button of any kind.
        is_radio: It is a radio button.
        is_box: It is a group box.
        is_page: It is a page of a wizard.
        is_closed: What stands in it is its own business, unless an adapter says otherwise.
    """

    is_label: bool
    is_button: bool
    is_radio: bool
    is_box: bool
    is_page: bool
    is_closed: bool


_known: Final[dict[type, WidgetKind]] = {}


def kind_of(widget: QWidget) -> WidgetKind:
    """Return what holds for the class of a widget."""
    of_class = type(widget)
    kind = _known.get(of_class)
    if kind is None:
        kind = _known[of_class] = _look_at(of_class)
    return kind


def _look_at(of_class: type) -> WidgetKind:
    is_view = issubclass(of_class, QAbstractScrollArea) and not issubclass(of_class, QScrollArea)
    return WidgetKind(
        is_label=issubclass(of_class, QLabel),
        is_button=issubclass(of_class, QAbstractButton),
        is_radio=issubclass(of_class, QRadioButton),
        is_box=issubclass(of_class, QGroupBox),
        is_page=issubclass(of_class, QWizardPage),
        is_closed=is_view or issubclass(of_class, _CLOSED),
    )
