"""The isolated gesture: whether a press may decide an approval, or came too soon or out of a burst of input.

One function decides, `GestureGuard.judge`, and every way to press passes it: click, Space or Return on the focused
button, shortcut, action, Press by an assistive technology. A press counts when the request was shown for a while
without a change of window, place or content, and when no key, press or wheel came shortly before it.

What cannot be known: code of the same process may call `animateClick()`, or trigger an action right after a person's
own isolated press, and that looks like the person. A plain `click()` and events that code made up are refused. An
action of a menu that an assistive technology triggers without any input cannot be told from code, and is refused.
"""

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

from agentic_qt.qt.gestures.input_watch import InputWatch, Press

_FRESH = 0.3  # seconds in which an action may follow the input that triggers it (menus fade out first)


@dataclass(frozen=True, kw_only=True, slots=True)
class GestureTimes:
    """The two times of the isolated gesture, in seconds.

    Args:
        shown_for: How long the request must have been shown, unchanged, before a press.
        quiet_for: How long no input may have come before a press.
    """

    shown_for: float = 1.0
    quiet_for: float = 0.5


class Refusal(StrEnum):
    """Why a press did not count."""

    TOO_EARLY = "too_early"
    NOT_ISOLATED = "not_isolated"
    NOT_A_PERSON = "not_a_person"


@dataclass(frozen=True, kw_only=True, slots=True)
class Gesture:
    """A press on its way to a decision.

    Args:
        press: The input that began it; None when there was none.
        accessible_at: When an assistive technology began to press, seconds of the watch's clock.
    """

    press: Press | None = None
    accessible_at: float | None = None


class GestureGuard(QObject):
    """Judges the gestures on one view of a request.

    Args:
        surface: What shows the request; the guard lives as long.
        watch: The application's input.
        times: The two times.
    """

    def __init__(self, surface: QWidget, watch: InputWatch, *, times: GestureTimes) -> None:
        super().__init__(surface)
        self.watch = watch
        self.times = times
        self._surface = surface
        self._controls: list[QWidget] = []
        self._shown_since: float | None = None
        surface.installEventFilter(self)
        upset = self._upset
        watch.start(upset)
        # A closure: at that moment neither this object nor the surface can be asked any more.
        surface.destroyed.connect(lambda: watch.stop(upset))

    @property
    def is_shown(self) -> bool:
        """Whether the surface has been painted since it was shown."""
        return self._shown_since is not None

    def protect(self, control: QWidget) -> None:
        """Start anew whenever `control` is moved or resized, so that nothing slides under a pointer."""
        self._controls.append(control)

    def reset(self) -> None:
        """Start anew: what is shown has changed."""
        if self._shown_since is not None:
            self._shown_since = self.watch.clock()

    def close(self) -> None:
        """Let the watch go; every later gesture is refused."""
        self.watch.stop(self._upset)
        self._shown_since = None
        self._surface.removeEventFilter(self)

    def judge_action(self) -> Refusal | None:
        """Judge the input that triggers an action (menu, shortcut) right now."""
        press, now = self.watch.press, self.watch.clock()
        if press is None or now - max(press.until, press.released or 0.0) > _FRESH:
            return Refusal.NOT_A_PERSON
        return self.judge(Gesture(press=press))

    def judge(self, gesture: Gesture) -> Refusal | None:
        """Return why the gesture does not count, or None when it does; each press is judged once."""
        if gesture.accessible_at is not None:
            began, gap = gesture.accessible_at, gesture.accessible_at - self.watch.quiet_since
        else:
            press = gesture.press
            if press is None or press.used or not press.real:
                return Refusal.NOT_A_PERSON
            press.used = True
            began = press.at
            gap = press.gap if press is self.watch.press else 0.0  # other input came while it was held
        if self._shown_since is None or began - self._shown_since < self.times.shown_for:
            return Refusal.TOO_EARLY
        return Refusal.NOT_ISOLATED if gap < self.times.quiet_for else None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice when the surface is really seen: shown, and painted."""
        if watched is self._surface:
            kind = event.type()
            if kind in (QEvent.Type.Show, QEvent.Type.Hide):
                self._shown_since = None
            elif kind == QEvent.Type.Paint and self._shown_since is None:
                self._shown_since = self.watch.clock()
        return False

    def _upset(self, moved: QObject | None) -> None:
        own = moved is None or moved is self._surface or moved in self._controls
        if own or (isinstance(moved, QWidget) and moved.isAncestorOf(self._surface)):
            self.reset()
