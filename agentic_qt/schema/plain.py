"""A quick look that finds a schema plain: one that needs none of the other checks.

Most schemas of an application are trees of objects, lists and scalars with a few limits. One walk decides that a
schema is such a tree, and so that it is JSON within bounds, valid against the meta-schema, free of references, of
patterns and of all but small choices: nothing that could fail to compile or make much work. Whatever the walk does
not know is not plain, and goes the long way of `check`, `work` and the engine.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from agentic_qt.schema.canonical import MAX_SAFE_INTEGER
from agentic_qt.schema.check import DIALECT

MAX_PLAIN_DEPTH: Final = 16
"""How many levels of subschemas are looked at."""

_MAX_CHOICES: Final = 4
"""How many branches a choice may have."""
_CHOICE_DEPTH: Final = 6
"""How many levels a choice counts for, so that two at most stand in each other: 4 * 4 branches."""
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def is_plain(schema: Any, depth: int = 0) -> bool:
    """Tell whether a schema is plain; False says nothing but that it must be looked at more closely.

    Args:
        schema: Anything.
        depth: Of the subschema, in subschemas.
    """
    if type(schema) is not dict or depth > MAX_PLAIN_DEPTH:
        return False
    for keyword, value in schema.items():
        check = _CHECKS.get(keyword)
        if check is None or not check(value, depth):
            return False
    return True


def _are_plain(value: Any, depth: int) -> bool:
    if type(value) is not dict:
        return False
    for name, child in value.items():
        # Other scripts are sorted by UTF-16 in canonical JSON, which is not how Python sorts.
        if type(name) is not str or not name.isascii() or not is_plain(child, depth + 1):
            return False
    return True


def _is_child(value: Any, depth: int) -> bool:
    return is_plain(value, depth + 1)


def _is_choice(value: Any, depth: int) -> bool:
    if type(value) is not list or not 0 < len(value) <= _MAX_CHOICES:
        return False
    return all(is_plain(child, depth + _CHOICE_DEPTH) for child in value)


def _is_bool_or_child(value: Any, depth: int) -> bool:
    return type(value) is bool or is_plain(value, depth + 1)


def _is_text(value: Any, _depth: int = 0) -> bool:
    return type(value) is str


def _is_bool(value: Any, _depth: int = 0) -> bool:
    return type(value) is bool


def _is_count(value: Any, _depth: int = 0) -> bool:
    return type(value) is int and 0 <= value <= MAX_SAFE_INTEGER


def _is_number(value: Any, _depth: int = 0) -> bool:
    if type(value) is int:
        return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
    # The floats that Python and ECMAScript print alike, as in `canonical`.
    return type(value) is float and (1e-4 <= value < 1e16 or -1e16 < value <= -1e-4) and not value.is_integer()


def _is_step(value: Any, _depth: int = 0) -> bool:
    return _is_number(value) and value > 0


def _is_scalar(value: Any, _depth: int = 0) -> bool:
    return value is None or type(value) is str or type(value) is bool or _is_number(value)


def _are_scalars(value: Any, _depth: int = 0) -> bool:
    return type(value) is list and all(map(_is_scalar, value))


def _is_data(value: Any, _depth: int = 0) -> bool:
    return _is_scalar(value) or _are_scalars(value)


def _is_enum(value: Any, _depth: int = 0) -> bool:
    return _are_scalars(value) and len(value) > 0


def _are_names(value: Any, _depth: int = 0) -> bool:
    return type(value) is list and all(type(name) is str for name in value) and len(set(value)) == len(value)


def _is_type(value: Any, _depth: int = 0) -> bool:
    if type(value) is str:
        return value in _TYPES
    return _are_names(value) and len(value) > 0 and _TYPES.issuperset(value)


def _is_dialect(value: Any, _depth: int = 0) -> bool:
    return type(value) is str and value == DIALECT


_CHECKS: Final[Mapping[str, Callable[[Any, int], bool]]] = {
    "type": _is_type,
    "title": _is_text,
    "description": _is_text,
    "properties": _are_plain,
    "items": _is_child,
    "additionalProperties": _is_bool_or_child,
    "anyOf": _is_choice,
    "$schema": _is_dialect,
    "$comment": _is_text,
    "format": _is_text,
    "enum": _is_enum,
    "const": _is_scalar,
    "default": _is_data,
    "examples": _are_scalars,
    "required": _are_names,
    "readOnly": _is_bool,
    "writeOnly": _is_bool,
    "deprecated": _is_bool,
    "uniqueItems": _is_bool,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": _is_step,
}
