"""Processes that die, that compete, and disks that must be waited for; the long runs of `tests.soak`, kept short."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentic_qt.commands.library import choose_library
from tests.support.command_stores import STORES
from tests.support.postgres_server import missing

ROOT = Path(__file__).resolve().parents[2]


def run(module: str, *arguments: str) -> str:
    """Run a long run with a small count in a process of its own, since it forks; prints what it found."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.soak.{module}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    if done.returncode and (reason := missing()) is not None and "postgresql" in arguments:
        pytest.skip(reason)
    print(done.stdout)  # noqa: T201 - the counts; see them with pytest -rP
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("store", STORES)
def test_kill_9_loses_and_doubles_nothing(store: str) -> None:
    """G29, FC-39"""
    out = run("commands_kill", "--count", "25", "--store", store)
    assert "25 kills" in out
    assert "0 lost, doubled or untrue" in out


def test_kill_9_of_the_server_loses_and_doubles_nothing() -> None:
    """G29"""
    out = run("commands_kill", "--count", "2", "--store", "postgresql", "--server")
    assert "2 kills" in out


@pytest.mark.parametrize("store", STORES)
def test_the_same_ids_from_four_processes_happen_once_and_get_the_same_bytes(store: str) -> None:
    """G29, FC-24"""
    out = run("commands_shared_ids", "--count", "60", "--store", store)
    assert "60 effects, replies identical" in out


@pytest.mark.parametrize("store", STORES)
def test_of_executing_and_giving_up_exactly_one_wins_and_all_agree(store: str) -> None:
    """G32"""
    out = run("commands_races", "--count", "100", "--store", store)
    won = re.search(r"'succeeded': (\d+)", out)
    assert won is not None
    assert 0 < int(won[1]) < 100, "both must win now and then, or nothing was raced"


FSYNCS = """
import os, sys
sys.path.insert(0, {root!r})
import anyio
from tests.support.command_kit import ANN, add_entry, make_service
async def main():
    async with make_service("sqlite:///" + sys.argv[1]) as service:
        await service.submit(add_entry("warm"), ANN)
        for number in range(5):
            os.write(1, b"submit\\n")
            assert (await service.submit(add_entry(str(number)), ANN)).ok
            os.write(1, b"reply\\n")
        os.write(1, b"again\\n")
        assert (await service.submit(add_entry("0"), ANN)).ok
        os.write(1, b"reply\\n")
anyio.run(main)
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.skipif(not choose_library().wal_safe, reason="no SQLite library with the WAL fix")
def test_a_command_is_on_the_disk_before_its_reply_and_costs_one_wait_for_it(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    done = subprocess.run(
        ["strace", "-f", "-e", "trace=write,fsync,fdatasync", "-o", str(trace), sys.executable, "-c",
         FSYNCS.format(root=str(ROOT)), str(tmp_path / "store.sqlite3")],
        capture_output=True, text=True, timeout=55, check=False,
    )  # fmt: skip
    if "ptrace" in done.stderr.lower() and done.returncode:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr[-2000:]
    marks = re.findall(r'write\(1, "(submit|reply|again)|\b(fsync|fdatasync)\(\d+\)', trace.read_text())
    words = [mark or "sync" for mark, _ in marks]  # pysqlite3 is built with fsync, other libraries with fdatasync
    begin = words.index("submit")
    assert words[begin : words.index("again")] == ["submit", "sync", "reply"] * 5
    again = words.index("again")
    assert words[again : again + 2] == ["again", "reply"], "a replay writes nothing"
