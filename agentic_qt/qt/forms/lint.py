"""What a programmer should mend in a form: the findings of the browser's own lint, and those that only Qt can have."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QComboBox, QListView, QWidget

from agentic_qt.core.capability import Risk
from agentic_qt.qt.forms.buttons import buttons_of
from agentic_qt.qt.forms.fields import Dropped, Field
from agentic_qt.qt.forms.form_tool import find_form_tool
from agentic_qt.qt.forms.options import declared_risk
from agentic_qt.qt.forms.properties import declared, is_on, key_of, places, text_of
from agentic_qt.qt.forms.synthesise import TOOL_NAME, field_schema
from agentic_qt.qt.forms.walker import is_form, walk

_RESERVED = frozenset({"ctx", "_target"})
_MANY = 3  # field names in a description: it repeats the schema
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing to mend.

    Args:
        code: A stable machine word.
        message: One English sentence.
        widget: The objectName of the widget it is about; may be empty.
        line: In the .ui file, from 1; None when there is no file.
    """

    code: str
    message: str
    widget: str
    line: int | None = None


def lint_window(root: QWidget) -> list[Finding]:
    """Return the findings of all forms in a window, dialog or form, the widget itself included."""
    findings = []
    names: dict[str, list[str]] = {}
    for widget in (root, *root.findChildren(QWidget)):
        properties = declared(widget)
        has_name, has_description = "toolName" in properties, "toolDescription" in properties
        if has_description and not has_name:
            findings.append(_finding("missing_name", widget, "has a toolDescription but no toolName: it is no tool"))
        elif has_name and not has_description:
            findings.append(_finding("missing_description", widget, "has a toolName but no toolDescription: no tool"))
        if is_form(widget):
            names.setdefault(text_of(properties["toolName"]), []).append(widget.objectName())
            findings += lint_form(widget)
    for name, owners in names.items():
        if len(owners) > 1:
            said = f"{', '.join(map(repr, owners))} are all called {name!r}: calls must name a target"
            findings.append(Finding(code="duplicate_name", message=said, widget=owners[1]))
    return findings


def lint_form(form: QWidget) -> list[Finding]:
    """Return the findings of one declared form."""
    walked = walk(form)
    return [
        *_lint_tool(form),
        *_lint_description(form, walked.fields),
        *(finding for field in walked.fields for finding in _lint_field(field)),
        *_lint_dependencies(form, walked.fields),
        *(finding for field in walked.fields for finding in _lint_item_values(field)),
        *(_lint_dropped(dropped) for dropped in walked.dropped),
    ]


def _lint_tool(form: QWidget) -> Iterator[Finding]:
    properties = declared(form)
    name = properties.get("toolName")
    if not isinstance(name, str) or TOOL_NAME.fullmatch(name) is None:
        said = f"has the toolName {name!r}: 1 to 128 letters, digits, '_', '.' or '-' make a name"
        yield _finding("invalid_name", form, said)
    if not text_of(properties.get("toolDescription")).strip():
        yield _finding("empty_description", form, "has an empty toolDescription: a model can only guess what it does")
    tool = find_form_tool(form)
    if tool is not None and tool.in_code:
        yield _finding("registered_twice", form, "is a tool by its properties and in code: one of them must go")
    risk = declared_risk(properties)
    said_risk = text_of(properties.get("toolRisk")).strip().lower()
    if said_risk and said_risk not in {known.value for known in Risk}:
        yield _finding("unknown_risk", form, f"has the toolRisk {said_risk!r}: read, mutating or destructive")
    submits_alone = is_on(properties.get("toolAutoSubmit", False))
    if submits_alone and risk is Risk.DESTRUCTIVE:
        said = "is destructive: toolAutoSubmit is ignored, a person has to press Submit"
        yield _finding("destructive_auto_submit", form, said)
    if not buttons_of(form).submit:
        said = "has no button that submits it: name one in toolSubmitButton"
        yield _finding("no_submit", form, said)


def _lint_description(form: QWidget, fields: tuple[Field, ...]) -> Iterator[Finding]:
    text = text_of(declared(form).get("toolDescription"))
    lowered = text.lower()
    named = [field.key for field in fields if re.search(rf"\b{re.escape(field.key.lower())}\b", lowered)]
    limits: set[str] = set()
    options: list[str] = []
    for field in fields:
        schema = field_schema(field, defaults=False)
        limits |= {f"{schema[key]:g}" for key in ("minimum", "maximum", "maxLength") if schema.get(key)}
        options += [value for value in schema.get("enum", ()) if isinstance(value, str) and value]
    numbers = set(_NUMBER.findall(text))
    repeated = [value for value in options if re.search(rf"\b{re.escape(value.lower())}\b", lowered)]
    if len(named) >= _MANY or len(repeated) >= _MANY or len(numbers & limits) > 1:
        said = "repeats fields, options or limits in its toolDescription: the schema says them already"
        yield _finding("repetitive_description", form, said)


def _lint_field(field: Field) -> Iterator[Finding]:
    widget = field.widgets[0]
    if field.key in _RESERVED:
        yield _finding("reserved_name", widget, f"is called {field.key!r}, which is reserved")
    if "toolParamName" not in declared(widget) and _is_automatic(widget, field.key):
        said = f"has the automatic name {field.key!r}: it says nothing to a model and changes with the next edit"
        yield _finding("automatic_name", widget, said)
    if field.label == field.key and not field.description.strip():
        yield _finding("undescribed_parameter", widget, "has neither a label nor a toolParamDescription")


def _lint_dependencies(form: QWidget, fields: tuple[Field, ...]) -> Iterator[Finding]:
    known = {key_of(thing, declared(thing)) for thing in (*form.findChildren(QObject), *form.actions())}
    for field in fields:
        for name in field.depends_on:
            if name not in known:
                said = f"is set after {name!r}, and there is nothing of that name in the form"
                yield _finding("unknown_dependency", field.widgets[0], said)


def _lint_item_values(field: Field) -> Iterator[Finding]:
    widget = field.widgets[0]
    values = places(declared(widget).get("toolItemValues"))
    if not values:
        return
    if not isinstance(widget, QComboBox | QListView):
        yield _finding("item_values", widget, "has toolItemValues, and only lists and combo boxes have items")
        return
    items = widget.count() if isinstance(widget, QComboBox) else widget.model().rowCount(widget.rootIndex())
    if len(values) > items > 0:  # none: the application makes them later
        yield _finding("item_values", widget, f"has {len(values)} toolItemValues for {items} items")
    if len(set(values)) < len(values) and None not in values:
        yield _finding("item_values", widget, "has a value twice in its toolItemValues: only the first item counts")


def _lint_dropped(dropped: Dropped) -> Finding:
    widget = dropped.widgets[0]
    if dropped.reason == "unnamed":
        if dropped.required:
            return _finding("unnamed_required_parameter", widget, "is required and has no name: nobody can give it")
        return _finding("unnamed_parameter", widget, "looks like a field and has no name")
    said = {
        "mixed": f"shares the name {dropped.key!r} with a control of another kind: all of them are left out",
        "repeated": f"shares the name {dropped.key!r} with another control: both are left out",
        "unsupported": "has a name, but no adapter knows how to read it: register_adapter() can teach it",
    }[dropped.reason]
    code = {"mixed": "mixed_group", "repeated": "repeated_name", "unsupported": "unsupported"}[dropped.reason]
    return _finding(code, widget, said)


def _is_automatic(widget: QObject, key: str) -> bool:
    """Return whether Designer made the name: the class without its Q, and a number."""
    stem = widget.metaObject().className().split("::")[-1].lstrip("Q")
    automatic = stem[:1].lower() + stem[1:]
    return re.fullmatch(rf"{re.escape(automatic)}(_\d+)?", key) is not None


def _finding(code: str, widget: QObject, said: str) -> Finding:
    name = widget.objectName()
    return Finding(code=code, message=f"{name or type(widget).__name__!r} {said}", widget=name)
