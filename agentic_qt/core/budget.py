"""The time that a handler may take: one coarse sweep timer for all running handlers of a registry."""

import asyncio
import math

from agentic_qt.core.flight import Flight

_GRAIN = 0.02
"""Seconds: deadlines nearer to an armed timer than this share it."""


class Budget:
    """Interrupts handlers that are past their deadline.

    No timer per call: a timer that is armed stays, and sweeps all that are due, since qasync keeps cancelled timers
    alive.
    """

    __slots__ = ("_armed", "_running")

    def __init__(self) -> None:
        self._running: set[Flight] = set()
        self._armed = math.inf

    def start(self, loop: asyncio.AbstractEventLoop, flight: Flight, seconds: float) -> None:
        """Watch a handler that has just started."""
        flight.deadline = loop.time() + seconds
        self._running.add(flight)
        self._arm(loop, flight.deadline)

    def end(self, flight: Flight) -> None:
        """Watch a handler no longer."""
        self._running.discard(flight)

    def reset(self) -> None:
        """Forget the timers of a loop that is gone."""
        self._armed = math.inf
        self._running.clear()

    def _arm(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if when < self._armed - _GRAIN:
            self._armed = when
            loop.call_at(when, self._sweep, loop, when)

    def _sweep(self, loop: asyncio.AbstractEventLoop, armed: float) -> None:
        if armed == self._armed:
            self._armed = math.inf
        now = loop.time() + _GRAIN
        for flight in tuple(self._running):
            if flight.deadline <= now:
                self._running.discard(flight)
                flight.interrupt("overdue")
        if self._running:
            self._arm(loop, min(flight.deadline for flight in self._running))
