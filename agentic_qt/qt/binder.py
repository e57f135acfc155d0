"""Ties capabilities to the life of one widget: shown, hidden, disabled, moved to another window, destroyed.

The binder is a QObject child of its owner with an event filter on it: it needs no subclass, and dies with the owner.
What a destructor may still call works on plain Python objects only.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt, QThread, QTimer
from PySide6.QtWidgets import QDockWidget, QWidget

from agentic_qt.core.capability import Capability, Target
from agentic_qt.core.errors import DeclarationError
from agentic_qt.core.registration import Registration
from agentic_qt.core.registry import Registry
from agentic_qt.qt.availability import NOT_SHOWN, dock_of, why_blocked, why_not_listed
from agentic_qt.qt.declaration import capabilities_of, snake
from agentic_qt.qt.owner import GONE, OwnerRef
from agentic_qt.qt.window_scope import WindowScope, scope_of, waiting

_log = logging.getLogger("agentic_qt.qt.binder")

DOCK_DEBOUNCE_MS = 50
"""Rearranging docks emits a storm of visibilityChanged; the last one counts."""

_WATCHED = frozenset({
    QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.EnabledChange, QEvent.Type.ParentChange,
})  # fmt: skip


class Binding:
    """One capability of a binder, registered or waiting.

    Attributes:
        capability: As declared; target and availability are added when it is registered.
    """

    __slots__ = ("_registration", "_registry", "capability")

    def __init__(self, capability: Capability) -> None:
        self.capability = capability
        self._registration: Registration | None = None
        self._registry: Registry | None = None

    @property
    def registration(self) -> Registration | None:
        """The registration, or its successor when somebody called its `replace`; None before it is registered."""
        known, registry = self._registration, self._registry
        if known is not None and registry is not None and known.disposed:
            found = registry.find(known.name, known.target_id)
            # The gate is an object of our own: whoever has it came from our registration.
            if found is not None and found.capability.available is known.capability.available:
                self._registration = found
        return self._registration

    def register(self, registry: Registry, capability: Capability) -> None:
        """Register; `capability` is ours with its target and availability.

        Raises:
            DeclarationError: The registry refuses it.
        """
        self._registration = registry.register(capability)
        self._registry = registry

    def withdraw(self) -> None:
        """Dispose the registration; the second time does nothing."""
        registration = self.registration
        self._registration = self._registry = None
        if registration is not None:
            registration.dispose()


class Binder(QObject):
    """The capabilities of one owner, and where they are registered.

    Args:
        owner: A widget, or any QObject in the GUI's thread.
        registry: Where to register; None: that of the nearest window that has an assistant, waited for if need be.
    """

    def __init__(self, owner: QObject, registry: Registry | None = None) -> None:
        super().__init__(owner)
        self.fixed_registry = registry
        self.registry: Registry | None = None
        self.bindings: list[Binding] = []
        self._owner = OwnerRef(owner)
        self._scope: WindowScope | None = None
        self._target: Target | None = None
        self._dock: QDockWidget | None = None
        self._settle: QTimer | None = None
        bindings = self.bindings

        def destroyed() -> None:
            # A closure: a connection to a method of the dying object never fires.
            while bindings:
                bindings.pop().withdraw()

        owner.destroyed.connect(destroyed)
        owner.installEventFilter(self)

    @property
    def owner(self) -> QObject | None:
        """The owner, or None when it was deleted."""
        return self._owner.get()

    def add(self, capability: Capability) -> Binding:
        """Tie one more capability to the owner."""
        binding = Binding(capability)
        self.bindings.append(binding)
        return binding

    def drop(self, binding: Binding) -> None:
        """Withdraw one capability for good; the second time does nothing."""
        self.bindings[:] = [known for known in self.bindings if known is not binding]
        binding.withdraw()

    def resolve(self) -> None:
        """Find the registry in force, move there if it is another one, and follow the owner's state."""
        owner = self._owner.get()
        if owner is None or not shiboken6.isValid(self):
            return
        scope = None if self.fixed_registry is not None else scope_of(owner)
        registry = scope.registry if scope is not None else self.fixed_registry
        if registry is not self.registry:
            for binding in self.bindings:
                binding.withdraw()
            self._target = None
        self.registry = registry
        if self._scope is not None and self._scope is not scope:
            self._scope.tenants.discard(self)
        self._scope = scope
        if scope is not None:
            scope.tenants.add(self)
        if registry is None:
            waiting.add(self)
        else:
            waiting.discard(self)
            self.refresh()

    def refresh(self) -> None:
        """Register what is shown for the first time; suspend or resume the rest."""
        owner = self._owner.get()
        if owner is None or self.registry is None:
            return
        reason = ""
        if isinstance(owner, QWidget):
            self._follow_dock(owner)
            reason = why_not_listed(owner)
        if owner_shown(owner):
            self._register(owner, self.registry)
        self._suspend(reason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: ARG002 - Qt's signature
        """Follow the owner; consumes nothing."""
        kind = event.type()
        if kind in _WATCHED:
            self._follow(kind, event)
        return False

    def _follow(self, kind: QEvent.Type, event: QEvent) -> None:
        if kind is QEvent.Type.EnabledChange:
            self.refresh()
        elif kind is QEvent.Type.ParentChange:
            self.resolve()
        elif event.spontaneous():
            return  # minimised or restored by the window system: still available
        elif kind is QEvent.Type.Show:
            self.resolve()  # an ancestor may have moved to another window meanwhile, which sends no event here
        else:
            self._suspend(NOT_SHOWN)  # maybe from the destructor: the owner must not be touched

    def _register(self, owner: QObject, registry: Registry) -> None:
        new = [binding for binding in self.bindings if binding.registration is None]
        if not new:
            return
        target = self._target = self._target or self._choose_target(owner, registry)
        for binding in new:
            capability = replace(
                binding.capability,
                target=binding.capability.target or target,
                available=availability(self._owner, binding.capability.available),
            )
            try:
                binding.register(registry, capability)
            except DeclarationError as error:
                # Often inside a Qt event, where an exception helps nobody.
                self._lint(f"{type(owner).__name__} {target.id!r}: {error}")
            else:
                if not capability.description:
                    self._lint(f"{capability.name!r} has no description: a model can only guess what it does")

    def _choose_target(self, owner: QObject, registry: Registry) -> Target:
        title = owner.windowTitle().replace("[*]", "").strip() if isinstance(owner, QWidget) else ""
        wanted = owner.objectName() or title or snake(type(owner).__name__)
        taken = {target_id for binding in self.bindings for target_id in registry.places(binding.capability.name)}
        unique, number = wanted, 1
        while unique in taken:
            number += 1
            unique = f"{wanted}-{number}"
        if unique != wanted:
            self._lint(
                f"Two owners of {self.bindings[0].capability.name!r} are called {wanted!r}: one is now {unique!r}. "
                f"Give each an objectName of its own, or its id depends on the order in which they were shown."
            )
        return Target(id=unique, label=title or wanted)

    def _suspend(self, reason: str) -> None:
        for binding in self.bindings:
            registration = binding.registration
            if registration is None:
                continue
            if not reason:
                registration.resume()
            elif registration.suspended:
                registration.reason = reason
            else:
                registration.suspend(reason)

    def _follow_dock(self, owner: QWidget) -> None:
        dock = dock_of(owner)
        if dock is self._dock:
            return
        if self._dock is not None and shiboken6.isValid(self._dock):
            self._dock.visibilityChanged.disconnect(self._dock_changed)
        self._dock = dock
        if dock is not None:
            # A dock behind another one in a tab bar gets no event at all, only this signal.
            dock.visibilityChanged.connect(self._dock_changed)

    def _dock_changed(self) -> None:
        if self._settle is None:
            self._settle = QTimer(self)
            self._settle.setSingleShot(True)
            self._settle.timeout.connect(self.refresh)
        self._settle.start(DOCK_DEBOUNCE_MS)

    def _lint(self, text: str) -> None:
        if self._scope is not None:
            self._scope.lint(text)
        else:
            _log.warning("%s", text)


def owner_shown(owner: QObject) -> bool:
    """Return whether the owner is on the screen; what is no widget always counts as shown."""
    return not isinstance(owner, QWidget) or owner.isVisible()


def availability(owner: OwnerRef, declared: Callable[[], bool | str] | None) -> Callable[[], bool | str]:
    """Return the gate of one capability: the owner's state first, then what its programmer declared."""

    def available() -> bool | str:
        living = owner.get()
        if living is None:
            return GONE
        if isinstance(living, QWidget):
            reason = why_not_listed(living) or why_blocked(living)
            if reason:
                return reason
        return True if declared is None else declared()

    return available


def find_binder(owner: QObject, registry: Registry | None = None) -> Binder | None:
    """Return the owner's binder for that registry, or None."""
    found = owner.findChildren(Binder, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return next((binder for binder in found if binder.fixed_registry is registry), None)


def binder_of(owner: QObject, registry: Registry | None = None) -> Binder:
    """Return the owner's binder for that registry; a new one, with what its class declares, when there is none.

    Raises:
        DeclarationError: What the class declares is malformed, or the owner lives in another thread.
    """
    binder = find_binder(owner, registry)
    if binder is None:
        declared = capabilities_of(type(owner), OwnerRef(owner)) if registry is None else []
        if owner.thread() != QThread.currentThread():
            raise DeclarationError(f"{owner!r} lives in another thread: only what lives in the GUI's can be bound")
        binder = Binder(owner, registry)
        for capability in declared:
            binder.add(capability)
    return binder
