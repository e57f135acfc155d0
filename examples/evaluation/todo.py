"""The list of things to do under evaluation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentic_qt.core.registry import Registry
from examples.todo import Todo


class TodoStage:
    """One window with the items of the set-up."""

    instructions = "You keep a list of things to do for the person who writes to you."

    def __init__(self, items: list[str]) -> None:
        self.window = Todo()
        self.window.items.addItems(items)

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the items by their place: ``items/0``."""
        items = self.window.items
        return {f"items/{row}": {"text": items.item(row).text()} for row in range(items.count())}

    def view(self) -> dict[str, Any]:
        """There is nothing but the items."""
        return {}

    async def close(self) -> None:
        """There is no file."""


async def open_stage(
    folder: Path,  # noqa: ARG001 - it keeps nothing in files
    setup: Mapping[str, Any],
    registry: Registry,  # noqa: ARG001 - its window finds it by itself
) -> TodoStage:
    """Return a fresh window.

    Args:
        folder: Not used.
        setup: ``items``, a list of texts.
        registry: Not used.

    Raises:
        ValueError: The set-up holds something else.
    """
    unknown = setup.keys() - {"items"}
    if unknown:
        raise ValueError(f"the list knows no {', '.join(sorted(unknown))}")
    return TodoStage(list(setup.get("items", ())))
