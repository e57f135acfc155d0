"""What is wrong with a value, in our own words: short stable English by keyword, whatever engine found it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentic_qt.schema.canonical import pointer_token

MAX_SHOWN: Final = 80
"""How many characters of a value a message may repeat."""
MAX_EXPECTED: Final = 300
"""How many characters of the schema a message may repeat."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Issue:
    """One thing that is wrong with a value.

    Args:
        pointer: JSON Pointer (RFC 6901) of the place in the value: of the missing property for ``required``,
            of the extra one for ``additionalProperties``.
        keyword: The keyword of JSON Schema that is broken; a stable code.
        message: One English sentence that says what is expected.
        expected: The expectation alone, such as ``"an integer"``.
    """

    pointer: str
    keyword: str
    message: str
    expected: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What an engine found, without words.

    Args:
        path: The place in the value.
        keyword: The keyword that is broken; ``"false"`` for the schema ``false``.
        schema: The subschema in which the keyword stands.
        names: The properties or elements that are missing, extra or badly named.
        branches: For ``anyOf`` and ``oneOf``: what is wrong in each branch.
    """

    path: tuple[str | int, ...]
    keyword: str
    schema: Mapping[str, Any]
    names: tuple[str | int, ...] = ()
    branches: tuple[tuple["Problem", ...], ...] = ()


def explain(problem: Problem, value: Any) -> Iterator[Issue]:
    """Yield the issues of one problem; a choice is explained by the branch that the value seems to mean."""
    pointer = "".join(map(pointer_token, problem.path))
    if problem.keyword in {"required", "dependentRequired"}:
        for name in problem.names:
            expected = _property(problem.schema, name)
            place = pointer + pointer_token(name)
            yield _issue(place, problem.keyword, f"is missing: {expected} is required", expected)
    elif problem.keyword in {"additionalProperties", "unevaluatedProperties", "unevaluatedItems"}:
        expected = _known(problem.schema)
        if not problem.names:  # the fall-back engine names no unevaluated members
            yield _issue(pointer, problem.keyword, "has a member that is not known", expected)
        for name in problem.names:
            place = pointer + pointer_token(name)
            yield _issue(place, problem.keyword, f"is not known: expected {expected}", expected)
    elif problem.keyword == "propertyNames":
        expected = _phrase(problem.schema) or "another name"
        yield _issue(pointer, "propertyNames", f"has the bad name {_show(problem.names[0])}", expected)
    elif problem.keyword in {"anyOf", "oneOf"}:
        yield from _explain_choice(problem, value, pointer)
    else:
        expected = _expectation(problem.keyword, problem.schema.get(problem.keyword))
        found = _show(_at(value, problem.path))
        yield _issue(pointer, problem.keyword, f"must be {expected}, not {found}", expected)


def _issue(pointer: str, keyword: str, text: str, expected: str) -> Issue:
    return Issue(pointer=pointer, keyword=keyword, message=f"{text}.", expected=expected)


def _explain_choice(problem: Problem, value: Any, pointer: str) -> Iterator[Issue]:
    branches = [branch for branch in problem.branches if branch]
    if len(branches) < len(problem.branches) or not branches:  # several branches match
        expected = "exactly one of the allowed forms"
        yield _issue(pointer, problem.keyword, f"must be {expected}; it matches several", expected)
        return
    meant = [branch for branch in branches if not _fails_at(branch, len(problem.path), _SHAPE)]
    if len(meant) > 1:  # forms that are told apart by a constant property
        meant = [branch for branch in meant if not _fails_at(branch, len(problem.path) + 1, _MARK)] or meant
    deeper = [branch for branch in meant if all(len(inner.path) > len(problem.path) for inner in branch)]
    if len(meant) == 1 or (deeper and len(deeper) == len(meant)):
        for inner in max(meant, key=lambda branch: max(len(inner.path) for inner in branch)):
            yield from explain(inner, value)
        return
    phrases = [_branch_phrase(branch, len(problem.path)) for branch in meant or branches]
    expected = _cut(" or ".join(dict.fromkeys(phrases)), MAX_EXPECTED)
    found = _show(_at(value, problem.path))
    yield _issue(pointer, problem.keyword, f"must be {expected}, not {found}", expected)


_SHAPE: Final = frozenset({"type", "const", "enum", "false"})
_MARK: Final = frozenset({"const", "enum"})


def _fails_at(branch: Sequence[Problem], depth: int, keywords: frozenset[str]) -> bool:
    """Return whether a branch fails by one of the keywords at this depth: the value means another one."""
    return any(len(inner.path) == depth and inner.keyword in keywords for inner in branch)


def _known(schema: Mapping[str, Any]) -> str:
    known = [f"one of the properties {_names(schema['properties'])}"] if schema.get("properties") else []
    if schema.get("patternProperties"):
        known.append(f"a name that matches {_names(schema['patternProperties'])}")
    return " or ".join(known) or "nothing here"


def _branch_phrase(branch: Sequence[Problem], depth: int) -> str:
    first = branch[0]
    if len(first.path) > depth:
        return "one of the other allowed forms"
    return _phrase(first.schema) or _expectation(first.keyword, first.schema.get(first.keyword))


def _property(schema: Mapping[str, Any], name: str | int) -> str:
    return _phrase(schema.get("properties", {}).get(name)) or "a value"


def _phrase(schema: Any) -> str:
    """Say in few words what a subschema wants; empty when that takes more."""
    if not isinstance(schema, Mapping):
        return ""
    for keyword in ("const", "enum", "type"):
        if keyword in schema:
            return _expectation(keyword, schema[keyword])
    choices = schema.get("anyOf") or schema.get("oneOf") or ()
    phrases = [_phrase(choice) for choice in choices]
    return _cut(" or ".join(dict.fromkeys(phrases)), MAX_EXPECTED) if all(phrases) else ""


_TYPES: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


def _type(limit: Any) -> str:
    return " or ".join(_TYPES.get(name, str(name)) for name in ([limit] if isinstance(limit, str) else limit))


def _names(names: Any) -> str:
    return _cut(", ".join(_json(name) for name in names), MAX_EXPECTED)


_EXPECTATIONS: Final[Mapping[str, Callable[[Any], str]]] = {
    "type": _type,
    "enum": lambda limit: _json(limit[0]) if len(limit) == 1 else f"one of {_names(limit)}",
    "const": lambda limit: _cut(_json(limit), MAX_EXPECTED),
    "minimum": lambda limit: f"at least {_json(limit)}",
    "maximum": lambda limit: f"at most {_json(limit)}",
    "exclusiveMinimum": lambda limit: f"greater than {_json(limit)}",
    "exclusiveMaximum": lambda limit: f"less than {_json(limit)}",
    "multipleOf": lambda limit: f"a multiple of {_json(limit)}",
    "minLength": lambda limit: f"at least {_count(limit, 'character')} long",
    "maxLength": lambda limit: f"at most {_count(limit, 'character')} long",
    "pattern": lambda limit: f"a text that matches the pattern {_cut(str(limit), MAX_EXPECTED)}",
    "minItems": lambda limit: f"an array of at least {_count(limit, 'item')}",
    "maxItems": lambda limit: f"an array of at most {_count(limit, 'item')}",
    "uniqueItems": lambda _: "an array without duplicates",
    "contains": lambda limit: f"an array with {_phrase(limit) or 'a fitting item'} in it",
    "minContains": lambda limit: f"an array with at least {_count(limit, 'fitting item')}",
    "maxContains": lambda limit: f"an array with at most {_count(limit, 'fitting item')}",
    "minProperties": lambda limit: f"an object with at least {_count(limit, 'property')}",
    "maxProperties": lambda limit: f"an object with at most {_count(limit, 'property')}",
    "required": lambda limit: f"an object with {_names(limit)}",
    "format": lambda limit: f"a text of the format {limit}",
    "false": lambda _: "absent",
    "not": lambda limit: f"anything but {_phrase(limit) or 'what is excluded here'}",
}


def _expectation(keyword: str, limit: Any) -> str:
    make = _EXPECTATIONS.get(keyword)
    if make is None or (limit is None and keyword not in {"false", "const"}):
        return "a value that the schema allows"
    return make(limit)


def _count(number: Any, noun: str) -> str:
    if number == 1:
        return f"{_json(number)} {noun}"
    return f"{_json(number)} {noun.removesuffix('y') + 'ies' if noun.endswith('y') else noun + 's'}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _show(value: Any) -> str:
    """Return the head of a value as JSON; a container is told by its kind, since its head says little."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"an array of {_count(len(value), 'item')}"
    return _cut(_json(value[: MAX_SHOWN + 1] if isinstance(value, str) else value), MAX_SHOWN)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        value = value[step]
    return value
