"""What a command costs, as multiples of what the disk takes to keep one page: a write of 4 kB and one fdatasync.

The target is the other way round: commands/s divided by fdatasync/s of the same run, at least 0.8 with one writer.
"""

import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.orm import Session

from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Actor, Command
from agentic_qt.devtools.bench.measuring import Row

LEAST = 0.8
"""Commands/s divided by fdatasync/s."""
_SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id", "name"],
    "additionalProperties": False,
}


async def measure(rounds: int, repetitions: int) -> list[Row]:
    """Let the disk and the commands take turns.

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
            mode = service.facts.journal_mode.upper()
    ratio = median(own / other for own, other in zip(commands, bare, strict=True))
    name = f"a command on SQLite ({mode}, one writer); commands/s by fdatasync/s {1 / ratio:.2f}, at least {LEAST:g}"
    return [
        Row(name="write 4 kB and fdatasync (wall time)", value=median(bare) * 1e6, unit="us"),
        Row(name=name, value=median(commands) * 1e6, unit="us", ratio=ratio, base="fdatasync", limit=1 / LEAST),
    ]


def _service(folder: Path) -> CommandService:
    service = CommandService(f"sqlite:///{folder / 'store.sqlite3'}", on_start=_make_table)

    @service.command("customer.rename", schema=_SCHEMA, permission=None, version_of=_version_of)
    def rename(session: Session, input_: dict[str, Any], _actor: Actor) -> dict[str, Any]:
        session.execute(text("UPDATE customer SET name = :name, version = version + 1 WHERE id = :id"), input_)
        return input_

    return service


def _make_table(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, version INTEGER)"))
    connection.execute(text("INSERT INTO customer VALUES (1, 'Ada', 0)"))


def _version_of(session: Session, input_: dict[str, Any]) -> int | None:
    version: int | None = session.execute(text("SELECT version FROM customer WHERE id = :id"), input_).scalar()
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
