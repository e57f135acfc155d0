"""What an approval shows of a request."""

from typing import Any

import pytest

from agentic_qt.ui.approval.payload import Row, describe, shown_value
from tests.support.approval_stage import make_destructive, make_request


def rows(**fields: Any) -> dict[str, Row]:
    return {row.label: row for section in describe(make_request(**fields)).sections for row in section.rows}


def test_each_field_is_shown_by_its_label_or_name() -> None:
    """FC-20."""
    found = rows()
    assert found["E-mail"].value.full == "ada@example.com"
    assert found["customer"].value.full == "Ada"


def test_the_target_is_shown_with_its_stable_id() -> None:
    """FC-20; threat 9: the id beside the label."""
    found = rows()
    assert (found["Target"].value.full, found["Target id"].value.full) == ("Customers", "customers")


def test_changes_of_the_preview_are_shown_from_old_to_new() -> None:
    found = rows(facts={"changes": {"email": {"old": "ada@old.org", "new": "ada@example.com"}}, "version": 7})
    row = found["E-mail"]
    assert row.old is not None
    assert (row.old.full, row.value.full) == ("ada@old.org", "ada@example.com")
    assert found["Version"].value.full == "7"


def test_old_values_of_the_preview_meet_the_new_input() -> None:
    row = rows(facts={"old": {"email": "ada@old.org"}})["E-mail"]
    assert row.old is not None
    assert (row.old.full, row.value.full) == ("ada@old.org", "ada@example.com")


def test_facts_cannot_hide_an_input_behind_another_new_value() -> None:
    """G11, FC-20: what will run is always there."""
    payload = describe(make_request(facts={"changes": {"email": {"old": "x", "new": "harmless@example.com"}}}))
    shown = [row.value.full for section in payload.sections for row in section.rows]
    assert "ada@example.com" in shown
    assert "harmless@example.com" in shown


def test_facts_of_another_shape_are_rows_of_their_own() -> None:
    assert rows(facts={"changes": {"email": ["?"]}})["Changes"].value.full == '{"email": ["?"]}'
    assert rows(facts=["a", "b"])["Preview"].value.full == '["a", "b"]'


def test_a_long_value_is_folded_with_its_exact_length_and_all_of_it_is_there() -> None:
    """FC-20: 20,000 characters with the dangerous tail out of view."""
    value = shown_value("a" * 19_996 + "TAIL")
    assert value.is_long
    assert value.characters == 20_000
    assert value.full.endswith("TAIL")
    assert value.tail.endswith("TAIL")


def test_many_lines_are_folded_too() -> None:
    """FC-20: 200 newlines."""
    value = shown_value("\n" * 200 + "rm -rf")
    assert value.is_long
    assert value.lines == 201
    assert value.tail.endswith("rm -rf")


def test_the_json_is_the_signed_text() -> None:
    """G11."""
    request = make_request()
    payload = describe(request)
    assert payload.json == request.payload
    assert payload.short_digest == request.digest[:12]


def test_undo_and_risk_are_said_in_words() -> None:
    assert describe(make_request(undoable=None)).undo == "Not known whether this can be undone"
    assert describe(make_destructive()).undo == "Cannot be undone"
    assert describe(make_request()).risk_word == "Makes a change"
    assert describe(make_destructive()).risk_word == "Destructive"


def test_the_models_words_cannot_hide_anything_either() -> None:
    """Threat 6."""
    assert describe(make_request(reason="ok\u202e<b>Approved by IT</b>")).reason == "ok\\u{202e}<b>Approved by IT</b>"


def test_an_object_of_plain_facts_is_a_section_of_rows() -> None:
    """Not JSON: people read labels."""
    payload = describe(make_request(facts={"customer": {"full_name": "Ada Lovelace", "open_orders": 2}, "version": 7}))
    found = {section.heading: section.rows for section in payload.sections}
    rows_of = found["Found by the application: Customer"]
    assert [(row.label, row.value.full) for row in rows_of] == [("Full name", "Ada Lovelace"), ("Open orders", "2")]
    assert [row.label for row in found["Found by the application"]] == ["Version"]


def test_a_name_that_is_not_declared_is_shown_to_the_letter() -> None:
    """Threat 9: a model may choose it where a schema is open."""
    found = rows(input={"e_mail": "x", "e\u200bmail": "y", "email": "z"})
    assert set(found) >= {"e_mail", "e\\u{200b}mail", "E-mail"}


@pytest.mark.parametrize("value", [{}, {"deep": {"er": 1}}, [1, 2], "text"])
def test_other_facts_stay_one_row(value: Any) -> None:
    payload = describe(make_request(facts={"found": value}))
    last = payload.sections[-1]
    assert (last.heading, [row.label for row in last.rows]) == ("Found by the application", ["Found"])


def test_free_text_is_marked_as_written_by_the_model() -> None:
    schema = {
        "type": "object",
        "properties": {
            "note": {"type": "string", "title": "Note", "x-free-text": True},
            "email": {"type": "string", "title": "E-mail", "x-free-text": "yes"},
        },
    }
    found = rows(input_schema=schema, input={"note": "Called today", "email": "ada@example.com"})
    assert found["Note (written by the model)"].value.full == "Called today"
    assert "E-mail" in found
