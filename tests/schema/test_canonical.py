"""Canonical JSON: the bytes of RFC 8785, and every refusal with its code."""

import json
import math
import os
import struct
from collections import OrderedDict
from enum import IntEnum, StrEnum
from pathlib import Path
from types import MappingProxyType

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from agentic_qt.schema.canonical import MAX_SAFE_INTEGER, InputError, canonical, digest, freeze

VECTORS = Path(os.environ.get("AGENTIC_QT_VECTORS", "/nowhere")) / "vectors" / "jcs"
needs_vectors = pytest.mark.skipif(
    not VECTORS.is_dir(), reason="AGENTIC_QT_VECTORS names no folder of RFC 8785 vectors"
)

safe_integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
numbers = (
    safe_integers
    | st.floats(-1e15, 1e15)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def code_of(value, **limits):
    with pytest.raises(InputError) as caught:
        canonical(value, **limits)
    return caught.value.code, caught.value.pointer


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


@needs_vectors
@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "weird"])
def test_a_file_of_the_standard_gives_its_bytes(name):
    value = json.loads((VECTORS / "input" / f"{name}.json").read_bytes())
    expected = bytes.fromhex((VECTORS / "outhex" / f"{name}.txt").read_text())
    assert canonical(value) == expected
    assert canonical(value) == (VECTORS / "output" / f"{name}.json").read_bytes()


@needs_vectors
def test_the_file_with_an_unsafe_number_is_refused_and_gives_its_bytes_without_it():
    value = json.loads((VECTORS / "input" / "values.json").read_bytes())
    assert code_of(value) == ("unsafe_integer", "/numbers/1")
    value["numbers"].remove(1e30)
    expected = (VECTORS / "output" / "values.json").read_bytes().replace(b"1e+30,", b"")
    assert canonical(value) == expected


@needs_vectors
def test_ten_thousand_numbers_print_as_in_ecmascript():
    judged = refused = 0
    for line in (VECTORS / "es6testfile10k.txt").read_text().splitlines():
        bits, expected = line.split(",")
        number = struct.unpack(">d", bytes.fromhex(bits.rjust(16, "0")))[0]
        if number.is_integer() and abs(number) > MAX_SAFE_INTEGER:
            assert code_of(number)[0] == "unsafe_integer"
            refused += 1
        else:
            assert canonical(number) == expected.encode()
            judged += 1
    assert judged > 4_000
    assert judged + refused == 10_000


@given(json_values)
def test_any_json_gives_the_bytes_of_the_reference(value):
    assert canonical(value) == rfc8785.dumps(value)


@given(json_values)
def test_what_runs_has_the_same_canonical_bytes(value):
    """G02."""
    data, frozen = freeze(value)
    assert canonical(frozen) == data


def test_one_and_one_point_zero_have_the_same_digest():
    assert digest(canonical({"n": 1})) == digest(canonical({"n": 1.0}))
    assert freeze({"n": 1.0})[1]["n"].__class__ is int


def test_the_digest_is_sha_256():
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_the_frozen_value_does_not_follow_the_original():
    """G02."""
    original = {"rows": [1]}
    frozen = freeze(original)[1]
    original["rows"].append(2)
    assert frozen == {"rows": [1]}


def test_subclasses_count_as_their_plain_value():
    class Colour(StrEnum):
        RED = "red"

    class Level(IntEnum):
        LOW = 1

    value = {Colour.RED: (Colour.RED, Level.LOW), "m": MappingProxyType({"a": OrderedDict(b=1)})}
    assert canonical(value) == b'{"m":{"a":{"b":1}},"red":["red",1]}'


def test_keys_are_sorted_by_utf_16():
    assert canonical({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()


def test_depth_64_passes_and_65_does_not():
    """G15."""
    assert canonical(nested(64)) == b"[" * 64 + b"]" * 64
    assert code_of(nested(65))[0] == "too_deep"


def test_a_value_that_contains_itself_is_too_deep():
    ring = {}
    ring["again"] = ring
    double = []
    double.extend([double, double])
    assert code_of(ring)[0] == "too_deep"
    assert code_of(double)[0] in {"too_deep", "too_large"}
    assert code_of(double, max_bytes=None)[0] == "too_deep"


def test_a_small_value_that_repeats_itself_into_millions_is_refused_without_writing_it():
    value = "x"
    for _ in range(40):
        value = [value, value]
    assert code_of(value)[0] == "too_large"


def test_the_limit_counts_canonical_bytes():
    assert len(canonical("x" * (65_536 - 2))) == 65_536
    assert code_of("x" * (65_536 - 1))[0] == "too_large"
    assert code_of("é" * 40_000)[0] == "too_large"
    assert len(canonical("x" * 100_000, max_bytes=None)) == 100_002
    assert code_of([1, 2, 3], max_bytes=6)[0] == "too_large"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, ("not_finite", "")),
        ({"a/b": [0, math.inf]}, ("not_finite", "/a~1b/1")),
        ([2**53], ("unsafe_integer", "/0")),
        ([-(2**53)], ("unsafe_integer", "/0")),
        ([2.0**53], ("unsafe_integer", "/0")),
        ([10**5000], ("unsafe_integer", "/0")),
        ({"a": {1: 2}}, ("bad_key", "/a")),
        ({None: 2}, ("bad_key", "")),
        ({"a": {1, 2}}, ("not_json", "/a")),
        ({"a": b"bytes"}, ("not_json", "/a")),
        ({"a": object()}, ("not_json", "/a")),
        ({"a": "\ud800"}, ("bad_text", "/a")),
        ({"\udfff": 1}, ("bad_text", "")),
    ],
)
def test_what_is_no_json_is_refused_with_a_code_and_a_place(value, expected):
    assert code_of(value) == expected


def test_the_largest_safe_integers_pass():
    assert canonical([MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER]) == b"[9007199254740991,-9007199254740991]"


def test_a_refusal_does_not_repeat_the_value():
    """G28."""
    with pytest.raises(InputError) as caught:
        canonical({"a": ["secret", math.nan]})
    assert "secret" not in caught.value.message
