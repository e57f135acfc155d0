"""The command line: what it offers, how it refuses, and what the benchmark prints."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agentic_qt import __version__
from agentic_qt.cli import BROKEN_PIPE, main

CARS = Path(__file__).resolve().parents[1] / "examples" / "car_search" / "cars.ui"


def agentic_qt(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agentic_qt", *arguments],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_the_commands(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: agentic-qt COMMAND")
    assert "bench" in printed


@pytest.mark.parametrize("arguments", [["--version"], ["-V"]])
def test_version_is_that_of_the_package(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"agentic-qt {__version__}\n"


def test_the_version_is_the_same_everywhere() -> None:
    root = Path(__file__).resolve().parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "agentic_qt/__init__.py"
    assert f"## [{__version__}]" in (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["brew"]) == 2
    printed = capsys.readouterr()
    assert "there is no command 'brew'" in printed.err
    assert "bench" in printed.err
    assert printed.out == ""


def test_the_module_is_the_same_command_line() -> None:
    done = agentic_qt("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"agentic-qt {__version__}\n", "")


def piped(*arguments: str, unbuffered: str) -> tuple[int, str]:
    """Run a command whose output goes into a real pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "agentic_qt", *arguments],
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONUNBUFFERED": unbuffered},
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=50,
            check=False,
        )
    finally:
        os.close(writing)
    return done.returncode, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a broken pipe is another error there")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", [["--help"], ["forms", "schema", str(CARS)], ["lint", str(CARS), "--json"], ["bench", "tools"]]
)
def test_a_reader_that_goes_away_ends_a_command_without_a_word(arguments: list[str], unbuffered: str) -> None:
    assert piped(*arguments, unbuffered=unbuffered) == (BROKEN_PIPE, "")


@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_a_benchmark_of_no_rounds_is_wrong_usage(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "calls", f"--rounds={number}"])
    assert ended.value.code == 2
    assert f"'{number}' is no number from 1" in capsys.readouterr().err


def test_the_benchmark_explains_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert all(option in printed for option in ("--json", "--rounds", "--repetitions", "NAME", "commands"))


def test_the_benchmark_prints_its_rows_as_json() -> None:
    done = agentic_qt("bench", "calls", "--json", "--rounds", "1", "--repetitions", "5")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["machine"].keys() == {"python", "machine", "cores"}
    names = [
        "floor: json.loads + jsonschema-rs + call",
        "read",
        "mutating, remembered approval",
        "read, async handler",
        "read, nested start",
    ]
    loops = ("GUI loop", "asyncio")
    rows = {row["name"]: row for row in report["rows"]}
    assert list(rows) == [f"{name} ({loop})" for loop in loops for name in names]
    assert all(row["value"] > 0 and row["ratio"] > 0 and row["unit"] == "us" for row in rows.values())
    assert [rows[f"{names[0]} ({loop})"]["ratio"] for loop in loops] == [1.0, 1.0]
    limits = {name: row["limit"] for name, row in rows.items() if row["limit"] is not None}
    assert set(limits) == {f"{name} ({loop})" for name in names[1:3] for loop in loops}
    for row in rows.values():
        assert row["within"] == (row["limit"] is None or row["ratio"] <= row["limit"])


def test_the_benchmark_prints_a_table() -> None:
    done = agentic_qt("bench", "calls", "--rounds", "1", "--repetitions", "5")
    assert done.returncode == 0, done.stderr
    heading, *lines = done.stdout.splitlines()
    assert heading.split() == ["row", "median", "ratio", "limit"]
    assert len(lines) == 10
    assert any("1.00x" in line for line in lines)
