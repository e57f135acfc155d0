"""``agentic-qt designer``: what it sets, and what it says when something is missing."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from agentic_qt.devtools import designer_command
from agentic_qt.devtools.designer_command import environment, main, missing_library, needs_offscreen, plugin_folder

ROOT = Path(__file__).resolve().parents[2]


def test_the_plugin_is_beside_the_library() -> None:
    assert plugin_folder() == ROOT / "designer"


def test_designer_finds_this_python_the_library_and_the_plugin_before_any_other() -> None:
    given = {"PATH": "/usr/bin", "PYTHONPATH": "/mine", "PYSIDE_DESIGNER_PLUGINS": "/other", "DISPLAY": ":0"}
    made = environment(given, ROOT / "designer")
    assert made["PATH"].split(os.pathsep) == [str(Path(sys.executable).parent), "/usr/bin"]
    assert made["PYTHONPATH"].split(os.pathsep) == [str(ROOT), "/mine"]
    assert made["PYSIDE_DESIGNER_PLUGINS"].split(os.pathsep) == [str(ROOT / "designer"), "/other"]
    assert "QT_QPA_PLATFORM" not in made
    assert given["PATH"] == "/usr/bin"


def test_in_a_virtual_environment_designer_uses_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/venv")
    assert environment({}, ROOT)["VIRTUAL_ENV"] == "/venv"
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert "VIRTUAL_ENV" not in environment({}, ROOT)


@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"])
def test_it_runs_offscreen_only_where_there_is_no_display(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert not needs_offscreen({name: "something"})
    assert needs_offscreen({})
    assert environment({}, ROOT)["QT_QPA_PLATFORM"] == "offscreen"


@pytest.mark.parametrize(
    ("prefix", "cure"), [("/usr", "apt-get install libpython3."), ("/opt/python", "--enable-shared")]
)
def test_a_python_without_its_library_is_told_what_to_do(
    prefix: str, cure: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "base_prefix", prefix)
    monkeypatch.setattr(designer_command, "_library_folders", list)
    monkeypatch.setattr(subprocess, "call", lambda *_args, **_named: pytest.fail("Designer was started"))
    assert main([]) == designer_command.FAILED
    assert cure in capsys.readouterr().err


def test_the_library_of_this_python_is_looked_for_where_it_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sysconfig, "get_config_var", {"LIBDIR": str(tmp_path)}.get)
    monkeypatch.setattr(sys, "abiflags", "_nowhere")
    assert missing_library() != ""
    (tmp_path / f"libpython{sys.version_info.major}.{sys.version_info.minor}_nowhere.so").touch()
    assert missing_library() == ""


def test_it_starts_designer_with_the_forms_and_returns_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    forms = [str(tmp_path / name) for name in ("a.ui", "b.ui")]
    for form in forms:
        Path(form).touch()

    def call(command: list[str], env: dict[str, str]) -> int:
        started.append((command[3:], env["PYSIDE_DESIGNER_PLUGINS"]))
        return 7

    monkeypatch.setattr(designer_command, "missing_library", str)
    monkeypatch.setattr(subprocess, "call", call)
    monkeypatch.delenv("PYSIDE_DESIGNER_PLUGINS", raising=False)
    assert main(forms) == 7
    assert started == [(forms, str(ROOT / "designer"))]


def test_a_form_that_is_not_there_is_told_before_designer_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(subprocess, "call", lambda *_args, **_named: pytest.fail("Designer was started"))
    lost = str(tmp_path / "lost.ui")
    assert main([lost]) == designer_command.FAILED
    assert capsys.readouterr().err == f"agentic-qt designer: {lost}: there is no such file\n"
