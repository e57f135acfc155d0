"""The quick look: what it finds plain would have passed every slow check, and it finds nothing else plain."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_qt.schema.canonical import canonical, canonical_of_easy
from agentic_qt.schema.check import map_schema
from agentic_qt.schema.engine_rust import Engine, check_meta
from agentic_qt.schema.plain import is_plain
from agentic_qt.schema.validate import SchemaError, compile_schema
from agentic_qt.schema.work import measure

TEXT = {"type": "string", "minLength": 1, "description": "Für alle"}
ORDER = {
    "type": "object",
    "properties": {
        "title": TEXT,
        "lines": {"type": "array", "minItems": 1, "items": {"type": "object", "properties": {"sku": TEXT}}},
        "note": {"type": ["string", "null"], "default": None},
        "who": {"anyOf": [TEXT, {"type": "object", "properties": {"id": {"anyOf": [TEXT, {"type": "integer"}]}}}]},
        "price": {"type": "number", "exclusiveMinimum": 0.5, "multipleOf": 0.25},
        "state": {"enum": ["open", 1, None, True], "examples": ["open"]},
        "more": {"type": "object", "additionalProperties": {"type": "integer", "minimum": -1}},
    },
    "required": ["title"],
    "additionalProperties": False,
}
NOT_PLAIN = [
    True,
    [],
    {1: 2},
    {"type": "text"},
    {"type": []},
    {"type": ["string", "string"]},
    {"type": ["string", 1]},
    {"properties": []},
    {"properties": {"a": []}},
    {"properties": {"\u00e4": {}}},
    {"properties": {1: {}}},
    {"required": "a"},
    {"required": ["a", "a"]},
    {"required": [1]},
    {"enum": []},
    {"enum": "a"},
    {"enum": [[1]]},
    {"minLength": -1},
    {"minLength": 1.5},
    {"minLength": True},
    {"minimum": "1"},
    {"minimum": math.nan},
    {"minimum": 1.0},
    {"maximum": 2**53},
    {"multipleOf": 0},
    {"description": 1},
    {"uniqueItems": 1},
    {"items": []},
    {"items": True},
    {"additionalProperties": None},
    {"default": {"a": 1}},
    {"$schema": "http://json-schema.org/draft-07/schema#"},
    {"$schema": ["a"]},
    {"x-own": 1},
    *(
        {keyword: {}}
        for keyword in ("not", "if", "contains", "propertyNames", "unevaluatedItems", "$defs", "patternProperties")
    ),
    *({keyword: [{}]} for keyword in ("allOf", "oneOf", "prefixItems")),
    {"anyOf": []},
    {"anyOf": {}},
    {"anyOf": [{}] * 5},
    {"anyOf": [{"$ref": "#"}]},
    {"anyOf": [{"anyOf": [{"anyOf": [{}]}]}]},
    *({keyword: "#"} for keyword in ("$ref", "$dynamicRef", "$id", "$anchor", "pattern")),
]


class Text(str):
    __slots__ = ()


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize("schema", [{}, ORDER, nested(16)])
def test_trees_of_limits_are_plain(schema: dict[str, Any]) -> None:
    assert is_plain(schema)


@pytest.mark.parametrize("schema", [*NOT_PLAIN, nested(17), {"type": Text("string")}], ids=str)
def test_what_may_fail_or_branch_is_not_plain_at_any_level(schema: Any) -> None:
    assert not is_plain(schema)
    assert not is_plain({"type": "object", "properties": {"a": schema}})


@pytest.mark.parametrize("schema", [schema for schema in NOT_PLAIN if isinstance(schema, dict)], ids=str)
def test_what_is_not_plain_gets_the_slow_verdict(schema: dict[str, Any]) -> None:
    """Whatever the quick look does not know, the checks that know everything decide."""
    whole = {"type": "object", "properties": {"a": schema}}
    try:
        data = canonical(whole)
        check_meta(json.loads(data))
        map_schema(json.loads(data))
        Engine(json.loads(data))
        measure(map_schema(json.loads(data)))
    except ValueError:
        with pytest.raises(SchemaError):
            compile_schema(whole)
    else:
        compile_schema(whole)


keys = st.text(st.characters(max_codepoint=0x17F), max_size=3)
scalars = st.none() | st.booleans() | st.integers(-5, 2**53) | st.floats() | st.text(max_size=3)
words = st.sampled_from(
    [
        *("type", "description", "properties", "required", "enum", "const", "default", "items", "additionalProperties"),
        *("anyOf", "minLength", "maximum", "multipleOf", "uniqueItems", "examples", "format", "$schema"),
        *("pattern", "x"),
    ]
)
kinds = st.sampled_from(["object", "string", "array", "integer"])
values = st.recursive(
    scalars | kinds | st.just("https://json-schema.org/draft/2020-12/schema"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words | keys, inner, max_size=3),
    max_leaves=6,
)
schemas = st.recursive(
    st.dictionaries(words, values, max_size=2),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": kinds,
            "properties": st.dictionaries(keys, inner, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, max_size=3),
        },
    ),
    max_leaves=6,
)


@settings(max_examples=500)
@given(schemas)
def test_every_plain_schema_passes_the_slow_checks_with_the_same_bytes(schema: dict[str, Any]) -> None:
    """G16."""
    if not is_plain(schema):
        return
    try:
        data = canonical(schema)
    except ValueError:  # half of a surrogate pair
        with pytest.raises(ValueError):
            canonical_of_easy(schema)
        return
    assert canonical_of_easy(schema) == data
    check_meta(json.loads(data))
    schema_map = map_schema(json.loads(data))
    assert measure(schema_map)[-1] <= 500
    Engine(json.loads(data))


def test_the_most_work_of_a_plain_schema_is_harmless() -> None:
    """G16."""
    schema = {"anyOf": [{"anyOf": [nested(4)] * 4}] * 4}
    assert is_plain(schema)
    assert measure(map_schema(json.loads(json.dumps(schema))))[-1] <= 500
    assert not is_plain({"anyOf": [schema]})
    choice = {"anyOf": [{"type": "string"}] * 4}
    for _ in range(8):
        choice = {"properties": {"a": choice}, "additionalProperties": choice}
    assert is_plain(choice)
    assert measure(map_schema(json.loads(json.dumps(choice))))[-1] <= 500


def test_a_plain_schema_is_compiled_when_it_is_first_needed() -> None:
    compiled = compile_schema(ORDER)
    assert compiled.is_valid({"title": "a", "lines": [{"sku": "x"}]})
    assert not compiled.is_valid({"title": ""})
    assert compiled.is_valid.__self__.__class__.__name__ == "Draft202012Validator"
    assert [issue.pointer for issue in compiled.issues({"title": ""})] == ["/title"]
    assert compiled.max_depth == 64
    assert compile_schema(json.loads(json.dumps(ORDER))) is compiled


def test_the_explanation_may_come_first() -> None:
    schema = {"type": "object", "properties": {"first": {"type": "integer"}}}
    assert [issue.pointer for issue in compile_schema(schema).issues({"first": "x"})] == ["/first"]


@pytest.mark.parametrize("schema", [{"type": "string"}, {}, {"type": "object", "enum": ["a"]}])
def test_a_plain_schema_must_have_a_plain_root_too(schema: dict[str, Any]) -> None:
    """FC-63."""
    assert is_plain(schema)
    with pytest.raises(SchemaError):
        compile_schema(schema)
    compile_schema(schema, root="any")


def test_a_plain_schema_that_is_too_large_is_refused() -> None:
    """G15."""
    with pytest.raises(SchemaError, match="too_large"):
        compile_schema({"type": "object", "description": "x" * 70_000})
    with pytest.raises(SchemaError, match="bad_text"):
        compile_schema({"type": "object", "description": "\ud800"})
