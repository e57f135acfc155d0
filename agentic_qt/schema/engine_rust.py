"""The engine: jsonschema-rs decides, explains and checks schemas, offline and with linear patterns."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jsonschema_rs

from agentic_qt.schema.check import Schema, SchemaError, render_pointer
from agentic_qt.schema.issues import Problem


class Engine:
    """One compiled schema.

    Args:
        schema: Valid against the meta-schema, with local references only.

    Raises:
        SchemaError: The engine cannot compile it: a pattern looks around or refers back, for one.
    """

    def __init__(self, schema: Schema) -> None:
        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                schema if isinstance(schema, bool) else dict(schema),
                validate_formats=False,
                offline=True,
                pattern_options=jsonschema_rs.RegexOptions(),
                mask="value",  # its messages are not used; unmasked, each one would print the whole value
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise _schema_error(error) from error
        self._schema = schema
        self.is_valid: Callable[[Any], bool] = self._validator.is_valid

    def problems(self, value: Any) -> Iterator[Problem]:
        """Yield what is wrong with a value."""
        return (self._problem(error) for error in self._validator.iter_errors(value))

    def _problem(self, error: jsonschema_rs.ValidationError) -> Problem:
        kind: Any = error.kind  # one class per keyword, each with attributes of its own
        *steps, last = error.schema_path or [""]
        parent = _resolve(self._schema, steps)
        keyword = str(last)
        names: Iterable[str | int] = ()
        if kind.name == "falseSchema":
            keyword = "false"
        elif kind.name == "propertyNames":
            keyword, names = "propertyNames", (str(kind.error.instance),)
        elif kind.name == "required":
            names = (kind.property,)
        else:
            names = getattr(kind, "unexpected", ())
        context = getattr(kind, "context", ())
        return Problem(
            path=tuple(error.instance_path),
            keyword=keyword,
            schema=parent,
            names=tuple(names),
            branches=tuple(tuple(self._problem(inner) for inner in branch) for branch in context),
        )


def check_meta(schema: Schema) -> None:
    """Check a schema against the meta-schema of 2020-12.

    Raises:
        SchemaError: It is not a schema.
    """
    try:
        jsonschema_rs.meta.validate(schema if isinstance(schema, bool) else dict(schema))
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise _schema_error(error) from error


def _schema_error(error: Exception) -> SchemaError:
    place = render_pointer(getattr(error, "instance_path", ()))
    text = str(error).partition("\n")[0]
    return SchemaError(f"not a usable JSON Schema at {place or 'the root'}: {text[:300]}")


def _resolve(schema: Any, steps: Iterable[str | int]) -> Mapping[str, Any]:
    for step in steps:
        try:
            schema = schema[step]
        except (KeyError, IndexError, TypeError):
            return {}
    return schema if isinstance(schema, Mapping) else {}
