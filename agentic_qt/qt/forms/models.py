"""Forms bound to a data model: the schema comes from the type, and its fields, nested ones too, from the form."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from PySide6.QtWidgets import QDataWidgetMapper, QWidget

from agentic_qt.core.errors import DeclarationError
from agentic_qt.qt.forms.adapters.base import JsonSchema
from agentic_qt.qt.forms.fields import Field, FormFields
from agentic_qt.qt.forms.fill import FillError
from agentic_qt.qt.forms.port import Changes, FormPort, PortFilled
from agentic_qt.qt.forms.walker import walk
from agentic_qt.schema.canonical import pointer_token
from agentic_qt.schema.check import SchemaError
from agentic_qt.schema.hints import translate
from agentic_qt.schema.issues import Issue
from agentic_qt.schema.validate import compile_schema

Path = tuple[str, ...]
Make = Callable[[Mapping[str, Any]], Any]
"""Turns JSON values into an object of the type; a ValueError when they do not make one."""


def port_for(form: QWidget, model: Any) -> FormPort:
    """Return the port of a form that is bound to a dataclass, a TypedDict, a pydantic model or a QDataWidgetMapper.

    Raises:
        DeclarationError: The type has no JSON form, or a field of it is not in the form.
    """
    if isinstance(model, QDataWidgetMapper):
        return MapperPort(form, model)
    return ModelPort(form, _schema_of_type(model), _maker(model))


class ModelPort(FormPort):
    """The fields of a form as the object that a type describes.

    A property is found by its path (``address.city``, ``address_city``, ``addressCity``), or by its own name where no
    other property ends in it.

    Raises:
        DeclarationError: A property of the type is not in the form.
    """

    def __init__(self, form: QWidget, schema: JsonSchema, make: Make) -> None:
        super().__init__(form)
        self._make = make
        self._schema = schema
        self._keys: dict[Path, str] = {}
        known = {field.key for field in walk(form).fields}
        paths = list(_leaves(schema, schema))
        for path in paths:
            alone = sum(other[-1] == path[-1] for other in paths) == 1
            key = next((name for name in _spellings(path, alone=alone) if name in known), None)
            if key is not None:
                self._keys[path] = key
            elif _is_required(schema, path):
                raise DeclarationError(f"{form.objectName()!r} has no field for {'.'.join(path)!r} of its type")
        self._paths = {key: path for path, key in self._keys.items()}
        self._schema = _only(schema, set(self._keys))
        self._compiled = compile_schema(self._schema)

    def walk(self) -> FormFields:
        """Return the fields that belong to the type."""
        walked = walk(self.form)
        return replace(walked, fields=tuple(field for field in walked.fields if field.key in self._paths))

    def schema(self) -> JsonSchema:
        """Return the schema of the type."""
        return self._schema

    def check(self, values: Mapping[str, Any]) -> tuple[Issue, ...]:
        """Return what the type and what the widgets have to say, with the paths of the type."""
        issues = tuple(self._compiled.issues(values))
        issues = issues or tuple(map(self._outside, super().check(self._flat(values))))
        if not issues:
            try:
                self._make(_given(values))
            except ValueError as error:
                issues = tuple(_told(error))
        return issues

    def typed(self, values: Mapping[str, Any]) -> Any:
        """Return the values as an object of the type.

        Raises:
            ValueError: They do not make one.
        """
        return self._make(_given(values))

    def changes(self, values: Mapping[str, Any]) -> Changes:
        """Return what filling would change, by ``outer/inner``."""
        changes = super().changes(self._flat(values))
        return {"/".join(self._paths.get(key, (key,))): change for key, change in changes.items()}

    def fill(self, values: Mapping[str, Any], *, reset: bool = False) -> PortFilled:
        """Set the fields that the object names."""
        try:
            return super().fill(self._flat(values), reset=reset)
        except FillError as error:
            issues = tuple(map(self._outside, error.issues))
            raise FillError(error.code, issues, error.left) from None

    def values(self, *, secret: bool = False) -> dict[str, Any]:
        """Return what stands in the form, as the type nests it."""
        result: dict[str, Any] = {}
        for key, value in super().values(secret=secret).items():
            *outer, last = self._paths[key]
            place = result
            for name in outer:
                place = place.setdefault(name, {})
            place[last] = value
        return result

    def pointers(self) -> Iterator[tuple[str, Field]]:
        """Yield the JSON pointer of each field, by the path of the type."""
        for field in self.walk().fields:
            yield "".join(map(pointer_token, self._paths[field.key])), field

    def _flat(self, values: Mapping[str, Any]) -> dict[str, Any]:
        flat = {}
        for path, key in self._keys.items():
            found: Any = values
            for name in path:
                found = found.get(name, _ABSENT) if isinstance(found, Mapping) else _ABSENT
            if found is not _ABSENT and found is not None:
                flat[key] = found
        return flat

    def _outside(self, issue: Issue) -> Issue:
        key, _, rest = issue.pointer.lstrip("/").partition("/")
        path = self._paths.get(key)
        if path is None:
            return issue
        return replace(issue, pointer="".join(map(pointer_token, path)) + (f"/{rest}" if rest else ""))


class MapperPort(FormPort):
    """The widgets that a QDataWidgetMapper maps; it is told to submit."""

    def __init__(self, form: QWidget, mapper: QDataWidgetMapper) -> None:
        super().__init__(form)
        self._mapper = mapper
        if not any(self._is_mapped(widget) for field in walk(form).fields for widget in field.widgets):
            raise DeclarationError(f"{form.objectName()!r} has no field that its QDataWidgetMapper maps")

    def walk(self) -> FormFields:
        """Return the fields whose widgets are mapped."""
        walked = walk(self.form)
        mapped = tuple(field for field in walked.fields if any(map(self._is_mapped, field.widgets)))
        return replace(walked, fields=mapped)

    def submit(self) -> bool:
        """Write the widgets into the item model."""
        return self._mapper.submit()

    def _is_mapped(self, widget: Any) -> bool:
        return isinstance(widget, QWidget) and self._mapper.mappedSection(widget) >= 0


_ABSENT = object()


def _schema_of_type(model: Any) -> JsonSchema:
    own = getattr(model, "model_json_schema", None)
    try:
        schema: JsonSchema = own() if callable(own) else translate(model).schema
    except SchemaError as error:
        raise DeclarationError(f"{model!r} does not describe a form: {error}") from error
    schema = _inlined(schema, schema.get("$defs", {}))
    schema.pop("$defs", None)
    if schema.get("type") != "object" or not schema.get("properties"):
        raise DeclarationError(f"{model!r} does not describe a form: it is no object with properties")
    return schema


def _maker(model: Any) -> Make:
    own = getattr(model, "model_validate", None)
    if callable(own):
        return own  # type: ignore[no-any-return]  # pydantic's, whose ValidationError is a ValueError
    convert = translate(model).convert
    return dict if convert is None else convert


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without those that nobody gave, so that the defaults of the type count."""
    given = {key: value for key, value in values.items() if value is not None}
    return {key: _given(value) if isinstance(value, Mapping) else value for key, value in given.items()}


def _told(error: ValueError) -> Iterator[Issue]:
    """Yield what a type says against values that its schema allows: by place where it names one."""
    listed = getattr(error, "errors", None)
    for entry in listed() if callable(listed) else ({"loc": (), "msg": str(error)},):
        pointer = "".join(map(pointer_token, entry["loc"]))
        yield Issue(pointer=pointer, keyword="type", message=str(entry["msg"]), expected="a value that the type takes")


def _inlined(schema: Any, definitions: Mapping[str, Any], depth: int = 16) -> Any:
    """Return the schema with its local references replaced: pydantic keeps nested models apart."""
    if isinstance(schema, list):
        return [_inlined(part, definitions, depth) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str) and depth > 0:
        found = definitions.get(reference.rsplit("/", 1)[-1], {})
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _inlined({**found, **rest}, definitions, depth - 1)
    return {key: value if key == "$defs" else _inlined(value, definitions, depth) for key, value in schema.items()}


def _leaves(schema: Mapping[str, Any], root: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    for name, inner in schema.get("properties", {}).items():
        here = (*path, name)
        if inner.get("type") == "object" and inner.get("properties"):
            yield from _leaves(inner, root, here)
        else:
            yield here


def _spellings(path: Path, *, alone: bool) -> Iterator[str]:
    yield from (".".join(path), "_".join(path), "-".join(path))
    camel = path[0] + "".join(part[:1].upper() + part[1:] for part in path[1:])
    yield camel
    snake = "_".join(path)
    yield re.sub(r"_(\w)", lambda match: match[1].upper(), snake)
    if alone:
        yield path[-1]
        yield re.sub(r"_(\w)", lambda match: match[1].upper(), path[-1])


def _is_required(schema: Mapping[str, Any], path: Path) -> bool:
    for name in path:
        if name not in schema.get("required", ()):
            return False
        schema = schema["properties"][name]
    return True


def _only(schema: JsonSchema, paths: set[Path], path: Path = ()) -> JsonSchema:
    """Return the schema without the properties that the form has no field for."""
    properties = {}
    for name, inner in schema.get("properties", {}).items():
        here = (*path, name)
        if here in paths:
            properties[name] = inner
        elif any(other[: len(here)] == here for other in paths):
            properties[name] = _only(inner, paths, here)
    required = [name for name in schema.get("required", ()) if name in properties]
    return {**schema, "properties": properties, "required": required, "additionalProperties": False}
