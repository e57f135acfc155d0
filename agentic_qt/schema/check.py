"""Checks of a schema that no engine makes: a plain root, local references, no keyword read in two ways.

The walk is position-aware: a property named ``$ref`` is no reference, and ``const``, ``enum``, ``default``
and ``examples`` are data.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import unquote

from agentic_qt.schema.canonical import pointer_token

Root = Literal["object", "any"]
Schema = Mapping[str, Any] | bool

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
IN_PLACE_MAPS: Final = ("dependentSchemas",)
IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
IN_PLACE_SINGLES: Final = ("not", "if", "then", "else")
REFERENCES: Final = ("$ref", "$dynamicRef")
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
_CHILD_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions")
_CHILD_LISTS: Final = ("prefixItems",)
_CHILD_SINGLES: Final = (
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
)
_MAPS: Final = frozenset(IN_PLACE_MAPS + _CHILD_MAPS)
_LISTS: Final = frozenset(IN_PLACE_LISTS + _CHILD_LISTS)
_SINGLES: Final = frozenset(IN_PLACE_SINGLES + _CHILD_SINGLES)
_NOT_AT_ROOT: Final = ("oneOf", "anyOf", "allOf", "not", "if", "$ref", "$dynamicRef", "enum", "const")
_REFUSED: Final = {
    "dependencies": "engines disagree on it in 2020-12; write dependentSchemas or dependentRequired",
    "$recursiveRef": "it belongs to 2019-09; write $dynamicRef",
    "$recursiveAnchor": "it belongs to 2019-09; write $dynamicAnchor",
}


class SchemaError(ValueError):
    """A schema, or a signature to infer one from, that is refused; the message says where and why."""


@dataclass(kw_only=True, slots=True)
class SchemaMap:
    """Where the subschemas of a schema are.

    Args:
        root: The whole schema.
        nodes: Each subschema that is an object, by ``id()``, with its JSON Pointer; `root` keeps them alive.
        anchors: The subschemas that have a name.
    """

    root: Schema
    nodes: dict[int, tuple[dict[str, Any], str]] = field(default_factory=dict)
    anchors: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def target(self, reference: str) -> Schema:
        """Return the subschema that a local reference means.

        Raises:
            SchemaError: It points to nothing, or to something that is no schema.
        """
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            found: Any = self.anchors.get(fragment)
        else:
            found = _follow(self.root, fragment)
        if isinstance(found, bool):
            return found
        if id(found) in self.nodes:
            return self.nodes[id(found)][0]
        raise SchemaError(f"the reference {reference[:80]!r} points to no schema in this document")


def check_root(schema: Any, root: Root) -> None:
    """Check what stands at the root: the dialect, and for ``"object"`` that it is a plain object schema.

    Raises:
        SchemaError: It is something else.
    """
    if not isinstance(schema, Mapping):
        if root == "any" and isinstance(schema, bool):
            return
        raise SchemaError("a schema must be a JSON object")
    dialect = schema.get("$schema", DIALECT)
    if dialect not in {DIALECT, DIALECT + "#"}:
        raise SchemaError(f"$schema must be {DIALECT}, not {str(dialect)[:80]!r}")
    if root == "any":
        return
    if schema.get("type") != "object":
        raise SchemaError(f'the root must have "type": "object", not {str(schema.get("type"))[:80]!r}')
    for keyword in _NOT_AT_ROOT:
        if keyword in schema:
            raise SchemaError(f"{keyword} may not stand at the root: model providers refuse it there")


def map_schema(schema: Schema) -> SchemaMap:
    """Walk a schema that is valid against the meta-schema, and check every reference in it.

    Raises:
        SchemaError: A reference is remote or points to nothing, or a keyword is refused.
    """
    result = SchemaMap(root=schema)
    stack: list[tuple[Any, str]] = [(schema, "")]
    while stack:
        node, pointer = stack.pop()
        if not isinstance(node, dict):
            continue
        result.nodes[id(node)] = (node, pointer)
        _check_keywords(node, pointer)
        for anchor in _ANCHORS:
            if anchor in node and result.anchors.setdefault(node[anchor], node) is not node:
                raise SchemaError(f"the anchor {node[anchor]!r} stands twice")
        stack.extend((child, pointer + steps) for steps, child in _children(node))
    for node, pointer in result.nodes.values():
        for reference in references(node):
            try:
                result.target(reference)
            except SchemaError as error:
                raise SchemaError(f"at {pointer or 'the root'}: {error}") from None
    return result


def references(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield the references that stand directly in a subschema."""
    return (node[keyword] for keyword in REFERENCES if keyword in node)


def render_pointer(path: Iterable[str | int]) -> str:
    """Return the JSON Pointer of a path."""
    return "".join(map(pointer_token, path))


def _check_keywords(node: Mapping[str, Any], pointer: str) -> None:
    place = pointer[:200] or "the root"
    for keyword, reason in _REFUSED.items():
        if keyword in node:
            raise SchemaError(f"at {place}: {keyword} is refused: {reason}")
    for keyword in ("$id", "$schema"):
        if pointer and keyword in node:
            raise SchemaError(f"at {place}: {keyword} may only stand at the root")
    for reference in references(node):
        if not reference.startswith("#"):
            raise SchemaError(f"at {place}: the reference {reference[:80]!r} leaves the document")


def _children(node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, value in node.items():
        if keyword in _MAPS:
            for name, child in value.items():
                yield f"/{keyword}{pointer_token(name)}", child
        elif keyword in _LISTS:
            for index, child in enumerate(value):
                yield f"/{keyword}/{index}", child
        elif keyword in _SINGLES:
            yield f"/{keyword}", value


def _follow(value: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
