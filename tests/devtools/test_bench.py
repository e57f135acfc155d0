"""The rows of the benchmark that compare: both sides do the same work; no times are judged here."""

import pytest

from agentic_qt.devtools.bench import digests, registering, tools
from agentic_qt.devtools.bench.measuring import Row
from agentic_qt.devtools.bench.scripts import run_script


def test_tools_are_measured_again_and_after_a_change() -> None:
    rows = {row.name: row for row in tools.measure(2, 3)}
    many = rows["1,000 tools serialised again, unchanged"]
    assert (many.base, many.limit) == ("100 tools serialised again, unchanged", tools.UNCHANGED_LIMIT)
    assert many.ratio is not None
    changed = rows["1,000 tools serialised after one change, snapshot included"]
    assert changed.ratio is not None
    assert all(row.value > 0 for row in rows.values())


def test_canonical_json_is_measured_against_the_same_bytes() -> None:
    base, row = digests.measure(2)
    assert (row.base, row.limit, base.ratio) == ("rfc8785", 0.5, None)
    assert row.name.endswith("at 9.5 kB")
    assert row.ratio is not None


def test_registering_is_measured_alone_without_a_peer() -> None:
    (row,) = registering.measure(1, None)
    assert (row.unit, row.ratio, row.limit) == ("us", None, None)
    assert row.value > 0


def test_a_script_that_fails_is_told_with_its_words() -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        run_script("raise SystemExit('no such thing')")
    assert run_script("import sys; print(*sys.argv[1:])", 1, 2.5) == [1.0, 2.5]


def test_a_row_over_its_limit_says_so() -> None:
    fields = {"name": "row", "value": 10.0, "unit": "us"}
    assert Row(**fields, ratio=2.9, limit=3.0).within
    assert not Row(**fields, ratio=3.1, limit=3.0).within
    assert not Row(**fields, limit=9.0).within
    assert Row(**fields).within
