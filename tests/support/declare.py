"""Capabilities and calls for tests, with sensible defaults."""

from typing import Any

from agentic_qt.core.call import Call
from agentic_qt.core.capability import Capability

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def declare(name: str = "note.add", **fields: Any) -> Capability:
    """A capability with sensible defaults."""
    fields.setdefault("description", "Add a note.")
    fields.setdefault("input_schema", {"type": "object", "properties": {}})
    fields.setdefault("risk", "read")
    fields.setdefault("handler", lambda: "done")
    return Capability(name=name, **fields)


def text_capability(handler: Any, **fields: Any) -> Capability:
    """A capability that takes one required string."""
    return declare(input_schema=TEXT, handler=handler, **fields)


def call(name: str = "note.add", **fields: Any) -> Call:
    """A call of it; the input comes as keyword ``input``."""
    return Call(name=name, **fields)
