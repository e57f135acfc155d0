"""Declaring capabilities in a class: the ``@capability`` decorator, and a mixin that checks them early."""

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, Unpack

import shiboken6
from PySide6.QtCore import QObject

from agentic_qt.core.capability import Risk
from agentic_qt.core.registration import Registration
from agentic_qt.qt.binder import binder_of, find_binder
from agentic_qt.qt.declaration import MARK, CapabilityOptions, Declaration, capabilities_of, declarations_of
from agentic_qt.qt.owner import OwnerRef

F = TypeVar("F", bound=Callable[..., Any])

_HOOK = "__agentic_qt_hook__"
_WRAPPED = "__agentic_qt_init__"


def capability(*, risk: Risk | str, name: str | None = None, **options: Unpack[CapabilityOptions]) -> Callable[[F], F]:
    """Declare a method as a capability; it stays the method that it is, and goes with ``@Slot`` in either order.

    Description and schema come from docstring and hints. The capability lives and dies with each widget of the class.

    Args:
        risk: ``"read"``, ``"mutating"`` or ``"destructive"``.
        name: Lower-case dotted ``noun.verb``. By default ``<class>.<method>`` in snake case, of the class that defines
            the method: ``add_todo`` of ``Todo`` is ``todo.add_todo``, in its subclasses too.
        **options: See `CapabilityOptions`.
    """

    def declare(function: F) -> F:
        setattr(function, MARK, Declaration(function=function, risk=risk, name=name, **options))
        namespace = sys._getframe(1).f_locals  # noqa: SLF001 - the class body; see _Hook
        if "__module__" in namespace and "__qualname__" in namespace:
            namespace.setdefault(_HOOK, _Hook())
        return function

    return declare


class AgentMixin:
    """For classes that declare capabilities: checks them when the class is made, and hands out the registrations.

    Not needed for ``@capability`` to work. It is a plain class, comes first among the bases and passes all arguments
    on; its own ``__init__`` may be skipped.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _attach(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check the declarations.

        Raises:
            DeclarationError: One is malformed; the message names file and line.
        """
        super().__init_subclass__(**kwargs)
        if declarations_of(cls):
            capabilities_of(cls, OwnerRef(None))
            attach_when_made(cls)

    @property
    def agent_registrations(self) -> tuple[Registration, ...]:
        """The living registrations of this widget's capabilities, suspended ones included."""
        if not isinstance(self, QObject):
            return ()
        binder = find_binder(self) if shiboken6.isValid(self) else None
        found = () if binder is None else [binding.registration for binding in binder.bindings]
        return tuple(registration for registration in found if registration is not None)


class _Hook:
    """Left in a class body by ``@capability``, so that Python tells us of the class (PEP 487).

    A decorated function cannot learn its class by itself, and an event filter on the application that finds new widgets
    would cost 3 us for every event.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        delattr(owner, name)
        attach_when_made(owner)


def attach_when_made(owner_class: type) -> None:
    """Give each instance its binder at the end of the class's ``__init__``; classes without QObject are left alone."""
    if not issubclass(owner_class, QObject) or _WRAPPED in vars(owner_class):
        return
    own = vars(owner_class).get("__init__")

    @functools.wraps(owner_class.__init__)
    def init(self: QObject, *args: Any, **kwargs: Any) -> None:
        if own is not None:
            own(self, *args, **kwargs)
        else:
            super(owner_class, self).__init__(*args, **kwargs)
        _attach(self)

    owner_class.__init__ = init  # type: ignore[method-assign]  # on purpose, once a class
    setattr(owner_class, _WRAPPED, True)


def _attach(owner: object) -> None:
    # A widget class in front of the mixin calls the mixin's __init__ before the C++ object is there.
    if isinstance(owner, QObject) and shiboken6.isValid(owner) and declarations_of(type(owner)):
        binder_of(owner).resolve()
