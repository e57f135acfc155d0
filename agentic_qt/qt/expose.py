"""Making any widget's function a capability, without a subclass."""

from collections.abc import Callable
from typing import Any, Unpack

import shiboken6
from PySide6.QtCore import QObject

from agentic_qt.core.capability import Capability, Risk
from agentic_qt.core.errors import DeclarationError
from agentic_qt.core.registration import Declared, Registration
from agentic_qt.core.registry import Registry
from agentic_qt.qt.binder import Binder, Binding, binder_of
from agentic_qt.qt.declaration import CapabilityOptions, Declaration
from agentic_qt.qt.owner import function_of


class Exposed:
    """The handle of one exposed capability."""

    def __init__(self, binder: Binder, binding: Binding) -> None:
        self._binder = binder
        self._binding = binding

    @property
    def registration(self) -> Registration | None:
        """The living registration; None while the widget was never shown or no window has a registry."""
        return self._binding.registration

    def dispose(self) -> None:
        """Take the capability back; the second time does nothing."""
        if shiboken6.isValid(self._binder):
            self._binder.drop(self._binding)
        else:
            self._binding.withdraw()


def expose(
    owner: QObject,
    handler: Callable[..., Any] | str,
    *,
    name: str,
    risk: Risk | str,
    registry: Registry | None = None,
    **options: Unpack[CapabilityOptions],
) -> Exposed:
    """Make a function a capability that lives as long as `owner`, and is available when `owner` is.

    Works on any widget or QObject: from C++, from a .ui file, of any class.

    Args:
        owner: Whose life, visibility and enabled state count.
        handler: Called with the input as keyword arguments; or the name of a method of the owner.
        name: Lower-case dotted ``noun.verb``.
        risk: ``"read"``, ``"mutating"`` or ``"destructive"``.
        registry: Where to register; None: that of the nearest window that has an assistant, waited for if need be.
        **options: See `CapabilityOptions`; ``available`` and ``preview`` are functions, or names of its methods.

    Raises:
        DeclarationError: It is malformed.
    """
    function = _callable(owner, handler)
    declaration = Declaration(function=function, risk=risk, name=name, **options)
    bind = declaration.inferred.bind if declaration.inferred is not None else None
    available, preview = declaration.available, declaration.preview
    capability = declaration.capability(
        function_of(function, bind=bind),
        available=None if available is None else function_of(_callable(owner, available)),
        preview=None if preview is None else function_of(_callable(owner, preview), bind=bind),
    )
    return expose_capability(owner, capability, registry=registry)


def expose_capability(owner: QObject, capability: Capability, *, registry: Registry | None = None) -> Exposed:
    """Let a capability that was made elsewhere live as long as `owner`, and be available when `owner` is.

    Its target, when it has none, and its availability become the owner's, as in `expose`.

    Args:
        owner: Whose life, visibility and enabled state count.
        capability: Such as one of `agentic_qt.commands.capability.command_capability`.
        registry: Where to register; None: that of the nearest window that has an assistant, waited for if need be.

    Raises:
        DeclarationError: It is malformed.
    """
    Declared(capability)
    binder = binder_of(owner, registry)
    binding = binder.add(capability)
    binder.resolve()
    return Exposed(binder, binding)


def _callable(owner: QObject, function: Callable[..., Any] | str) -> Callable[..., Any]:
    found = getattr(owner, function, None) if isinstance(function, str) else function
    if not callable(found):
        raise DeclarationError(f"{function!r} is no method of {type(owner).__name__}")
    return found
