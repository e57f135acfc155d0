"""Every text for people can be translated: lupdate finds each of them, in the one context of the library."""

import ast
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "agentic_qt"
FOLDERS = (PACKAGE / "ui", PACKAGE / "qt" / "forms", PACKAGE / "qt" / "gestures")
SOURCES = sorted(path for folder in FOLDERS for path in folder.rglob("*.py"))
LUPDATE = Path(sys.executable).with_name("pyside6-lupdate")
# Methods and classes that show their first text to people.
SHOWING = {
    *("setText", "setToolTip", "setStatusTip", "setWindowTitle", "setPlaceholderText", "setAccessibleName"),
    *("setAccessibleDescription", "announce", "showText", "QAction", "QMenu", "QPushButton", "LinkButton"),
    *("GuardedButton", "SecondButton"),
}


def calls(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield node, node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def used():
    """The texts that are handed to `translate`, with the contexts."""
    return {
        tuple(ast.literal_eval(argument) for argument in node.args[:2])
        for path in SOURCES
        for node, name in calls(path)
        if name == "translate" and isinstance(node.func, ast.Name) and len(node.args) > 1  # that of types has one
    }


def test_there_is_one_context():
    assert {context for context, _ in used()} == {"agentic_qt"}


def test_no_text_is_shown_untranslated():
    bare = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in SOURCES
        for node, name in calls(path)
        if name in SHOWING
        and any(
            isinstance(argument, ast.Constant)
            and isinstance(argument.value, str)
            and any(letter.isalpha() for letter in argument.value)
            for argument in node.args[:2]
        )
    ]
    assert bare == []


@pytest.mark.skipif(not LUPDATE.exists(), reason="pyside6-lupdate is not installed beside this Python")
def test_lupdate_finds_every_text(tmp_path):
    """It does not look into f-strings, for one."""
    file = tmp_path / "found.ts"
    done = subprocess.run(
        [LUPDATE, *map(str, SOURCES), "-ts", str(file)], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    contexts = ET.parse(file).findall("context")
    assert [context.findtext("name") for context in contexts] == ["agentic_qt"]
    assert {("agentic_qt", message.findtext("source")) for message in contexts[0].findall("message")} == used()
