"""Values in a property of the widget: colours, files, and third-party widgets with a USER property."""

from collections.abc import Callable
from typing import Any, Final

from PySide6.QtCore import QMetaProperty, QRegularExpression, SignalInstance
from PySide6.QtGui import QColor, QKeySequence
from PySide6.QtWidgets import QColorDialog, QLineEdit, QWidget

from agentic_qt.qt.forms.adapters.base import Adapter, JsonSchema, Profile
from agentic_qt.qt.forms.adapters.text import replace_text
from agentic_qt.qt.forms.properties import is_on

_COLOUR: Final = "^#[0-9a-zA-Z]{6}$"
_STRICT_COLOUR: Final = "^#[0-9a-fA-F]{6}$"
_COLOUR_PROPERTIES: Final = ("color", "currentColor", "toolColor")
_SCHEMAS: Final[dict[str, JsonSchema]] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "uint": {"type": "integer", "minimum": 0},
    "double": {"type": "number"},
    "float": {"type": "number"},
    "QString": {"type": "string"},
    "QStringList": {"type": "array", "items": {"type": "string"}},
    "QColor": {"type": "string", "pattern": _STRICT_COLOUR},
    "QKeySequence": {"type": "string", "description": "a key sequence such as Ctrl+S"},
}


class ColourAdapter(Adapter):
    """``toolParamType = "color"``: a colour in a property (``color``, ``currentColor``, ``toolColor``) or a text."""

    def schema(
        self,
        control: QWidget,  # noqa: ARG002 - the base's signature
        profile: Profile,
        *,
        required: bool = False,  # noqa: ARG002 - it always has a colour
        live: bool = True,  # noqa: ARG002 - it has no options
    ) -> JsonSchema:
        """Return a string schema for #rrggbb."""
        if profile == "chromium":
            return {"type": "string", "format": _COLOUR}
        return {"type": "string", "pattern": _STRICT_COLOUR}

    def get(self, control: QWidget) -> str | None:
        """Return the colour as #rrggbb."""
        if isinstance(control, QLineEdit):
            return _hex(control.text())
        return _hex(control.property(_colour_property(control)))

    def normal(self, control: QWidget, value: Any) -> Any:  # noqa: ARG002
        """Return it in small letters."""
        return value.lower() if isinstance(value, str) else value

    def set(self, control: QWidget, value: str) -> None:
        """Set the property, or type the text."""
        if self.get(control) == value:
            return
        if isinstance(control, QLineEdit):
            replace_text(control, value)
        elif isinstance(control, QColorDialog):
            control.setCurrentColor(QColor(value))
        else:
            name = _colour_property(control)
            is_text = isinstance(control.property(name), str)
            control.setProperty(name, value if is_text else QColor(value))

    def changed(self, control: QWidget) -> tuple[SignalInstance, ...]:
        """Return the notify signal of the property; a dynamic one has none."""
        if isinstance(control, QLineEdit):
            return (control.textChanged,)
        return _notifier(control, _colour_property(control))

    def snapshot(self, control: QWidget) -> Any:
        """Return what the property holds."""
        return control.text() if isinstance(control, QLineEdit) else control.property(_colour_property(control))

    def restore(self, control: QWidget, state: Any) -> None:
        """Put back what the property held."""
        if isinstance(control, QLineEdit):
            replace_text(control, state)
        else:
            control.setProperty(_colour_property(control), state)


class FileAdapter(Adapter):
    """``toolParamType = "file"`` on a QLineEdit: a path, or with ``toolMultiple`` several, one beside the other."""

    def schema(
        self,
        control: QLineEdit,
        profile: Profile,
        *,
        required: bool = False,
        live: bool = True,  # noqa: ARG002 - it has no options
    ) -> JsonSchema:
        """Return a string schema, or one of a list of strings."""
        if is_on(control.property("toolMultiple")):
            schema: JsonSchema = {"type": "array", "items": {"type": "string"}}
            return schema | {"minItems": 1} if required and profile == "strict" else schema
        return {"type": "string", "minLength": 1} if required and profile == "strict" else {"type": "string"}

    def note(self, control: QLineEdit) -> str:
        """Return what kind of path is meant."""
        return "paths of files" if is_on(control.property("toolMultiple")) else "the path of a file"

    def usable(self, control: QLineEdit, profile: Profile) -> bool:  # noqa: ARG002
        """Return whether it may be written."""
        return not control.isReadOnly()

    def get(self, control: QLineEdit) -> Any:
        """Return the path, or the list of paths."""
        if is_on(control.property("toolMultiple")):
            return [path for path in control.text().split(_BETWEEN) if path]
        return control.text()

    def default(self, control: QLineEdit) -> Any:
        """Return the path; an empty one is no default."""
        return self.get(control) or None

    def refusal(self, control: QLineEdit, value: Any) -> str:  # noqa: ARG002
        """Refuse what a line cannot hold."""
        paths = value if isinstance(value, list) else [value]
        bad = any(not path.isprintable() for path in paths)
        if bad or (isinstance(value, list) and any(_BETWEEN in path or not path for path in paths)):
            return f"paths without control characters, and without {_BETWEEN!r}"
        return ""

    def set(self, control: QLineEdit, value: Any) -> None:
        """Type the path, or the paths with semicolons between them."""
        replace_text(control, _BETWEEN.join(value) if isinstance(value, list) else value)

    def changed(self, control: QLineEdit) -> tuple[SignalInstance, ...]:
        """Return textChanged."""
        return (control.textChanged,)


class UserPropertyAdapter(Adapter):
    """Any widget whose class marks one property as the one that a user edits (``USER true``)."""

    def schema(
        self,
        control: QWidget,
        profile: Profile,  # noqa: ARG002 - a browser has no such widgets
        *,
        required: bool = False,  # noqa: ARG002 - its values are unknown
        live: bool = True,  # noqa: ARG002 - it has no options
    ) -> JsonSchema:
        """Return the schema of the property's type."""
        schema = dict(_SCHEMAS[_type_name(user_property(control))])
        schema.pop("description", None)
        return schema

    def note(self, control: QWidget) -> str:
        """Return how to write a value of the property's type."""
        return str(_SCHEMAS[_type_name(user_property(control))].get("description", ""))

    def get(self, control: QWidget) -> Any:
        """Return the property as JSON."""
        prop = user_property(control)
        reader = _READERS.get(_type_name(prop))
        value = control.property(_text(prop.name())) if prop is not None else None
        return reader(value) if reader is not None else value

    def normal(self, control: QWidget, value: Any) -> Any:
        """Return the value as the property gives it back."""
        kind = _type_name(user_property(control))
        if not isinstance(value, str) or kind not in _WRITERS:
            return value
        return _READERS[kind](_WRITERS[kind](value)) or value

    def set(self, control: QWidget, value: Any) -> None:
        """Set the property."""
        prop = user_property(control)
        if prop is not None and self.get(control) != value:
            writer = _WRITERS.get(_type_name(prop))
            control.setProperty(_text(prop.name()), value if writer is None else writer(value))

    def changed(self, control: QWidget) -> tuple[SignalInstance, ...]:
        """Return the notify signal, if the property has one."""
        prop = user_property(control)
        return _notifier(control, _text(prop.name())) if prop is not None else ()


def user_property(widget: QWidget) -> QMetaProperty | None:
    """Return the property that a user edits, if the class has a writable one of a type that JSON knows."""
    prop = widget.metaObject().userProperty()
    return prop if prop.isValid() and prop.isWritable() and _type_name(prop) in _SCHEMAS else None


def _type_name(prop: QMetaProperty | None) -> str:
    return _text(prop.typeName()) if prop is not None else ""


def _text(name: Any) -> str:
    return name if isinstance(name, str) else bytes(name).decode()


def _notifier(widget: QWidget, name: str) -> tuple[SignalInstance, ...]:
    meta = widget.metaObject()
    index = meta.indexOfProperty(name)
    if index < 0 or not meta.property(index).hasNotifySignal():
        return ()
    signal = getattr(widget, _text(meta.property(index).notifySignal().name().data()), None)
    return (signal,) if isinstance(signal, SignalInstance) else ()


def _colour_property(widget: QWidget) -> str:
    return next((name for name in _COLOUR_PROPERTIES if widget.property(name) is not None), _COLOUR_PROPERTIES[-1])


def _hex(value: Any) -> str | None:
    if isinstance(value, str):
        if not QRegularExpression(_STRICT_COLOUR).match(value).hasMatch():
            return value or None
        return value.lower()
    colour = QColor(value) if value is not None else QColor()
    return colour.name() if colour.isValid() else None


_BETWEEN: Final = ";"
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "QColor": _hex,
    "QKeySequence": lambda value: QKeySequence(value).toString(QKeySequence.SequenceFormat.PortableText),
    "QStringList": lambda value: list(value or ()),
}
_WRITERS: Final[dict[str, Callable[[Any], Any]]] = {
    "QColor": QColor,
    "QKeySequence": lambda value: QKeySequence.fromString(value, QKeySequence.SequenceFormat.PortableText),
}
