"""What a command costs, as multiples of what the disk takes to keep one page: a write of 4 kB and one fdatasync.

It needs the extra ``commands``, so it runs in an interpreter of its own (see `command`) and prints three numbers.
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


def main() -> None:
    """Print the seconds of a page, the seconds of a command, and the ratio; the arguments are rounds, repetitions."""
    print(*asyncio.run(measure(int(sys.argv[1]), int(sys.argv[2]))))


async def measure(rounds: int, repetitions: int) -> tuple[float, float, float]:
    """Let the disk and the commands take turns; the ratio is the median of the ratios of each round.

    Args:
        rounds: How often.
        repetitions: How many of each in a round.
    """
    bare: list[float] = []
    commands: list[float] = []
    with tempfile.TemporaryDirectory(prefix="agentic-qt-bench-", dir=Path.cwd()) as folder:
        async with _service(Path(folder)) as service:
            await _submit(service, "warm", repetitions)
            for number in range(rounds):
                bare.append(_keep_pages(Path(folder) / "pages", repetitions))
                commands.append(await _submit(service, str(number), repetitions))
    ratios = [own / other for own, other in zip(commands, bare, strict=True)]
    return median(bare), median(commands), median(ratios)


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
    connection.exec_driver_sql("INSERT INTO customer VALUES (1, 'Ada', 0)")


def _version_of(session: Any, input_: dict[str, Any]) -> int | None:
    found = session.connection().exec_driver_sql("SELECT version FROM customer WHERE id = ?", (input_["id"],))
    version: int | None = found.scalar()
    return version


async def _submit(service: CommandService, label: str, count: int) -> float:
    """Return the seconds that a command took."""
    actor = Actor(name="bench")
    preview = await service.preview("customer.rename", {"id": 1, "name": ""}, actor)
    version = int(preview.version or 0)
    start = time.perf_counter()
    for number in range(count):
        input_ = {"id": 1, "name": f"{label}-{number}"}
        command = Command.of(
            "customer.rename", input_, command_id=f"{label}-{number}", expected_version=version + number
        )
        result = await service.submit(command, actor)
        if not result.ok:
            raise RuntimeError(f"A command of the benchmark ended {result.status}: {result.code}")
    return (time.perf_counter() - start) / count


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
