"""Calls that a real browser was given, and what became of them: the same here, or a listed deviation with its reason.

A deviation that is none any more fails its test, and so does one that is not listed. These are the probes of filling
and validation; those of review and submission are in test_submit_probes.py.
"""

import json

import pytest
from PySide6.QtCore import QDate
from PySide6.QtWidgets import QComboBox, QLineEdit

from agentic_qt.qt.forms.fill import FillError, check, fill, take_snapshot
from agentic_qt.qt.forms.synthesise import input_schema
from agentic_qt.qt.forms.walker import walk
from tests.support.form_probes import FILL_PROBES, PROBES, cases, make_twin, shown

ALL = "every call"

# --- Filling and validation ------------------------------------------------------------------------------------------

DEVIATIONS = {
    "auto_missing_required_prefilled": (
        "the schema says that it is required, and the gate before the form believes it",
        ALL,
    ),
    "number_values": ("a number is written as one: there is no coercion", ['{"n": "7"}', '{"n": "1e1"}']),
    "number_values_step": (
        "numbers are exact, and integers beyond 2^53-1 are refused before any form is asked",
        ['{"n": 0.30000000000000004}', '{"n": 1e+21}', '{"n": 12345678901234567000}'],
    ),
    "range_values": (
        "a value out of range is refused, not clamped, and there is no coercion",
        ['{"n": 500}', '{"n": -5}', '{"n": 33}', '{"n": "40"}', '{"n": "x"}'],
    ),
    "text_values": (
        "a text is written as one, on one line, and integers beyond 2^53-1 are refused",
        [
            '{"a": 5}', '{"a": 1.5}', '{"a": true}', '{"a": "two\\nlines"}', '{"a": 1e+21}',
            '{"a": 12345678901234567000}',
        ],
    ),
    "text_limits": ("limits of length hold", ['{"a": "abcdef"}', '{"a": "a"}']),
    "text_sanitised": ("a password is never written", ['{"p": "se\\ncret"}']),
    "textarea_values": ("there is no coercion", ['{"a": 5}']),
    "checkbox_values": (
        "true and false are written as such: there is no coercion",
        ['{"c": "true"}', '{"c": "TRUE"}', '{"c": "false"}', '{"c": "1"}', '{"c": "0"}', '{"c": 1}', '{"c": 0}',
         '{"c": 2}'],
    ),
    "radio_numeric_values": ("there is no coercion", ['{"r": 1}', '{"r": 2}']),
    "select_values": (
        "a combo box takes the shown text too, and offers no disabled item",
        ['{"s": "Green"}', '{"s": "b"}'],
    ),
    "select_numeric_values": ("there is no coercion", ['{"s": 2}']),
    "date_values": ("no date field of Qt is empty", ['{"d": ""}']),
    "time_values": (
        "no time field of Qt is empty, and seconds that it does not show are not kept",
        ['{"d": "09:30:00"}', '{"d": ""}'],
    ),
    "datetime_values": ("ISO 8601 has a T between date and time", ['{"d": "2026-05-05 09:30"}']),
    "color_values": (
        "a colour is written as #rrggbb, and what is none is refused, not made black",
        ['{"c": "#fff"}', '{"c": "red"}', '{"c": "#gggggg"}', '{"c": ""}', '{"c": "#ff000080"}'],
    ),
    "hidden_param": ("what nobody can see is not filled", ['{"h": "2"}']),
    "fill_events_all_types": ("what nobody can see is not filled", ALL),
    "dependent_options": (
        "declared dependencies are filled in one call",
        ['{"country": "VN", "state": "Hue"}'],
    ),
    "dependent_remove": ("a field that another one removed cannot be filled: all is rolled back", ALL),
    "handler_calls_reset_on_change": ("a value that does not stay was not taken: all is rolled back", ALL),
    "handler_removes_form_on_change": ("the browser's call hangs for ever; here the fill is done", ALL),
    "dependent_disable": ("a field that another one disabled is not written to behind its back", ALL),
    "number_precision": (
        "numbers keep all their digits, and there is no coercion",
        [
            '{"n": 1234567.89}', '{"n": 0.1234567}', '{"n": 100000.5}', '{"n": 2147483648}',
            '{"n": 3.141592653589793}', '{"n": "1234567.89"}', '{"t": 1234567.89}',
        ],
    ),
    "validation_hidden_field": ("what nobody can see is no field, and holds nobody up", ALL),
    "validation_unnamed_field": ("what has no name is no field; lint tells, and the submission checks", ALL),
}  # fmt: skip

CALLS = [
    pytest.param(probe, case, id=f"{probe}-{json.dumps(case.input)}") for probe in FILL_PROBES for case in cases(probe)
]


def is_deviation(probe, case):
    _, inputs = DEVIATIONS.get(probe, ("", []))
    return inputs == ALL or json.dumps(case.input) in inputs


def try_to_fill(form, values):
    try:
        fill(form, values)
    except FillError:
        return False
    return True


@pytest.mark.parametrize(("probe", "case"), CALLS)
def test_a_call_ends_as_in_the_browser_or_as_the_table_says(qapp, probe, case):
    form = make_twin(probe)
    before = take_snapshot(form)
    accepted = try_to_fill(form, case.input)
    held = shown(form)
    agrees = accepted == case.accepted
    if accepted and case.accepted and case.values:
        agrees = all(held[key] == case.values[key] for key in case.input)
    assert agrees != is_deviation(probe, case)
    if not accepted:  # which cannot be said of the browser
        now = take_snapshot(form)
        assert now.values == {key: value for key, value in before.values.items() if key in now.values}


def test_each_listed_deviation_is_one_of_a_call():
    known = {probe: {json.dumps(case.input) for case in cases(probe)} for probe in FILL_PROBES}
    for probe, (_, inputs) in DEVIATIONS.items():
        assert inputs == ALL or set(inputs) <= known[probe]


@pytest.mark.parametrize("given", [["a"], "a", 5, None, QDate(2026, 5, 5)])
def test_an_input_that_is_no_object_is_refused(qapp, given):
    """Probe non_object_args; what is undefined cannot be given here, and nothing here has a toJSON."""
    form = make_twin("non_object_args")
    assert [issue.pointer for issue in check(form, given)] == [""]
    assert not try_to_fill(form, given)
    settled = {item["k"]: item["settled"] for item in PROBES["non_object_args"]["result"]}
    assert {settled[kind] for kind in ("array", "string", "number", "null", "date")} == {"rejected"}


def test_a_form_that_checks_nothing_has_no_twin(qapp):
    """Probe auto_missing_required_novalidate: the browser submits it without what it requires."""
    assert make_twin("auto_missing_required_novalidate") is None


def test_values_of_an_earlier_call_stay_unless_the_form_is_reset(qapp):
    """Probe values_persist."""
    form = make_twin("values_persist")
    fill(form, {"a": "1", "b": "2"})
    assert fill(form, {"b": "3"}).after.values == {"a": "1", "b": "3"}
    assert PROBES["values_persist"]["result"]["r2"]["values"] == {"a": "1", "b": "3"}
    assert fill(form, {"b": "4"}, reset=True).after.values == {"a": "", "b": "4"}


def test_fields_are_filled_in_the_order_of_the_arguments(qapp):
    """Probe fill_order."""
    form = make_twin("fill_order")
    log = []
    for field in walk(form).fields:
        field.control.textEdited.connect(lambda _, key=field.key: log.append(key))
    fill(form, {"c": "3", "a": "1", "b": "2"})
    told = [entry.split()[1] for entry in PROBES["fill_order"]["result"]["log"] if entry.startswith("input ")]
    assert log == told == ["c", "a", "b"]


def test_values_that_are_there_already_tell_nobody(qapp):
    """Probe fill_events_unchanged: the browser tells of two changes that are none; here nothing is told."""
    form = make_twin("fill_events_unchanged")
    log = []
    for field in walk(form).fields:
        for signal in field.adapter.changed(field.control):
            signal.connect(lambda *_, key=field.key: log.append(key))
    assert cases("fill_events_unchanged")[0].input.keys() == {"t", "ta", "n", "r", "c", "rd", "s", "m"}
    assert fill(form, cases("fill_events_unchanged")[0].input).changes == ()
    assert log == []


def test_each_kind_tells_of_its_change(qapp):
    """Probe fill_events_all_types."""
    form = make_twin("fill_events_all_types")
    log = set()
    for field in walk(form).fields:
        for signal in field.adapter.changed(field.control):
            signal.connect(lambda *_, key=field.key: log.add(key))
    values = {key: value for key, value in cases("fill_events_all_types")[0].input.items() if key != "h"}
    fill(form, values)
    # A dynamic property has no signal of its own: the event DynamicPropertyChange tells of the colour.
    assert log == set(values) - {"co"}


def test_changes_of_a_form_are_seen_when_it_is_listed(qapp):
    """Probe live_schema: the browser goes on listing old labels and options; here they are those of now."""
    form = make_twin("live_schema")
    steps = {step["what"]: step["tools"] for step in PROBES["live_schema"]["result"]}
    assert steps["nothing"][0]["inputSchema"] == json.loads(json.dumps(say(form)))
    form.findChild(QLineEdit).setProperty("toolRequired", True)
    assert say(form)["required"] == steps["add required"][0]["inputSchema"]["required"] == ["a"]
    form.findChild(QComboBox).addItem("y", "y")
    assert say(form)["properties"]["s"]["enum"] == ["x", "y"]


def say(form):
    return input_schema(form, "chromium")
