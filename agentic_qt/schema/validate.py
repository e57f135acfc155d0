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

from agentic_qt.schema import engine
from agentic_qt.schema.canonical import MAX_DEPTH, InputError, canonical, canonical_of_easy, digest
from agentic_qt.schema.check import Root, Schema, SchemaError, SchemaMap, check_root, map_schema
from agentic_qt.schema.issues import Issue, explain
from agentic_qt.schema.plain import is_plain
from agentic_qt.schema.work import measure
from agentic_qt.schema.work_bound import bound

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
    """A schema that was checked and compiled; a plain one is compiled when it is first needed.

    Args:
        data: Its canonical JSON.
        root: What the root may be.
        plain: It was found plain (`agentic_qt.schema.plain`) and its root was checked: nothing is left to check,
            and it cannot fail to compile.

    Attributes:
        fingerprint: SHA-256 of its canonical JSON.
        is_valid: Whether a value obeys it; for nearly all schemas, once compiled, the bound method of the engine
            itself.
        max_depth: How deep a value may be; 64 unless the schema branches and refers to itself.
    """

    __slots__ = ("_compiled", "_data", "_visits", "fingerprint", "is_valid", "max_depth")

    def __init__(self, data: bytes, root: Root, *, plain: bool = False) -> None:
        self._data = data
        self.fingerprint = digest(data)
        self._compiled: engine.Engine | None = None
        self.is_valid: Callable[[Any], bool] = self._compile_and_ask
        self._visits: tuple[int, ...] = ()
        self.max_depth = MAX_DEPTH
        if plain:
            return
        schema: Schema = json.loads(data)
        check_root(schema, root)
        engine.check_meta(schema)
        schema_map = map_schema(schema)
        self._visits = _count(schema_map)
        if self._visits[-1] > MAX_VISITS:
            self.max_depth = max(depth for depth in range(MAX_DEPTH + 1) if self._visits_at(depth) <= MAX_VISITS)
        if self.max_depth < 1:
            raise SchemaError("the schema branches too much to be checked")
        self._use(engine.Engine(_prepared(schema_map)))

    @property
    def schema(self) -> Schema:
        """The schema as frozen JSON: a copy."""
        schema: Schema = json.loads(self._data)
        return schema

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
        found = (issue for problem in self._engine().problems(value) for issue in explain(problem, value))
        # never empty for a refused value: a caller may take "no issues" for "valid"
        return tuple(islice(dict.fromkeys(found), limit)) or (_bounds("a value that the schema allows"),)

    def mentions(self, word: str) -> bool:
        """Whether a word stands anywhere in the schema as a key or a text of its own: a quick look before a slow one.

        Args:
            word: ASCII, without quotes and backslashes.
        """
        return f'"{word}"'.encode() in self._data

    def _engine(self) -> "engine.Engine":
        if self._compiled is None:
            return self._use(engine.Engine(_prepared(map_schema(json.loads(self._data)))))
        return self._compiled

    def _use(self, made: "engine.Engine") -> "engine.Engine":
        self._compiled = made
        # A plain schema makes so little work that it is not even counted.
        is_harmless = not self._visits or self._visits[-1] <= _HARMLESS_VISITS
        self.is_valid = made.is_valid if is_harmless else self._is_valid_within_bounds
        return made

    def _compile_and_ask(self, value: Any) -> bool:
        return (self._compiled or self._engine()).is_valid(value)

    def _visits_at(self, depth: int) -> int:
        if not self._visits:
            self._visits = _count(map_schema(json.loads(self._data)))
        return self._visits[min(depth, len(self._visits) - 1)]

    def _is_valid_within_bounds(self, value: Any) -> bool:
        depth, size = _extent(value)
        if depth > self.max_depth or self._visits_at(depth) * size > MAX_WORK:
            return False
        return self._engine().is_valid(value)


def compile_schema(schema: Schema, *, root: Root = "object") -> CompiledSchema:
    """Check and compile a schema of JSON Schema 2020-12; the same schema again is answered from a cache.

    Args:
        schema: The schema; it may be changed afterwards.
        root: ``"object"``: the root is a plain object schema, as providers want it; ``"any"``: whatever.

    Raises:
        SchemaError: It is not a schema, leaves its document, needs a regular expression that is not linear,
            is larger than 64 kB or deeper than 64 levels, or makes too much work.
    """
    plain = is_plain(schema)
    try:
        data = canonical_of_easy(schema) if plain else canonical(schema)
        if plain:
            check_root(schema, root)
    except InputError as error:
        raise SchemaError(f"at {error.pointer[:200] or 'the root'}: {error} ({error.code})") from error
    return _compile(data, root, plain)


def check_any_schema(schema: Schema) -> CompiledSchema:
    """Check and compile a schema whose root may be anything, such as an output schema.

    Raises:
        SchemaError: As `compile_schema`.
    """
    return compile_schema(schema, root="any")


@lru_cache(maxsize=1024)
def _compile(data: bytes, root: Root, plain: bool) -> CompiledSchema:  # noqa: FBT001 - a cache key
    return CompiledSchema(data, root, plain=plain)


def _count(schema_map: SchemaMap) -> tuple[int, ...]:
    """Return how often a schema may be applied on a path of a value, by the depth of the value."""
    at_most = bound(schema_map)
    return measure(schema_map) if at_most is None else (at_most,)


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
