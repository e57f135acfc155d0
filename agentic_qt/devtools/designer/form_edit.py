"""Applies changes of tool properties to a form that is open in Qt Designer, so that Undo takes them back.

Designer offers two ways, and neither does everything. `cursor().setWidgetProperty` is undone natively, but cannot add a
dynamic property, and drops ``notr`` from a text. `setContents` can do all, but empties the undo stack. So switches that
are there already go the first way; everything else goes the second, and a step of our own is put on the empty stack.
"""

from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QCoreApplication, QTimer
from PySide6.QtDesigner import QDesignerFormWindowInterface
from PySide6.QtGui import QUndoCommand
from PySide6.QtWidgets import QWidget

from agentic_qt.devtools.designer.ui_text import Changes, UiTextError, normal, read_properties, with_properties

translate = QCoreApplication.translate


def apply(window: QDesignerFormWindowInterface, changes: Changes) -> bool:
    """Change tool properties in an open form; returns whether anything had to change.

    Raises:
        UiTextError: The form has no such object, or Designer refuses the result; the form is as it was.
    """
    before = window.contents()
    after = with_properties(before, changes)
    if after == normal(before):
        return False
    switches = _as_switches(window, before, changes)
    if switches:
        _set_switches(window, switches)
        return True
    if not _replace(window, after):
        _replace(window, before)
        raise UiTextError("Qt Designer does not accept the changed form")
    window.commandHistory().push(_ContentsStep(window, before, after))
    return True


def select(window: QDesignerFormWindowInterface, name: str) -> None:
    """Select a widget by its name, as after a click on it."""
    widget = _find(window, name)
    if widget is not None:
        window.clearSelection(False)  # noqa: FBT003 - Qt's signature
        window.selectWidget(widget, True)  # noqa: FBT003 - Qt's signature


class _ContentsStep(QUndoCommand):
    """One step on an undo stack that each change of the contents empties.

    A command may not empty the stack that runs it: it asks for its work to be done when it has returned.
    """

    def __init__(self, window: QDesignerFormWindowInterface, before: str, after: str) -> None:
        super().__init__(translate("agentic_qt", "Expose to the assistant"))
        self._window = window
        self._before = before
        self._after = after
        self.asleep = True  # the push calls redo, and the form is changed already

    def redo(self) -> None:
        self._later(self._after, self._done)

    def undo(self) -> None:
        self._later(self._before, self._undone)

    def _later(self, contents: str, then: Callable[[], None]) -> None:
        if self.asleep:
            self.asleep = False
            return
        window = self._window

        def replace() -> None:
            if shiboken6.isValid(window) and _replace(window, contents):
                then()

        QTimer.singleShot(0, window, replace)

    def _done(self) -> None:
        self._window.commandHistory().push(_ContentsStep(self._window, self._before, self._after))

    def _undone(self) -> None:
        step = _ContentsStep(self._window, self._before, self._after)
        stack = self._window.commandHistory()
        stack.push(step)
        step.asleep = True
        stack.undo()  # so that Redo is offered


def _replace(window: QDesignerFormWindowInterface, contents: str) -> bool:
    selected = [window.cursor().selectedWidget(place) for place in range(window.cursor().selectedWidgetCount())]
    names = [widget.objectName() for widget in selected]
    if not window.setContents(contents):
        return False
    window.setDirty(True)  # Designer takes new contents for saved ones
    if names:
        select(window, names[0])
    return True


def _as_switches(
    window: QDesignerFormWindowInterface, before: str, changes: Changes
) -> list[tuple[QWidget, str, bool]]:
    """Return the changes as switches of widgets; empty when one of them is anything else."""
    there = read_properties(before)
    found = []
    for name, properties in changes.items():
        widget = _find(window, name)
        for key, value in properties.items():
            old = there.get(name, {}).get(key)
            if widget is None or not isinstance(old, bool) or not isinstance(value, bool | None):
                return []
            found.append((widget, key, bool(value)))  # one that is taken away is switched off
    return found


def _set_switches(window: QDesignerFormWindowInterface, switches: list[tuple[QWidget, str, bool]]) -> None:
    window.beginCommand(translate("agentic_qt", "Expose to the assistant"))
    for widget, key, value in switches:
        window.cursor().setWidgetProperty(widget, key, value)
    window.endCommand()


def _find(window: QDesignerFormWindowInterface, name: str) -> QWidget | None:
    container = window.mainContainer()
    return container if container.objectName() == name else container.findChild(QWidget, name)
