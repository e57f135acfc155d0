"""The tools array is written out once, and again only where something changed."""

import json

import pytest

from agentic_qt.core.capability import Capability, Target
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.snapshot import Snapshot
from agentic_qt.protocol.tool_list import Definition, ToolList, encode_json, encode_tools


def capability(name, **changes):
    schema = {"type": "object", "properties": {"text": {"type": "string", "description": f"Für {name}"}}}
    more = {"description": "Say it.", "risk": "read", "handler": lambda **_: None, "input_schema": schema} | changes
    return Capability(name=name, **more)


@pytest.fixture
def registry():
    made = Registry()
    for number in range(5):
        made.register(capability(f"form.say_{number}"))
    return made


def definitions(snapshot):
    return {entry["function"]["name"]: entry for entry in snapshot.tools}


def test_the_text_is_that_of_the_tools(registry):
    tools = Snapshot.of(registry).tools
    assert json.loads(tools.json) == list(tools)
    assert json.loads(encode_tools(list(tools))) == list(tools)
    assert "Für" in tools.json.decode()
    assert b": " not in tools.json


def test_an_unchanged_catalogue_is_written_out_once(registry, monkeypatch):
    first = Snapshot.of(registry).tools.json
    monkeypatch.setattr("agentic_qt.protocol.tool_list.encode_json", lambda value: pytest.fail("written again"))
    assert Snapshot.of(registry).tools.json is first
    assert encode_tools(Snapshot.of(registry).tools) is first
    assert encode_tools(list(Snapshot.of(registry).tools)) == first


@pytest.mark.parametrize(
    "change",
    [
        lambda found, registry: found.replace(description="Shout it."),
        lambda found, registry: found.replace(input_schema={"type": "object", "properties": {}}),
        lambda found, registry: (
            found.replace(target=Target(id="left")),
            registry.register(capability(found.name, target=Target(id="right", label="Right"))),
        ),
    ],
    ids=["description", "schema", "second target"],
)
def test_after_a_change_only_what_changed_is_made_anew(registry, change):
    before = definitions(Snapshot.of(registry))
    change(registry.find("form.say_2"), registry)
    after = definitions(Snapshot.of(registry))
    assert {name for name in before if after[name] is not before[name]} == {"form_say_2"}
    assert after["form_say_2"] != before["form_say_2"]
    assert json.loads(Snapshot.of(registry).tools.json) == list(after.values())


def test_another_capability_under_the_same_wire_name_is_not_mistaken_for_the_one_before():
    registry = Registry()
    schema = {"type": "object", "properties": {}}
    registration = registry.register(capability("form.save", input_schema=schema))
    first = Snapshot.of(registry)
    registration.dispose()
    registry.register(capability("form_save", input_schema=schema))
    assert first.entries["form_save"].name == "form.save"
    assert Snapshot.of(registry).entries["form_save"].name == "form_save"


def test_a_target_with_another_label_is_shown_with_it():
    registry = Registry()
    left = registry.register(capability("form.save", target=Target(id="left", label="Ada")))
    registry.register(capability("form.save", target=Target(id="right", label="Grace")))
    assert b"Ada" in Snapshot.of(registry).tools.json
    left.replace(target=Target(id="left", label="Edith"))
    assert b"Ada" not in Snapshot.of(registry).tools.json
    assert b"Edith" in Snapshot.of(registry).tools.json


def test_an_empty_list_and_plain_tools_are_written_out_too():
    assert encode_tools(ToolList()) == b"[]"
    assert encode_tools([{"type": "function"}, Definition(type="x")]) == b'[{"type":"function"},{"type":"x"}]'


@pytest.mark.parametrize("value", [float("nan"), "\ud800", {1, 2}])
def test_what_is_no_json_is_refused(value):
    with pytest.raises((TypeError, ValueError)):
        encode_json(value)
