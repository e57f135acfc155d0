"""The fall-back engine: jsonschema, where no wheel of jsonschema-rs exists; the reference in tests.

Python's regular expressions backtrack, so a pattern in which a repeated group repeats or chooses is
refused here.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # its types are a package of their own
import referencing

from agentic_qt.schema.check import Schema, SchemaError, map_schema, render_pointer
from agentic_qt.schema.issues import Problem

_TOKEN: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|\(\?|\(|\)|[*+?][?+]?|\{(?P<low>\d+)(?P<many>,\d*)?\}\??|\||.",
    re.DOTALL,
)
"""One element of a regular expression: escape, class, bracket, quantifier, choice or character."""


class Engine:
    """One compiled schema.

    Args:
        schema: Valid against the meta-schema, with local references only.

    Raises:
        SchemaError: A pattern in it cannot be searched in linear time.
    """

    def __init__(self, schema: Schema) -> None:
        for pattern in _patterns(schema):
            check_pattern(pattern)
        self._validator = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
        self.is_valid: Callable[[Any], bool] = self._validator.is_valid

    def problems(self, value: Any) -> Iterator[Problem]:
        """Yield what is wrong with a value."""
        return (_problem(error) for error in self._validator.iter_errors(value))


def check_meta(schema: Schema) -> None:
    """Check a schema against the meta-schema of 2020-12.

    Raises:
        SchemaError: It is not a schema.
    """
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        place = render_pointer(error.absolute_path)
        raise SchemaError(f"not a usable JSON Schema at {place or 'the root'}: {error.message[:300]}") from error


def check_pattern(pattern: str) -> None:
    """Refuse a regular expression that Python may take exponential time for.

    Raises:
        SchemaError: It does not compile, looks around, refers back, or repeats a group that repeats
            or chooses.
    """
    try:
        re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise SchemaError(f"the pattern {pattern[:80]!r} does not compile: {error}") from error
    risky = [False]  # per open group: whether it repeats or chooses
    closed = False  # whether the group that has just been closed does
    for match in _TOKEN.finditer(pattern):
        piece = match[0]
        was_closed, closed = closed, False
        if piece == "(?" or (piece[0] == "\\" and piece[1:] in set("123456789")):
            raise SchemaError(f"the pattern {pattern[:80]!r} looks around or refers back")
        if piece in {"(", "(?:"}:
            risky.append(False)
        elif piece == ")":
            closed = risky.pop()
            risky[-1] = risky[-1] or closed
        elif piece == "|":
            risky[-1] = True
        elif _repeats(match):
            if was_closed:
                raise SchemaError(f"the pattern {pattern[:80]!r} repeats a group that repeats or chooses")
            risky[-1] = True


def _repeats(match: re.Match[str]) -> bool:
    """Return whether an element is a quantifier that may match more than once, a varying number of times."""
    if match["low"] is not None:
        return match["many"] is not None
    return match[0][0] in "*+" and len(match[0]) <= 2


def _patterns(schema: Schema) -> Iterator[str]:
    for node, _ in map_schema(schema).nodes.values():
        if "pattern" in node:
            yield node["pattern"]
        yield from node.get("patternProperties", ())


def _problem(error: jsonschema.ValidationError, offset: tuple[str | int, ...] = ()) -> Problem:
    path = offset + tuple(error.relative_path)
    keyword = "false" if error.validator is None else str(error.validator)
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    if "propertyNames" in error.relative_schema_path:
        return Problem(path=path, keyword="propertyNames", schema=schema, names=(str(error.instance),))
    branches: dict[int, list[Problem]] = {}
    if keyword in {"anyOf", "oneOf"}:
        branches = {index: [] for index in range(len(error.validator_value))}
        for inner in error.context or ():
            branches[int(inner.relative_schema_path[0])].append(_problem(inner, path))
    return Problem(
        path=path,
        keyword=keyword,
        schema=schema,
        names=tuple(_names(keyword, error)),
        branches=tuple(map(tuple, branches.values())),
    )


def _names(keyword: str, error: jsonschema.ValidationError) -> Iterable[str]:
    """Return the properties that an error is about; jsonschema has them in its message only."""
    schema, instance = error.schema, error.instance
    if keyword == "required":
        return [name for name in error.validator_value if name not in instance]
    if keyword == "dependentRequired":
        rules = error.validator_value.items()
        return [name for key, names in rules if key in instance for name in names if name not in instance]
    if keyword == "additionalProperties":
        patterns = schema.get("patternProperties", {})
        return [
            name
            for name in instance
            if name not in schema.get("properties", {}) and not any(re.search(p, name) for p in patterns)
        ]
    return ()
