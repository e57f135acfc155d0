"""``agentic-qt forms``: the tools of a .ui file, and what a large form costs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentic_qt.devtools.bench import forms

FILES = Path(__file__).parents[1] / "data" / "forms"


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "agentic_qt", "forms", *map(str, arguments)],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize(
    ("profile", "guest"),
    [
        ([], {"type": "string", "minLength": 1, "maxLength": 60, "description": "Guest"}),
        (["--profile", "strict"], {"type": "string", "minLength": 1, "maxLength": 60, "description": "Guest"}),
        (["--profile", "chromium"], {"type": "string", "description": "Guest *:"}),
    ],
)
def test_the_tools_of_a_file_are_printed_as_json(profile, guest):
    done = run("schema", FILES / "booking.ui", *profile)
    assert (done.returncode, done.stderr) == (0, "")
    (tool,) = json.loads(done.stdout)
    assert (tool["name"], tool["inputSchema"]["properties"]["guest"]) == ("table.book", guest)


def test_a_file_without_tools_is_told_by_the_exit_code(tmp_path):
    file = tmp_path / "plain.ui"
    file.write_text('<ui version="4.0"><class>W</class><widget class="QWidget" name="W"/></ui>', encoding="utf-8")
    done = run("schema", file)
    assert (done.returncode, json.loads(done.stdout)) == (1, [])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory"),
        ("not xml", "it is no .ui file: syntax error: line 1, column 0"),
        ('<ui version="4.0"><class>W</class></ui>', "it is no .ui file: it describes no widget"),
    ],
)
def test_what_is_no_ui_file_is_wrong_usage_and_one_line(tmp_path, content, said):
    file = tmp_path / "nothing.ui"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    done = run("schema", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"agentic-qt forms: {file}: {said}\n"


def test_the_costs_of_a_large_form_are_measured(qapp):
    describing, filling, *wide = forms.measure(5)
    assert (describing.unit, describing.limit, filling.limit) == ("ms", 5.0, 50.0)
    # Generous here, where other work shares the machine; the limits are judged by the benchmark on an idle one.
    assert 0 < describing.value < 10 * describing.limit
    assert 0 < filling.value < 10 * filling.limit
    assert [row.name.split("200 ")[1].split(",")[0] for row in wide] == [
        "groups of radio buttons",
        "lists",
        "calendars",
    ]
    assert all(0 < row.value < 20 * describing.limit for row in wide)
