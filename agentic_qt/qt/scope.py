"""Giving a window its registry, and finding the one in force for a widget."""

from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from agentic_qt.core.registry import Registry
from agentic_qt.qt.binder import Binder, binder_of, find_binder
from agentic_qt.qt.declaration import declarations_of
from agentic_qt.qt.window_scope import WindowScope, scope_at, scope_of, waiting


def provide(window: QWidget, registry: Registry) -> Callable[[], None]:
    """Put a registry in force for a window, its widgets, its docks and the dialogs that belong to it.

    What the classes of the window and of its children declare with ``@capability`` is registered when it is shown;
    widgets that come later are found as they are made. The scope ends with the window.

    Returns:
        A function that takes it back; registrations are disposed and their owners wait again.

    Raises:
        ValueError: The widget is no window, or has a registry already.
        DeclarationError: What a class declares is malformed.
    """
    if not window.isWindow():
        raise ValueError(f"{window!r} is no window: a registry belongs to a top-level widget")
    if scope_at(window) is not None:
        raise ValueError(f"{window!r} has a registry already")
    made = bind_declared(window)
    scope = WindowScope(window, registry)
    # A connection to a method of something that dies with the window would never fire.
    ending = window.destroyed.connect(lambda: scope.end())  # noqa: PLW0108 - see above
    for tenant in tuple(waiting):
        tenant.resolve()

    def remove() -> None:
        scope.end()
        for binder in made:
            _delete(binder)
        if shiboken6.isValid(scope):
            QObject.disconnect(ending)
            _delete(scope)

    return remove


def bind_declared(window: QObject) -> list[Binder]:
    """Make binders for the window and its children whose classes declare something; returns the new ones.

    Most have one since they were made; this finds those of classes that Python could not tell us about.

    Raises:
        DeclarationError: What a class declares is malformed.
    """
    made = []
    for owner in (window, *window.findChildren(QObject)):
        if declarations_of(type(owner)) and find_binder(owner) is None:
            binder = binder_of(owner)
            binder.resolve()
            made.append(binder)
    return made


def _delete(child: QObject) -> None:
    if shiboken6.isValid(child):
        child.setParent(None)
        child.deleteLater()


def find_registry(owner: QObject) -> Registry | None:
    """Return the registry of the nearest window that has one: the owner's own window, or one that it belongs to."""
    scope = scope_of(owner)
    return None if scope is None else scope.registry


def find_scope(owner: QObject) -> WindowScope | None:
    """Return the scope in force for an owner, with its lints."""
    return scope_of(owner)
