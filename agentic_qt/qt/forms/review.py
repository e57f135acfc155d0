"""One call on a form under review: filled where the person sees it, until somebody submits it or turns it down."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from enum import StrEnum
from html import escape
from typing import Any, cast

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QMetaObject, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QDialog, QToolTip, QWidget

from agentic_qt.qt.forms.buttons import FormButtons
from agentic_qt.qt.forms.port import FormPort, PortFilled, edited
from agentic_qt.qt.forms.properties import without_mnemonic
from agentic_qt.qt.forms.second_gesture import SecondGesture
from agentic_qt.qt.forms.states import FORM_ACTIVE, SUBMIT_ACTIVE, announce, mark, reveal
from agentic_qt.qt.forms.submit_control import SubmitControl
from agentic_qt.qt.gestures.gesture import GestureGuard, GestureTimes, Refusal
from agentic_qt.qt.gestures.input_watch import InputWatch
from agentic_qt.schema.canonical import pointer_token

translate = QCoreApplication.translate
_log = logging.getLogger("agentic_qt.qt.forms")

Validate = Callable[[Mapping[str, Any]], Mapping[str, str] | None]
"""An application's own check: what is wrong, by field; nothing when it may be submitted."""


class Ending(StrEnum):
    """How a review ended."""

    SUBMITTED = "submitted"
    REJECTED = "rejected"
    RESET = "reset"
    CLOSED = "closed"
    EXPIRED = "expired"
    CHANGED = "changed"
    GONE = "gone"


class Review(QObject):
    """The form from the moment it is filled to the end of the review.

    Args:
        port: The form's fields.
        buttons: The form's buttons.
        given: The input of the call.
        filled: What filling did.
        validate: The application's own check, asked at each press of Submit.
        confirm: What the form does, for people, where it takes a second gesture on a button of ours; else empty.
        times: The two times of the isolated gesture.
        clock: Seconds, monotonic, for the gesture.

    Attributes:
        button: The submit button that was pressed.
        second: Asks for the second gesture, where one is needed.
        watch: The application's input since the form was filled.
        submitted: What stood in the form then.
        facts: What the preview said of the call.
        problems: Why the last press of Submit was not enough.
    """

    def __init__(
        self,
        port: FormPort,
        buttons: FormButtons,
        *,
        given: Mapping[str, Any],
        filled: PortFilled,
        validate: Validate | None,
        confirm: str,
        times: GestureTimes,
        clock: Callable[[], float],
    ) -> None:
        form = port.form
        super().__init__(form)
        self.port = port
        self.given = given
        self.filled = filled
        self.button: QAbstractButton | None = None
        self.submitted: dict[str, Any] = {}
        self.after_fill = port.values(secret=True)
        self.facts: dict[str, Any] = {}
        self.problems: tuple[str, ...] = ()
        self._validate = validate
        self._ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._connections: list[QMetaObject.Connection] = []
        self._buttons = buttons
        self._hidden = QTimer(self, singleShot=True, interval=0)
        self._hidden.timeout.connect(self._look_whether_hidden)
        self.watch = InputWatch(clock=clock, parent=form)
        self._guard = GestureGuard(form, self.watch, times=times)
        self._control = SubmitControl(form, buttons.submit, self._guard, decide=self._pressed, refuse=self._refused)
        self.second: SecondGesture | None = None
        self._first_values: dict[str, Any] = {}  # what stood in the form at the first of two gestures
        if confirm:
            self.second = SecondGesture(form, confirm, self._guard, decide=self._pressed_again, refuse=self._refused)
        self._arm(form)

    @property
    def is_open(self) -> bool:
        """Whether it still waits for somebody."""
        return not self._ended.done()

    @property
    def is_shown(self) -> bool:
        """Whether the form has been painted since it was filled; earlier presses do not count."""
        return self._guard.is_shown

    async def wait(self, seconds: float) -> Ending:
        """Return how the review ended; past `seconds` it ends by itself.

        Raises:
            asyncio.CancelledError: The call was stopped; the review is closed.
        """
        expiry = asyncio.get_running_loop().call_later(seconds, self.end, Ending.EXPIRED)
        try:
            return await self._ended
        finally:
            expiry.cancel()
            self.end(Ending.CHANGED)
            self._disarm()

    def end(self, ending: Ending) -> None:
        """End the review; the first ending counts."""
        if not self._ended.done() and not self._ended.get_loop().is_closed():
            self._ended.set_result(ending)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: ARG002 - Qt's signature
        """Notice that the form is hidden or closed, and Escape in it."""
        kind = event.type()
        if kind == QEvent.Type.Hide and not event.spontaneous():
            self._hidden.start()  # a dock that is floated hides for a moment
        elif kind == QEvent.Type.ParentChange:
            self.end(Ending.CHANGED)
        elif kind == QEvent.Type.KeyPress and cast("QKeyEvent", event).key() == Qt.Key.Key_Escape and self.is_open:
            self.end(Ending.REJECTED)
            return True
        return False

    def edited_input(self) -> dict[str, Any] | None:
        """Return the input that the person made of it, or None when nothing was edited."""
        return None if self.submitted == self.after_fill else edited(self.given, self.filled.old, self.submitted)

    def _arm(self, form: QWidget) -> None:
        form.installEventFilter(self)
        # A closure on the future alone: at that moment neither this object nor the form can be asked any more.
        end = self.end
        self._connections.append(form.destroyed.connect(lambda: end(Ending.GONE)))
        for button in self._buttons.submit:
            self._connections.append(button.destroyed.connect(lambda: end(Ending.CHANGED)))
        for button in self._buttons.reject:
            self._connections.append(button.clicked.connect(lambda: end(Ending.REJECTED)))
        for button in self._buttons.reset:
            self._connections.append(button.clicked.connect(lambda: end(Ending.RESET)))
        window = form.window()
        if isinstance(window, QDialog):
            self._connections.append(window.rejected.connect(lambda: end(Ending.REJECTED)))
        if self.filled.shown is not None:
            reveal(self.filled.shown)
        submit = self._buttons.submit[0]
        reveal(submit)
        mark(form, FORM_ACTIVE, value=True)
        mark(submit, SUBMIT_ACTIVE, value=True)
        form.update()  # painted once more: the guard counts from there
        words = translate("agentic_qt", "The assistant filled in this form. Check it, then press {button}.")
        announce(form, words.format(button=_shown(submit)), urgent=True)

    def _disarm(self) -> None:
        if self.second is not None:
            self.second.withdraw()
        self._control.disarm()
        if shiboken6.isValid(self._guard):  # else it went with the form
            self._guard.close()
        for connection in self._connections:
            QObject.disconnect(connection)
        self._connections.clear()
        form = self.port.form
        if shiboken6.isValid(form):
            form.removeEventFilter(self)
            mark(form, FORM_ACTIVE, value=None)
            for button in self._buttons.submit:
                if shiboken6.isValid(button):
                    mark(button, SUBMIT_ACTIVE, value=None)
        for owned in (self.second, self._control, self._guard, self.watch, self):
            if owned is not None and shiboken6.isValid(owned):
                owned.deleteLater()

    def _look_whether_hidden(self) -> None:
        if not self.port.form.isVisible():
            self.end(Ending.CLOSED)

    def _pressed(self, button: QAbstractButton) -> None:
        if not self.is_open:
            return
        now = self.port.values(secret=True)
        if not self._accepts(now, button):
            return
        if self.second is not None:
            self._first_values = now
            self.second.ask(button)
            return
        self._submit(button, now)

    def _pressed_again(self, button: QAbstractButton) -> None:
        if not self.is_open or self.second is None:
            return
        now = self.port.values(secret=True)
        if now == self._first_values and button.isEnabled() and self._accepts(now, button):
            self._submit(button, now)
            return
        self.second.withdraw()
        if now != self._first_values:
            words = translate("agentic_qt", "The form was changed meanwhile. Check it, then press {button} again.")
            self._say(words.format(button=_shown(button)), button)

    def _submit(self, button: QAbstractButton, values: dict[str, Any]) -> None:
        self.button, self.submitted = button, values
        self.end(Ending.SUBMITTED)

    def _accepts(self, now: dict[str, Any], button: QAbstractButton) -> bool:
        """Return whether the form may be submitted with what stands in it; else tell the person why not."""
        try:
            problems = self._problems(now)
        except Exception:  # of a validator, an adapter or `validate`: the person must not wonder why nothing happens
            _log.exception("The application's own check failed")
            problems = [translate("agentic_qt", "The application could not check it.")]
        self.problems = tuple(problems)
        if problems:
            words = translate("agentic_qt", "Not submitted yet. {problems}")
            self._say(words.format(problems="\n".join(problems)), button)
        return not problems

    def _problems(self, now: dict[str, Any]) -> list[str]:
        label = self.port.label
        meant = edited(self.given, self.filled.old, now)
        problems = [
            f"{label(issue.pointer) or issue.pointer.lstrip('/')}: {issue.message}" for issue in self.port.check(meant)
        ]
        if not problems and self._validate is not None:
            said = self._validate(now) or {}
            problems = [f"{label(pointer_token(key)) or key}: {problem}" for key, problem in said.items()]
        return problems

    def _refused(self, refusal: Refusal) -> None:
        words = {
            Refusal.TOO_EARLY: translate("agentic_qt", "That was too early. Read the form, then press again."),
            Refusal.NOT_ISOLATED: translate("agentic_qt", "Other input came just before. Pause, then press again."),
        }.get(refusal)
        if words:
            self._say(words, self._buttons.submit[0])

    def _say(self, text: str, beside: QWidget) -> None:
        announce(self.port.form, text, urgent=True)
        if beside.isVisible():
            # Escaped: a value of the model in it must not become markup.
            shown = escape(text).replace("\n", "<br>")
            QToolTip.showText(beside.mapToGlobal(beside.rect().bottomLeft()), f"<qt>{shown}</qt>", beside)


def _shown(button: QAbstractButton) -> str:
    return without_mnemonic(button.text())
