"""Choices: a list of values with their texts, as JSON Schema and as words for the model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agentic_qt.qt.forms.adapters.base import JsonSchema, Profile

MAX_OPTIONS: Final = 200
"""A longer list is not enumerated: it would fill the model's context."""
MAX_PAIRS: Final = 40
"""How many values are explained by their texts."""
SOME: Final = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One value of a choice.

    Args:
        value: On the wire.
        text: On the screen; None when nothing stands beside it.
        index: Where the widget has it.
    """

    value: str
    text: str | None = None
    index: int = -1


def choice_schema(options: Sequence[Option], profile: Profile) -> JsonSchema:
    """Return the schema of one of the options."""
    if profile == "chromium":
        branches = [
            {"type": "string", "const": option.value} | ({} if option.text is None else {"title": option.text})
            for option in options
        ]
        return {"type": "string", "anyOf": branches, "enum": [option.value for option in options]}
    if len(options) > MAX_OPTIONS:
        return {"type": "string", "examples": [option.value for option in options[:SOME]]}
    # A choice of nothing takes the empty text, which leaves it as it is: an empty enum is refused by providers.
    return {"type": "string", "enum": [option.value for option in options] or [""]}


def unique_items(items: JsonSchema, profile: Profile, *, required: bool) -> JsonSchema:
    """Return the schema of a list of choices without duplicates."""
    schema: JsonSchema = {"type": "array", "items": items, "uniqueItems": True}
    return schema | {"minItems": 1} if required and profile == "strict" else schema


def distinct(options: Iterable[Option]) -> list[Option]:
    """Return the options without those whose value came before."""
    found: dict[str, Option] = {}
    for option in options:
        found.setdefault(option.value, option)
    return list(found.values())


def pairs(options: Sequence[Option]) -> str:
    """Return ``value = text`` for each option whose text says more than its value."""
    texts = [(option.value, (option.text or "").strip()) for option in options]
    told = [f"{value} = {text}" for value, text in texts if text and text != value]
    if len(told) > MAX_PAIRS:
        return "; ".join(told[:SOME]) + f"; and {len(told) - SOME} more"
    return "; ".join(told)
