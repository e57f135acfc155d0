"""The two engines agree, and the fall-back refuses what it could not search in bounded time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_qt.schema import engine_python, engine_rust
from agentic_qt.schema.check import SchemaError
from agentic_qt.schema.issues import explain

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", "a", "ab", "ba"])
    | st.sampled_from([0.5, 1.0])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "ab"]), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["a", "b", "ab"])
small = st.integers(0, 3)
assertions = (
    st.fixed_dictionaries(
        {}, optional={"type": st.sampled_from(["string", "integer", "number", "object", "array", "null"])}
    )
    | st.fixed_dictionaries({}, optional={"minimum": small, "maximum": small, "multipleOf": st.integers(1, 2)})
    | st.fixed_dictionaries(
        {}, optional={"minLength": small, "maxLength": small, "pattern": st.sampled_from(["^a", "b$"])}
    )
    | st.fixed_dictionaries({}, optional={"minItems": small, "maxItems": small, "uniqueItems": st.booleans()})
    | st.fixed_dictionaries({}, optional={"required": st.lists(names, max_size=2, unique=True), "minProperties": small})
    | st.fixed_dictionaries({}, optional={"enum": st.lists(values, min_size=1, max_size=3), "const": values})
)


def _applicators(inner):
    several = st.lists(inner, min_size=1, max_size=2)
    members = st.dictionaries(names, inner, max_size=2)
    return (
        st.fixed_dictionaries({}, optional={"properties": members, "additionalProperties": inner | st.booleans()})
        | st.fixed_dictionaries(
            {}, optional={"items": inner | st.booleans(), "prefixItems": several, "contains": inner}
        )
        | st.fixed_dictionaries({}, optional={"anyOf": several, "not": inner})
        | st.fixed_dictionaries({}, optional={"oneOf": several, "allOf": several})
        | st.fixed_dictionaries({}, optional={"if": inner, "then": inner, "else": inner})
        | st.fixed_dictionaries({}, optional={"propertyNames": inner, "dependentSchemas": members})
        | st.fixed_dictionaries({}, optional={"allOf": several, "unevaluatedProperties": st.just(False)})
    )


schemas = st.recursive(assertions, _applicators, max_leaves=5)


@given(schemas, values)
def test_both_engines_decide_alike_and_explain_what_they_refuse(schema, value):
    rust, python = engine_rust.Engine(schema), engine_python.Engine(schema)
    decision = rust.is_valid(value)
    assert python.is_valid(value) is decision
    for engine in (rust, python):
        issues = [issue for problem in engine.problems(value) for issue in explain(problem, value)]
        assert bool(issues) is not decision


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"required": ["a", "b"]}, {}),
        ({"properties": {"a": {"type": "string"}}}, {"a": 1}),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"b": 1, "c": 2}),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"xa": 1, "c": 2}),
        ({"anyOf": [{"type": "object", "required": ["x"]}, {"type": "null"}]}, {}),
        ({"items": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}, [1, None]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, 3),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}),
        ({"properties": {"a": {"propertyNames": {"pattern": "^x"}}}}, {"a": {"y": 1}}),
        ({"contains": {"type": "string"}}, [1]),
        ({"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"type": "integer"}}}, {"a": "x"}),
    ],
)
def test_both_engines_lead_to_the_same_words(schema, value):
    def words(engine):
        found = (issue for problem in engine.Engine(schema).problems(value) for issue in explain(problem, value))
        return sorted({(issue.pointer, issue.keyword, issue.message) for issue in found})

    assert words(engine_python) == words(engine_rust)
    assert words(engine_python)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a*)*", "(?:a|b)+", "((a+)b)*", "(a{1,})+", "(a{2,5}){3,}", "(.*,)*x"])
def test_the_fall_back_refuses_a_group_that_repeats_what_repeats_or_chooses(pattern):
    with pytest.raises(SchemaError, match="repeats"):
        engine_python.check_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(?=a)", "(?<!a)b", r"(a)\1", "(?P<n>a)", "["])
def test_the_fall_back_refuses_what_the_engine_refuses(pattern):
    with pytest.raises(SchemaError):
        engine_python.Engine({"pattern": pattern})


@pytest.mark.parametrize(
    "pattern",
    [r"^\d{3}-\d{4}$", "(abc)+", "a+b*", r"[(+*)]+", r"\(a\+\)+", "(a|b)c", "^(a+)?$", "(?:[0-9]{2}:){2}", r"[\])]+"],
)
def test_the_fall_back_accepts_harmless_patterns(pattern):
    engine_python.check_pattern(pattern)


def test_the_fall_back_checks_schemas_against_the_meta_schema():
    with pytest.raises(SchemaError, match="/properties/a/type"):
        engine_python.check_meta({"properties": {"a": {"type": "text"}}})
