"""How much work a schema can make: counted before it is used, so that no value can turn it into a weapon.

A schema is applied to one place of a value along many paths when ``anyOf`` and the like branch in place; with
references the number multiplies at every level of the value. `measure` counts the paths, per depth.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentic_qt.schema.canonical import MAX_DEPTH
from agentic_qt.schema.check import (
    IN_PLACE_LISTS,
    IN_PLACE_MAPS,
    IN_PLACE_SINGLES,
    Schema,
    SchemaError,
    SchemaMap,
    references,
)

MAX_IN_PLACE: Final = 10_000
"""How many subschemas may be applied to one place of a value."""
MAX_CHAIN: Final = 128
"""How many subschemas may follow each other at one place, references included; engines recurse over them."""
MAX_EDGES: Final = 200_000
"""How many applications the whole count may look at; only a hostile schema has more."""
_CAP: Final = 10**12

Id = int


@dataclass(slots=True)
class _Axis:
    """The subschemas that a subschema applies to the members of an object, or to the elements of an array."""

    named: dict[str | int, Id] = field(default_factory=dict)
    other: list[Id] = field(default_factory=list)  # for members that `named` does not name
    always: list[Id] = field(default_factory=list)


@dataclass(slots=True)
class _Closure:
    counts: Counter[Id]
    chain: int


def measure(schema_map: SchemaMap) -> tuple[int, ...]:
    """Return, for values of depth 0 to 64, how often a schema may be applied on a path from root to leaf.

    An upper bound. The tuple is shorter when it grows no more: its last number stands for the rest.

    Raises:
        SchemaError: The schema applies itself to one place for ever, or more than 10,000 subschemas to it.
    """
    if not isinstance(schema_map.root, Mapping):
        return (1,)
    return _Measure(schema_map).levels()


class _Measure:
    def __init__(self, schema_map: SchemaMap) -> None:
        self._map = schema_map
        self._closures: dict[Id, _Closure] = {}
        self._open: set[Id] = set()
        self._axes: dict[Id, tuple[_Axis, _Axis]] = {}
        for node, _ in schema_map.nodes.values():
            self._axes[id(node)] = (_object_axis(node), _array_axis(node))

    def levels(self) -> tuple[int, ...]:
        entries = {id(self._map.root)}
        for axes in self._axes.values():
            for axis in axes:
                entries.update(axis.named.values(), axis.other, axis.always)
        closures = {entry: self._closure(entry, 0).counts for entry in entries if entry in self._map.nodes}
        if sum(map(len, closures.values())) > MAX_EDGES:
            raise SchemaError("the schema branches too much: too many subschemas are applied in place")
        in_place = {entry: counts.total() for entry, counts in closures.items()}
        visits = dict(in_place)
        root = id(self._map.root)
        result = [visits[root]]
        for _ in range(MAX_DEPTH):
            following = {
                entry: min(_CAP, in_place[entry] + self._below(counts, visits)) for entry, counts in closures.items()
            }
            if following == visits:
                break
            visits = following
            result.append(visits[root])
        return tuple(result)

    def _below(self, counts: Counter[Id], visits: dict[Id, int]) -> int:
        """Return the visits of the member or element on which the most subschemas meet."""
        most = 0
        for which in (0, 1):
            unnamed = 0
            extra: dict[str | int, int] = {}
            for node, times in counts.items():
                axis = self._axes[node][which]
                other = sum(visits.get(child, 1) for child in axis.other)
                unnamed += times * (other + sum(visits.get(child, 1) for child in axis.always))
                for name, child in axis.named.items():
                    extra[name] = extra.get(name, 0) + times * (visits.get(child, 1) - other)
            most = max(most, unnamed, unnamed + max(extra.values(), default=0))
        return most

    def _closure(self, node_id: Id, depth: int) -> _Closure:
        """Count the subschemas that a subschema applies to its own place, itself included."""
        known = self._closures.get(node_id)
        if known is not None:
            return known
        node, pointer = self._map.nodes[node_id]
        place = f"the subschema at {pointer[:200] or 'the root'}"
        if node_id in self._open:
            raise SchemaError(f"{place} refers to itself without going deeper")
        if depth > MAX_CHAIN:
            raise SchemaError(f"{place} stands before too many references in a row")
        self._open.add(node_id)
        counts: Counter[Id] = Counter({node_id: 1})
        chain = 0
        for child in self._in_place(node):
            inner = self._closure(id(child), depth + 1)
            chain = max(chain, inner.chain)
            counts.update(inner.counts)
        self._open.discard(node_id)
        if counts.total() > MAX_IN_PLACE:
            raise SchemaError(f"{place} applies more than {MAX_IN_PLACE} subschemas to one place")
        if chain >= MAX_CHAIN:
            raise SchemaError(f"{place} stands before too many references in a row")
        self._closures[node_id] = _Closure(counts, chain + 1)
        return self._closures[node_id]

    def _in_place(self, node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        found: list[Schema] = [self._map.target(reference) for reference in references(node)]
        for keyword in IN_PLACE_LISTS:
            found.extend(node.get(keyword, ()))
        for keyword in IN_PLACE_MAPS:
            found.extend(node.get(keyword, {}).values())
        found.extend(node[keyword] for keyword in IN_PLACE_SINGLES if keyword in node)
        return [child for child in found if isinstance(child, Mapping)]


def _object_axis(node: Mapping[str, Any]) -> _Axis:
    always = list(node.get("patternProperties", {}).values())
    always += [node[keyword] for keyword in ("propertyNames", "unevaluatedProperties") if keyword in node]
    other = [node["additionalProperties"]] if "additionalProperties" in node else []
    return _axis(node.get("properties", {}), other, always)


def _array_axis(node: Mapping[str, Any]) -> _Axis:
    always = [node[keyword] for keyword in ("contains", "unevaluatedItems") if keyword in node]
    other = [node["items"]] if "items" in node else []
    return _axis(dict(enumerate(node.get("prefixItems", ()))), other, always)


def _axis(named: Mapping[Any, Any], other: list[Any], always: list[Any]) -> _Axis:
    return _Axis(
        named={name: id(child) for name, child in named.items() if isinstance(child, Mapping)},
        other=[id(child) for child in other if isinstance(child, Mapping)],
        always=[id(child) for child in always if isinstance(child, Mapping)],
    )
