"""The entry "Expose to the assistant..." in the context menu of each container and input of a form in Qt Designer."""

from collections.abc import Callable
from typing import Final

import shiboken6
from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtDesigner import (
    QDesignerFormEditorInterface,
    QDesignerFormWindowInterface,
    QExtensionFactory,
    QExtensionManager,
    QPyDesignerTaskMenuExtension,
)
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QDialog,
    QDockWidget,
    QFrame,
    QGroupBox,
    QMainWindow,
    QMessageBox,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QToolBox,
    QWidget,
    QWizard,
    QWizardPage,
)

from agentic_qt.devtools.designer import form_edit
from agentic_qt.devtools.designer.expose_dialog import ExposeDialog
from agentic_qt.devtools.designer.twin import owning_form
from agentic_qt.devtools.designer.ui_text import Changes, UiTextError
from agentic_qt.qt.forms.adapters.registry import adapter_of

translate = QCoreApplication.translate

TASK_MENU: Final = "org.qt-project.Qt.Designer.TaskMenu"
ACTION_NAME: Final = "agentic_qt_expose_action"

_CONTAINERS: Final = frozenset({
    *(QWidget, QDialog, QDockWidget, QFrame, QGroupBox, QMainWindow, QScrollArea),
    *(QSplitter, QStackedWidget, QTabWidget, QToolBox, QWizard, QWizardPage),
})  # fmt: skip


def has_menu(thing: QObject) -> bool:
    """Return whether something in a form is a container or an input."""
    if not isinstance(thing, QWidget):
        return False
    # By the exact class: QLabel is a QFrame, and each list a scroll area.
    return type(thing) in _CONTAINERS or adapter_of(thing, thing.property("toolParamType")) is not None


def install(core: QDesignerFormEditorInterface) -> None:
    """Add the menu entry to a running Designer."""
    manager = core.extensionManager()
    manager.registerExtensions(TaskMenuFactory(manager), TASK_MENU)


class TaskMenuFactory(QExtensionFactory):
    """Makes the menu of a widget when Designer first asks for it."""

    def __init__(self, manager: QExtensionManager) -> None:
        super().__init__(manager)

    def createExtension(self, thing: QObject, iid: str, parent: QObject) -> QObject | None:  # type: ignore[override]
        """Return the menu of a container or an input, None for anything else."""
        if iid != TASK_MENU or not isinstance(thing, QWidget) or not has_menu(thing):
            return None
        return ExposeMenu(thing, parent)


class ExposeMenu(QPyDesignerTaskMenuExtension):
    """The one entry in a widget's context menu."""

    def __init__(self, widget: QWidget, parent: QObject) -> None:
        super().__init__(parent)
        self._action = QAction(translate("agentic_qt", "Expose to the assistant..."), self)
        self._action.setObjectName(ACTION_NAME)
        self._action.triggered.connect(lambda: open_dialog(widget))

    def taskActions(self) -> list[QAction]:
        """Return the entry."""
        return [self._action]

    def preferredEditAction(self) -> QAction | None:  # type: ignore[override]
        """Return nothing: a double click goes on editing the text."""
        return None


def open_dialog(widget: QWidget) -> ExposeDialog | None:
    """Open the dialog for the form that a widget of an open form is, or is a field of; None where there is none."""
    window = QDesignerFormWindowInterface.findFormWindow(widget)
    if window is None:
        return None
    form = owning_form(widget, window.mainContainer())
    top = window.core().topLevel()
    try:
        dialog = ExposeDialog(
            window.contents(), form.objectName(), _applying(window), field_name=widget.objectName(), parent=top
        )
    except UiTextError as error:
        box = QMessageBox(QMessageBox.Icon.Warning, translate("agentic_qt", "Expose to the Assistant"), "", parent=top)
        box.setText(translate("agentic_qt", "This form cannot be read."))
        box.setInformativeText(str(error))
        box.open()
        return None
    dialog.open()
    return dialog


def _applying(window: QDesignerFormWindowInterface) -> Callable[[Changes], bool]:
    def apply(changes: Changes) -> bool:
        if not shiboken6.isValid(window):
            raise UiTextError(translate("agentic_qt", "The form was closed."))
        return form_edit.apply(window, changes)

    return apply
