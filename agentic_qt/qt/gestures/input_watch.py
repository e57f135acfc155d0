"""What the keyboard and the pointer did last, anywhere in the application, while an approval waits.

It sees every event through one application-wide filter, keeps no content, and judges nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QInputEvent, QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QApplication

_BEAT = 0.1  # seconds
_STALL = 0.4  # seconds without a beat: what arrives now was typed before it could be seen what it does

_Type = QEvent.Type
_PRESSES = {
    _Type.KeyPress: "key",
    _Type.ShortcutOverride: "key",
    _Type.MouseButtonPress: "pointer",
    _Type.MouseButtonDblClick: "pointer",
    _Type.NonClientAreaMouseButtonPress: "frame",
    _Type.TouchBegin: "pointer",
    _Type.TabletPress: "pointer",
    _Type.Wheel: "wheel",
    _Type.InputMethod: "text",
}
_RELEASES = {
    _Type.KeyRelease: "key",
    _Type.MouseButtonRelease: "pointer",
    _Type.TouchEnd: "pointer",
    _Type.TabletRelease: "pointer",
}
_UPSETS = frozenset({_Type.Move, _Type.Resize, _Type.WindowActivate})
_MODIFIERS = frozenset(
    {
        Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_AltGr, Qt.Key.Key_Meta,
        Qt.Key.Key_Super_L, Qt.Key.Key_Super_R, Qt.Key.Key_Hyper_L, Qt.Key.Key_Hyper_R,
        Qt.Key.Key_CapsLock, Qt.Key.Key_NumLock, Qt.Key.Key_ScrollLock,
    }
)  # fmt: skip


@dataclass(kw_only=True, slots=True)
class Press:
    """One physical key, button or wheel step; the many events that Qt makes of it are one press.

    Args:
        kind: key, pointer, frame, wheel or text.
        code: The key; 0 for the others.
        stamp: The platform's time stamp, the same in all events of a press.
        at: When it began, seconds of the watch's clock.
        gap: Seconds without any input before it.
        until: When it last went on (auto-repeat, further wheel steps).
        real: Whether the platform sent it, rather than code.
        released: When it ended, or None.
        used: Whether it has already been judged as a gesture.
    """

    kind: str
    code: int
    stamp: int
    at: float
    gap: float
    until: float
    real: bool
    released: float | None = None
    used: bool = False


class InputWatch(QObject):
    """The application-wide filter; it is in force only between `start` and `stop`.

    Args:
        clock: Seconds, monotonic.
        parent: The owner.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.clock = clock
        self.press: Press | None = None
        self._quiet_since = clock()
        self._last_beat = clock()
        self._upset: list[Callable[[QObject | None], None]] = []
        self._timer = QTimer(self, interval=int(_BEAT * 1000))
        self._timer.timeout.connect(self.beat)

    def start(self, upset: Callable[[QObject | None], None]) -> None:
        """Watch, and call `upset` with what was moved, resized or activated; with None after the loop had stalled."""
        if not self._upset:
            self.press = None
            self._quiet_since = self._last_beat = self.clock()
            QApplication.instance().installEventFilter(self)  # type: ignore[union-attr] # there is one: we are a view
            self._timer.start()
        self._upset.append(upset)

    def stop(self, upset: Callable[[QObject | None], None]) -> None:
        """End a `start`; when the last one ends, the filter leaves the application."""
        if upset not in self._upset:
            return
        self._upset.remove(upset)
        application = QApplication.instance()
        if not self._upset and application is not None and shiboken6.isValid(self):  # else Qt has done it
            application.removeEventFilter(self)
            self._timer.stop()

    @property
    def quiet_since(self) -> float:
        """When the last press went on, or when the watch began."""
        return self._quiet_since

    def beat(self) -> None:
        """Note that the event loop is alive; called by a timer of the watch."""
        now = self.clock()
        stalled = now - self._last_beat > _STALL
        self._last_beat = now
        if stalled:
            self._tell(None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """See every event of the application and stop none."""
        kind = event.type()
        if kind in _PRESSES:
            self._see(_PRESSES[kind], event)
        elif kind in _RELEASES:
            self._see_release(_RELEASES[kind])
        elif kind in _UPSETS:
            self._tell(watched)
        return False

    def _tell(self, watched: QObject | None) -> None:
        for upset in tuple(self._upset):
            upset(watched)

    def _see(self, kind: str, event: QEvent) -> None:
        code, repeated = 0, kind in ("wheel", "text")
        if kind == "key":
            key = cast("QKeyEvent", event)
            if key.key() in _MODIFIERS:
                return
            code, repeated = int(key.key()), key.isAutoRepeat()
        elif kind == "text" and not _has_text(cast("QInputMethodEvent", event)):
            return
        stamp = event.timestamp() if isinstance(event, QInputEvent) else 0
        now, last = self.clock(), self.press
        if last is not None and last.kind == kind and last.code == code and last.released is None:
            if repeated:
                last.until = self._quiet_since = now
                return
            if last.stamp == stamp:  # the same press on its way to another receiver
                last.real = last.real or event.spontaneous()
                return
        stalled = now - self._last_beat > _STALL
        self.press = Press(
            kind=kind,
            code=code,
            stamp=stamp,
            at=now,
            gap=0.0 if stalled else now - self._quiet_since,
            until=now,
            real=event.spontaneous(),
        )
        self._quiet_since = now

    def _see_release(self, kind: str) -> None:
        if self.press is not None and self.press.kind == kind:
            self.press.released = self.clock()


def _has_text(event: QInputMethodEvent) -> bool:
    return bool(event.preeditString() or event.commitString())
