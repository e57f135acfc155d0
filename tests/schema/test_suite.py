"""The required tests of the JSON-Schema-Test-Suite for 2020-12 through our validator.

The suite (MIT) ships in the source distribution of jsonschema, which is fetched once, by pip, into the user's cache;
its version is fixed, so that the table of differences stays true. Where it cannot be had the tests are skipped.

The table (``data/schema_suite_differences.json``) says what our message says, why, and by the suite's own files and
titles which groups it concerns. It lists refusals only: whatever we judge, we judge as the suite says.
"""

import json
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_cache_path

from agentic_qt.schema.canonical import InputError, freeze
from agentic_qt.schema.validate import SchemaError, compile_schema

VERSION = "4.25.1"
ARCHIVE = f"jsonschema-{VERSION}.tar.gz"
FOLDER = f"jsonschema-{VERSION}/json/tests/draft2020-12/"
DIFFERENCES = json.loads((Path(__file__).parents[1] / "data" / "schema_suite_differences.json").read_text())
TESTS = 1257
AGREED = 1138


@pytest.fixture(scope="module")
def archive() -> Path:
    folder = user_cache_path("agentic-qt") / "test-suite"
    path = folder / ARCHIVE
    if not path.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-binary", "jsonschema", "--dest", str(folder), f"jsonschema=={VERSION}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
        except subprocess.TimeoutExpired:
            done = None
        if done is None or done.returncode != 0 or not path.exists():
            pytest.skip(f"{TESTS} tests of the JSON-Schema-Test-Suite left out: {ARCHIVE} could not be fetched")
    return path


def required(archive: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the groups with the names of their files; what is optional lies in a folder of its own."""
    with tarfile.open(archive) as source:
        for member in source:
            name = member.name.removeprefix(FOLDER)
            content = source.extractfile(member) if name != member.name and "/" not in name else None
            if content is not None:
                yield from ((name, group) for group in json.load(content))


def judged(group: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield each test of a group with our verdict, or with the words of our refusal."""
    try:
        compiled = compile_schema(group["schema"], root="any")
    except SchemaError as error:
        yield from ((test, str(error)) for test in group["tests"])
        return
    for test in group["tests"]:
        try:
            verdict: Any = compiled.is_valid(freeze(test["data"])[1])
        except InputError as error:
            verdict = error.code
        if verdict is True or verdict is False:
            assert bool(compiled.issues(test["data"])) is not verdict
        yield test, verdict


def is_listed(file: str, group: str, refusal: str) -> bool:
    """Whether a refusal is one of the table; a schema that breaks two rules may be refused for either."""
    known = any(group in one["groups"].get(file, ()) for one in DIFFERENCES)
    return known and any(one["says"] in refusal for one in DIFFERENCES)


def test_each_required_test_is_judged_as_the_suite_says_or_refused_for_a_listed_reason(archive: Path) -> None:
    counts: Counter[str] = Counter()
    used = set()
    wrong = []
    for file, group in required(archive):
        for test, verdict in judged(group):
            counts["all"] += 1
            if verdict is test["valid"]:
                counts["agreed"] += 1
                continue
            if not isinstance(verdict, str) or not is_listed(file, group["description"], verdict):
                wrong.append((file, group["description"], test["description"], verdict))
            used.add((file, group["description"]))
    listed = {(file, group) for one in DIFFERENCES for file, groups in one["groups"].items() for group in groups}
    assert wrong == []
    assert listed - used == set(), "these differ no more"
    assert (counts["all"], counts["agreed"]) == (TESTS, AGREED)
