"""What a command costs, as multiples of what the disk takes to keep one page: a write of 4 kB and one fdatasync.

It needs the extra ``commands``, so it runs in an interpreter of its own (see `command`) and prints five numbers.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Actor, Command

_SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id", "name"],
    "additionalProperties": False,
}


IN_FLIGHT = 8
"""How many clients submit at the same time."""


def main() -> None:
    """Print the seconds of a page, of a command alone, of one of many in flight, and both ratios to the page."""
    print(*asyncio.run(measure(int(sys.argv[1]), int(sys.argv[2]))))


async def measure(rounds: int, repetitions: int) -> tuple[float, float, float, float, float]:
    """Let the disk and the commands take turns; a ratio is the median of the ratios of each round.

    Args:
        rounds: How often.
        repetitions: How many of each in a round.
    """
    bare: list[float] = []
    alone: list[float] = []
    together: list[float] = []
    with tempfile.TemporaryDirectory(prefix="agentic-qt-bench-", dir=Path.cwd()) as folder:
        async with _service(Path(folder)) as service:
            await _submit(service, "warm", repetitions, clients=1)
            for number in range(rounds):
                bare.append(_keep_pages(Path(folder) / "pages", repetitions))
                alone.append(await _submit(service, f"{number}-alone", repetitions, clients=1))
                together.append(await _submit(service, f"{number}-together", repetitions, clients=IN_FLIGHT))
    ratios = [median(own / page for own, page in zip(commands, bare, strict=True)) for commands in (alone, together)]
    return median(bare), median(alone), median(together), ratios[0], ratios[1]


def _service(folder: Path) -> CommandService:
    service = CommandService(f"sqlite:///{folder / 'store.sqlite3'}", on_start=_make_table)

    @service.command("customer.rename", schema=_SCHEMA, permission=None, version_of=_version_of)
    def rename(session: Any, input_: dict[str, Any], _actor: Actor) -> dict[str, Any]:
        update = "UPDATE customer SET name = ?, version = version + 1 WHERE id = ?"
        session.connection().exec_driver_sql(update, (input_["name"], input_["id"]))
        return input_

    return service


def _make_table(connection: Any) -> None:
    connection.exec_driver_sql("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, version INTEGER)")
    for number in range(IN_FLIGHT):
        connection.exec_driver_sql("INSERT INTO customer VALUES (?, 'Ada', 0)", (number,))


def _version_of(session: Any, input_: dict[str, Any]) -> int | None:
    found = session.connection().exec_driver_sql("SELECT version FROM customer WHERE id = ?", (input_["id"],))
    version: int | None = found.scalar()
    return version


async def _submit(service: CommandService, label: str, count: int, *, clients: int) -> float:
    """Return the seconds that a command took, when each client submits its own one after the other."""
    each = max(1, count // clients)
    start = time.perf_counter()
    await asyncio.gather(*(_rename(service, client, label, each) for client in range(clients)))
    return (time.perf_counter() - start) / (each * clients)


async def _rename(service: CommandService, row: int, label: str, count: int) -> None:
    actor = Actor(name="bench")
    version = int((await service.preview("customer.rename", {"id": row, "name": ""}, actor)).version or 0)
    for number in range(count):
        input_ = {"id": row, "name": f"{label}-{number}"}
        command = Command.of(
            "customer.rename", input_, command_id=f"{label}-{row}-{number}", expected_version=version + number
        )
        result = await service.submit(command, actor)
        if not result.ok:
            raise RuntimeError(f"A command of the benchmark ended {result.status}: {result.code}")


def _keep_pages(file: Path, count: int) -> float:
    """Return the seconds that a page took."""
    handle = os.open(file, os.O_CREAT | os.O_WRONLY)
    page = b"x" * 4096
    try:
        os.pwrite(handle, page * 1000, 0)
        os.fsync(handle)
        start = time.perf_counter()
        for number in range(count):
            os.pwrite(handle, page, number % 1000 * len(page))
            os.fdatasync(handle)
        return (time.perf_counter() - start) / count
    finally:
        os.close(handle)
