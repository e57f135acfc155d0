"""What the documents say is so: their Python runs, their commands exist, their links lead somewhere."""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from agentic_qt.cli import _COMMANDS
from agentic_qt.devtools.bench import command as bench
from examples.crm import app as crm

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = tuple(sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("designer/**/*.md")]))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
MODULE = re.compile(r"`([\w/]+\.py)`")

# Closes the windows that a fence shows, so that `agentic_qt.run` ends; runs the fence, then its tests.
RUN_A_FENCE = """
import asyncio, inspect, sys
from PySide6 import QtCore, QtWidgets

class Application(QtWidgets.QApplication):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.turns = 0
        self.closer = QtCore.QTimer(self, interval=50)
        self.closer.timeout.connect(self.close_later)
        self.closer.start()

    def close_later(self):
        self.turns += 1
        if self.turns > 1:  # the first may come before the loop has looked for windows
            self.closeAllWindows()

QtWidgets.QApplication = Application
names = {"__name__": "__main__"}
source = sys.stdin.read()
code = compile(source, "fence", "exec")
exec(code, names)
for name, value in list(names.items()):
    if name.startswith("test_"):
        asyncio.run(value()) if inspect.iscoroutinefunction(value) else value()
        print("ran", name)
"""


def fences(language: str) -> list[object]:
    return [
        pytest.param(found[2], id=f"{document.name}-{number}")
        for document in DOCUMENTS
        for number, found in enumerate(FENCE.finditer(document.read_text(encoding="utf-8")), start=1)
        if found[1] == language
    ]


@pytest.mark.parametrize("source", fences("python"))
def test_each_python_fence_runs(source: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN_A_FENCE],
        input=source,
        cwd=ROOT,
        env={**environment, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith("This plugin does not support")]
    assert (done.returncode, said) == (0, [])
    wanted = re.findall(r"^(?:async )?def (test_\w+)", source, re.MULTILINE)
    assert done.stdout.splitlines() == [f"ran {name}" for name in wanted]


def test_the_readme_shows_a_whole_program_and_the_examples_show_the_same() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = (ROOT / "examples" / "todo.py").read_text(encoding="utf-8")
    start = example.index("class Todo")
    declared = example[start : example.index("def show")].strip()
    assert declared in readme


@pytest.fixture(scope="module")
def dev() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def accepts(parse: object, arguments: list[str]) -> bool:
    """Whether a parser takes the arguments; it may print what it likes."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            parse(arguments)  # type: ignore[operator]  # argparse's parse_args
        except SystemExit as ended:
            return ended.code in (0, None)
    return True


def speaks(module: str, arguments: list[str]) -> bool:
    """Whether the source of a module that can be started names each of the options; reads it, imports nothing."""
    place = ROOT.joinpath(*module.split("."))
    source = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
    if not source.exists():
        return False
    text = source.read_text(encoding="utf-8")
    return all(f'"{word.partition("=")[0]}"' in text for word in arguments if word.startswith("-"))


def dev_takes(command: str, arguments: list[str]) -> bool:
    """Whether a command of dev.py takes the arguments."""
    if command == "demo":
        return accepts(crm._parser().parse_args, arguments)
    if command == "bench":
        return accepts(bench._parser().parse_args, arguments)
    if command == "test":
        return all((ROOT / word).exists() for word in arguments if not word.startswith("-"))
    return arguments == []


def is_known(words: list[str], dev: ModuleType) -> bool:
    """Whether a command of a document exists, with its options."""
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        words = words[1:]
    match words:
        case ["python3", "dev.py", command, *arguments] if command in dev.COMMANDS:
            return dev_takes(command, arguments)
        case ["agentic-qt", "bench", *arguments]:
            return accepts(bench._parser().parse_args, arguments)
        case ["agentic-qt", command, *arguments] if command in _COMMANDS:
            return speaks(_COMMANDS[command][0], arguments)
        case ["agentic-qt", command]:
            return command in ("--help", "--version")
        case ["python", "-m", "examples.crm", *arguments]:
            return dev_takes("demo", arguments)
        case ["python", "-m", module, *arguments]:
            return speaks(module, arguments)
        case ["cd" | "git", *_]:
            return True
    return False


@pytest.mark.parametrize("source", fences("sh"))
def test_each_command_exists(source: str, dev: ModuleType) -> None:
    lines = source.replace("\\\n", " ").splitlines()
    commands = [words for line in lines if (words := shlex.split(line, comments=True))]
    assert commands
    assert [words for words in commands if not is_known(words, dev)] == []


def test_a_command_that_does_not_exist_is_found(dev: ModuleType) -> None:
    assert not is_known(shlex.split("python3 dev.py demo --aprove all"), dev)
    assert not is_known(shlex.split("python3 dev.py demmo"), dev)
    assert not is_known(shlex.split("agentic-qt brew"), dev)
    assert not is_known(shlex.split("python3 dev.py test tests/nowhere"), dev)
    assert not is_known(shlex.split("curl example.org"), dev)
    assert not is_known(shlex.split("agentic-qt eval --limmit 3"), dev)
    assert not is_known(shlex.split("python -m tests.soak.forms --counts 3"), dev)
    assert not is_known(shlex.split("python -m tests.soak.norms"), dev)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_each_link_and_picture_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    places = [found[1] or found[2] for found in LINK.finditer(FENCE.sub("", text))]
    local = [
        place.partition("#")[0] for place in places if not place.startswith(("http://", "https://", "mailto:", "#"))
    ]
    assert [place for place in local if not (document.parent / place).exists()] == []


def test_the_first_commands_of_the_readme_are_the_two_that_set_everything_up() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line for found in FENCE.finditer(readme) if found[1] == "sh" for line in found[2].splitlines()]
    assert commands[:2] == ["python3 dev.py demo", "python3 dev.py test"]


def test_the_map_names_every_module_and_nothing_else() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "agentic_qt"
    modules = {path.relative_to(package).as_posix() for path in package.rglob("*.py") if path.name != "__init__.py"}
    listed = set(re.findall(r"^- `([\w/]+\.py)`", text[text.index("## The map") :], re.MULTILINE)) | {"__main__.py"}
    assert listed == modules
    spoken_of = set(MODULE.findall(text[: text.index("## The map")]))
    short = {path.rsplit("/", 1)[-1] for path in modules}
    assert {
        path for path in spoken_of if path not in modules and path not in short and not (ROOT / path).exists()
    } == set()
