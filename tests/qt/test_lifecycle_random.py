"""Whatever happens in whatever order, the catalogue is what a person could use."""

import random

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QDialog, QFrame, QLabel, QVBoxLayout, QWidget

from agentic_qt.core.registry import Registry
from agentic_qt.qt.mixin import capability
from agentic_qt.qt.scope import provide


class Leaf(QLabel):
    @capability(risk="read")
    def read(self) -> str:
        """Read."""
        return self.text()


class World:
    """Two windows with registries that come and go, a dialog, containers and leaves."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.registries = [Registry(), Registry()]
        self.windows = [QWidget(), QWidget()]
        self.removes: list = [None, None]
        self.dialog = QDialog(self.windows[0])
        self.containers = [self.make_container(parent) for parent in (*self.windows, self.dialog) for _ in range(2)]
        self.leaves: list[Leaf] = []

    def make_container(self, parent: QWidget) -> QFrame:
        frame = QFrame(parent)
        QVBoxLayout(frame)
        return frame

    def places(self) -> list[QWidget]:
        return [*self.windows, self.dialog, *self.containers]

    def add(self) -> None:
        self.count += 1
        leaf = Leaf(str(self.count), self.random.choice(self.places()))
        leaf.setObjectName(f"leaf{self.count}")
        leaf.setVisible(self.random.random() < 0.7)
        self.leaves.append(leaf)

    def delete(self) -> None:
        if self.leaves:
            leaf = self.leaves.pop(self.random.randrange(len(self.leaves)))
            if self.random.random() < 0.5:
                shiboken6.delete(leaf)
            else:
                leaf.deleteLater()
                QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)

    def toggle_visible(self) -> None:
        widget = self.random.choice([*self.places(), *self.leaves])
        widget.setVisible(widget.isHidden())

    def toggle_enabled(self) -> None:
        widget = self.random.choice([*self.places(), *self.leaves])
        widget.setEnabled(not widget.isEnabledTo(widget.parentWidget()))

    def move(self) -> None:
        widget = self.random.choice([*self.containers, *self.leaves])
        target = self.random.choice([*self.windows, self.dialog])
        widget.setParent(target)
        widget.setVisible(self.random.random() < 0.8)

    def move_the_dialog(self) -> None:
        self.dialog.setParent(self.random.choice([None, *self.windows]), self.dialog.windowFlags())
        self.dialog.setVisible(self.random.random() < 0.8)

    def toggle_registry(self) -> None:
        number = self.random.randrange(2)
        if self.removes[number] is None:
            self.removes[number] = provide(self.windows[number], self.registries[number])
        else:
            self.removes[number]()
            self.removes[number] = None

    def expected(self, number: int) -> set[str]:
        if self.removes[number] is None:
            return set()
        return {
            leaf.objectName() for leaf in self.leaves
            if leaf.isVisible() and leaf.isEnabled() and self.home(leaf) is self.windows[number]
        }  # fmt: skip

    def home(self, leaf: QWidget) -> QWidget:
        window = leaf.window()
        while window.parentWidget() is not None:
            window = window.parentWidget().window()
        return window

    def check(self) -> None:
        for number, registry in enumerate(self.registries):
            assert {found.target_id for found in registry.visible} == self.expected(number)
            alive = {leaf.objectName() for leaf in self.leaves}
            assert {found.target_id for found in registry.registrations} <= alive


@pytest.mark.parametrize("seed", range(12))
def test_the_catalogue_holds_the_visible_enabled_widgets_of_each_window_and_nothing_else(qapp, seed, caplog):
    world = World(seed)
    steps = [
        world.add, world.add, world.delete, world.toggle_visible, world.toggle_visible, world.toggle_enabled,
        world.move, world.move, world.move_the_dialog, world.toggle_registry,
    ]  # fmt: skip
    world.toggle_registry()
    seen = 0
    for _ in range(150):
        world.random.choice(steps)()
        world.check()
        seen += sum(len(registry.visible) for registry in world.registries)
    assert seen > 0
    world.dialog.setParent(world.windows[0])
    for window in world.windows:
        shiboken6.delete(window)
    assert [registry.registrations for registry in world.registries] == [(), ()]
    assert caplog.text == ""
