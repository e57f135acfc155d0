"""Executing against giving up, at the same moment and on connections of their own: exactly one wins, and all agree.

``python -m tests.soak.commands_races --count 1000 --store postgresql``; the suite runs fewer.
"""

import argparse
import asyncio
import logging
import random
import sys
from collections import Counter
from typing import Any

import anyio

from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import CommandStatus
from tests.support.command_kit import ANN, Inspector, add_entry, make_service
from tests.support.command_stores import STORES, stores

FINAL = (CommandStatus.SUCCEEDED, CommandStatus.FAILED)


async def race(one: CommandService, other: CommandService, command_id: str) -> tuple[set[bytes], str]:
    """Let both go; returns the different answers and who won."""

    async def submit() -> bytes:
        return (await one.submit(add_entry(command_id), ANN)).encode()

    async def abandon() -> bytes:
        for _ in range(random.randint(0, 8)):  # a submission takes more turns of the loop before its thread has it
            await asyncio.sleep(0)
        return (await other.abandon(command_id, ANN)).encode()

    both = [submit, abandon]
    random.shuffle(both)
    answers = set(await asyncio.gather(*(each() for each in both)))
    final = await other.status(command_id)
    assert final.status in FINAL, final
    return answers | {final.encode()}, final.status.value


async def run(url: str, count: int) -> tuple[Counter[str], int]:
    """Run the races; returns who won how often, and in how many the parties disagreed."""
    winners: Counter[str] = Counter()
    disagreed = 0
    async with make_service(url) as one, make_service(url) as other:
        for number in range(count):
            answers, winner = await race(one, other, f"race-{number}")
            winners[winner] += 1
            disagreed += len(answers) != 1
    return winners, disagreed


def main(arguments: list[str] | None = None) -> int:
    """Race, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many races")
    parser.add_argument("--store", choices=STORES, default="sqlite")
    options: Any = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    with stores(options.store) as (new_store, _):
        url = new_store()
        winners, disagreed = anyio.run(run, url, options.count)
        entries = Inspector(url).entries()
    true = sum(entries.values()) == len(entries) == winners["succeeded"]
    found = f"{disagreed} disagreements, {len(entries)} effects"
    print(f"{options.store}: {options.count} races {dict(winners)}, {found}")  # noqa: T201 - what this command is for
    return 0 if true and not disagreed else 1


if __name__ == "__main__":
    sys.exit(main())
