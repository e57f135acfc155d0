"""Strict parsing of text that a stranger wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_qt.schema.canonical import InputError, parse


def code_of(text, **limits):
    with pytest.raises(InputError) as caught:
        parse(text, **limits)
    return caught.value.code


def test_plain_json_is_parsed_from_text_and_from_bytes():
    assert parse('{"a": [1, 2.5, true, null, "é\\n"]}') == {"a": [1, 2.5, True, None, "é\n"]}
    assert parse('{"é": 1}'.encode()) == {"é": 1}


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53) + 1, 2**53 - 1)
        | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
        ),
        max_leaves=12,
    ),
    st.booleans(),
)
def test_what_json_writes_is_parsed_back(value, ascii_only):
    assert parse(json.dumps(value, ensure_ascii=ascii_only), max_bytes=None) == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "not_json"),
        ('{"a": 1', "not_json"),
        ('{"a": 1} x', "not_json"),
        ("\ufeff{}", "not_json"),
        ("{'a': 1}", "not_json"),
        ('{"a": NaN}', "not_finite"),
        ("[-Infinity]", "not_finite"),
        ("1e400", "not_finite"),
        ("-1e400", "not_finite"),
        ("9007199254740992", "unsafe_integer"),
        ("9007199254740992.0", "unsafe_integer"),
        ("1e20", "unsafe_integer"),
        ("1" * 5000, "unsafe_integer"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "duplicate_key"),
        ('{"a": 1, "\\u0061": 2}', "duplicate_key"),
        ('"\\ud800"', "bad_text"),
        ('{"\\uDC00": 1}', "bad_text"),
        ('"\ud800"', "bad_text"),
        (b'"\xff"', "bad_text"),
    ],
)
def test_what_is_no_json_is_refused_with_a_code(text, code):
    assert code_of(text) == code


def test_a_pair_of_surrogate_escapes_is_one_character():
    assert parse('"\\ud83d\\ude00"') == "\U0001f600"


def test_depth_64_passes_and_65_does_not():
    assert parse("[" * 64 + "]" * 64)
    assert code_of("[" * 65 + "]" * 65) == "too_deep"


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_fifty_thousand_levels_are_refused_without_recursion(opening):
    """G15."""
    assert code_of(opening * 50_000, max_bytes=None) == "too_deep"


def test_brackets_in_strings_are_no_levels():
    assert parse(json.dumps(["[{" * 100, '\\"[' * 100])) == ["[{" * 100, '\\"[' * 100]


def test_an_open_string_full_of_escapes_costs_one_look_at_it():
    """The search for brackets must not begin anew at every quote: 30,000 of them would take minutes."""
    assert code_of("[" * 65 + '"' + '\\"' * 30_000) == "too_deep"
    assert code_of("[]" * 70 + '"' + '\\"' * 30_000) == "not_json"


def test_the_size_is_judged_before_parsing_in_bytes_of_utf_8():
    """G15."""
    assert code_of("{" * 70_000) == "too_large"
    assert code_of('"' + "é" * 40_000 + '"') == "too_large"
    assert code_of(b"x" * 70_000) == "too_large"
    assert parse('"' + "x" * 70_000 + '"', max_bytes=None)
