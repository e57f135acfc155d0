"""A function's signature, type hints and docstring become the schema of its input."""

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

from agentic_qt.schema.check import SchemaError
from agentic_qt.schema.hints import Convert, Translated, field_converter, json_default, parse_docstring, translate

Bind = Callable[[Mapping[str, Any]], dict[str, Any]]

_OWNERS: Final = ("self", "cls")
_CONTEXT: Final = "ctx"
_Kind = inspect.Parameter


@dataclass(frozen=True, kw_only=True, slots=True)
class Inferred:
    """What a function says about itself.

    Args:
        name: The function's own name.
        description: The docstring up to its first section; empty without one.
        schema: JSON Schema 2020-12 of the keyword arguments; the root is a plain object.
        bind: From valid JSON to the hinted Python values (members of an Enum, dataclasses, tuples, sets). None when
            nothing needs converting: the input itself is then what the function takes.
    """

    name: str
    description: str
    schema: dict[str, Any]
    bind: Bind | None


def infer(function: Callable[..., Any], *, skip: Collection[str] = ()) -> Inferred:
    """Infer the input schema of a function.

    Args:
        function: A function, a bound method, a partial or a callable object. ``self``, ``cls`` and ``ctx`` are skipped.
        skip: Further parameters that are no input.

    Raises:
        SchemaError: A parameter is unannotated, positional-only or ``*args``, or its hint has no JSON form or cannot be
            resolved; the message begins with ``path:line``.
    """
    plain = _plain_function(function)
    try:
        return _infer(function, plain, {_CONTEXT, *skip})
    except SchemaError as error:
        code: CodeType = plain.__code__
        raise SchemaError(f"{code.co_filename}:{code.co_firstlineno}: {plain.__qualname__}: {error}") from error


def _infer(function: Callable[..., Any], plain: FunctionType, skip: Collection[str]) -> Inferred:
    description, described = parse_docstring(plain)
    hints = _hints(plain)
    properties: dict[str, Any] = {}
    required: list[str] = []
    converts: dict[str, Convert] = {}
    more = False
    for index, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if name in skip or (index == 0 and name in _OWNERS):
            continue
        if parameter.kind is _Kind.VAR_KEYWORD:
            more = True
            continue
        translated = _parameter(parameter, hints)
        schema = properties[name] = translated.schema
        if described.get(name):
            schema.setdefault("description", described[name])
        if parameter.default is _Kind.empty:
            required.append(name)
        elif (default := json_default(parameter.default, schema)) is not None:
            schema["default"] = default[0]
        if translated.convert is not None:
            converts[name] = translated.convert
    whole: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": more}
    if required:
        whole["required"] = required
    return Inferred(
        name=plain.__name__,
        description=description,
        schema=whole,
        bind=field_converter(converts) if converts else None,
    )


def _parameter(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Translated:
    name = parameter.name
    if parameter.kind in (_Kind.POSITIONAL_ONLY, _Kind.VAR_POSITIONAL):
        raise SchemaError(f"the parameter {name!r} cannot be passed by keyword")
    if name not in hints:
        raise SchemaError(f"the parameter {name!r} has no type hint")
    try:
        return translate(hints[name])
    except SchemaError as error:
        raise SchemaError(f"the parameter {name!r}: {error}") from error


def _hints(plain: FunctionType) -> dict[str, Any]:
    try:
        return typing.get_type_hints(plain, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise SchemaError(f"a type hint cannot be resolved: {error}") from error


def _plain_function(function: Any) -> FunctionType:
    """Return the function that was written, behind methods, partials, decorators and callable objects."""
    seen = function
    while not isinstance(seen, FunctionType) or hasattr(seen, "__wrapped__"):
        if isinstance(seen, functools.partial):
            seen = seen.func
        elif isinstance(seen, MethodType):
            seen = seen.__func__
        elif hasattr(seen, "__wrapped__"):
            seen = seen.__wrapped__
        elif isinstance(getattr(type(seen), "__call__", None), FunctionType):  # noqa: B004 - the function, not whether
            seen = type(seen).__call__
        else:
            raise SchemaError(f"{seen!r} is no Python function; write the schema by hand")
    return seen
