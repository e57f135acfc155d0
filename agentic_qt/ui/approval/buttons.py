"""Buttons whose every press passes the gesture guard."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPushButton, QWidget

from agentic_qt.qt.gestures.gesture import Gesture, GestureGuard, Refusal

_Type = QEvent.Type
_BEGINNINGS = (_Type.MouseButtonPress, _Type.MouseButtonDblClick, _Type.KeyPress, _Type.Shortcut)
_ENDS = (_Type.MouseButtonRelease, _Type.KeyRelease, _Type.KeyPress, _Type.Shortcut, _Type.Timer)


class GuardedButton(QPushButton):
    """A button that tells which of its clicks were a person's deliberate ones.

    It is never a default button. Return presses it when it has the focus, as Space does.

    Signals:
        decided: A press that counts.
        refused: A press that does not, with its `Refusal`.
    """

    decided = Signal()
    refused = Signal(Refusal)

    def __init__(self, text: str, guard: GestureGuard, parent: QWidget) -> None:
        super().__init__(text.replace("&", "&&"), parent)
        self._guard = guard
        self._cause: QEvent.Type | None = None
        self._gesture = Gesture()
        self.setAutoDefault(False)
        self.setDefault(False)
        self.setAccessibleName(text)
        guard.protect(self)
        self.pressed.connect(self._begin)
        self.clicked.connect(self._finish)

    def event(self, event: QEvent) -> bool:
        """Remember what Qt is telling the button while it may fire."""
        outer, kind = self._cause, event.type()
        if kind != _Type.Paint:  # painting happens in between and causes nothing
            self._cause = kind
        try:
            return super().event(event)
        finally:
            self._cause = outer

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Treat Return like Space, which Qt does for default buttons only."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if not event.isAutoRepeat():
                self.click()
            event.accept()
            return
        super().keyPressEvent(event)

    def _begin(self) -> None:
        if self._cause in _BEGINNINGS:
            self._gesture = Gesture(press=self._guard.watch.press)
        else:  # an assistive technology, or code: the click tells them apart
            self._gesture = Gesture(accessible_at=self._guard.watch.clock())

    def _finish(self) -> None:
        gesture, self._gesture = self._gesture, Gesture()
        # The click of an assistive technology or a mnemonic comes a moment after its press, as a timer event.
        by_person = self._cause in _ENDS if gesture.press is not None else self._cause == _Type.Timer
        refusal = self._guard.judge(gesture if by_person else Gesture())
        if refusal is None:
            self.decided.emit()
        else:
            self.refused.emit(refusal)
