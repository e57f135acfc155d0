"""The write lane of a registry: one mutating or destructive handler at a time, first come, first served."""

import asyncio
import time
from collections import deque

from agentic_qt.core.flight import Flight

LANE_PATIENCE = 2.0
"""Seconds that a write waits for the one before it."""


class Lane:
    """Who writes now and who waits."""

    __slots__ = ("_waiting", "holder", "patience")

    def __init__(self, *, patience: float = LANE_PATIENCE) -> None:
        self.patience = patience
        self.holder: Flight | None = None
        self._waiting: deque[tuple[Flight, asyncio.Future[bool]]] = deque()

    def take(self, flight: Flight) -> bool:
        """Take the free lane at once; False when somebody holds it."""
        if self.holder is None:
            self.holder = flight
            return True
        return False

    async def wait(self, flight: Flight) -> bool:
        """Wait for the lane; False when patience ran out. A cancelled wait leaves nothing behind."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._waiting.append((flight, turn))
        loop.call_later(self.patience, _give_up, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if self.holder is flight:  # handed over in the same turn of the loop
                self.release(flight)
            raise
        finally:
            if self.holder is not flight:
                self._waiting = deque(entry for entry in self._waiting if entry[0] is not flight)

    def withdraw(self, flight: Flight) -> None:
        """Take a stopped call out of the line; its wait ends at once."""
        for waiting, turn in self._waiting:
            if waiting is flight and not turn.done():
                turn.set_result(False)

    def release(self, flight: Flight) -> None:
        """Hand the lane to the next in line; does nothing for who does not hold it."""
        if self.holder is not flight:
            return
        self.holder = None
        while self._waiting:
            waiting, turn = self._waiting.popleft()
            if not turn.done():
                self.holder = waiting
                turn.set_result(True)
                return

    def describe(self) -> str:
        """Name what runs and for how long."""
        if self.holder is None:
            return "nothing"
        return describe(self.holder)


def describe(flight: Flight) -> str:
    """Name a running call and its age in seconds: "customer.delete (call c7, 12 s)"."""
    age = time.perf_counter() - (flight.started_at or flight.started)
    return f"{flight.call.name} (call {flight.call_id}, {age:.0f} s)"


def _give_up(turn: "asyncio.Future[bool]") -> None:
    if not turn.done():
        turn.set_result(False)
