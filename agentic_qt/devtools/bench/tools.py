"""What the tools array of a request costs: again, when nothing has changed, and after one change."""

import asyncio
import itertools
import json
import time
from collections.abc import Callable
from copy import deepcopy
from statistics import median

from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry
from agentic_qt.devtools.bench.calls import SCHEMA
from agentic_qt.devtools.bench.measuring import Row, take_turns
from agentic_qt.protocol.snapshot import Snapshot

FEW, MANY = 100, 1000
UNCHANGED_LIMIT = 1.5
"""Ten times the tools may cost at most this many times as much: that is, the same."""


def measure(rounds: int, repetitions: int) -> list[Row]:
    """Measure both; the second against writing all tools out anew."""
    registries = {count: _registry(count) for count in (FEW, MANY)}
    again = _again(registries, rounds, repetitions)
    return [*again, *_after_a_change(registries[MANY], rounds)]


def _again(registries: dict[int, Registry], rounds: int, repetitions: int) -> list[Row]:
    def serialising(registry: Registry) -> Callable[[int], object]:
        async def serialise(times: int) -> None:
            for _ in range(times):
                _ = Snapshot.of(registry).tools.json

        return serialise

    rows = {f"{count:,} tools serialised again, unchanged": serialising(registries[count]) for count in (FEW, MANY)}
    few, many = rows
    found = asyncio.run(take_turns(rows, base=few, rounds=rounds, repetitions=repetitions * 10))  # type: ignore[arg-type]
    return [
        Row(name=few, value=found[few][0], unit="us"),
        Row(name=many, value=found[many][0], unit="us", ratio=found[many][1], base=few, limit=UNCHANGED_LIMIT),
    ]


def _after_a_change(registry: Registry, rounds: int) -> list[Row]:
    anew: list[float] = []
    changed: list[float] = []
    serial = itertools.count()
    registration = next(iter(registry.registrations))
    for _ in range(rounds):
        registration = registration.replace(description=f"Create an order, wording {next(serial)}.")
        changed.append(_timed(lambda: Snapshot.of(registry).tools.json))
        tools = list(Snapshot.of(registry).tools)
        anew.append(_timed(lambda tools=tools: json.dumps(tools)))  # type: ignore[misc]
    return [
        Row(name=f"{MANY:,} tools serialised anew by json.dumps alone", value=median(anew), unit="us"),
        Row(
            name=f"{MANY:,} tools serialised after one change, snapshot included",
            value=median(changed),
            unit="us",
            ratio=median(after / before for after, before in zip(changed, anew, strict=True)),
            base="json.dumps alone",
        ),
    ]


def _timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e6


def _registry(count: int) -> Registry:
    registry = Registry()
    for number in range(count):
        schema = deepcopy(SCHEMA)
        schema["properties"]["title"]["maxLength"] = 200 + number  # type: ignore[index]
        registry.register(
            Capability(
                name=f"orders.create_{number}",
                description="Create an order.",
                input_schema=schema,
                risk="read",
                handler=lambda **_: None,
            )
        )
    return registry
