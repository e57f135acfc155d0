"""What a class declares with ``@capability``: collected once a class, checked before any widget lives."""

import inspect
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from agentic_qt.core.capability import Capability, Risk, Target
from agentic_qt.core.errors import DeclarationError
from agentic_qt.core.registration import Declared
from agentic_qt.qt import later
from agentic_qt.qt.owner import Bind, OwnerRef, method_of
from agentic_qt.schema.validate import SchemaError

if TYPE_CHECKING:
    from agentic_qt.schema.infer import Inferred

MARK = "__agentic_qt_declaration__"

_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class CapabilityOptions(TypedDict):
    """What may be said of a capability besides its name and risk; everything has a default.

    Attributes:
        description: For the model; the docstring's by default.
        title: "Verb object" for people.
        schema: JSON Schema of the input; from hints and docstring by default.
        available: A method's name, or a function of the owner: True, or the reason why not.
        preview: A method's name, or a function of the owner and the input: JSON facts for the approval.
        approver: Takes the place of the approval queue.
        target: Instead of the one that is made of objectName or title.
        examples: Pairs of a request in plain words and its input.
        nested: The handler opens dialogs or turns a loop of its own.
        timeout: Seconds that the handler may take.
        egress: Talks to the outside.
        output_schema: JSON Schema of the result.
        confirms_itself: The handler asks the person by itself.
        undoable: Whether the person can undo it.
    """

    description: NotRequired[str | None]
    title: NotRequired[str]
    schema: NotRequired[Mapping[str, Any] | None]
    available: NotRequired[str | Callable[..., bool | str] | None]
    preview: NotRequired[str | Callable[..., Any] | None]
    approver: NotRequired[Callable[..., Any] | None]
    target: NotRequired[Target | None]
    examples: NotRequired[Sequence[tuple[str, Mapping[str, Any]]]]
    nested: NotRequired[bool]
    timeout: NotRequired[float]
    egress: NotRequired[bool]
    output_schema: NotRequired[Mapping[str, Any] | None]
    confirms_itself: NotRequired[bool]
    undoable: NotRequired[bool | None]


# Not slotted: the inferred schema is computed once and kept in the instance.
@dataclass(frozen=True, kw_only=True, eq=False)
class Declaration:
    """One function and what was said of it; the fields are those of `CapabilityOptions`."""

    function: Callable[..., Any]
    risk: Risk | str
    name: str | None = None
    description: str | None = None
    title: str = ""
    schema: Mapping[str, Any] | None = None
    available: str | Callable[..., bool | str] | None = None
    preview: str | Callable[..., Any] | None = None
    approver: Callable[..., Any] | None = None
    target: Target | None = None
    examples: Sequence[tuple[str, Mapping[str, Any]]] = ()
    nested: bool = False
    timeout: float = 60.0
    egress: bool = False
    output_schema: Mapping[str, Any] | None = None
    confirms_itself: bool = False
    undoable: bool | None = None

    @property
    def full_name(self) -> str:
        """The name given, or the one made of class and method."""
        return self.name or default_name(self.function)

    @cached_property
    def inferred(self) -> "Inferred | None":
        """What hints and docstring say; None when a schema was given.

        Raises:
            DeclarationError: They do not make a schema; names file and line.
        """
        if self.schema is not None:
            return None
        try:
            return later.infer(self.function)
        except SchemaError as error:
            raise DeclarationError(f"{self.full_name!r}: {error}") from error

    def capability(
        self,
        handler: Callable[..., Any],
        *,
        available: Callable[..., Any] | None,
        preview: Callable[..., Any] | None,
    ) -> Capability:
        """Build the capability around callables that are bound already."""
        inferred = self.inferred
        description = self.description
        if description is None:
            description = inferred.description if inferred is not None else first_paragraph(self.function)
        return Capability(
            name=self.full_name,
            description=description,
            input_schema=inferred.schema if inferred is not None else self.schema or {},
            risk=self.risk,
            handler=handler,
            target=self.target,
            available=available,
            preview=preview,
            approver=self.approver,
            output_schema=self.output_schema,
            egress=self.egress,
            confirms_itself=self.confirms_itself,
            examples=self.examples,
            nested=self.nested,
            timeout=self.timeout,
            title=self.title,
            undoable=self.undoable,
        )

    def of_class(self, owner_class: type, attribute: str, owner: OwnerRef) -> Capability:
        """Build the capability of one owner's method; an `owner` that refers to nothing is good for a check."""
        bind = self.inferred.bind if self.inferred is not None else None
        return self.capability(
            method_of(owner, self.function, attribute=attribute, bind=bind),
            available=self._method(owner_class, "available", owner, None),
            preview=self._method(owner_class, "preview", owner, bind),
        )

    def _method(self, owner_class: type, field: str, owner: OwnerRef, bind: Bind | None) -> Callable[..., Any] | None:
        value = getattr(self, field)
        if value is None:
            return None
        if not isinstance(value, str):
            return method_of(owner, value, bind=bind)
        found = getattr(owner_class, value, None)
        if not callable(found):
            raise DeclarationError(f"{self.full_name!r}: {field}={value!r} is no method of {owner_class.__name__}")
        return method_of(owner, found, attribute=value, bind=bind)


# Classes are collected and checked once, and may still be garbage.
_checked: "weakref.WeakSet[type]" = weakref.WeakSet()
_collected: "weakref.WeakKeyDictionary[type, Mapping[str, Declaration]]" = weakref.WeakKeyDictionary()


def declarations_of(owner_class: type) -> Mapping[str, Declaration]:
    """Return what a class and its bases declare, by attribute; a subclass drops one by setting it to None."""
    found = _collected.get(owner_class)
    if found is None:
        found = {}
        for base in reversed(owner_class.__mro__):
            for attribute, value in vars(base).items():
                declaration = getattr(value, "__dict__", {}).get(MARK) if callable(value) else None
                if isinstance(declaration, Declaration):
                    found[attribute] = declaration
                elif value is None:
                    found.pop(attribute, None)
        _collected[owner_class] = found
    return found


def capabilities_of(owner_class: type, owner: OwnerRef) -> list[Capability]:
    """Build every capability that the class declares, for one owner.

    Raises:
        DeclarationError: One is malformed: as the registry would say it, but when the owner is made.
    """
    built = [
        declaration.of_class(owner_class, attribute, owner)
        for attribute, declaration in declarations_of(owner_class).items()
    ]
    if owner_class not in _checked:
        for capability in built:
            Declared(capability)
        _checked.add(owner_class)
    return built


def default_name(function: Callable[..., Any]) -> str:
    """Return ``<class>.<method>`` in snake case, of the class that defines the function."""
    parts = [part for part in function.__qualname__.split(".") if part != "<locals>"]
    return ".".join(snake(part) for part in parts[-2:])


def snake(name: str) -> str:
    """Return a CamelCase name in snake case, without underscores around it: ``HTTPView`` is ``http_view``."""
    return _WORD_STARTS.sub("_", name).lower().strip("_")


def first_paragraph(function: Callable[..., Any]) -> str:
    """Return the docstring's first paragraph in one line, or an empty string."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
