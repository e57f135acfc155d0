"""The second of the two gestures that submit a destructive form: a button of ours, in another place than the form's.

It stands over the window without a place in any layout, so that the form stays as it was, and covers no widget where
there is room. What it submits is judged by the same guard, from the moment at which the button appeared.
"""

from collections.abc import Iterator
from typing import cast

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget

from agentic_qt.qt.forms.states import SUBMIT_ACTIVE, announce, mark
from agentic_qt.qt.forms.submit_control import ButtonControl, Decide, Refuse
from agentic_qt.qt.gestures.gesture import GestureGuard

translate = QCoreApplication.translate

_REACH = 12  # button heights: further away nobody looks for it

# Not by the palette alone: Fusion makes a lighter colour of it, in which the text cannot be read.
_LOOK = """
QPushButton { background: palette(highlight); color: palette(highlighted-text); border: 2px solid palette(highlight);
    border-radius: 4px; padding: 4px 14px; }
QPushButton:focus { border-color: palette(highlighted-text); }
QPushButton:pressed { background: palette(dark); }
"""


class SecondButton(QPushButton):
    """The second button; no part of the form, whose own buttons are looked for anew at any time."""


class SecondGesture(QObject):
    """Asks for the second gesture once the first was made.

    Args:
        form: The form; this object is its child.
        title: What the form does, for people.
        guard: Judges the press.
        decide: Called with the form's own button when the second press counts.
        refuse: Called with the reason when it does not.

    Attributes:
        button: The second button while it is asked for, else None.
    """

    def __init__(self, form: QWidget, title: str, guard: GestureGuard, *, decide: Decide, refuse: Refuse) -> None:
        super().__init__(form)
        self.button: SecondButton | None = None
        self._form = form
        self._title = title
        self._guard = guard
        self._decide = decide
        self._refuse = refuse
        self._control: ButtonControl | None = None
        self._first: QAbstractButton | None = None

    def ask(self, first: QAbstractButton) -> None:
        """Show the second button, or show it anew; the time that it must be shown for begins."""
        self.withdraw()
        window = self._form.window()
        button = self.button = SecondButton(window)
        self._first = first
        words = translate("agentic_qt", "Yes: {title}").format(title=self._title)
        button.setAccessibleName(words)
        button.setAccessibleDescription(
            translate("agentic_qt", "The second of two presses. After it the form is submitted.")
        )
        button.setAutoDefault(False)
        _stand_out(button)
        metrics = button.fontMetrics()
        room = window.width() - 4 * metrics.height()
        button.setText(metrics.elidedText(words, Qt.TextElideMode.ElideRight, room).replace("&", "&&"))
        mark(first, SUBMIT_ACTIVE, value=None)
        mark(button, SUBMIT_ACTIVE, value=True)
        button.ensurePolished()
        button.resize(button.sizeHint())  # after the style sheets have had their say
        self._place()
        QWidget.setTabOrder(first, button)
        button.show()
        button.raise_()
        for watched in (button, first, window):
            watched.installEventFilter(self)
        self._control = ButtonControl(
            button, [button], self._guard, decide=lambda _: self._decide(first), refuse=self._refuse
        )
        self._guard.reset()
        asked = translate("agentic_qt", "This needs a second press: {button}.")
        announce(self._form, asked.format(button=words), urgent=True)

    def withdraw(self) -> None:
        """Take the second button away."""
        button, self.button = self.button, None
        first, self._first = self._first, None
        control, self._control = self._control, None
        if control is not None and shiboken6.isValid(control):
            control.disarm()
        if first is not None and shiboken6.isValid(first):
            first.removeEventFilter(self)
            mark(first, SUBMIT_ACTIVE, value=True)
        if shiboken6.isValid(self._form):
            self._form.window().removeEventFilter(self)
        if button is not None and shiboken6.isValid(button):
            if button.hasFocus() and first is not None and shiboken6.isValid(first):
                first.setFocus()
            button.hide()
            button.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay near the form's button, where each move starts the time anew; Escape takes the first press back."""
        if watched is self.button:
            if event.type() == QEvent.Type.KeyPress and cast("QKeyEvent", event).key() == Qt.Key.Key_Escape:
                self.withdraw()
                return True
        elif event.type() == QEvent.Type.Resize or (watched is self._first and event.type() == QEvent.Type.Move):
            self._place()
        return False

    def _place(self) -> None:
        if self.button is not None and self._first is not None:
            self.button.move(_free_place(self.button, self._first))


def _stand_out(button: QPushButton) -> None:
    """Let a button be seen where no style sheet reaches it: that of the form does not, since it stands beside it."""
    if not button.style().inherits("QStyleSheetStyle"):
        button.setStyleSheet(_LOOK)
    font = button.font()
    font.setBold(True)
    button.setFont(font)


def _free_place(button: QWidget, first: QWidget) -> QPoint:
    """Return where a button covers nothing, as near to another one as can be; else what covers the least.

    Buttons, the other one above all, are covered last: two gestures in one place would be none.
    """
    window = button.window()
    near = QRect(first.mapTo(window, QPoint()), first.size())
    gap = button.height() // 3
    widgets = [widget for widget in _visible(window) if widget is not button]
    taken = [QRect(widget.mapTo(window, QPoint()), widget.size()) for widget in widgets]
    buttons = [place for widget, place in zip(widgets, taken, strict=True) if isinstance(widget, QAbstractButton)]
    buttons.append(near.adjusted(-gap, -gap, gap, gap))
    best, fewest = QPoint(), len(taken) * (len(buttons) + 2)
    for place in sorted(_places(window.rect(), near, button.size()), key=lambda place: _distance(place, near)):
        covered = sum(map(place.intersects, taken)) + len(taken) * sum(map(place.intersects, buttons))
        if covered < fewest:
            best, fewest = place.topLeft(), covered
        if not covered:
            break
    return best


def _visible(window: QWidget) -> Iterator[QWidget]:
    for widget in window.findChildren(QWidget):
        if widget.isVisible() and widget.window() is window and not _holds_others(widget):
            yield widget


def _holds_others(widget: QWidget) -> bool:
    return widget.layout() is not None or (type(widget) is QWidget and bool(widget.children()))


def _places(room: QRect, near: QRect, size: QSize) -> Iterator[QRect]:
    step = max(4, size.height() // 2)
    reach = _REACH * size.height()
    for y in range(near.top() - reach, near.bottom() + reach, step):
        for x in (near.left(), near.right() - size.width() + 1, near.left() - size.width() - step, near.right() + step):
            place = QRect(QPoint(x, y), size)
            if room.contains(place):
                yield place


def _distance(place: QRect, near: QRect) -> int:
    return (place.center() - near.center()).manhattanLength()
