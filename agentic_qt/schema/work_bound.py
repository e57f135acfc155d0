"""A quick upper bound of the work that a schema can make, by one look at each subschema.

`work` counts exactly, at some cost; for nearly all schemas the bound alone shows that there is nothing to fear.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from agentic_qt.schema.check import Schema, SchemaMap

MAX_BOUND: Final = 100
"""Above it the exact count decides; it is also how long a chain of references is followed."""

# Keyword -> (where its subschemas apply, how they are kept). "place": the same place of the value. "object", "array":
# every member or element. "one": each member or element meets one of them at most.
_ROLES: Final = {
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), ("place", "list")),
    **dict.fromkeys(("not", "if", "then", "else"), ("place", "single")),
    "dependentSchemas": ("place", "map"),
    "$ref": ("place", "reference"),
    "$dynamicRef": ("place", "reference"),
    "patternProperties": ("object", "map"),
    "propertyNames": ("object", "single"),
    "unevaluatedProperties": ("object", "single"),
    "properties": ("object one", "map"),
    "additionalProperties": ("object one", "single"),
    "contains": ("array", "single"),
    "unevaluatedItems": ("array", "single"),
    "prefixItems": ("array one", "list"),
    "items": ("array one", "single"),
}
_ONE: Final = ("object one", "array one")


def bound(schema_map: SchemaMap) -> int | None:
    """Return how often the schema is applied, at most, on any path from the root of a value to a leaf.

    Returns:
        An upper bound of what `work.measure` finds at any depth; None when it is above 100, or when a subschema
        refers to one that it stands in.
    """
    if not isinstance(schema_map.root, Mapping):
        return 1
    found = _Bound(schema_map)
    if any(found.visits(node, 0) > MAX_BOUND for node, _ in schema_map.nodes.values()):
        return None
    return found.visits(schema_map.root, 0)


class _Bound:
    def __init__(self, schema_map: SchemaMap) -> None:
        self._map = schema_map
        self._known: dict[int, int] = {}

    def visits(self, node: Schema, depth: int) -> int:
        if not isinstance(node, Mapping):
            return 0
        known = self._known.get(id(node))
        if known is not None:
            return known
        if depth > MAX_BOUND:
            return MAX_BOUND + 1
        self._known[id(node)] = MAX_BOUND + 1  # what a reference back to this one finds
        sums = {"place": 1, "object": 0, "array": 0, "object one": 0, "array one": 0}
        for keyword, value in node.items():
            role = _ROLES.get(keyword)
            if role is None:
                continue
            where, how = role
            counts = [self.visits(child, depth + 1) for child in self._children(value, how)]
            sums[where] = max([sums[where], *counts]) if where in _ONE else sums[where] + sum(counts)
        below = max(sums["object"] + sums["object one"], sums["array"] + sums["array one"])
        self._known[id(node)] = sums["place"] + below
        return sums["place"] + below

    def _children(self, value: Any, how: str) -> Iterable[Schema]:
        if how == "single":
            return (value,)
        if how == "reference":
            return (self._map.target(value),)
        children: Iterable[Schema] = value.values() if how == "map" else value
        return children
