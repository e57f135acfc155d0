"""Notices when a widget becomes a form, stops being one, or changes: now and later, anywhere in a window."""

from collections.abc import Callable, Iterable, Iterator
from typing import cast

import shiboken6
from PySide6.QtCore import (
    QAbstractItemModel,
    QDynamicPropertyChangeEvent,
    QEvent,
    QObject,
    Qt,
    QTimer,
    SignalInstance,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QMenuBar,
    QScrollArea,
    QScrollBar,
    QStatusBar,
    QWidget,
)

from agentic_qt.qt.forms.states import FORM_ACTIVE, SUBMIT_ACTIVE

_Type = QEvent.Type
_CHANGES = frozenset({
    _Type.ChildAdded, _Type.ChildRemoved, _Type.EnabledChange, _Type.ShowToParent, _Type.HideToParent,
    _Type.ReadOnlyChange, _Type.ToolTipChange, _Type.LanguageChange, _Type.ActionAdded, _Type.ActionRemoved,
    _Type.ActionChanged,
})  # fmt: skip
_COMPOSITES = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit)
_SILENT = (QLabel, QMenu, QMenuBar, QScrollBar, QStatusBar)
_OWN = frozenset({FORM_ACTIVE.encode(), SUBMIT_ACTIVE.encode()})


class WindowWatcher(QObject):
    """Watches the widgets of one window, or of one form; a child of it.

    Args:
        window: It and its widgets are watched, those that come later included.
        changed: Called in a later turn of the loop, once for many changes.
    """

    def __init__(self, window: QWidget, changed: Callable[[], None]) -> None:
        super().__init__(window)
        self._window = window
        self._changed = changed
        self._models: list[QAbstractItemModel] = []
        # Later: uic, QUiLoader and constructors set properties one after the other.
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._tell)
        self.watch()

    def watch(self) -> None:
        """Watch what is there now; a widget that is watched already stays so."""
        for widget in _worth_watching(self._window):
            widget.installEventFilter(self)

    def follow(self, controls: Iterable[QObject]) -> None:
        """Notice when the options of lists change, too: a widget gets no event for that."""
        for control in controls:
            model = control.model() if isinstance(control, QComboBox | QAbstractItemView) else None
            if model is not None and model not in self._models:
                self._models.append(model)
                for signal in _signals(model):
                    signal.connect(self.change_later)

    def change_later(self) -> None:
        """Tell of a change in the next turn of the loop."""
        self._later.start()

    def stop(self) -> None:
        """Watch nothing any more."""
        if not shiboken6.isValid(self):
            return
        for widget in (self._window, *self._window.findChildren(QWidget)):
            widget.removeEventFilter(self)
        for model in self._models:
            if shiboken6.isValid(model):
                for signal in _signals(model):
                    signal.disconnect(self.change_later)
        self._models.clear()
        self._later.stop()
        self.setParent(None)
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: ARG002 - Qt's signature
        """Notice a change; consumes nothing."""
        kind = event.type()
        if kind == _Type.DynamicPropertyChange:
            name = bytes(cast("QDynamicPropertyChangeEvent", event).propertyName().data())
            if name.startswith(b"tool") and name not in _OWN:
                self._later.start()
        elif kind in _CHANGES:
            self._later.start()
        return False

    def _tell(self) -> None:
        self.watch()
        self._changed()


def _worth_watching(place: QWidget) -> Iterator[QWidget]:
    """Yield a widget and those in it, but no labels and nothing in composites: each filter costs at each event."""
    yield place
    is_view = isinstance(place, QAbstractScrollArea) and not isinstance(place, QScrollArea)
    if is_view or isinstance(place, _COMPOSITES):
        return
    for child in place.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if not isinstance(child, _SILENT):
            yield from _worth_watching(child)


def _signals(model: QAbstractItemModel) -> tuple[SignalInstance, ...]:
    return model.rowsInserted, model.rowsRemoved, model.dataChanged, model.modelReset
