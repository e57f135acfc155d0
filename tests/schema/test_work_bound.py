"""The quick bound of a schema's work is never below the exact count, and knows when it does not know."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_qt.schema.check import SchemaError, map_schema
from agentic_qt.schema.work import measure
from agentic_qt.schema.work_bound import MAX_BOUND, bound

LEAF = {"type": "string"}
names = st.sampled_from(["a", "b", "c"])
references = st.sampled_from(["#", "#/$defs/a", "#/$defs/b"])
schemas = st.recursive(
    st.booleans() | st.just(LEAF) | st.builds(lambda reference: {"$ref": reference}, references),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(names, inner, max_size=3),
            "patternProperties": st.dictionaries(names, inner, max_size=2),
            "additionalProperties": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=3),
            "items": inner,
            "contains": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "if": inner,
            "then": inner,
            "dependentSchemas": st.dictionaries(names, inner, max_size=2),
            "propertyNames": inner,
        },
    ),
    max_leaves=12,
)
objects = schemas.filter(lambda one: type(one) is dict)
documents = st.builds(lambda schema, a, b: {**schema, "$defs": {"a": a, "b": b}}, objects, schemas, schemas)


@settings(max_examples=400)
@given(documents)
def test_the_bound_is_never_below_the_exact_count(schema: dict[str, Any]) -> None:
    """G16."""
    schema_map = map_schema(schema)
    at_most = bound(schema_map)
    if at_most is not None:
        assert max(measure(schema_map)) <= at_most <= MAX_BOUND


@pytest.mark.parametrize(
    ("schema", "at_most"),
    [
        (True, 1),
        ({}, 1),
        (LEAF, 1),
        ({"properties": {"a": LEAF, "b": {"items": LEAF}}, "additionalProperties": LEAF}, 3),
        ({"anyOf": [LEAF, {"properties": {"a": LEAF}}]}, 4),
        ({"$defs": {"a": LEAF}, "properties": {"x": {"$ref": "#/$defs/a"}, "y": {"$ref": "#/$defs/a"}}}, 3),
        ({"patternProperties": {"a": LEAF, "b": LEAF}, "propertyNames": LEAF}, 4),
        ({"contains": LEAF, "prefixItems": [LEAF, {"items": LEAF}], "items": LEAF}, 4),
    ],
)
def test_small_schemas_are_counted(schema: Any, at_most: int) -> None:
    assert bound(map_schema(schema)) == at_most


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#"}}},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"anyOf": [LEAF] * MAX_BOUND},
        {"$defs": {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(500)} | {"500": LEAF}},
    ],
    ids=["recursive", "endless", "wide", "long chain"],
)
def test_what_recurs_or_is_large_is_left_to_the_exact_count(schema: dict[str, Any]) -> None:
    assert bound(map_schema(schema)) is None


def test_an_endless_reference_is_still_refused() -> None:
    """G16."""
    schema_map = map_schema({"properties": {"a": {"$ref": "#/properties/a"}}})
    assert bound(schema_map) is None
    with pytest.raises(SchemaError, match="refers to itself"):
        measure(schema_map)
