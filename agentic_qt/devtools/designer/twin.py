"""Builds a .ui text as the application would, and says what the assistant would see of it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import shiboken6
from PySide6.QtCore import QBuffer, QByteArray, QCoreApplication, QObject
from PySide6.QtUiTools import QUiLoader
from PySide6.QtWidgets import QComboBox, QGroupBox, QListView, QPushButton, QWidget

from agentic_qt.devtools.designer.ui_text import UiTextError, read_properties, with_properties
from agentic_qt.qt.forms.adapters.registry import adapter_of
from agentic_qt.qt.forms.fields import ButtonSet, Field
from agentic_qt.qt.forms.labels import group_box_of
from agentic_qt.qt.forms.options import declared_risk
from agentic_qt.qt.forms.properties import declared, is_on, places, text_of
from agentic_qt.qt.forms.synthesise import input_schema, synthesise
from agentic_qt.qt.forms.walker import is_form, walk
from agentic_qt.ui.places import ApprovalPlace, AssistantPlace

translate = QCoreApplication.translate

RISKS: Final = ("read", "mutating", "destructive")


@dataclass(frozen=True, kw_only=True, slots=True)
class Declaration:
    """What a form says of itself; empty texts are not declared.

    Args:
        name: `toolName`.
        title: `toolTitle`.
        description: `toolDescription`.
        risk: One of `RISKS`.
        auto_submit: It submits without a review.
        submit_button: `toolSubmitButton`; empty leaves the choice to the library.
    """

    name: str = ""
    title: str = ""
    description: str = ""
    risk: str = "mutating"
    auto_submit: bool = False
    submit_button: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One field that a form offers, or could offer.

    Args:
        objects: The names of its widgets; a set of buttons has several.
        describe_at: The name of the object that holds its description; empty when no object can.
        key: Its name on the wire when none is declared.
        label: What stands beside it, for people.
        known: Its description when none is declared.
        name: `toolParamName`.
        description: `toolParamDescription`.
        required: `toolRequired`.
        excluded: `toolExclude`.
        takes_unit: Its description has room for a unit.
        has_items: It is a list or a combo box.
        unit: `toolUnit`.
        depends_on: `toolDependsOn`.
        item_values: `toolItemValues`.
        sensitive: `toolSensitive`.
    """

    objects: tuple[str, ...]
    describe_at: str
    key: str
    label: str
    known: str = ""
    name: str = ""
    description: str = ""
    required: bool = False
    excluded: bool = False
    takes_unit: bool = True
    has_items: bool = False
    unit: str = ""
    depends_on: tuple[str, ...] = ()
    item_values: tuple[str, ...] = ()
    sensitive: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a .ui text says of one form.

    Args:
        declaration: What the form declares.
        rows: Its fields, those left out included.
        buttons: The names of the buttons that could submit it.
    """

    declaration: Declaration
    rows: tuple[Row, ...]
    buttons: tuple[str, ...]


@contextmanager
def loaded(ui: str) -> Iterator[QWidget]:
    """Give the widget of a .ui text while the block runs; it is never shown.

    Raises:
        UiTextError: The text cannot be loaded.
    """
    buffer = QBuffer()
    buffer.setData(QByteArray(ui.encode()))
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    loader = QUiLoader()
    for place in (AssistantPlace, ApprovalPlace):
        loader.registerCustomWidget(place)
    try:
        widget = loader.load(buffer)
    except RuntimeError as error:
        raise UiTextError(loader.errorString() or str(error)) from error
    try:
        yield widget
    finally:
        shiboken6.delete(widget)


def find_form(root: QWidget, name: str) -> QWidget:
    """Return the widget of that name.

    Raises:
        UiTextError: There is none.
    """
    form = root if root.objectName() == name else root.findChild(QWidget, name)
    if form is None:
        raise UiTextError(f"the form has no widget {name!r}")
    return form


def owning_form(widget: QWidget, root: QWidget) -> QWidget:
    """Return the nearest declared form around an input, `root` when there is none; a container is its own form."""
    if adapter_of(widget, widget.property("toolParamType")) is None or isinstance(widget, QGroupBox):
        return widget
    around = widget.parentWidget()
    while around is not None and around is not root:
        if is_form(around):
            return around
        around = around.parentWidget()
    return root


def read_form(ui: str, form_name: str) -> Reading:
    """Return what a form declares, and what it consists of.

    Raises:
        UiTextError: The text cannot be loaded, or has no such widget.
    """
    excluded = {name for name, properties in read_properties(ui).items() if is_on(properties.get("toolExclude", False))}
    everything = with_properties(ui, {name: {"toolExclude": None} for name in excluded})
    with loaded(everything) as root:
        form = find_form(root, form_name)
        fields = walk(form, "strict").fields
        return Reading(
            declaration=_declaration(form),
            rows=tuple(_row(form, field, excluded) for field in fields if _named(field)),
            buttons=tuple(
                button.objectName()
                for button in form.findChildren(QPushButton)
                if button.objectName() and not button.isCheckable()
            ),
        )


def describe(ui: str, form_name: str) -> str:
    """Return the tool that a form is, as indented JSON; its schema alone while it is none.

    Raises:
        UiTextError: The text cannot be loaded, or has no such widget.
    """
    with loaded(ui) as root:
        form = find_form(root, form_name)
        tool: dict[str, Any] = synthesise(form) or {"inputSchema": input_schema(form)}
    return json.dumps(tool, indent=2, ensure_ascii=False)


def _declaration(form: QObject) -> Declaration:
    properties = declared(form)
    return Declaration(
        name=text_of(properties.get("toolName")),
        title=text_of(properties.get("toolTitle")),
        description=text_of(properties.get("toolDescription")),
        risk=declared_risk(properties).value,
        auto_submit=is_on(properties.get("toolAutoSubmit", False)),
        submit_button=text_of(properties.get("toolSubmitButton")).strip(),
    )


def _named(field: Field) -> bool:
    return all(widget.objectName() for widget in field.widgets)


def _row(form: QWidget, field: Field, excluded: set[str]) -> Row:
    first = field.widgets[0]
    holder: QObject | None = first
    is_set = isinstance(field.control, ButtonSet) and len(field.widgets) > 1
    if is_set:
        holder = group_box_of(form, field.control.buttons)
    own = declared(first)
    description = text_of(declared(holder).get("toolParamDescription")) if holder is not None else ""
    names = tuple(widget.objectName() for widget in field.widgets)
    unit = text_of(own.get("toolUnit")).strip()
    return Row(
        objects=names,
        describe_at=holder.objectName() if holder is not None else "",
        key=first.objectName() if "toolParamName" in own else field.key,
        label=field.label,
        known="" if description else field.description.removesuffix(f"(unit: {unit})").strip(),
        name=text_of(own.get("toolParamName")),
        description=description,
        required=field.required,
        excluded=all(name in excluded for name in names),
        takes_unit=not is_set,
        has_items=isinstance(first, QComboBox | QListView),
        unit=unit,
        depends_on=tuple(name for name in field.depends_on if name != field.gate),
        item_values=tuple(value or "" for value in places(own.get("toolItemValues"))),
        sensitive=field.sensitive,
    )
