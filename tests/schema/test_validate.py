"""What is said about a value, and how much work a schema may make."""

import pytest

from agentic_qt.schema.canonical import InputError, freeze, parse
from agentic_qt.schema.check import SchemaError, map_schema
from agentic_qt.schema.validate import check_any_schema, compile_schema
from agentic_qt.schema.work import measure


def obj(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def said(schema, value, **kwargs):
    return [(issue.pointer, issue.keyword, issue.message) for issue in compile_schema(schema).issues(value, **kwargs)]


def branching(width):
    """A tree in which every node is judged by `width` branches in place, each of which goes deeper by the same name."""
    branch = [{"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}, "k": {"const": i}}} for i in range(width)]
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": branch}}}


def doubling(levels):
    defs = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(levels)}
    return obj(a={"$ref": "#/$defs/d0"}) | {"$defs": defs | {f"d{levels}": {"type": "string"}}}


def nest(depth, leaf=1):
    for _ in range(depth):
        leaf = {"x": leaf}
    return leaf


def test_an_empty_input_is_told_the_place_and_the_expectation():
    """FC-51: `{}` without the required field."""
    assert said(obj(["priority"], priority={"type": "integer"}), {}) == [
        ("/priority", "required", "is missing: an integer is required.")
    ]


@pytest.mark.parametrize(
    ("schema", "value", "issue"),
    [
        ({"type": "integer"}, True, ("/v", "type", "must be an integer, not true.")),
        ({"type": ["string", "null"]}, 3, ("/v", "type", "must be a string or null, not 3.")),
        ({"enum": ["a", "b"]}, "c", ("/v", "enum", 'must be one of "a", "b", not "c".')),
        ({"const": None}, 1, ("/v", "const", "must be null, not 1.")),
        ({"minimum": 1}, 0, ("/v", "minimum", "must be at least 1, not 0.")),
        ({"exclusiveMaximum": 5}, 5, ("/v", "exclusiveMaximum", "must be less than 5, not 5.")),
        ({"multipleOf": 2}, 3, ("/v", "multipleOf", "must be a multiple of 2, not 3.")),
        ({"minLength": 1}, "", ("/v", "minLength", 'must be at least 1 character long, not "".')),
        ({"pattern": "^a"}, "b", ("/v", "pattern", 'must be a text that matches the pattern ^a, not "b".')),
        ({"minItems": 2}, [1], ("/v", "minItems", "must be an array of at least 2 items, not an array of 1 item.")),
        (
            {"uniqueItems": True},
            [1, 1],
            ("/v", "uniqueItems", "must be an array without duplicates, not an array of 2 items."),
        ),
        (
            {"minProperties": 2},
            {},
            ("/v", "minProperties", "must be an object with at least 2 properties, not an object."),
        ),
        (
            {"contains": {"type": "string"}},
            [],
            ("/v", "contains", "must be an array with a string in it, not an array of 0 items."),
        ),
        ({"not": {"type": "string"}}, "s", ("/v", "not", 'must be anything but a string, not "s".')),
        ({"propertyNames": {"maxLength": 2}}, {"abc": 1}, ("/v", "propertyNames", 'has the bad name "abc".')),
        (
            {"dependentRequired": {"a": ["b"]}},
            {"a": 1},
            ("/v/b", "dependentRequired", "is missing: a value is required."),
        ),
        (
            obj(x={}),
            {"q~/": 1},
            ("/v/q~0~1", "additionalProperties", 'is not known: expected one of the properties "x".'),
        ),
        (
            {"additionalProperties": False},
            {"q": 1},
            ("/v/q", "additionalProperties", "is not known: expected nothing here."),
        ),
        (
            {"patternProperties": {"^x": {}}, "additionalProperties": False},
            {"q": 1},
            ("/v/q", "additionalProperties", 'is not known: expected a name that matches "^x".'),
        ),
        (
            {"unevaluatedProperties": False},
            {"q": 1},
            ("/v/q", "unevaluatedProperties", "is not known: expected nothing here."),
        ),
        ({"properties": {"a": False}}, {"a": 1}, ("/v/a", "false", "must be absent, not 1.")),
        ({"items": {"type": "integer"}}, [1, "x"], ("/v/1", "type", 'must be an integer, not "x".')),
        (
            {"if": {"type": "string"}, "then": {"minLength": 3}},
            "a",
            ("/v", "minLength", 'must be at least 3 characters long, not "a".'),
        ),
    ],
)
def test_each_keyword_says_what_it_expects(schema, value, issue):
    assert said(obj(v=schema), {"v": value}) == [issue]


def test_an_optional_object_is_explained_inside():
    optional = {"anyOf": [obj(["x"], x={"type": "string"}), {"type": "null"}]}
    assert said(obj(v=optional), {"v": {"x": 1}}) == [("/v/x", "type", "must be a string, not 1.")]
    assert said(obj(v=optional), {"v": 3}) == [("/v", "anyOf", "must be an object or null, not 3.")]


def test_a_choice_by_a_constant_property_is_explained_in_the_chosen_form():
    forms = [
        obj(["kind", "n"], kind={"const": "a"}, n={"type": "integer"}),
        obj(["kind", "s"], kind={"const": "b"}, s={"type": "string"}),
    ]
    assert said(obj(v={"oneOf": forms}), {"v": {"kind": "b", "s": 3}}) == [("/v/s", "type", "must be a string, not 3.")]


def test_a_value_that_fits_two_exclusive_forms_is_told_so():
    schema = obj(v={"oneOf": [{"type": "integer"}, {"minimum": 2}]})
    assert said(schema, {"v": 3}) == [("/v", "oneOf", "must be exactly one of the allowed forms; it matches several.")]


def test_the_innermost_failure_of_a_recursive_choice_is_named():
    assert said(branching(2), nest(4)) == [("/x/x/x/x", "anyOf", "must be an object, not 1.")]


def test_a_long_value_is_cut_in_the_message():
    (issue,) = compile_schema(obj(v={"maxLength": 3})).issues({"v": "q" * 5_000})
    assert len(issue.message) < 160
    assert issue.expected == "at most 3 characters long"


def test_issues_are_limited():
    schema = obj(v={"items": {"type": "integer"}})
    value = {"v": ["x"] * 1_000}
    assert len(said(schema, value)) == 20
    assert len(said(schema, value, limit=3)) == 3
    assert said(schema, {"v": [1]}) == []


def test_formats_are_annotations():
    assert compile_schema(obj(v={"type": "string", "format": "date"})).is_valid({"v": "no date"})


def test_the_same_schema_is_compiled_once_whatever_the_order_of_its_keys():
    first = compile_schema({"type": "object", "title": "t", "properties": {}})
    again = compile_schema({"properties": {}, "title": "t", "type": "object"})
    assert again is first
    assert len(first.fingerprint) == 64
    assert compile_schema({"type": "object"}).fingerprint != first.fingerprint


def test_a_schema_that_is_changed_afterwards_does_not_change_what_was_compiled():
    schema = obj(v={"type": "integer"})
    compiled = compile_schema(schema)
    schema["properties"]["v"]["type"] = "string"
    assert not compiled.is_valid({"v": "x"})
    assert compiled.schema["properties"]["v"]["type"] == "integer"


def test_an_ordinary_schema_is_judged_by_the_engine_without_a_call_between():
    assert type(compile_schema(obj(v={"type": "integer"})).is_valid).__name__ == "builtin_function_or_method"


def test_an_output_schema_may_have_any_root():
    assert check_any_schema({"type": "array"}).is_valid([])
    assert check_any_schema(True).is_valid(3)
    assert check_any_schema(False).issues(3)[0].message == "must be absent, not 3."


def test_work_is_counted_per_depth():
    assert measure(map_schema(obj(a={"type": "string"}))) == (1, 2)
    tree = obj(t={"$ref": "#/$defs/t"}) | {"$defs": {"t": {"properties": {"t": {"$ref": "#/$defs/t"}}}}}
    assert measure(map_schema(tree))[:4] == (1, 3, 5, 7)
    assert measure(map_schema(branching(2)))[:4] == (1, 5, 13, 29)
    assert measure(map_schema(True)) == (1,)


def test_branches_that_go_deeper_by_other_names_do_not_multiply():
    """A filter of `and`, `or`, `not` is recursive and harmless: each member is reached by one branch."""
    again = {"$ref": "#/$defs/f"}
    forms = [obj(**{name: {"type": "array", "items": again}}) for name in ("and", "or")] + [{"type": "string"}]
    compiled = compile_schema(obj(f=again) | {"$defs": {"f": {"anyOf": forms}}})
    assert compiled.max_depth == 64
    assert compiled.is_valid({"f": {"and": [{"or": ["a", {"and": []}]}]}})


@pytest.mark.parametrize("width", [2, 3, 5])
def test_a_recursive_schema_that_branches_bounds_the_depth_of_values(width):
    compiled = compile_schema(branching(width))
    assert 2 < compiled.max_depth < 20
    assert width ** (compiled.max_depth - 2) <= 100_000
    good = nest(compiled.max_depth - 1, {})
    assert compiled.is_valid(good)
    deep = nest(compiled.max_depth, {})
    assert not compiled.is_valid(deep)
    assert "levels deep" in compiled.issues(deep)[0].message


def test_a_value_too_costly_to_explain_still_gets_a_decision_and_an_issue():
    compiled = compile_schema(obj(v={"anyOf": [{"type": "integer", "title": str(i)} for i in range(1_500)]}))
    assert compiled.is_valid({"v": 1})
    assert not compiled.is_valid({"v": "x"})
    assert compiled.issues({"v": "x"})[0].keyword == "bounds"
    assert not compiled.is_valid({"v": ["x"] * 15_000})
    assert "smaller" in compiled.issues({"v": ["x"] * 15_000})[0].message


HOSTILE_SCHEMAS = {
    "anyOf doubles 21 times": doubling(21),
    "allOf of allOf": obj(a={"allOf": [{"allOf": [{"allOf": [{"minLength": 1}] * 22}] * 22}] * 22}),
    "a row of 300 references": obj(a={"$ref": "#/$defs/d0"})
    | {"$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(300)} | {"d300": {}}},
    "a reference to itself": obj(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"$ref": "#/$defs/a"}}},
    "a repetition of repetitions": obj(a={"pattern": "(a{1000}){1000}"}),
    "65 levels": {"type": "object", "not_known": nest(65)},
    "64 kB": obj(a={"enum": ["x" * 70_000]}),
}


@pytest.mark.parametrize("name", HOSTILE_SCHEMAS)
def test_a_hostile_schema_is_refused(name):
    """G16, threat 21: a schema must not become a weapon."""
    with pytest.raises(SchemaError):
        compile_schema(HOSTILE_SCHEMAS[name])


def test_a_hostile_value_is_refused_before_it_meets_an_engine():
    """G15, threat 21: 50,000 levels kill jsonschema-rs; nothing of the kind gets there."""
    with pytest.raises(InputError, match="deeper"):
        parse("[" * 50_000, max_bytes=None)
    deep = []
    for _ in range(50_000):
        deep = [deep]
    with pytest.raises(InputError, match="deeper"):
        freeze(deep)


def test_a_pattern_of_nested_repetitions_is_searched_in_linear_time():
    """G16, threat 21: a backtracking engine needs hours for 30,000 characters of ^(a+)+$."""
    compiled = compile_schema(obj(v={"pattern": "^(a+)+$"}))
    assert compiled.is_valid({"v": "a" * 30_000})
    assert compiled.issues({"v": "a" * 30_000 + "b"})[0].keyword == "pattern"


def test_a_graph_that_doubles_at_every_level_bounds_the_depth_of_values():
    """Threat 21: no reference is recursive here, and yet the work would double thirty times."""
    defs = {f"d{i}": {"anyOf": [{"properties": {"x": {"$ref": f"#/$defs/d{i + 1}"}}}] * 2} for i in range(30)}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs | {"d30": {}}}
    compiled = compile_schema(schema)
    assert compiled.max_depth < 20
    assert not compiled.is_valid(nest(31))
