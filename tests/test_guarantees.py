"""Each promise of `guarantees` and each field case is named by a test, and each id that a test names is one."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.guarantees import FIELD_CASES, GUARANTEES

TESTS = Path(__file__).resolve().parent
ID = re.compile(r"\b(?:G\d{2}|FC-\d+)\b")


@cache
def named_ids() -> dict[str, list[str]]:
    """Read the docstring of each test; nothing is imported."""
    named: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("test_"):
                continue
            for found in set(ID.findall(ast.get_docstring(node) or "")):
                named[found].append(f"{path.relative_to(TESTS).as_posix()}::{node.name}")
    return dict(named)


@pytest.mark.parametrize("promise", GUARANTEES)
def test_each_promise_is_shown_by_a_test(promise: str) -> None:
    shown_by = named_ids().get(promise, [])
    print(f"{promise} {GUARANTEES[promise]}", *shown_by, sep="\n    ")  # noqa: T201 - the table; see it with pytest -rP
    assert shown_by, f"no test names {promise}: {GUARANTEES[promise]}"


@pytest.mark.parametrize("case", FIELD_CASES)
def test_each_field_case_has_a_test(case: str) -> None:
    shown_by = named_ids().get(case, [])
    print(case, *shown_by, sep="\n    ")  # noqa: T201 - as above
    assert shown_by, f"no test names {case}"


def test_each_promise_that_a_test_names_is_one() -> None:
    named = {found for found in named_ids() if found.startswith("G")}
    assert named - GUARANTEES.keys() == set()


def test_promises_are_numbered_in_order_and_are_one_sentence() -> None:
    assert list(GUARANTEES) == [f"G{number:02}" for number in range(1, len(GUARANTEES) + 1)]
    assert [text for text in GUARANTEES.values() if not text.endswith(".") or text.count(". ") or len(text) > 120] == []
