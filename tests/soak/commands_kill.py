"""Kill -9 in the middle of commands, at labelled points and at random: nothing lost, nothing doubled.

The suite kills 25 times on each store; ``python -m tests.soak.commands_kill --count 5000 --store postgresql`` as often
as is asked for, ``--server`` kills the PostgreSQL server instead of its client. Each process executes a few commands,
one after the other or all at once (in a group), some of them effects outside of the store (lines of a file), and tells
what was answered; the next one asks again under the same ids. The store is kept in memory where that is possible: what
a process has written outlives it there as on a disk.
"""

import argparse
import asyncio
import json
import logging
import os
import random
import select
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from agentic_qt.commands.command_type import Effect
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.transactions import POINTS
from agentic_qt.commands.values import Command, CommandResult, CommandStatus
from agentic_qt.core.errors import CapabilityError
from tests.support.command_kit import ANN, CHIEF, Inspector, add_entry, make_service, schema
from tests.support.command_stores import STORES, stores
from tests.support.postgres_server import PostgresServer

LATER = 1000.0
"""By how many seconds the clock of each process is ahead of the one before: every lease is over."""


def effects_service(url: str, folder: Path, *, round_: int, faults: Callable[[str], None]) -> CommandService:
    """The shop with an effect that adds a line to a file, one for each round."""
    service = make_service(url, clock=lambda: round_ * LATER, faults=faults, outbox=True)

    async def look(effect: Effect) -> None:
        if effect.command_id not in lines_of(folder, effect.command_id):
            raise CapabilityError("not_done")

    @service.effect("file.append", schema=schema(), permission=None, resolve=look)
    async def append(effect: Effect) -> None:
        with file_of(folder, effect.command_id).open("a") as lines:
            lines.write(effect.command_id + "\n")

    return service


def file_of(folder: Path, command_id: str) -> Path:
    """Where the effects of the round of an id go."""
    return folder / command_id.split("-")[1]


def lines_of(folder: Path, command_id: str) -> list[str]:
    """What has happened in the round of an id."""
    file = file_of(folder, command_id)
    return file.read_text().split() if file.exists() else []


def command_of(command_id: str) -> Command:
    """The command of an id: a line of the ledger, or of the file."""
    if command_id.startswith("file"):
        return Command.of("file.append", {}, command_id=command_id)
    return add_entry(command_id)


class Round:
    """One process: it asks again for what the one before left, executes new commands, and dies on the way.

    Args:
        url: The store.
        folder: Where the effects go.
        number: Of the round; in an even one the new commands are submitted all at once.
        old: Ids of the round before.
        new: Ids of this round.
        point: The label at which it kills itself, the how many-th time; empty: not at all.
    """

    def __init__(
        self, url: str, folder: Path, number: int, *, old: list[str], new: list[str], point: tuple[str, int] | None
    ) -> None:
        self.url, self.folder, self.number, self.old, self.new, self.point = url, folder, number, old, new, point

    def fork(self) -> tuple[int, int]:
        """Start it; returns its process id and the pipe of its answers."""
        reading, writing = os.pipe()
        process = os.fork()
        if process:
            os.close(writing)
            return process, reading
        try:
            os.close(reading)
            self.run(writing)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def run(self, pipe: int) -> None:
        """Live, in this process."""
        anyio.run(self._run, pipe)

    async def _run(self, pipe: int) -> None:
        passed: Counter[str] = Counter()
        armed = False

        def faults(label: str) -> None:
            passed[label] += armed
            if self.point is not None and (label, passed[label]) == self.point:
                os.kill(os.getpid(), signal.SIGKILL)

        async with effects_service(self.url, self.folder, round_=self.number, faults=faults) as service:
            for command_id in self.old:
                result = await service.submit(command_of(command_id), ANN)
                if result.status is CommandStatus.UNKNOWN:
                    result = await service.resolve(command_id, CHIEF)
                tell(pipe, "again", command_id, result)
            armed = True
            if self.number % 2:
                for command_id in self.new:
                    await self._submit(service, command_id, pipe)
            else:
                await asyncio.gather(*(self._submit(service, command_id, pipe) for command_id in self.new))

    async def _submit(self, service: CommandService, command_id: str, pipe: int) -> None:
        tell(pipe, "answer", command_id, await service.submit(command_of(command_id), ANN))


def tell(pipe: int, kind: str, command_id: str, result: CommandResult) -> None:
    """Acknowledge a command, as a whole line at once."""
    os.write(pipe, json.dumps([kind, command_id, result.encode().decode()]).encode() + b"\n")


class Run:
    """Many rounds on one store, and what was found.

    Args:
        url: The store.
        folder: Where the effects go.
        server: To kill instead of the client.
        seed: Of the random choices.
    """

    def __init__(self, url: str, folder: Path, server: PostgresServer | None, seed: int) -> None:
        self.url, self.folder, self.server = url, folder, server
        self.random = random.Random(seed)
        self.inspector = Inspector(url)
        self.acknowledged: dict[str, str] = {}
        self.kills: Counter[str] = Counter()
        self.bad: list[str] = []

    def play(self, count: int) -> None:
        """Kill so many times; then let one process end in peace."""
        old: list[str] = []
        number = 0
        while sum(self.kills.values()) < count:
            number += 1
            new = [f"{kind}-{number}-{n}" for n in range(3) for kind in ("entry", "file")]
            self._round(number, old, new)
            self._compare(new)
            old = new
        self._round(number + 1, old, [], harmless=True)
        self._compare(old)
        missing = [each for each in old if each not in self.acknowledged]
        self.bad += [f"{each} has no answer in the end" for each in missing]

    def _round(self, number: int, old: list[str], new: list[str], *, harmless: bool = False) -> None:
        at_random = harmless or self.server is not None or self.random.random() < 0.3
        point = None if at_random else (self.random.choice(POINTS), self.random.randint(1, len(new)))
        process, pipe = Round(self.url, self.folder, number, old=old, new=new, point=point).fork()
        with os.fdopen(pipe, "rb") as answers:
            if at_random and not harmless:
                self._kill_soon(process, pipe)
            self._read(answers.read().decode())
        _, status = os.waitpid(process, 0)
        if os.WIFSIGNALED(status):
            self.kills[point[0] if point else "random"] += 1
        elif os.waitstatus_to_exitcode(status) and self.server is None:
            self.bad.append(f"round {number} ended with {status}")
        if self.server is not None and not harmless:
            self.server.start()

    def _kill_soon(self, process: int, pipe: int) -> None:
        select.select([pipe], [], [], 5)  # until it has begun
        select.select([], [], [], self.random.uniform(0, 0.03))
        if self.server is None:
            os.kill(process, signal.SIGKILL)
        else:
            self.server.kill()
            self.kills["server"] += 1

    def _read(self, text: str) -> None:
        for line in text.splitlines(keepends=True):
            if not line.endswith("\n"):
                continue  # cut in the middle: nobody heard it
            _, command_id, encoded = json.loads(line)
            result = CommandResult.decode(encoded)
            if result.status not in (CommandStatus.SUCCEEDED, CommandStatus.FAILED):
                continue
            known = self.acknowledged.setdefault(command_id, encoded)
            if known != encoded:
                self.bad.append(f"{command_id} was answered in two ways: {known} and {encoded}")

    def _compare(self, ids: list[str]) -> None:
        """Hold what was answered against what is stored."""
        if not ids:
            return
        entries = dict(self._rows("SELECT entry, count(*) FROM ledger WHERE entry IN ({}) GROUP BY entry", ids))
        results = dict(self._rows("SELECT command_id, result FROM agentic_command WHERE command_id IN ({})", ids))
        lines = Counter(lines_of(self.folder, ids[0]))
        audit = "SELECT command_id FROM agentic_audit WHERE event = 'succeeded' AND command_id IN ({})"
        audited = Counter(row[0] for row in self._rows(audit, ids))
        for each in ids:
            happened = lines[each] if each.startswith("file") else entries.get(each, 0)
            stored = results.get(each)
            succeeded = stored is not None and json.loads(stored)["status"] == "succeeded"
            if happened > 1 or (audited[each] != succeeded):
                self.bad.append(f"{each} happened {happened} times, audited {audited[each]} times")
            if succeeded != bool(happened) and not each.startswith("file"):
                self.bad.append(f"{each}: stored {stored}, happened {happened}")
            if each in self.acknowledged and self.acknowledged[each] != stored:
                self.bad.append(f"{each} was acknowledged and is lost")
            if succeeded and not happened:
                self.bad.append(f"{each} succeeded without an effect")

    def _rows(self, statement: str, ids: list[str]) -> list[tuple[Any, ...]]:
        names = {f"id{number}": each for number, each in enumerate(ids)}
        return self.inspector.rows(statement.format(", ".join(f":{name}" for name in names)), **names)


def keep_in_memory() -> None:
    """Let temporary files be in memory, where the system has a folder for that."""
    if os.access("/dev/shm", os.W_OK):
        tempfile.tempdir = "/dev/shm"


def warm_up(url: str, folder: Path) -> None:
    """Live once in this process: what is imported and compiled now need not be in each of the forked ones."""
    with open(os.devnull, "wb") as nobody:  # noqa: PTH123 - a descriptor is what is needed
        Round(url, folder, 0, old=[], new=["entry-warm-0", "file-warm-0"], point=None).run(nobody.fileno())


def main(arguments: list[str] | None = None) -> int:
    """Kill, compare, and print how often and what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="how many kills")
    parser.add_argument("--store", choices=STORES, default="sqlite")
    parser.add_argument("--server", action="store_true", help="kill the PostgreSQL server, not its client")
    parser.add_argument("--seed", type=int, default=1)
    options: Any = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    keep_in_memory()
    with stores(options.store) as (new_store, server), tempfile.TemporaryDirectory() as folder:
        warm_up(new_store(), Path(folder))
        run = Run(new_store(), Path(folder), server if options.server else None, options.seed)
        run.play(options.count)
    killed = f"{sum(run.kills.values())} kills {dict(run.kills)}, {len(run.acknowledged)} commands answered"
    summary = f"{options.store}: {killed}: {len(run.bad)} lost, doubled or untrue"
    print(summary, *run.bad[:20], sep="\n")  # noqa: T201 - what this command is for
    return 1 if run.bad else 0


if __name__ == "__main__":
    sys.exit(main())
