"""The exact display of text that nobody vouches for."""

import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_qt.ui.approval.text import (
    exact,
    exact_value,
    mixed_scripts,
    read_back,
    read_back_value,
    runs_right_to_left,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
TRICKY = (
    "a\u00e9\u0301\u0327e\u0308\u1100\uac01\u11a8\u202e\u2066\u200b\u200d\ufeff\u00ad\x00\x1b\t\r\n⏎\\u{}"
    '\u0430\u0440\u03b1\u2028\ue000\U000e0041\ufe0f\u3164\u00a0 5"[{\ud800'
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=8,
)


@given(ANY_TEXT | st.text(TRICKY, max_size=20))
@settings(max_examples=500, deadline=None)
def test_what_is_shown_reads_back_to_the_exact_text(text: str) -> None:
    """G11, threat 9."""
    assert read_back(exact(text)) == text


@given(JSON)
@settings(max_examples=500, deadline=None)
def test_what_is_shown_reads_back_to_the_exact_value_and_type(value: object) -> None:
    """Threat 9."""
    found = read_back_value(exact_value(value))
    assert found == value
    assert type(found) is type(value)


def test_ten_thousand_hostile_payloads_read_back() -> None:
    """G11, threat 9; prints its N."""
    chance = random.Random(20)
    wrong = 0
    for _ in range(10_000):
        text = "".join(chance.choice(TRICKY) for _ in range(chance.randrange(1, 30)))
        shown = exact(text)
        wrong += read_back(shown) != text or not _is_harmless(shown)
    print(f"hostile payloads that did not read back exactly: {wrong} of 10000")  # noqa: T201 - a zero is worth its N
    assert wrong == 0


@given(ANY_TEXT | st.text(TRICKY, max_size=20))
@settings(max_examples=500, deadline=None)
def test_what_is_shown_is_in_normal_form_and_holds_nothing_invisible(text: str) -> None:
    assert _is_harmless(exact(text))


def _is_harmless(shown: str) -> bool:
    return unicodedata.is_normalized("NFC", shown) and all(
        char == "\n" or unicodedata.category(char) not in {"Cf", "Cc", "Co", "Cn", "Cs", "Zl", "Zp"} for char in shown
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("C:\\Users", "C:\\Users"),
        ("\\u{41}", "\\u{5c}u{41}"),
        ("a\u202eb", "a\\u{202e}b"),
        ("zero\u200bwidth", "zero\\u{200b}width"),
        ("e\u0301", "e\\u{301}"),
        ("\u00e9", "\u00e9"),
        ("one\ntwo", "one⏎\ntwo"),
        ("⏎", "\\u{23ce}"),
        ("tab\t", "tab\\u{9}"),
        ("Nguyễn Văn", "Nguyễn Văn"),
        ("客户", "客户"),
        ("a\u00a0b", "a\\u{a0}b"),
    ],
)
def test_only_what_cannot_be_seen_is_escaped(text: str, shown: str) -> None:
    assert exact(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("ada", "ada"),
        ("5", '"5"'),
        (5, "5"),
        ("", '""'),
        (None, "null"),
        ("null", '"null"'),
        ([1, 2], "[1, 2]"),
        (" a", '" a"'),
    ],
)
def test_a_string_keeps_its_quotes_where_it_could_be_mistaken(value: object, shown: str) -> None:
    assert exact_value(value) == shown


def test_numbers_and_json_never_run_right_to_left() -> None:
    assert not runs_right_to_left("[3, 17]")
    assert not runs_right_to_left('["\u05d0", 1]')
    assert not runs_right_to_left("12.5 ⏎")
    assert runs_right_to_left("\u05e9\u05dc\u05d5\u05dd abc")
    assert not runs_right_to_left("abc \u05e9")


def test_a_pile_of_marks_does_not_run_into_other_lines() -> None:
    assert exact("z" + "\u0335" * 5).count("\\u{335}") == 3


def test_a_word_of_several_scripts_is_flagged_and_its_odd_letters_revealed() -> None:
    """Threat 9: homoglyphs."""
    assert mixed_scripts("go to p\u0430ypal now") == ("p\\u{430}ypal",)
    assert mixed_scripts("\u03bfnline") == ("\\u{3bf}nline",)


@pytest.mark.parametrize("text", ["Привет, world", "Αθήνα", "plain", "東京 Tokyo", "naïve"])
def test_words_wholly_in_one_script_are_not_flagged(text: str) -> None:
    assert mixed_scripts(text) == ()
