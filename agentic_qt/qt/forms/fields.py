"""What a form consists of: frozen values that the walker makes and that synthesis, filling and review read."""

from dataclasses import dataclass, field
from typing import Any, Literal

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QAbstractButton

from agentic_qt.qt.forms.adapters.base import Adapter
from agentic_qt.qt.forms.adapters.options import Option

Dropping = Literal["unnamed", "mixed", "repeated", "unsupported"]
"""Why something that looks like a field is none: it has no name, its name stands for controls of different kinds,
for several that are no group, or no adapter knows the widget although it is named."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ButtonSet:
    """Several checkable buttons that are one field.

    Args:
        buttons: Those that can be used, in tree order.
        options: What each stands for on the wire, and what stands beside it.
        exclusive: At most one is checked.
        size: How many there are, those that cannot be used included.
    """

    buttons: tuple[QAbstractButton, ...]
    options: tuple[Option, ...]
    exclusive: bool
    size: int

    @property
    def values(self) -> list[str]:
        """What each button stands for on the wire."""
        return [option.value for option in self.options]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Field:
    """One field of a form.

    Args:
        key: Its name on the wire: a property of the form's input schema.
        control: What its adapter reads and writes: a widget, a checkable action, or a `ButtonSet`.
        adapter: How.
        widgets: What a person sees of it, in tree order.
        label: The text beside it, for people; the key when there is none.
        description: For the model, without what the adapter adds; may be empty.
        required: A call must give it.
        depends_on: Keys of the fields that must be set before it (`toolDependsOn`, or the checkable box around it).
        gate: The key of the checkable box that enables it, if it stands in one.
        sensitive: Its current value is told to nobody.
    """

    key: str
    control: Any
    adapter: Adapter
    widgets: tuple[QObject, ...]
    label: str = ""
    description: str = ""
    required: bool = False
    depends_on: tuple[str, ...] = ()
    gate: str | None = None
    sensitive: bool = False


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Dropped:
    """Controls that are no field although they look like one; for lint.

    Args:
        key: Their name, maybe empty.
        reason: Why.
        widgets: The controls.
        required: One of them is required.
    """

    key: str
    reason: Dropping
    widgets: tuple[QObject, ...]
    required: bool = False


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FormFields:
    """What one walk over a form found.

    Args:
        fields: Those that can be used now, in the order of the schema.
        dropped: What was left out for a reason that its programmer should hear.
    """

    fields: tuple[Field, ...]
    dropped: tuple[Dropped, ...] = field(default=())
