"""Judges the input of a form before a widget is touched: by the schema first, then by what the widgets refuse."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from agentic_qt.qt.forms.fields import Field
from agentic_qt.qt.forms.synthesise import schema_of
from agentic_qt.schema.canonical import InputError, freeze, pointer_token
from agentic_qt.schema.issues import Issue
from agentic_qt.schema.validate import compile_schema

MAX_ISSUES: Final = 100


def normal_input(fields: Iterable[Field], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with each value in the one form in which its widget gives it back; unknown keys as they are."""
    by_key = {field.key: field for field in fields}
    return {
        key: by_key[key].adapter.normal(by_key[key].control, value) if key in by_key else value
        for key, value in values.items()
    }


def check_fields(fields: Iterable[Field], values: Mapping[str, Any]) -> tuple[Issue, ...]:
    """Return everything that is wrong with an input, at most `MAX_ISSUES`; empty when nothing is."""
    known = list(fields)
    if not isinstance(values, Mapping):  # whatever its annotation says, it comes from a stranger
        return (_issue("", "type", "must be an object", "an object"),)
    try:
        freeze(dict(values))
    except InputError as error:
        return (_issue(error.pointer, error.code, str(error).rstrip("."), "plain JSON"),)
    wanted = normal_input(known, values)
    schema = compile_schema(schema_of(known, defaults=False))
    issues = list(schema.issues(wanted, limit=MAX_ISSUES))
    wrong = {issue.pointer.split("/")[1] for issue in issues if issue.pointer.startswith("/")}
    for field in known:
        if field.key not in wanted or pointer_token(field.key)[1:] in wrong:
            continue
        issue = _gated(field, known, wanted)
        if issue is None and not any(name in wanted for name in field.depends_on):
            issue = check_one(field, wanted[field.key])
        if issue is not None:
            issues.append(issue)
    return tuple(issues[:MAX_ISSUES])


def check_one(field: Field, value: Any) -> Issue | None:
    """Return what the widget itself refuses of a normal value that obeys the schema."""
    expected = field.adapter.refusal(field.control, value)
    if not expected:
        return None
    return _issue(pointer_token(field.key), "refused", f"must be {expected}, not {_show(value)}", expected)


def not_taken(field: Field, wanted: Any, actual: Any) -> Issue:
    """Return the issue of a field that does not hold what was set."""
    held = "another value" if field.sensitive else _show(actual)
    return _issue(pointer_token(field.key), "not_taken", f"was set to {_show(wanted)} but holds {held}", _show(wanted))


def vanished(key: str) -> Issue:
    """Return the issue of a field that went away, or was disabled, while the form was filled."""
    pointer = pointer_token(key) if key else ""
    return _issue(pointer, "vanished", "cannot be set any more: another field disabled or removed it", "a field")


def raised(pointer: str) -> Issue:
    """Return the issue of a field, or of a whole form, at which the application's own code raised an error."""
    text = "made the application's own code fail; the details are in the application's log"
    return _issue(pointer, "raised", text, "a value that the application can work with")


def _gated(field: Field, fields: Iterable[Field], wanted: Mapping[str, Any]) -> Issue | None:
    """Return the issue of a field in a checkable box that is not, and will not be, checked."""
    gate = next((known for known in fields if known.key == field.gate), None)
    if gate is None or wanted.get(gate.key, gate.adapter.get(gate.control)) is not False:
        return None
    expected = f"absent while {json.dumps(gate.key)} is false"
    return _issue(pointer_token(field.key), "gate", f"must be {expected}", expected)


def _issue(pointer: str, keyword: str, text: str, expected: str) -> Issue:
    return Issue(pointer=pointer, keyword=keyword, message=f"{text}.", expected=expected)


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
