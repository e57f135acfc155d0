"""Finds the fields of a form: which controls, which keys, which description.

The rules are those of a browser's declarative forms, as measured; the strict profile leaves out hidden and secret
controls, follows the focus chain, and keeps the fields in a checkable box whether or not it is checked.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QGroupBox,
    QLayout,
    QScrollArea,
    QStackedLayout,
    QStackedWidget,
    QTabWidget,
    QToolBox,
    QWidget,
)

from agentic_qt.qt.forms.adapters.base import Adapter, Profile
from agentic_qt.qt.forms.adapters.check import value_of
from agentic_qt.qt.forms.adapters.options import Option
from agentic_qt.qt.forms.adapters.registry import BUTTONS, CHECK, adapter_of
from agentic_qt.qt.forms.fields import ButtonSet, Dropped, Dropping, Field, FormFields
from agentic_qt.qt.forms.labels import Labels, as_browser, describe, describe_group, group_box_of, own_text
from agentic_qt.qt.forms.properties import declared, for_people, is_on, key_of, words
from agentic_qt.qt.forms.tab_order import in_tab_order
from agentic_qt.qt.forms.widget_kinds import WidgetKind, kind_of

_DISABLED: Final = Qt.WidgetAttribute.WA_ForceDisabled

Role = Literal["check", "radio", "other"]


@dataclass(kw_only=True, slots=True, eq=False)
class _Found:
    """One control on the way; not frozen, which would double the time that it takes.

    Args:
        gate: The key of the checkable box around it.
        adapter: None for one that is named but that nobody can read and write.
        usable: It can be read and written now.
    """

    key: str
    control: Any
    adapter: Adapter | None
    role: Role
    properties: dict[str, Any]
    usable: bool
    gate: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """What holds for everything in a container."""

    enabled: bool = True
    hidden: bool = False
    gate: str | None = None


def is_form(widget: QObject) -> bool:
    """Return whether a widget declares a tool: it has both `toolName` and `toolDescription`, whatever they hold."""
    names = {raw.data() for raw in widget.dynamicPropertyNames()}
    return b"toolName" in names and b"toolDescription" in names


@dataclass(kw_only=True, slots=True, eq=False)
class _Scope:
    """What one walk is about.

    Args:
        form: The form's widget.
        profile: By whose rules.
        visible: The form is on the screen.
        shared_keys: The key of the exclusive buttons in each container, once it was asked for.
        layouts: Those of the containers that were looked into.
    """

    form: QWidget
    profile: Profile
    visible: bool
    shared_keys: dict[QWidget, str | None] = field(default_factory=dict)
    layouts: list[QLayout] = field(default_factory=list)


def walk(form: QWidget, profile: Profile = "strict") -> FormFields:
    """Return the fields of a form that can be used now, and what was left out for a reason worth telling."""
    scope = _Scope(form=form, profile=profile, visible=form.isVisible())
    dropped: list[Dropped] = []
    groups: dict[str, list[_Found]] = {}
    sizes: dict[str, int] = {}
    for found in _controls(scope):
        if found.adapter is None:
            dropped.append(_drop(found.key, "unsupported", [found]))
        elif found.usable and not found.key:
            dropped.append(_drop("", "unnamed", [found]))
        elif found.key:
            sizes[found.key] = sizes.get(found.key, 0) + 1
            if found.usable:
                groups.setdefault(found.key, []).append(found)
    labels = Labels(form, scope.layouts)
    fields = []
    for key, group in groups.items():
        reason = _why_dropped(group)
        if reason is None:
            fields.append(_field(form, key, group, sizes[key], labels, profile))
        else:
            dropped.append(_drop(key, reason, group))
    if profile == "strict":
        fields = in_tab_order(form, fields)
    return FormFields(fields=tuple(fields), dropped=tuple(dropped))


def _controls(scope: _Scope) -> list[_Found]:
    found: list[_Found] = []
    _look_into(scope.form, _Place(), scope, found)
    for action in scope.form.actions():
        properties = declared(action)
        if action.isCheckable() and "toolParamName" in properties and not is_on(properties.get("toolExclude", False)):
            key = key_of(action, properties)
            usable = action.isEnabled()
            found.append(
                _Found(key=key, control=action, adapter=CHECK, role="check", properties=properties, usable=usable)
            )
    return found


def _look_into(parent: QWidget, place: _Place, scope: _Scope, into: list[_Found]) -> None:
    if isinstance(parent, QScrollArea):
        inner = parent.widget()
        children = [inner] if inner is not None else []
    else:
        children = parent.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        layout = parent.layout()
        if layout is not None:
            scope.layouts.append(layout)
    for child in children:
        kind = kind_of(child)
        if kind.is_label:
            continue
        properties = declared(child)
        if child.isWindow() or (properties and _is_left_out(properties)):
            continue
        here = _place_of(child, kind, place, scope)
        adapter = adapter_of(child, properties.get("toolParamType"))
        if adapter is not None:
            found = _found(child, kind, adapter, properties, here, scope)
            into.append(found)
            if kind.is_box:
                _look_into(child, _in_box(child, found, here, scope.profile), scope, into)
        elif kind.is_closed:
            if "toolParamName" in properties:
                into.append(_found(child, kind, None, properties, here, scope))
        else:
            _look_into(child, here, scope, into)


def _is_left_out(properties: dict[str, Any]) -> bool:
    is_inner_form = "toolName" in properties and "toolDescription" in properties
    return is_inner_form or is_on(properties.get("toolExclude", False))


def _place_of(child: QWidget, kind: WidgetKind, place: _Place, scope: _Scope) -> _Place:
    if child.isEnabled() and not child.isHidden():
        return place
    enabled = place.enabled and not child.testAttribute(_DISABLED)
    hidden = place.hidden
    if not hidden and scope.profile == "strict" and child.isHidden():
        hidden = not kind.is_page and _is_hidden(child, scope)
    if enabled == place.enabled and hidden == place.hidden:
        return place
    return replace(place, enabled=enabled, hidden=hidden)


def _found(
    widget: QWidget,
    kind: WidgetKind,
    adapter: Adapter | None,
    properties: dict[str, Any],
    place: _Place,
    scope: _Scope,
) -> _Found:
    role: Role = "other"
    key = key_of(widget, properties)
    if kind.is_button:
        role, shared = _role(cast("QAbstractButton", widget), kind, properties, scope)
        key = key if shared is None else shared
    usable = place.enabled and not place.hidden and adapter is not None and adapter.usable(widget, scope.profile)
    return _Found(
        key=key, control=widget, adapter=adapter, role=role, properties=properties, usable=usable, gate=place.gate
    )


def _in_box(box: QWidget, found: _Found, place: _Place, profile: Profile) -> _Place:
    if found.usable and found.key and profile == "strict":
        return replace(place, gate=found.key)
    return replace(place, enabled=place.enabled and cast("QGroupBox", box).isChecked())


def _role(
    button: QAbstractButton, kind: WidgetKind, properties: dict[str, Any], scope: _Scope
) -> tuple[Role, str | None]:
    """Return the role of a button, and the key that it shares with others; None when it goes by its own.

    Unless it names one itself, the key is that of its group, or of the box around exclusive siblings.
    """
    group = button.group()
    exclusive = button.autoExclusive()
    is_radio = kind.is_radio or exclusive or (group is not None and group.exclusive())
    role: Role = "radio" if is_radio else "check"
    if "toolParamName" in properties:
        return role, None
    if group is not None:
        return role, key_of(group, declared(group)) or None
    parent = button.parentWidget() if exclusive else None
    if parent is None:
        return role, None
    if parent not in scope.shared_keys:
        scope.shared_keys[parent] = _shared_key(parent, scope.form)
    return role, scope.shared_keys[parent]


def _shared_key(parent: QWidget, form: QWidget) -> str | None:
    """Return the key of exclusive buttons beside each other; None when there is but one, which is no group."""
    seen = 0
    for button in parent.findChildren(QAbstractButton, options=Qt.FindChildOption.FindDirectChildrenOnly):
        if button.autoExclusive() and button.group() is None and button.property("toolParamName") is None:
            seen += 1
            if seen > 1:
                return "" if parent is form else key_of(parent, declared(parent))
    return None


def _is_hidden(widget: QWidget, scope: _Scope) -> bool:
    """Return whether somebody hid a hidden widget; the pages of tabs, stacks and tool boxes take turns."""
    parent = widget.parentWidget()
    tabs = parent.parentWidget() if parent is not None else None
    if isinstance(tabs, QTabWidget) and isinstance(parent, QStackedWidget) and tabs.indexOf(widget) >= 0:
        return not tabs.isTabVisible(tabs.indexOf(widget))
    # Until its window is shown, a widget counts as hidden although nobody hid it.
    if not scope.visible and not widget.testAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide):
        return False
    takes_turns = isinstance(parent, QToolBox) or isinstance(parent.layout() if parent else None, QStackedLayout)
    return not takes_turns


def _why_dropped(group: list[_Found]) -> Dropping | None:
    if len(group) == 1:
        return None
    roles = {found.role for found in group}
    if len(roles) > 1:
        return "mixed"
    return "repeated" if "other" in roles else None


def _drop(key: str, reason: Dropping, group: list[_Found]) -> Dropped:
    return Dropped(
        key=key,
        reason=reason,
        widgets=tuple(found.control for found in group),
        required=any(is_on(found.properties.get("toolRequired", False)) for found in group),
    )


def _field(form: QWidget, key: str, group: list[_Found], size: int, labels: Labels, profile: Profile) -> Field:
    first = group[0]
    # A browser lets a group shrink to a boolean when one box is disabled: not to be copied.
    is_set = first.role == "radio" or (size if profile == "strict" else len(group)) > 1
    if is_set and first.role != "other" and not isinstance(first.control, QAction):
        return _set_field(form, key, group, size, labels, profile)
    texts = labels.of(first.control)
    description = describe(first.control, first.properties, texts, profile)
    return Field(
        key=key,
        control=first.control,
        adapter=cast("Adapter", first.adapter),  # what has none was dropped
        widgets=(first.control,),
        label=for_people(as_browser(texts)) or description.strip() or key,
        description=description,
        **_declared(first),
    )


def _set_field(form: QWidget, key: str, group: list[_Found], size: int, labels: Labels, profile: Profile) -> Field:
    """Return the field of several buttons; the box around them says what they are about."""
    first = group[0]
    texts = [labels.of(found.control) for found in group]
    buttons = tuple(found.control for found in group)
    box = group_box_of(form, buttons)
    title = for_people(own_text(box)) if box is not None else ""
    if len(group) > 1 or (size > 1 and profile == "strict"):
        description = describe_group(box, profile)
    else:
        description = describe(first.control, first.properties, texts[0], profile)
        title = for_people(as_browser(texts[0]))
    values = [value_of(found.control, found.properties) for found in group]
    control = ButtonSet(
        buttons=buttons,
        options=tuple(
            Option(value=value, text=as_browser(text) or None) for value, text in zip(values, texts, strict=True)
        ),
        exclusive=first.role == "radio",
        size=size,
    )
    return Field(
        key=key,
        control=control,
        adapter=BUTTONS,
        widgets=buttons,
        label=title or description.strip() or key,
        description=description,
        **_declared(*group),
    )


def _declared(*group: _Found) -> dict[str, Any]:
    """Return what the properties of a field's controls say, as arguments of `Field`."""
    gate = group[0].gate
    depends_on: tuple[str, ...] = ()
    required = sensitive = False
    for found in group:
        if found.properties:
            required = required or is_on(found.properties.get("toolRequired", False))
            sensitive = sensitive or is_on(found.properties.get("toolSensitive", False))
            depends_on = depends_on or words(found.properties.get("toolDependsOn"))
    if gate is not None:
        depends_on = (*depends_on, gate)
    return {"required": required, "sensitive": sensitive, "depends_on": depends_on, "gate": gate}
