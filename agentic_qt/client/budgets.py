"""How much one run may do, and how long it has really worked: values and a clock, no judgement."""

import time
from collections.abc import Callable
from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class Budgets:
    """The limits of one run; reaching one ends it, with an answer for each open call.

    Args:
        turns: Requests to the chat model; the calls of the last one still run.
        calls: Tool calls that begin.
        writes: Calls that change something and began to run.
        tokens: Read and written, as the provider reports them, else estimated.
        seconds: Of work; the time that a person takes over an approval does not count.
    """

    turns: int = 8
    calls: int = 256
    writes: int = 64
    tokens: int = 1_000_000
    seconds: float = 900.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 1 if field.name == "turns" else 0
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
                raise ValueError(f"the budget {field.name} must be a number of at least {least}, not {value!r}")


class WorkClock:
    """Counts seconds while it is not paused; pauses nest."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._before = 0.0
        self._pauses = 0

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._pauses > 0

    @property
    def elapsed(self) -> float:
        """Seconds that have counted."""
        return self._before + (0.0 if self._pauses else self._clock() - self._since)

    def pause(self) -> None:
        """Stand still until `resume` was called as often as this."""
        if not self._pauses:
            self._before += self._clock() - self._since
        self._pauses += 1

    def resume(self) -> None:
        """End one pause."""
        if self._pauses == 1:
            self._since = self._clock()
        self._pauses = max(0, self._pauses - 1)
