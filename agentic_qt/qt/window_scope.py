"""Which registry is in force where: one scope a window, found by walking up from a widget."""

import logging
import weakref
from typing import Protocol

import shiboken6
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.qt.scope")


class Tenant(Protocol):
    """Something that registers with the scope of its window, and is told when that scope comes or goes."""

    def resolve(self) -> None:
        """Look for the scope again."""


# Those that found no scope. Weak: a tenant dies with its widget, and nobody else may keep it.
waiting: "weakref.WeakSet[Tenant]" = weakref.WeakSet()


class WindowScope(QObject):
    """Ties a registry to a window, as its child: it dies with it.

    Attributes:
        registry: In force for the window, its widgets, its docks and the dialogs that belong to it.
        lints: What a programmer should mend, each said once: colliding names, missing descriptions.
    """

    def __init__(self, window: QWidget, registry: Registry) -> None:
        super().__init__(window)
        self.registry = registry
        self.lints: list[str] = []
        self.tenants: weakref.WeakSet[Tenant] = weakref.WeakSet()
        self.ended = False

    def lint(self, text: str) -> None:
        """Note and log something that a programmer should mend; the same text once."""
        if text not in self.lints:
            self.lints.append(text)
            _log.warning("%s", text)

    def end(self) -> None:
        """End the scope: its tenants take their registrations back and look for another one."""
        if self.ended:
            return
        self.ended = True
        tenants, self.tenants = list(self.tenants), weakref.WeakSet()
        for tenant in tenants:
            tenant.resolve()


def scope_at(window: QObject) -> WindowScope | None:
    """Return the living scope of exactly this window, or None."""
    found = window.findChildren(WindowScope, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return next((scope for scope in found if not scope.ended), None)


def scope_of(owner: QObject) -> WindowScope | None:
    """Return the scope of the nearest window that has one: the owner's own, or one that it belongs to."""
    place: QObject | None = owner
    while place is not None and shiboken6.isValid(place):
        if isinstance(place, QWidget) and place.isWindow():
            scope = scope_at(place)
            if scope is not None:
                return scope
        place = place.parent()
    return None
