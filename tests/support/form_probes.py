"""What a browser did when a form's tool was called: the probes, and the Qt twins of their forms."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import shiboken6
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit

from agentic_qt.qt.forms.fields import ButtonSet
from agentic_qt.qt.forms.walker import walk
from tests.support.html_forms import build_form
from tests.support.html_inputs import ShapeValidator

FILE = Path(__file__).parents[1] / "data" / "forms" / "chromium_runtime.json"
PROBES = {probe["id"]: probe for probe in json.loads(FILE.read_text(encoding="utf-8"))["probes"]}

FILL_PROBES = [
    "auto_missing_required", "auto_missing_required_prefilled", "auto_required_empty_string",
    "auto_required_checkbox_false", "auto_required_radio_missing", "auto_required_select_placeholder",
    "number_values", "number_values_step", "range_values", "text_values", "text_limits", "text_sanitised",
    "textarea_values", "checkbox_values", "checkbox_group_values", "radio_values", "radio_numeric_values",
    "select_values", "select_numeric_values", "select_multiple_values", "date_values", "time_values",
    "datetime_values", "month_week_values", "color_values", "unknown_param", "bad_second_value", "readonly_param",
    "disabled_param", "unsupported_param", "mixed_param", "hidden_param", "no_args", "fill_order",
    "fill_events_all_types", "fill_events_unchanged", "fill_event_trust", "dependent_options", "dependent_disable",
    "values_persist", "number_precision", "validation_two_fields", "validation_pattern_title",
    "validation_hidden_field", "validation_unnamed_field", "validation_custom", "dependent_remove",
    "handler_calls_reset_on_change", "handler_removes_form_on_change",
]  # fmt: skip
"""Those that concern filling and validation."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call of a probe.

    Args:
        input: What was given.
        accepted: The browser did what was asked.
        values: What its form held afterwards: texts, ``[x]value`` for a checked box, lists of these for groups.
    """

    input: Any
    accepted: bool
    values: dict[str, Any]


def result_of(probe_id):
    """What the browser's page saw."""
    return PROBES[probe_id]["result"]


def cases(probe_id):
    """The calls of a probe that came to an end, each on a fresh form."""
    probe = PROBES[probe_id]
    result = probe["result"]
    inputs = [json.loads(event["input"]) for event in probe["devtools"] if event["event"] == "toolInvoked"]
    if isinstance(result, dict) and "settled" not in result:  # two calls, one after the other
        return []
    items = result if isinstance(result, list) else [result]
    if "input" not in items[0]:
        items = [item | {"input": given} for item, given in zip(items, inputs[: len(items)], strict=True)]
    return [
        Case(input=item["input"], accepted=item["settled"] == "resolved", values=item.get("values", {}))
        for item in items
    ]


def make_twin(probe_id):
    """The Qt twin of a probe's form, with what its script does; None when it has none."""
    form = build_form(PROBES[probe_id]["html"])
    TWIN_SCRIPTS.get(probe_id, lambda form: None)(form)
    return form


def shown(form):
    """What the form holds, written as the probes write it."""
    return {field.key: written(field) for field in walk(form, "chromium").fields}


def written(field):
    control = field.control
    if isinstance(control, ButtonSet):
        return [mark(button) for button in control.buttons]
    if isinstance(control, QCheckBox):
        return mark(control)
    value = field.adapter.get(control)
    return value if isinstance(value, list) else "" if value is None else str(value)


def mark(button):
    return f"[{'x' if button.isChecked() else ' '}]{button.property('toolValue')}"


def link_country_and_state(form):
    country, state = form.findChildren(QComboBox)
    state.setProperty("toolDependsOn", "country")

    def follow(name):
        state.clear()
        for option in ["Hanoi", "Hue"] if name == "VN" else ["CA"]:
            state.addItem(option, option)

    country.currentTextChanged.connect(follow)


def disable_address(form):
    fields = {field.key: field for field in walk(form).fields}
    fields["same"].control.toggled.connect(fields["addr"].control.setDisabled)


def remove_address(form):
    fields = {field.key: field for field in walk(form).fields}
    address = fields["addr"].control
    fields["same"].control.toggled.connect(lambda _: shiboken6.isValid(address) and shiboken6.delete(address))


def refuse_all(form):
    (edit,) = form.findChildren(QLineEdit)
    edit.setValidator(ShapeValidator("too old", edit))


def reset_on_change(form):
    (edit,) = form.findChildren(QLineEdit)
    edit.editingFinished.connect(edit.clear)


def remove_on_change(form):
    (edit,) = form.findChildren(QLineEdit)
    edit.editingFinished.connect(form.deleteLater)


TWIN_SCRIPTS = {
    "dependent_options": link_country_and_state,
    "dependent_disable": disable_address,
    "dependent_remove": remove_address,
    "validation_custom": refuse_all,
    "handler_calls_reset_on_change": reset_on_change,
    "handler_removes_form_on_change": remove_on_change,
}
