"""Type hints become JSON Schema, and a way back from valid JSON to the hinted Python values."""

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

import docstring_parser

from agentic_qt.schema.canonical import InputError, freeze
from agentic_qt.schema.check import SchemaError
from agentic_qt.schema.validate import check_any_schema

Convert = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Translated:
    """One hint, translated.

    Args:
        schema: JSON Schema; a fresh dict that the caller may extend.
        convert: From valid JSON to the hinted value; None when they are the same.
    """

    schema: dict[str, Any]
    convert: Convert | None = None


_SCALARS: Final = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_ARRAYS: Final[Mapping[Any, Convert | None]] = {
    list: None,
    collections.abc.Sequence: None,
    collections.abc.MutableSequence: None,
    collections.abc.Iterable: None,
    collections.abc.Collection: None,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    collections.abc.Set: frozenset,
    collections.abc.MutableSet: set,
}
_SETS: Final = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
_OBJECTS: Final = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNIONS: Final = (typing.Union, types.UnionType)
_BOUNDS: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_LENGTHS: Final = {
    "string": {"min_length": "minLength", "max_length": "maxLength"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "object": {"min_length": "minProperties", "max_length": "maxProperties"},
}


def translate(hint: Any, within: tuple[type, ...] = ()) -> Translated:
    """Translate a resolved type hint.

    Args:
        hint: What `typing.get_type_hints` returned, extras included.
        within: The classes that are being translated around it.

    Raises:
        SchemaError: The hint has no JSON form, or a class contains itself.
    """
    hint = _unalias(hint)
    if hint is Any or hint is object:
        return Translated(schema={})
    if isinstance(hint, type) and hint in _SCALARS:
        return Translated(schema={"type": _SCALARS[hint]})
    origin, args = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Annotated:
        return _annotated(translate(args[0], within), args[1:])
    if origin is typing.Literal:
        return _choice(args)
    if origin in _UNIONS:
        return _union([translate(arg, within) for arg in args])
    if origin in _ARRAYS:
        return _array(origin, args, within)
    if origin in _OBJECTS:
        return _mapping(args, within)
    if isinstance(hint, type):
        return _class(hint, within)
    raise SchemaError(f"the type {_name(hint)} has no JSON form")


def json_default(value: Any, schema: Mapping[str, Any]) -> tuple[Any] | None:
    """Return a default as JSON, in a tuple of its own, when it has a JSON form that its schema allows."""
    try:
        plain = freeze(value.value if isinstance(value, enum.Enum) else value)[1]
    except InputError:
        return None
    return (plain,) if check_any_schema(schema).is_valid(plain) else None


def parse_docstring(documented: Any) -> tuple[str, dict[str, str]]:
    """Return the description of a function or class and those of its parameters (Google, NumPy, Sphinx)."""
    text = inspect.cleandoc(documented.__doc__ or "")
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return text, {}
    parts = (parsed.short_description, parsed.long_description)
    parameters = {item.arg_name: " ".join((item.description or "").split()) for item in parsed.params}
    return "\n\n".join(part.strip() for part in parts if part), parameters


def field_converter(converts: Mapping[str, Convert]) -> Convert:
    """Return a function that converts some members of an object and leaves the others as they are."""

    def convert(value: Mapping[str, Any]) -> dict[str, Any]:
        return {key: converts[key](item) if key in converts else item for key, item in value.items()}

    return convert


def _unalias(hint: Any) -> Any:
    """Return what stands behind a NewType, a ``type`` alias, or the marks of a TypedDict."""
    while True:
        if isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":  # Python 3.12 and later, and typing_extensions
            hint = hint.__value__
        elif typing.get_origin(hint) in (typing.Required, typing.NotRequired):
            hint = typing.get_args(hint)[0]
        else:
            return type(None) if hint is None else hint


def _annotated(translated: Translated, extras: tuple[Any, ...]) -> Translated:
    """Apply a description and the bounds of annotated-types (or of anything with attributes of those names)."""
    schema = dict(translated.schema)
    kinds = schema.get("type", ())
    keywords = list(_BOUNDS.items())
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        keywords += _LENGTHS.get(kind, {}).items()
    for extra in extras:
        if isinstance(extra, str):
            schema["description"] = extra
            continue
        for attribute, keyword in keywords:
            bound = getattr(extra, attribute, None)
            if isinstance(bound, int | float) and not (attribute == "min_length" and bound == 0):
                schema[keyword] = bound
    return Translated(schema=schema, convert=translated.convert)


def _choice(values: tuple[Any, ...]) -> Translated:
    """Translate a Literal, or the members of an Enum."""
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    kinds = {type(value) for value in plain}
    if not values or not kinds <= _SCALARS.keys():
        raise SchemaError(f"the choice {str(values)[:80]} has a value that is no JSON scalar")
    schema: dict[str, Any] = {"enum": plain}
    if len(kinds) == 1:
        schema = {"type": _SCALARS[kinds.pop()], "enum": plain}
    members = {(type(value.value), value.value): value for value in values if isinstance(value, enum.Enum)}
    if not members:
        return Translated(schema=schema)

    def convert(value: Any) -> Any:
        # 1 stands for 1.0 in canonical JSON, hence the second look
        return members.get((type(value), value), members.get((float, value), value))

    return Translated(schema=schema, convert=convert)


def _union(members: list[Translated]) -> Translated:
    schemas = [member.schema for member in members]
    if all(schema.keys() == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        merged: dict[str, Any] = {"type": list(dict.fromkeys(schema["type"] for schema in schemas))}
    else:
        merged = {"anyOf": schemas}
    if all(member.convert is None for member in members):
        return Translated(schema=merged)
    judged = [(check_any_schema(member.schema).is_valid, member.convert) for member in members]

    def convert(value: Any) -> Any:
        for is_valid, inner in judged:
            if is_valid(value):
                return value if inner is None else inner(value)
        return value

    return Translated(schema=merged, convert=convert)


def _fixed_tuple(members: list[Translated]) -> Translated:
    count = len(members)
    schema: dict[str, Any] = {"type": "array", "minItems": count, "maxItems": count}
    if members:
        schema["prefixItems"] = [member.schema for member in members]
    converts = [member.convert for member in members]

    def convert(value: list[Any]) -> tuple[Any, ...]:
        return tuple(item if inner is None else inner(item) for inner, item in zip(converts, value, strict=True))

    return Translated(schema=schema, convert=convert)


def _array(origin: Any, args: tuple[Any, ...], within: tuple[type, ...]) -> Translated:
    if origin is tuple and args and args[-1] is not Ellipsis:
        return _fixed_tuple([translate(arg, within) for arg in args])
    schema: dict[str, Any] = {"type": "array"}
    element = translate(args[0], within) if args else Translated(schema={})
    if element.schema:
        schema["items"] = element.schema
    if origin in _SETS:
        schema["uniqueItems"] = True
    make, inner = _ARRAYS[origin], element.convert
    if inner is None:
        return Translated(schema=schema, convert=make)

    def convert(value: list[Any]) -> Any:
        items = [inner(item) for item in value]
        return items if make is None else make(items)

    return Translated(schema=schema, convert=convert)


def _mapping(args: tuple[Any, ...], within: tuple[type, ...]) -> Translated:
    schema: dict[str, Any] = {"type": "object"}
    if not args:
        return Translated(schema=schema)
    if _unalias(args[0]) not in (str, Any):
        raise SchemaError(f"the keys of a JSON object are strings, not {_name(args[0])}")
    element = translate(args[1], within)
    if element.schema:
        schema["additionalProperties"] = element.schema
    inner = element.convert
    if inner is None:
        return Translated(schema=schema)

    def convert(value: Mapping[str, Any]) -> dict[str, Any]:
        return {key: inner(item) for key, item in value.items()}

    return Translated(schema=schema, convert=convert)


def _class(cls: type, within: tuple[type, ...]) -> Translated:
    if issubclass(cls, enum.Enum):
        return _choice(tuple(cls))
    if cls in within:
        raise SchemaError(f"{_name(cls)} contains itself; write the schema by hand")
    if dataclasses.is_dataclass(cls):
        return _dataclass(cls, (*within, cls))
    if typing.is_typeddict(cls):
        return _typed_dict(cls, (*within, cls))
    raise SchemaError(f"the type {_name(cls)} has no JSON form")


def _dataclass(cls: type, within: tuple[type, ...]) -> Translated:
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    if list(inspect.signature(cls).parameters.keys() - fields.keys()):
        raise SchemaError(f"{_name(cls)} takes more than its fields; write the schema by hand")
    missing = dataclasses.MISSING
    defaults = {name: field.default for name, field in fields.items() if field.default is not missing}
    optional = {name for name, field in fields.items() if field.default_factory is not missing} | set(defaults)
    members = _members(cls, tuple(fields), within)
    for name, default in defaults.items():
        plain = json_default(default, members[name].schema)
        if plain is not None:
            members[name].schema["default"] = plain[0]
    inner = _object_of(members, required=[name for name in fields if name not in optional])

    def convert(value: Mapping[str, Any]) -> Any:
        return cls(**(value if inner.convert is None else inner.convert(value)))

    return Translated(schema=inner.schema, convert=convert)


def _typed_dict(cls: type, within: tuple[type, ...]) -> Translated:
    names = tuple(cls.__annotations__)
    required: frozenset[str] = cls.__required_keys__  # type: ignore[attr-defined]  # every TypedDict has it
    members = _members(cls, tuple(typing.get_type_hints(cls)) or names, within)
    return _object_of(members, required=[name for name in members if name in required])


def _members(cls: type, names: tuple[str, ...], within: tuple[type, ...]) -> dict[str, Translated]:
    hints = typing.get_type_hints(cls, include_extras=True)
    described = parse_docstring(cls)[1]
    result = {}
    for name in names:
        try:
            result[name] = translate(hints[name], within)
        except SchemaError as error:
            raise SchemaError(f"{_name(cls)}.{name}: {error}") from error
        if described.get(name):
            result[name].schema.setdefault("description", described[name])
    return result


def _object_of(members: Mapping[str, Translated], *, required: list[str]) -> Translated:
    properties = {name: member.schema for name, member in members.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    converts = {name: member.convert for name, member in members.items() if member.convert is not None}
    return Translated(schema=schema, convert=field_converter(converts) if converts else None)


def _name(hint: Any) -> str:
    return getattr(hint, "__qualname__", None) or str(hint)
