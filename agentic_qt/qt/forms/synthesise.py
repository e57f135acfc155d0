"""Turns a form into a tool: its name and description, and the JSON Schema of its fields."""

import re
from collections.abc import Iterable
from typing import Any, Final

from PySide6.QtWidgets import QWidget

from agentic_qt.qt.forms.adapters.base import JsonSchema, Profile
from agentic_qt.qt.forms.fields import Field
from agentic_qt.qt.forms.labels import joined
from agentic_qt.qt.forms.properties import declared, text_of
from agentic_qt.qt.forms.walker import walk

TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""What a tool may be called; anything else declares none."""

_DATES: Final = "Dates MUST be provided in 'YYYY-MM-DD' format."


def synthesise(widget: QWidget, profile: Profile = "strict") -> dict[str, Any] | None:
    """Return ``{"name", "title", "description", "inputSchema"}`` of a form, or None when it is no tool.

    None: `toolName` or `toolDescription` is missing, or the name is not ``[A-Za-z0-9_.-]{1,128}``.

    Args:
        widget: The form.
        profile: ``"strict"``, or ``"chromium"`` for exactly what that browser reports of the same form.
    """
    properties = declared(widget)
    name, description = properties.get("toolName"), properties.get("toolDescription")
    if not isinstance(name, str) or not isinstance(description, str) or TOOL_NAME.fullmatch(name) is None:
        return None
    return {
        "name": name,
        "title": text_of(properties.get("toolTitle")),
        "description": description,
        "inputSchema": input_schema(widget, profile),
    }


def input_schema(widget: QWidget, profile: Profile = "strict", *, defaults: bool = True) -> JsonSchema:
    """Return the JSON Schema of a form's input, whether or not it is declared as a tool.

    Args:
        widget: The form.
        profile: As for `synthesise`.
        defaults: Offer the current values as ``default``, in the strict profile: then each keystroke makes another
            schema.
    """
    return schema_of(walk(widget, profile).fields, profile, defaults=defaults)


def schema_of(fields: Iterable[Field], profile: Profile = "strict", *, defaults: bool = True) -> JsonSchema:
    """Return the JSON Schema of fields that were walked in the same profile."""
    known = list(fields)
    properties = {field.key: field_schema(field, profile, defaults=defaults) for field in known}
    schema: JsonSchema = {
        "type": "object",
        "properties": properties,
        "required": [field.key for field in known if field.required],
    }
    return schema if profile == "chromium" else schema | {"additionalProperties": False}


def field_schema(field: Field, profile: Profile = "strict", *, defaults: bool = True) -> JsonSchema:
    """Return the JSON Schema of one field, with its description."""
    adapter, control = field.adapter, field.control
    waits_for = [name for name in field.depends_on if name != field.gate] if field.depends_on else []
    schema = adapter.schema(control, profile, required=field.required, live=not waits_for)
    if profile == "chromium":
        description = field.description
        if schema.get("format") == "date":
            description = f"{description} ({_DATES})" if description else _DATES
        return schema | {"description": description} if description else schema
    notes = adapter.note(control) if not waits_for else f"the options depend on {', '.join(waits_for)}"
    if field.gate is not None:
        notes = joined((notes, f"only when {field.gate} is true"))
    description = joined((field.description, notes)) if notes else field.description
    if description:
        schema["description"] = description
    if defaults and not field.sensitive:
        value = adapter.default(control)
        if value is not None and _may_be(schema, value):
            schema["default"] = value
    return schema


def _may_be(schema: JsonSchema, value: Any) -> bool:
    """Return whether a current value is one that a call may give: a required box may still be unchecked."""
    if "enum" in schema:
        return value in schema["enum"]
    if "minimum" in schema or "maximum" in schema:
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return bool(value == schema.get("const", value))
