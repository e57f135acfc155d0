"""Who owns a capability: a reference that keeps no widget alive and never hands out a deleted one."""

import inspect
import weakref
from collections.abc import Callable
from typing import Any

import shiboken6
from PySide6.QtCore import QObject

from agentic_qt.core.errors import CapabilityError

GONE = "its widget was deleted"

Bind = Callable[[dict[str, Any]], dict[str, Any]]
"""Turns validated JSON input into the values that a function's hints promise."""

_ABSENT = object()


class OwnerRef:
    """Refers to a QObject without keeping it alive.

    The Python object of something that C++ made (a widget of a .ui file, say) may be dropped and made anew at any time;
    that one is held, which keeps nothing alive in C++.

    Args:
        owner: The object; None makes a reference to nothing, for checks of a declaration without an owner.
    """

    __slots__ = ("_get",)

    def __init__(self, owner: QObject | None) -> None:
        self._get: Callable[[], QObject | None]
        if owner is not None and shiboken6.createdByPython(owner):
            self._get = weakref.ref(owner)
        else:
            self._get = lambda: owner

    def get(self) -> QObject | None:
        """Return the object, or None when it was deleted in Python or in C++."""
        owner = self._get()
        return owner if owner is not None and shiboken6.isValid(owner) else None

    def require(self) -> QObject:
        """Return the object.

        Raises:
            CapabilityError: It was deleted.
        """
        owner = self.get()
        if owner is None:
            raise CapabilityError("target_gone", f"This cannot be used: {GONE}. List again, then plan again.")
        return owner


def method_of(
    owner: OwnerRef, function: Callable[..., Any], *, attribute: str = "", bind: Bind | None = None
) -> Callable[..., Any]:
    """Return a handler that calls `function` as a method of the owner, without keeping the owner alive.

    Args:
        owner: Becomes ``self``.
        function: As it stands in the class.
        attribute: Its name in the class: looked up at each call, so that overrides count. Empty: no look-up.
        bind: Turns the validated input into what the hints say.
    """

    def handler(**kwargs: Any) -> Any:
        living = owner.require()
        arguments = bound(bind, kwargs)
        return getattr(living, attribute)(**arguments) if attribute else function(living, **arguments)

    parameters = list(inspect.signature(function).parameters.values())[1:]
    return named_like(handler, function, parameters)


def function_of(function: Callable[..., Any], *, bind: Bind | None = None) -> Callable[..., Any]:
    """Return a handler that calls `function`; a bound method of a QObject does not keep that object alive."""
    receiver = getattr(function, "__self__", None)
    plain = getattr(function, "__func__", None)
    if isinstance(receiver, QObject) and plain is not None:
        return method_of(OwnerRef(receiver), plain, bind=bind)
    if bind is None:
        return function

    def handler(**kwargs: Any) -> Any:
        return function(**bound(bind, kwargs))

    return named_like(handler, function, list(inspect.signature(function).parameters.values()))


def bound(bind: Bind | None, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the hints say; the call's context is none of the input."""
    if bind is None:
        return kwargs
    context = kwargs.pop("ctx", _ABSENT)
    arguments = dict(bind(kwargs))
    if context is not _ABSENT:
        arguments["ctx"] = context
    return arguments


def named_like(
    handler: Callable[..., Any], function: Callable[..., Any], parameters: list[inspect.Parameter]
) -> Callable[..., Any]:
    """Give `handler` the name of `function` and a signature of its own: the registry reads it."""
    handler.__name__ = getattr(function, "__name__", "handler")
    handler.__qualname__ = getattr(function, "__qualname__", handler.__name__)
    handler.__doc__ = function.__doc__
    handler.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect's own protocol
    return handler
