"""Rows that take turns in one process, and the medians of their ratios."""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of a table.

    Args:
        name: What was measured.
        value: The median, in `unit`.
        unit: Such as "us" (CPU time) or "ms" (wall time).
        ratio: The median of the ratios of each round to the base row of the same round.
        base: The base row's name.
        limit: What the ratio, or the value where there is no ratio, should not exceed on an idle machine; or None.
    """

    name: str
    value: float
    unit: str
    ratio: float | None = None
    base: str = ""
    limit: float | None = None

    @property
    def within(self) -> bool:
        """Whether the row keeps to its limit."""
        measured = self.value if self.ratio is None else self.ratio
        return self.limit is None or measured <= self.limit


async def take_turns(
    rows: Mapping[str, Callable[[int], Awaitable[None]]], *, base: str, rounds: int, repetitions: int
) -> dict[str, tuple[float, float]]:
    """Run every row once a round, so that what disturbs the machine disturbs all of them.

    Args:
        rows: Name -> a function that does its work so many times.
        base: The row that the others are compared with.
        rounds: How many rounds.
        repetitions: How often each row does its work in a round.

    Returns:
        Name -> (median CPU microseconds per repetition, median ratio to the base row of the same round).
    """
    times: dict[str, list[float]] = {name: [] for name in rows}
    for function in rows.values():
        await function(repetitions // 10 + 1)  # warm
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for name, function in rows.items():
            start = time.process_time()
            await function(repetitions)
            times[name].append((time.process_time() - start) / repetitions * 1e6)
    gc.unfreeze()
    return {
        name: (statistics.median(own), statistics.median(a / b for a, b in zip(own, times[base], strict=True)))
        for name, own in times.items()
    }
