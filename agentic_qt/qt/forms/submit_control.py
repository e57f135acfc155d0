"""The Submit of a form under review: only a person's deliberate act presses it, and what it does waits for the route.

While it is armed the buttons emit nothing, so that neither a stray press nor a ``click()`` by code reaches the
application's own slots. What a person does is read from the events, and judged by the isolated gesture.
"""

from collections.abc import Callable, Sequence
from typing import cast

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractButton, QDialog, QLineEdit, QPushButton, QWidget

from agentic_qt.qt.gestures.gesture import Gesture, GestureGuard, Refusal

_Type = QEvent.Type
_RETURN = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_MOUSE = (_Type.MouseButtonPress, _Type.MouseButtonDblClick, _Type.MouseButtonRelease)
_ANIMATION = 0.1  # seconds between the press of an assistive technology and its click, in Qt

Decide = Callable[[QAbstractButton], None]
Refuse = Callable[[Refusal], None]


class ButtonControl(QObject):
    """Watches the buttons that submit until `disarm`.

    Args:
        owner: This object is its child.
        buttons: Those that submit.
        guard: Judges each press.
        decide: Called with the button for a press that counts.
        refuse: Called with the reason for one that does not.
    """

    def __init__(
        self,
        owner: QWidget,
        buttons: Sequence[QAbstractButton],
        guard: GestureGuard,
        *,
        decide: Decide,
        refuse: Refuse,
    ) -> None:
        super().__init__(owner)
        self._guard = guard
        self._decide = decide
        self._refuse = refuse
        self._buttons = list(buttons)
        blocked = True
        self._was_blocked = [button.blockSignals(blocked) for button in buttons]
        self._pressed: QAbstractButton | None = None
        self._gesture = Gesture()
        for button in buttons:
            button.installEventFilter(self)
            guard.protect(button)

    def disarm(self) -> None:
        """Let the buttons speak again."""
        for button, was_blocked in zip(self._buttons, self._was_blocked, strict=True):
            if shiboken6.isValid(button):
                button.removeEventFilter(self)
                button.blockSignals(was_blocked)
        self._buttons, self._was_blocked = [], []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Read what a person does to a button."""
        if isinstance(watched, QAbstractButton) and watched in self._buttons:
            return self._on_button(watched, event)
        return False

    def _on_return(self, button: QAbstractButton) -> bool:
        if shiboken6.isValid(button) and button.isEnabled() and button.isVisible():
            self._finish(button, Gesture(press=self._guard.watch.press))
        return True  # the application's own returnPressed would submit past the person's approval

    def _on_button(self, button: QAbstractButton, event: QEvent) -> bool:
        kind = event.type()
        if kind == _Type.KeyPress:
            return self._on_key(button, cast("QKeyEvent", event))
        if kind in _MOUSE:
            self._on_mouse(button, cast("QMouseEvent", event))
        elif kind == _Type.KeyRelease:
            key = cast("QKeyEvent", event)
            if key.key() == Qt.Key.Key_Space and not key.isAutoRepeat():
                self._on_release(button, hit=True)
        elif kind == _Type.Shortcut:
            self._finish(button, Gesture(press=self._guard.watch.press))
        elif kind == _Type.Timer and button.isDown() and self._pressed is None:
            # The click of an assistive technology comes a moment after its press; a click() by code has no such timer.
            self._finish(button, Gesture(accessible_at=self._guard.watch.clock() - _ANIMATION))
        return False

    def _on_mouse(self, button: QAbstractButton, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        if event.type() == _Type.MouseButtonRelease:
            self._on_release(button, hit=button.rect().contains(event.position().toPoint()))
        else:
            self._begin(button)

    def _on_release(self, button: QAbstractButton, *, hit: bool) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is button and hit and button.isDown():
            self._finish(button, self._gesture)

    def _on_key(self, button: QAbstractButton, key: QKeyEvent) -> bool:
        if key.isAutoRepeat():
            return False
        if _is_return(key):
            return self._on_return(button)
        if key.key() == Qt.Key.Key_Space:
            self._begin(button)
        return False

    def _begin(self, button: QAbstractButton) -> None:
        if button.isEnabled():
            self._pressed = button
            self._gesture = Gesture(press=self._guard.watch.press)

    def _finish(self, button: QAbstractButton, gesture: Gesture) -> None:
        refusal = self._guard.judge(gesture)
        if refusal is None:
            self._decide(button)
        else:
            self._refuse(refusal)


class SubmitControl(ButtonControl):
    """Watches the submit buttons of one form, and Return in its fields.

    Args:
        form: The form; this object is its child.
        buttons: Those that submit.
        guard: Judges each press.
        decide: Called with the button for a press that counts.
        refuse: Called with the reason for one that does not.
    """

    def __init__(
        self,
        form: QWidget,
        buttons: Sequence[QAbstractButton],
        guard: GestureGuard,
        *,
        decide: Decide,
        refuse: Refuse,
    ) -> None:
        super().__init__(form, buttons, guard, decide=decide, refuse=refuse)
        self._lines = form.findChildren(QLineEdit)
        window = form.window()
        self._dialog = window if isinstance(window, QDialog) else None
        for watched in self._fields():
            watched.installEventFilter(self)

    def disarm(self) -> None:
        """Let the buttons speak again."""
        for watched in self._fields():
            if shiboken6.isValid(watched):
                watched.removeEventFilter(self)
        self._lines, self._dialog = [], None
        super().disarm()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Read what a person does to a button, and Return in a field of one line."""
        if event.type() == _Type.KeyPress and _is_return(cast("QKeyEvent", event)) and self._buttons:
            if watched in self._lines:
                return self._on_return(self._buttons[0])
            if watched is self._dialog:
                default = self._default_of(self._dialog)
                return default is not None and self._on_return(default)
        return super().eventFilter(watched, event)

    def _fields(self) -> list[QObject]:
        return [*self._lines, *([self._dialog] if self._dialog is not None else [])]

    def _default_of(self, dialog: QDialog) -> QAbstractButton | None:
        default = next((button for button in dialog.findChildren(QPushButton) if button.isDefault()), None)
        return default if default in self._buttons else None


def _is_return(key: QKeyEvent) -> bool:
    plain = key.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return key.key() in _RETURN and plain == Qt.KeyboardModifier.NoModifier
