"""The one authority on schemas: compiles a schema once per fingerprint, decides on values, and explains.

jsonschema-rs is the engine; jsonschema takes its place where no wheel of it exists. Nothing is ever fetched.
Formats are annotations: as 2020-12 has it, ``format`` informs the model and refuses nothing.

Values come from `agentic_qt.schema.canonical` (`freeze` or `parse`): plain JSON of at most 64 levels.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from agentic_qt.schema.canonical import MAX_DEPTH, InputError, canonical, digest
from agentic_qt.schema.check import Root, Schema, SchemaError, SchemaMap, check_root, map_schema
from agentic_qt.schema.issues import Issue, explain
from agentic_qt.schema.work import measure

try:
    from agentic_qt.schema.engine_rust import Engine, check_meta
except ImportError:  # no wheel of jsonschema-rs for this platform
    from agentic_qt.schema.engine_python import Engine, check_meta  # type: ignore[assignment]

__all__ = ["CompiledSchema", "Issue", "SchemaError", "compile_schema"]

MAX_VISITS: Final = 100_000
"""How often a schema may be applied along one path of a value; deeper values are refused."""
MAX_WORK: Final = 10_000_000
"""How often a schema may be applied to all of a value."""
MAX_EXPLAINED_VISITS: Final = 1_000
"""As `MAX_VISITS`, for an explanation: engines hold all branches in memory, at some 100 us a visit."""
MAX_EXPLAINED_WORK: Final = 200_000
"""As `MAX_WORK`, for an explanation."""
_HARMLESS_VISITS: Final = 500
"""A schema that is never applied more often than this needs no look at the value before."""


class CompiledSchema:
    """A schema that was checked and compiled.

    Attributes:
        schema: The schema as frozen JSON; do not change it.
        fingerprint: SHA-256 of its canonical JSON.
        is_valid: Whether a value obeys it; for nearly all schemas the bound method of the engine itself.
        max_depth: How deep a value may be; 64 unless the schema branches and refers to itself.
    """

    __slots__ = ("_engine", "_visits", "fingerprint", "is_valid", "max_depth", "schema")

    def __init__(self, data: bytes, root: Root) -> None:
        schema: Schema = json.loads(data)
        check_root(schema, root)
        check_meta(schema)
        schema_map = map_schema(schema)
        self._visits = measure(schema_map)
        self.max_depth = max(depth for depth in range(MAX_DEPTH + 1) if self._visits_at(depth) <= MAX_VISITS)
        if self.max_depth < 1:
            raise SchemaError("the schema branches too much to be checked")
        self._engine = Engine(_prepared(schema_map))
        self.schema: Schema = json.loads(data)
        self.fingerprint = digest(data)
        self.is_valid: Callable[[Any], bool] = self._engine.is_valid
        if self._visits[-1] > _HARMLESS_VISITS:
            self.is_valid = self._is_valid_within_bounds

    def issues(self, value: Any, limit: int = 20) -> tuple[Issue, ...]:
        """Return what is wrong with a value, at most `limit` issues; empty when it is valid."""
        if self.is_valid(value):
            return ()
        depth, size = _extent(value)
        visits = self._visits_at(depth)
        if depth > self.max_depth:
            return (_bounds(f"at most {self.max_depth} levels deep, not {depth}, for this schema"),)
        if visits * size > MAX_WORK:
            return (_bounds("smaller: the schema allows too many forms in it"),)
        if visits > MAX_EXPLAINED_VISITS or visits * size > MAX_EXPLAINED_WORK:
            return (_bounds("a value that the schema allows; this one is too large to say where it fails"),)
        found = (issue for problem in self._engine.problems(value) for issue in explain(problem, value))
        # never empty for a refused value: a caller may take "no issues" for "valid"
        return tuple(islice(dict.fromkeys(found), limit)) or (_bounds("a value that the schema allows"),)

    def _visits_at(self, depth: int) -> int:
        return self._visits[min(depth, len(self._visits) - 1)]

    def _is_valid_within_bounds(self, value: Any) -> bool:
        depth, size = _extent(value)
        if depth > self.max_depth or self._visits_at(depth) * size > MAX_WORK:
            return False
        return self._engine.is_valid(value)


def compile_schema(schema: Schema, *, root: Root = "object") -> CompiledSchema:
    """Check and compile a schema of JSON Schema 2020-12; the same schema again is answered from a cache.

    Args:
        schema: The schema; it may be changed afterwards.
        root: ``"object"``: the root is a plain object schema, as providers want it; ``"any"``: whatever.

    Raises:
        SchemaError: It is not a schema, leaves its document, needs a regular expression that is not linear,
            is larger than 64 kB or deeper than 64 levels, or makes too much work.
    """
    try:
        data = canonical(schema)
    except InputError as error:
        raise SchemaError(f"at {error.pointer[:200] or 'the root'}: {error} ({error.code})") from error
    return _compile(data, root)


def check_any_schema(schema: Schema) -> CompiledSchema:
    """Check and compile a schema whose root may be anything, such as an output schema.

    Raises:
        SchemaError: As `compile_schema`.
    """
    return compile_schema(schema, root="any")


@lru_cache(maxsize=1024)
def _compile(data: bytes, root: Root) -> CompiledSchema:
    return CompiledSchema(data, root)


def _prepared(schema_map: SchemaMap) -> Schema:
    """Change a schema, but not its meaning, for the sake of engines; the map is of no use afterwards."""
    for node, _ in schema_map.nodes.values():
        if node.get("additionalProperties") is False:
            node.setdefault("properties", {})  # without it jsonschema-rs does not name what is extra
    if isinstance(schema_map.root, dict):
        schema_map.root.pop("$id", None)  # all references are local: an engine must not look it up elsewhere
    return schema_map.root


def _extent(value: Any) -> tuple[int, int]:
    """Return how deep a value is, and how many values are in it."""
    depth, size, level = 0, 1, [value]
    while True:
        below: list[Any] = []
        deeper = False
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
                deeper = True
            elif isinstance(item, list):
                below.extend(item)
                deeper = True
        if not deeper:
            return depth, size
        depth += 1
        size += len(below)
        level = below


def _bounds(expected: str) -> Issue:
    return Issue(pointer="", keyword="bounds", message=f"must be {expected}.", expected=expected)
