"""The parameters that a model is shown for one capability name: one schema, or the union of its targets'.

What stands here only describes: the core judges every call by the exact schema of the registration meant.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentic_qt.core.capability import Target

TARGET_PROPERTY = "_target"
"""Chooses among several targets of a name; a capability cannot have a property of its own called so."""

_MAX_LABEL = 80
_DEFINITIONS = "$defs"
# Identity and dialect of a document; useless on the wire, and some providers refuse them.
_LEFT_OUT = ("$schema", "$id")


def parameters_of(schemas: Sequence[Mapping[str, Any]], targets: Sequence[Target]) -> dict[str, Any]:
    """Return the root object schema of a tool.

    Args:
        schemas: One for each living target, in the catalogue's order; at least one.
        targets: Those that must be chosen among; empty when there is nothing to choose.
    """
    plain = [_plain(schema) for schema in schemas]
    parameters = plain[0] if _all_same(plain) else _union(plain)
    for key in _LEFT_OUT:
        parameters.pop(key, None)
    parameters["type"] = "object"
    properties = parameters.get("properties", {})
    required = parameters.get("required", [])
    if targets:
        properties = {TARGET_PROPERTY: _target_property(targets), **properties}
        required = [TARGET_PROPERTY, *required]
    parameters["properties"] = properties
    if required:
        parameters["required"] = required
    else:
        parameters.pop("required", None)
    return parameters


def expectation(parameters: Mapping[str, Any]) -> str:
    """Say in one English sentence what arguments a tool takes."""
    properties = parameters.get("properties", {})
    required = set(parameters.get("required", ()))
    words = [_property_word(name, schema, required=required) for name, schema in properties.items()]
    listed = ", ".join(words) if words else "no properties"
    return f"Expected one JSON object with {listed}."


def _property_word(name: str, schema: Any, *, required: Iterable[str]) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    notes = [kind] if isinstance(kind, str) else []
    if name not in required:
        notes.append("optional")
    return f"{name} ({', '.join(notes)})" if notes else name


def _target_property(targets: Sequence[Target]) -> dict[str, Any]:
    listed = "; ".join(f"{target.id}: {_label(target)}" if target.label else target.id for target in targets)
    return {
        "type": "string",
        "enum": [target.id for target in targets],
        "description": f"Which one is meant. {listed}",
    }


def _label(target: Target) -> str:
    # A label may come from the data of the application: one line, and short.
    label = " ".join(target.label.split())
    return label if len(label) <= _MAX_LABEL else f"{label[: _MAX_LABEL - 1]}…"


def _union(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    definitions, agree = _definitions(schemas)
    names = dict.fromkeys(name for schema in schemas for name in schema.get("properties", {}))
    properties = {}
    for name in names:
        taken = [found for schema in schemas for found in _takes(schema, name)]
        properties[name] = _either([value if _portable(value, agree=agree) else _widened(value) for value in taken])
    union: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [
            name
            for name in schemas[0].get("required", ())
            if all(name in schema.get("required", ()) for schema in schemas)
        ],
    }
    if all(_is_closed(schema) for schema in schemas):
        union["additionalProperties"] = False
    if definitions:
        union[_DEFINITIONS] = definitions
    return union


def _takes(schema: Mapping[str, Any], name: str) -> list[Any]:
    """Return what a schema says of a property that it or another target has; nothing when it refuses it."""
    properties = schema.get("properties", {})
    if name in properties:
        return [properties[name]]
    if _is_closed(schema):
        return []
    additional = schema.get("additionalProperties")
    plain = isinstance(additional, Mapping) and "patternProperties" not in schema
    return [additional if plain else {}]


def _is_closed(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties") is False and not schema.get("patternProperties")


def _definitions(schemas: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], bool]:
    """Merge the local definitions; False when two schemas mean different things by one name."""
    merged: dict[str, Any] = {}
    for schema in schemas:
        for name, value in schema.get(_DEFINITIONS, {}).items():
            if not _all_same([merged.setdefault(name, value), value]):
                return {}, False
    return merged, True


def _portable(value: Any, *, agree: bool) -> bool:
    """Whether a property means the same in the union, where only agreed definitions can be referred to."""
    return all(agree and reference.startswith(f"#/{_DEFINITIONS}/") for reference in _references(value))


def _references(value: Any) -> Iterator[str]:
    # A property named "$ref" is taken for a reference too: that costs precision of the picture only.
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in ("$ref", "$dynamicRef"):
                yield str(inner)
            else:
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _widened(value: Any) -> dict[str, Any]:
    described = isinstance(value, Mapping) and "description" in value
    return {"description": value["description"]} if described else {}


def _either(values: Sequence[Any]) -> Any:
    different: list[Any] = []
    for value in values:
        if not any(_all_same([value, known]) for known in different):
            different.append(value)
    return different[0] if len(different) == 1 else {"anyOf": different}


def _all_same(values: Sequence[Any]) -> bool:
    # As text: for Python 1 equals True and 1.0, for JSON Schema they differ.
    first, *others = (json.dumps(value, sort_keys=True, default=repr) for value in values)
    return all(other == first for other in others)


def _plain(value: Any) -> Any:
    """Copy into dicts and lists, so that nobody's later change of a schema reaches what a model was shown."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
