"""Reads task files: what is asked, and which ends are right. The format is `tasks.schema.json`, beside this file."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from agentic_qt.core.errors import AgenticQtError
from agentic_qt.schema.validate import compile_schema

_MOST_BYTES = 4_000_000
_SHOWN_ISSUES = 5


class TaskFileError(AgenticQtError):
    """A task file cannot be used; the message says which and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedCall:
    """A call that is right.

    Args:
        name: The capability.
        inputs: The inputs that are as good as each other; empty: any.
        status: How it ends.
        code: The code of that end; empty: any.
    """

    name: str
    inputs: tuple[Mapping[str, Any], ...] = ()
    status: str = "ok"
    code: str = ""

    def is_meant(self, name: str, given: Mapping[str, Any] | None) -> bool:
        """Tell whether a call with this name and input is the one, however it ends."""
        return name == self.name and (not self.inputs or given in self.inputs)


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """One right end of a task; see the schema.

    Args:
        calls: What must have been called.
        may: What may have been called, with any end.
        records: The records that differ: their new values, or None for one that is gone.
        view: What the window shows.
    """

    calls: tuple[ExpectedCall, ...] = ()
    may: tuple[ExpectedCall, ...] = ()
    records: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    view: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_refusal(self) -> bool:
        """Whether nothing is to be done."""
        return not self.calls and not self.records


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One request to one application.

    Args:
        id: Unique in its file.
        category: What it is counted under.
        language: Of the request.
        app: Where the application's stage is, ``module:function``.
        request: The person's words.
        setup: What is changed before.
        ends: The right ends.
    """

    id: str
    category: str
    language: str
    app: str
    request: str
    setup: Mapping[str, Any]
    ends: tuple[End, ...]


def load(paths: Iterable[Path]) -> tuple[Task, ...]:
    """Read task files.

    Raises:
        TaskFileError: One cannot be read or is malformed, or two tasks share an id.
    """
    tasks: dict[str, Task] = {}
    for path in paths:
        for task in _read(path):
            if task.id in tasks:
                raise TaskFileError(f"{path}: there are two tasks {task.id!r}")
            tasks[task.id] = task
    return tuple(tasks.values())


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a task file."""
    text = files("agentic_qt.devtools.evaluation").joinpath("tasks.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _read(path: Path) -> list[Task]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TaskFileError(f"{path} is larger than {_MOST_BYTES} bytes")
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TaskFileError(f"{path} cannot be read: {error}") from error
    issues = compile_schema(schema()).issues(content, limit=_SHOWN_ISSUES)
    if issues:
        raise TaskFileError(f"{path}: " + "; ".join(f"{issue.pointer or '/'} {issue.message}" for issue in issues))
    return [_task(path, entry, content["apps"]) for entry in content["tasks"]]


def _task(path: Path, entry: Mapping[str, Any], apps: Mapping[str, str]) -> Task:
    if entry["app"] not in apps:
        raise TaskFileError(f"{path}: task {entry['id']!r} names the app {entry['app']!r}, which is not in apps")
    return Task(
        id=entry["id"],
        category=entry["category"],
        language=entry["language"],
        app=apps[entry["app"]],
        request=entry["request"],
        setup=entry.get("setup", {}),
        ends=tuple(_end(path, entry["id"], end) for end in entry["expect"]),
    )


def _end(path: Path, task_id: str, entry: Mapping[str, Any]) -> End:
    calls = tuple(_call(call) for call in entry.get("calls", ()))
    if any(not call.inputs for call in calls):
        raise TaskFileError(f"{path}: a call that task {task_id!r} expects has no input")
    return End(
        calls=calls,
        may=tuple(_call(call) for call in entry.get("may", ())),
        records=entry.get("records", {}),
        view=entry.get("view", {}),
    )


def _call(entry: Mapping[str, Any]) -> ExpectedCall:
    given = entry.get("input")
    layers: list[Mapping[str, Any]] = [{}, *entry.get("variants", ())]
    inputs = [] if given is None else [_laid_over(given, layer) for layer in layers]
    return ExpectedCall(
        name=entry["name"], inputs=tuple(inputs), status=entry.get("status", "ok"), code=entry.get("code", "")
    )


def _laid_over(given: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**given, **layer}.items() if value is not None}
