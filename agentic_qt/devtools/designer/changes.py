"""Which tool properties must change, so that a form declares what a person entered."""

from collections.abc import Sequence

from agentic_qt.devtools.designer.twin import Declaration, Reading, Row
from agentic_qt.devtools.designer.ui_text import PropertyValue

_Properties = dict[str, PropertyValue | None]


def changes_of(
    form_name: str,
    before: Reading,
    declaration: Declaration,
    rows: Sequence[Row],
) -> dict[str, _Properties]:
    """Return the properties that differ; `rows` are the same fields as before in the same order."""
    changes: dict[str, _Properties] = {}
    _note(changes, form_name, _form_properties(before.declaration), _form_properties(declaration))
    if declaration.risk != before.declaration.risk:
        # Both, whichever of them says it now: a toolRisk beats a toolReadOnly.
        changes.setdefault(form_name, {}).update(_risk(declaration))
    for old, new in zip(before.rows, rows, strict=True):
        for place, name in enumerate(new.objects):
            _note(changes, name, _field_properties(old, place), _field_properties(new, place))
            if place and _taken_back(old, new):
                changes.setdefault(name, {}).update(_taken_back(old, new))
        if new.describe_at:
            _note(changes, new.describe_at, _description(old), _description(new))
    return changes


def withdrawal(form_name: str) -> dict[str, _Properties]:
    """Return the changes after which a form is no tool; its fields keep what they say of themselves."""
    return {form_name: dict.fromkeys((*_form_properties(Declaration()), *_risk(Declaration())))}


def _note(changes: dict[str, _Properties], name: str, old: _Properties, new: _Properties) -> None:
    different = {key: value for key, value in new.items() if value != old[key]}
    if different:
        changes.setdefault(name, {}).update(different)


def _form_properties(form: Declaration) -> _Properties:
    declares = bool(form.name or form.description)
    return {
        "toolName": form.name or None,
        # An empty description counts as one: then the form is a tool, and lint says what is missing.
        "toolDescription": form.description if declares else None,
        "toolTitle": form.title or None,
        "toolAutoSubmit": (form.auto_submit and form.risk != "destructive") or None,
        "toolSubmitButton": form.submit_button or None,
    }


def _risk(form: Declaration) -> _Properties:
    return {
        "toolReadOnly": form.risk == "read" or None,
        "toolRisk": "destructive" if form.risk == "destructive" else None,
    }


def _field_properties(row: Row, place: int) -> _Properties:
    everywhere: _Properties = {"toolParamName": row.name or None, "toolExclude": row.excluded or None}
    return everywhere if place else everywhere | _said_once(row)


def _said_once(row: Row) -> _Properties:
    """Return what one button of a set says for all of them."""
    return {
        "toolRequired": row.required or None,
        "toolSensitive": row.sensitive or None,
        "toolDependsOn": ", ".join(row.depends_on) or None,
        "toolUnit": row.unit or None,
        # A list: in one text, a comma or a blank would end a value.
        "toolItemValues": row.item_values or None,
    }


def _taken_back(old: Row, new: Row) -> _Properties:
    """Return what any button of a set may have said, and is said no more."""
    before, after = _said_once(old), _said_once(new)
    return {key: None for key, value in before.items() if value is not None and after[key] is None}


def _description(row: Row) -> _Properties:
    return {"toolParamDescription": row.description or None}
