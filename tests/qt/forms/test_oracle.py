"""What a real browser says of a form, and what we say of its Qt twin: equal, key order included."""

import json
from pathlib import Path

import pytest

from agentic_qt.qt.forms.synthesise import synthesise
from agentic_qt.schema.validate import compile_schema
from tests.support.html_forms import build_form

FORMS = Path(__file__).parents[2] / "data" / "forms"
HAND_MADE = json.loads((FORMS / "chromium_forms.json").read_text(encoding="utf-8"))
GENERATED = json.loads((FORMS / "chromium_forms_generated.json").read_text(encoding="utf-8"))

NO_QT_MEANING = {
    "form_method_post": "how a page sends a form is none of a widget's business",
    "form_novalidate": "a widget cannot be told not to check",
    "form_input_outside": "a field belongs to the form around it",
    "names_numeric_and_odd": "JavaScript lists keys that are integers first",
    "text_type_unknown": "there is no widget of an unknown kind",
    "text_autocomplete": "what a browser offers to fill in is its own",
    "select_label_attr": "an item has one text",
    "select_hr": "a separator is an item of its own",
    "select_option_markup": "an item's text has no elements",
    "output_meter": "displays take no input in either world; these elements have no twin",
    "contenteditable": "an element that turns into an editor has no twin",
    "inert_input": "a widget that takes no input is disabled, and then no field",
    "details_closed": "a fold has no widget of its own",
    "custom_element_plain": "script defines the element",
    "custom_element_schema": "script defines the element",
    "text_pattern_v_flag": "patterns of Qt have no such mode",
    "number_exponent": "beyond the range of the widgets",
    "file_flagged": "a file is opt-in, by toolParamType, and not by a flag of a browser",
}


def ids(forms):
    return [form["id"] for form in forms]


def judged(forms):
    return [form for form in forms if form["id"] not in NO_QT_MEANING]


def say(form):
    # As text: a comparison of dictionaries would not see the order of the keys.
    return json.dumps(synthesise(build_form(form["html"]), "chromium"), ensure_ascii=False)


@pytest.mark.parametrize("form", judged(HAND_MADE), ids=ids(judged(HAND_MADE)))
def test_a_hand_made_form_is_described_as_the_browser_describes_it(qapp, form):
    assert say(form) == json.dumps(form["tool"], ensure_ascii=False)


@pytest.mark.parametrize("form", GENERATED, ids=ids(GENERATED))
def test_a_generated_form_is_described_as_the_browser_describes_it(qapp, form):
    assert say(form) == json.dumps(form["tool"], ensure_ascii=False)


def test_only_the_listed_forms_are_left_out(qapp):
    left_out = {form["id"] for form in HAND_MADE + GENERATED if build_form(form["html"]) is None}
    # With its flag a browser describes the file fields of a page that looks like any other.
    assert left_out | {"file_flagged"} == set(NO_QT_MEANING)


@pytest.mark.parametrize("form", judged(HAND_MADE) + GENERATED, ids=ids(judged(HAND_MADE) + GENERATED))
def test_the_strict_profile_makes_a_schema_that_the_registry_takes(qapp, form):
    tool = synthesise(build_form(form["html"]))
    if tool is None:
        assert form["tool"] is None
        return
    assert tool["inputSchema"]["additionalProperties"] is False
    assert compile_schema(tool["inputSchema"]).fingerprint
    keys, known = list(tool["inputSchema"]["properties"]), form["tool"]["inputSchema"]["properties"]
    if form["id"] != "checkbox_hidden_same_name":  # a value that nobody sees does not spoil its name for the box
        assert keys == [key for key in known if key in keys]
