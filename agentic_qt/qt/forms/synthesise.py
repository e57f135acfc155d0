"""Turns a form into a tool: its name and description, and the JSON Schema of its fields."""

from typing import Any

from PySide6.QtWidgets import QWidget

from agentic_qt.qt.forms.adapters.base import Profile


def is_form(widget: QWidget) -> bool:
    """Return whether a widget declares a tool: it has both `toolName` and `toolDescription`, whatever they hold."""
    raise NotImplementedError


def synthesise(widget: QWidget, profile: Profile = "strict") -> dict[str, Any] | None:
    """Return ``{"name", "title", "description", "inputSchema"}`` of a form, or None when it is no tool.

    None: `toolName` or `toolDescription` is missing, or the name is not ``[A-Za-z0-9_.-]{1,128}``.

    Args:
        widget: The form.
        profile: ``"strict"``, or ``"chromium"`` for exactly what that browser reports of the same form.
    """
    raise NotImplementedError


def input_schema(widget: QWidget, profile: Profile = "strict") -> dict[str, Any]:
    """Return the JSON Schema of a form's input, whether or not it is declared as a tool."""
    raise NotImplementedError
