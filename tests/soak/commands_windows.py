"""Windows that end at once anywhere between a proposal and its outcome: each line is written exactly once.

``python -m tests.soak.commands_windows --count 1000`` kills so often. Each process takes up what the one before left
(resume), goes on with further calls through registry, approval, journal and service, and ends in the middle of one of
its transactions, chosen at random; the driver then looks at rows, proposals, journal and what was told.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from agentic_qt.commands.capability import command_capability
from agentic_qt.commands.recovery import Leftovers
from tests.support.command_kit import Inspector, make_service, schema
from tests.support.desk_kit import STRING, open_window

CRASH = 9
BATCH = 4
"""How many calls a process makes, so that the last crash points lie in the middle of the work."""
DEEPEST = 110
"""How many labelled points such a process passes, about."""


async def live(url: str, first: int, crash_at: int) -> None:
    """One life: take up what was left, then make new calls; end at the given point."""
    passed = 0

    def fault(_label: str) -> None:
        nonlocal passed
        passed += 1
        if passed == crash_at:
            os._exit(CRASH)

    async with make_service(url, faults=fault) as service:
        window = open_window(service)
        window.registry.register(
            command_capability(
                window.desk,
                "ledger.note",
                description="Add to the ledger what a name stands for",
                input_schema=schema(name=STRING),
                command_type="ledger.add",
                risk="mutating",
                input_of=lambda given: {"entry": given["name"].removeprefix("n-")},
            )
        )
        left = await window.recovery.look()
        if left.unknown or left.interrupted:
            raise AssertionError(f"unknown in a store of one's own: {left}")
        for proposal in left.waiting:
            _tell(proposal.data()["entry"], (await window.recovery.resume(proposal.proposal_id)).status)
        for number in range(first, first + BATCH):
            entry = f"{number}"
            name, given = ("ledger.note", {"name": f"n-{entry}"}) if number % 2 else ("ledger.add", {"entry": entry})
            outcome = await window.call(name, given, id=entry, client="assistant", run="r")
            _tell(entry, outcome.status)
        await window.desk.close()


def _tell(entry: str, status: str) -> None:
    sys.stdout.write(f"{entry} {status}\n")
    sys.stdout.flush()


def run(count: int, *, seed: int, progress: Callable[[str], object] = lambda _line: None) -> dict[str, int]:
    """Kill so many windows and return what was counted; raises AssertionError for anything lost or doubled."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'store.sqlite3'}"
        kills = lives = 0
        told: set[str] = set()
        while kills < count:
            done = _life(url, lives * BATCH, chance.randint(1, DEEPEST))
            lives += 1
            kills += done.returncode == CRASH
            if done.returncode not in (0, CRASH):
                raise AssertionError(done.stderr)
            told |= {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" ok")}
            progress(f"{kills}/{count}")
        last = _life(url, lives * BATCH, 0)
        if last.returncode != 0:
            raise AssertionError(last.stderr)
        told |= {line.split()[0] for line in last.stdout.splitlines() if line.endswith(" ok")}
        return _judge(url, told) | {"kills": kills, "lives": lives + 1}


def _life(url: str, first: int, crash_at: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tests.soak.commands_windows", "--live", url, str(first), str(crash_at)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def _judge(url: str, told: set[str]) -> dict[str, int]:
    inspector = Inspector(url)
    entries = inspector.entries()
    doubled = {entry for entry, times in entries.items() if times != 1}
    lost = told - entries.keys()
    succeeded = inspector.rows("SELECT COUNT(*) FROM agentic_proposal WHERE state = 'succeeded'")[0][0]
    proposed = inspector.rows("SELECT COUNT(DISTINCT input) FROM agentic_proposal")[0][0]
    left = asyncio.run(_look(url))
    if doubled or lost or left != Leftovers() or not succeeded == proposed == len(entries):
        raise AssertionError(f"{doubled=} {lost=} {left=} {succeeded=} {proposed=} entries={len(entries)}")
    return {"told": len(told), "written": len(entries), "lost": len(lost), "doubled": len(doubled)}


async def _look(url: str) -> Leftovers:
    async with make_service(url) as service:
        return await open_window(service).recovery.look()


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--live", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.live:
        url, first, crash_at = options.live
        asyncio.run(live(url, int(first), int(crash_at)))
        return
    counted = run(options.count, seed=options.seed, progress=lambda line: sys.stderr.write(f"{line}\r"))
    sys.stdout.write(f"{counted}\n")


if __name__ == "__main__":
    main()
