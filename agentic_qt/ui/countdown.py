"""Counts seconds down for a person who waits."""

import math
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

_TICK_MS = 250


class Countdown(QObject):
    """Tells the whole seconds that are left, once for each, and 0 at the end.

    Args:
        show: Called with the seconds that are left.
        parent: It goes with it.
    """

    def __init__(self, show: Callable[[int], None], parent: QObject) -> None:
        super().__init__(parent)
        self._show = show
        self._until = 0.0
        self._shown = -1
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.timeout.connect(self._tick)

    @property
    def active(self) -> bool:
        """Whether it still counts."""
        return self._timer.isActive()

    def start(self, seconds: float) -> None:
        """Begin, in place of what it counted before."""
        self._until = time.monotonic() + seconds
        self._shown = -1
        self._timer.start()
        self._tick()

    def stop(self) -> None:
        """Tell nothing any more."""
        self._timer.stop()

    def _tick(self) -> None:
        left = max(0, math.ceil(self._until - time.monotonic()))
        if left == 0:
            self._timer.stop()
        if left != self._shown:
            self._shown = left
            self._show(left)
