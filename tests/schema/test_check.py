"""Which schemas are refused, and why."""

import socket
import threading

import pytest

from agentic_qt.schema import engine_python, engine_rust
from agentic_qt.schema.check import SchemaError
from agentic_qt.schema.validate import check_any_schema, compile_schema


def obj(**properties):
    return {"type": "object", "properties": properties}


def deep(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf"])
def test_a_choice_at_the_root_is_refused(keyword):
    """FC-63: providers refuse a root oneOf or anyOf, so the root is a plain object schema."""
    schema = {"type": "object", keyword: [{"required": ["a"]}]}
    with pytest.raises(SchemaError, match=f"{keyword} may not stand at the root"):
        compile_schema(schema)
    assert check_any_schema(schema).is_valid({"a": 1})


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "the root must have"),
        ({"type": "array"}, "the root must have"),
        ({"type": ["object", "null"]}, "the root must have"),
        ({"type": "object", "not": {}}, "not may not stand at the root"),
        ({"type": "object", "if": {}}, "if may not stand at the root"),
        ({"type": "object", "enum": [{}]}, "enum may not stand at the root"),
        ({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {}}}, "may not stand at the root"),
        (True, "must be a JSON object"),
        ([], "must be a JSON object"),
        ({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, "must be https"),
        (obj(a={"$schema": "http://json-schema.org/draft-07/schema#"}), "only stand at the root"),
        (obj(a={"$id": "https://example.com/a"}), "only stand at the root"),
        (obj(a={"type": "text"}), "/properties/a/type"),
        (obj(a={"minLength": "3"}), "/properties/a/minLength"),
        (obj(a=3), "/properties/a"),
        ({"type": "object", "required": "a"}, "/required"),
        (obj(a={"dependencies": {"b": {}}}), "dependentSchemas"),
        (obj(a={"$ref": "#/$defs/none"}), "points to no schema"),
        (obj(a={"$ref": "#none"}), "points to no schema"),
        (obj(a={"$ref": "#/properties/b/const"}, b={"const": {"type": "string"}}), "points to no schema"),
        (obj(a={"$ref": "#/properties/a"}), "refers to itself"),
        (obj(a={"anyOf": [{"$ref": "#/properties/a"}, {"type": "null"}]}), "refers to itself"),
        (obj(a={"$ref": "http://127.0.0.1/a"}), "leaves the document"),
        (obj(a={"$ref": "file:///etc/hostname"}), "leaves the document"),
        (obj(a={"$ref": "other.json"}), "leaves the document"),
        (obj(a={"$dynamicRef": "https://example.com/a#b"}), "leaves the document"),
        ({"type": "object", "$defs": {"a": {"items": {"$ref": "http://127.0.0.1/a"}}}}, "leaves the document"),
        (obj(a={"contentSchema": {"$ref": "http://127.0.0.1/a"}}), "leaves the document"),
        (obj(a={"$anchor": "x"}, b={"$anchor": "x"}), "stands twice"),
        (obj(a={"pattern": "(?=a)b"}), "/properties/a/pattern"),
        (obj(a={"pattern": r"(a)\1"}), "/properties/a/pattern"),
        (obj(a={"pattern": "["}), "/properties/a/pattern"),
        (obj(a={"pattern": "(a{1000}){1000}"}), "/properties/a/pattern"),
        ({"type": "object", "patternProperties": {"(?<!a)b": {}}}, "/patternProperties"),
        (obj(a={"description": "x" * 70_000}), "too_large"),
        (obj(a=deep(70)), "too_deep"),
        (obj(a={"default": float("nan")}), "not_finite"),
        (obj(a={"maximum": 2**64}), "unsafe_integer"),
        (obj(a={"enum": {1, 2}}), "not_json"),
    ],
)
def test_a_bad_schema_is_refused_with_words_on_what_is_wrong(schema, words):
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert words in str(caught.value)


def test_what_looks_like_a_reference_but_is_data_or_a_name_is_none():
    remote = {"$ref": "http://127.0.0.1/a"}
    compiled = compile_schema(
        {
            "type": "object",
            "properties": {
                "$ref": {"type": "string"},
                "$id": {"type": "string"},
                "a": {"const": remote, "default": remote, "examples": [remote], "enum": [remote]},
            },
        }
    )
    assert compiled.is_valid({"$ref": "x", "a": remote})
    assert not compiled.is_valid({"$ref": 1})


def test_local_references_by_pointer_and_by_anchor_are_followed():
    schema = obj(
        a={"$ref": "#/$defs/a~1b%20c"}, b={"$ref": "#named"}, c={"$dynamicRef": "#moving"}, d={"$ref": "#/properties/a"}
    )
    schema["$defs"] = {
        "a/b c": {"type": "integer"},
        "n": {"$anchor": "named", "type": "integer"},
        "m": {"$dynamicAnchor": "moving", "type": "integer"},
    }
    compiled = compile_schema(schema)
    assert compiled.is_valid({"a": 1, "b": 1, "c": 1, "d": 1})
    for name in "abcd":
        assert not compiled.is_valid({name: "x"})


def test_a_root_id_changes_nothing():
    schema = obj(a={"$ref": "#/$defs/a"}) | {"$id": "https://example.com/root", "$defs": {"a": {"type": "integer"}}}
    assert not compile_schema(schema).is_valid({"a": "x"})


@pytest.fixture
def listener():
    """A local server that counts who comes."""
    visits = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            visits.append(1)
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()[1], visits
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(5)


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$schema", "$id"])
def test_no_schema_makes_a_connection(listener, keyword):
    """G16, threat 22: a remote reference is refused, never fetched."""
    port, visits = listener
    url = f"http://127.0.0.1:{port}/schema.json"
    for schema in ({"type": "object", keyword: url}, obj(a={keyword: url}), obj(a={"items": {keyword: url}})):
        try:
            compile_schema(schema).issues({"a": [1]})
        except SchemaError:
            continue
    assert visits == []


@pytest.mark.parametrize("engine", [engine_rust, engine_python])
def test_the_engines_fetch_nothing_even_without_our_checks(listener, engine, monkeypatch):
    """G16."""
    port, visits = listener
    schema = {"properties": {"a": {"$ref": f"http://127.0.0.1:{port}/a"}, "b": {"$ref": "file:///etc/hostname"}}}
    monkeypatch.setattr(engine_python, "_patterns", lambda _schema: ())  # its walk would refuse the references
    with pytest.raises(Exception, match=r"etriev|Unresolvable|not present"):
        engine.Engine(schema).is_valid({"a": 1, "b": 1})
    assert visits == []


def test_the_listener_counts(listener):
    port, visits = listener
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.recv(1)
    assert visits == [1]
