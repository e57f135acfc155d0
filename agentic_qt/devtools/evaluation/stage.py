"""What the evaluation needs of an application: a fresh window, its records, and what it shows.

An application under evaluation has a function ``async open_stage(folder, setup, registry) -> Stage``; task files name
it as ``module:function``.
"""

import pkgutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtWidgets import QWidget

from agentic_qt.core.registry import Registry
from agentic_qt.devtools.evaluation.tasks import TaskFileError


class Stage(Protocol):
    """One fresh copy of an application, made for one task; its assistant is attached by the evaluation."""

    @property
    def window(self) -> QWidget:
        """The window, not shown yet, its capabilities declared."""

    @property
    def instructions(self) -> str:
        """The system message that the application gives its assistant."""

    def records(self) -> dict[str, dict[str, Any]]:
        """Return all that lasts, read from where it lies: by key, the fields of each record."""

    def view(self) -> dict[str, Any]:
        """Return what the window shows and nothing keeps: selection, filter, theme."""

    async def close(self) -> None:
        """Let go of files; the window is gone by then."""


OpenStage = Callable[[Path, Mapping[str, Any], Registry], Awaitable[Stage]]
"""Makes a stage in an empty folder, changed as the task's set-up says; raises ValueError for one it does not know.

The registry is the one that the window's assistant will get.
"""


def find(name: str) -> OpenStage:
    """Return the function that a task file names.

    Raises:
        TaskFileError: There is none.
    """
    try:
        found = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise TaskFileError(f"the application {name!r} cannot be loaded: {error}") from error
    if not callable(found):
        raise TaskFileError(f"the application {name!r} is no function")
    return found  # type: ignore[no-any-return]  # what it returns is found out when it is called
