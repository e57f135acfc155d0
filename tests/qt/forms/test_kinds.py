"""Every kind of field, from .ui files: what it is described as, and that it takes what it promises."""

import pytest
from PySide6.QtWidgets import QLineEdit

from agentic_qt.qt.forms.fill import fill, preview, take_snapshot
from agentic_qt.qt.forms.synthesise import input_schema, synthesise

VALUES = {
    "line": "some text",
    "pin": "9999",
    "notes": "two\nlines",
    "story": "a\nstory",
    "guests": 4,
    "price": 12.95,
    "volume": 11,
    "bass": 3,
    "position": 50,
    "news": True,
    "partial": "partly",
    "bold": True,
    "colour": "Green",
    "city": "Da Nang",
    "single": "Two",
    "tags": ["a", "c"],
    "place": "Asia / Hanoi",
    "day": "2026-05-05",
    "month": "2026-02",
    "week": "2026-W07",
    "at": "09:30",
    "when": "2026-05-05T09:30:15",
    "calendar": "2026-05-06",
    "shortcut": "Ctrl+S",
    "ink": "#ff0000",
    "file": "notes.txt",
    "on_first": "first",
    "on_second": "second",
    "in_scroll": "below",
    "size": "large",
    "gift": True,
    "greeting": "Hello",
    "diet": ["gluten"],
}
EXPECTED = {
    "line": {"type": "string", "maxLength": 20, "description": "One line"},
    "pin": {"type": "string"},
    "guests": {
        "type": "integer", "minimum": 1, "maximum": 12, "description": "in people; 1 = just me", "default": 1,
    },
    "price": {
        "type": "number", "minimum": 0, "maximum": 99.95, "multipleOf": 0.01, "description": "(unit: EUR)",
        "default": 0,
    },
    "partial": {
        "type": "string", "enum": ["unchecked", "partly", "checked"], "description": "Some", "default": "unchecked",
    },
    "city": {"type": "string", "examples": ["Hanoi", "Hue"], "default": "Hanoi"},
    "tags": {
        "type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "uniqueItems": True, "default": [],
    },
    "place": {"type": "string", "enum": ["Asia", "Asia / Hanoi"]},
    "day": {
        "type": "string", "format": "date", "description": "YYYY-MM-DD, from 2026-01-01 to 2026-12-31",
        "default": "2026-01-01",
    },
    "ink": {"type": "string", "pattern": "^#[0-9a-fA-F]{6}$", "default": "#336699"},
    "size": {"type": "string", "enum": ["small", "large"], "description": "Size; small = Small; large = Large"},
    "greeting": {"type": "string", "description": "only when gift is true"},
    "diet": {
        "type": "array", "items": {"type": "string", "enum": ["veg", "gluten"]}, "uniqueItems": True,
        "description": "veg = Vegetarian; gluten = Gluten free", "default": [],
    },
}  # fmt: skip


def test_all_kinds_and_no_others_are_fields(make_ui):
    """FC-75: what is secret, read-only, disabled or excluded is no field."""
    assert list(input_schema(make_ui("every_kind.ui"))["properties"]) == list(VALUES)


@pytest.mark.parametrize("key", EXPECTED)
def test_a_kind_is_described_with_what_qt_knows(make_ui, key):
    assert input_schema(make_ui("every_kind.ui"))["properties"][key] == EXPECTED[key]


def test_each_kind_takes_its_value_and_gives_it_back(make_ui):
    form = make_ui("every_kind.ui")
    foreseen = {change.key for change in preview(form, VALUES)}
    filled = fill(form, VALUES)
    assert filled.after.values == {key: value for key, value in VALUES.items() if key != "pin"}
    assert {change.key for change in filled.changes} == foreseen == set(VALUES)
    assert form.findChild(QLineEdit, "pin").text() == "9999"
    assert form.findChild(QLineEdit, "secret").text() == ""


def test_a_sensitive_value_is_told_to_nobody(make_ui):
    """G35, FC-75."""
    form = make_ui("every_kind.ui")
    change = next(change for change in preview(form, {"pin": "9999"}))
    assert (change.key, change.old, change.new) == ("pin", None, None)
    assert "1234" not in str(synthesise(form))
    assert "pin" not in take_snapshot(form).values


def test_the_ways_of_making_a_form_agree(make_ui):
    tool = synthesise(make_ui("booking.ui"))
    assert (tool["name"], tool["title"], tool["description"]) == ("table.book", "", "Book a table")
    properties = tool["inputSchema"]["properties"]
    assert list(properties) == ["guest", "size", "day", "area", "seat", "card", "holder", "diet", "notes"]
    assert tool["inputSchema"]["required"] == ["guest"]
    assert properties["guest"] == {"type": "string", "minLength": 1, "maxLength": 60, "description": "Guest"}
    assert properties["notes"]["description"] == "Anything else"
