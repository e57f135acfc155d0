"""Runs the plugin inside a real Qt Designer without a person, writes down what happened, and ends Designer.

The folder that the environment names holds ``plan.json``: what to open and what to enter. The test writes there
``report.json``, the saved form (Designer's own Save writes it to where it was opened) and pictures.
"""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtDesigner import QDesignerFormEditorInterface, QDesignerFormWindowInterface
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMdiSubWindow, QMenu, QTreeView, QWidget

from agentic_qt.devtools.designer import form_edit
from agentic_qt.devtools.designer.expose_dialog import ExposeDialog
from agentic_qt.devtools.designer.field_table import DESCRIPTION, NAME, OFFERED, REQUIRED
from agentic_qt.devtools.designer.task_menu import ACTION_NAME, TASK_MENU
from agentic_qt.devtools.designer.twin import RISKS
from agentic_qt.devtools.designer.ui_text import normal

_log = logging.getLogger("agentic_qt.devtools.designer")

FOLDER: Final = "AGENTIC_QT_DESIGNER_SELF_TEST"
"""The environment variable that asks for the self-test and names its folder."""

_TURN_MS: Final = 20
_LIMIT_MS: Final = 30_000
_PICTURE: Final = QSize(1400, 800)
_COLUMNS: Final = {"excluded": OFFERED, "name": NAME, "description": DESCRIPTION, "required": REQUIRED}
PASSED, BROKEN, LATE = 0, 1, 3


def start(core: QDesignerFormEditorInterface, folder: str) -> None:
    """Run the self-test once the form that Designer was started with is open."""
    test = _SelfTest(core, Path(folder))
    manager = core.formWindowManager()
    QTimer.singleShot(_LIMIT_MS, core, lambda: test.end(LATE))
    if manager.formWindowCount():
        test.go_on()
    else:
        manager.formWindowAdded.connect(lambda _window: QTimer.singleShot(_TURN_MS, core, test.go_on))


class _SelfTest:
    """Does one step a turn of Designer's event loop, since Undo and the opening of a form end in a later one."""

    def __init__(self, core: QDesignerFormEditorInterface, folder: Path) -> None:
        self._core = core
        self._folder = folder
        self._report: dict[str, Any] = {}
        self._steps = self._play()

    def go_on(self) -> None:
        """Do the next step, and ask for the one after it."""
        try:
            next(self._steps)
        except StopIteration:
            self.end(PASSED)
        except Exception as error:  # Qt would print it and wait for ever
            _log.exception("the self-test failed")
            self._report["error"] = repr(error)
            self.end(BROKEN)
        else:
            QTimer.singleShot(_TURN_MS, self._core, self.go_on)

    def end(self, code: int) -> None:
        """Write the report and end Designer."""
        self._steps = iter(())
        text = json.dumps(self._report, indent=2, ensure_ascii=False)
        (self._folder / "report.json").write_text(text, encoding="utf-8")
        QApplication.exit(code)

    def _play(self) -> Iterator[None]:
        yield
        plan = json.loads((self._folder / "plan.json").read_text(encoding="utf-8"))
        window = self._core.formWindowManager().formWindow(0)
        stack = window.commandHistory()
        self._report["widget_box"] = self._widget_box()
        self._report["menus"] = self._menus(window)
        untouched = normal(window.contents())

        dialog = self._open(window, plan["open_at"])
        yield
        _enter(dialog, plan)
        dialog.refresh()
        yield
        self._report["preview"] = dialog.preview.toPlainText()
        self._report["findings"] = dialog.findings.text()
        dialog.grab().save(str(self._folder / "dialog.png"))
        dialog.accept()
        yield
        exposed = normal(window.contents())
        self._report["undo"] = {"changed": exposed != untouched, "dirty": window.isDirty(), "steps": stack.count()}
        stack.undo()
        yield
        self._report["undo"]["undone"] = normal(window.contents()) == untouched
        stack.redo()
        yield
        self._report["undo"]["redone"] = normal(window.contents()) == exposed
        yield from self._photograph(window, plan["open_at"])

        dialog = self._open(window, plan["reopen_at"])
        yield
        self._report["reopened"] = {"name": dialog.name.text(), "line": dialog.fields.currentRow()}
        dialog.auto_submit.setChecked(not dialog.auto_submit.isChecked())
        steps = stack.count()
        dialog.accept()
        yield
        switched = normal(window.contents())
        self._report["switch"] = {"changed": switched != exposed, "kept_steps": stack.count() == steps + 1}
        stack.undo()
        yield
        self._report["switch"]["undone"] = normal(window.contents()) == exposed
        self._save()
        yield
        self._report["saved"] = not window.isDirty()

    def _widget_box(self) -> dict[str, list[str]]:
        box = self._core.widgetBox()
        categories = [box.category(place) for place in range(box.categoryCount())]
        return {
            category.name(): [category.widget(place).name() for place in range(category.widgetCount())]
            for category in categories
            if any("Place" in category.widget(place).name() for place in range(category.widgetCount()))
        }

    def _menus(self, window: QDesignerFormWindowInterface) -> dict[str, str]:
        found = {}
        for widget in window.mainContainer().findChildren(QWidget):
            if window.isManaged(widget):
                action = self._menu_entry(widget)
                found[widget.objectName()] = action.text() if action is not None else ""
        return found

    def _menu_entry(self, widget: QWidget) -> QAction | None:
        menu: Any = self._core.extensionManager().extension(widget, TASK_MENU)
        if menu is None:
            return None
        return next((action for action in menu.taskActions() if action.objectName() == ACTION_NAME), None)

    def _open(self, window: QDesignerFormWindowInterface, name: str) -> ExposeDialog:
        container = window.mainContainer()
        widget = container if container.objectName() == name else container.findChild(QWidget, name)
        action = self._menu_entry(widget) if widget is not None else None
        if action is None:
            raise LookupError(f"{name} has no menu entry")
        action.trigger()
        dialogs = [child for child in self._core.topLevel().children() if isinstance(child, ExposeDialog)]
        if not dialogs:
            raise LookupError("the menu entry opened no dialog")
        return dialogs[-1]

    def _save(self) -> None:
        menus = [widget for widget in QApplication.allWidgets() if isinstance(widget, QMenu)]
        save = QKeySequence(QKeySequence.StandardKey.Save)
        action = next((a for menu in menus for a in menu.actions() if a.shortcut() == save), None)
        if action is None:
            raise LookupError("Designer's menus hold no Save")
        action.trigger()

    def _photograph(self, window: QDesignerFormWindowInterface, name: str) -> Iterator[None]:
        top = self._core.topLevel()
        top.resize(_PICTURE)
        for frame in top.findChildren(QMdiSubWindow):
            frame.move(0, 0)
        form_edit.select(window, name)
        yield
        for part in (self._core.widgetBox(), self._core.propertyEditor()):
            for view in part.findChildren(QTreeView):
                view.scrollToBottom()  # where the custom widgets and the dynamic properties are
        yield
        top.grab().save(str(self._folder / "designer.png"))


def _enter(dialog: ExposeDialog, plan: dict[str, Any]) -> None:
    dialog.name.setText(plan["name"])
    dialog.title.setText(plan["title"])
    dialog.description.setPlainText(plan["description"])
    dialog.risk.setCurrentIndex(RISKS.index(plan["risk"]))
    dialog.auto_submit.setChecked(plan["auto_submit"])
    for name, entered in plan["fields"].items():
        for key, value in entered.items():
            item = dialog.fields.cell(dialog.fields.line_of(name), _COLUMNS[key])
            if isinstance(value, bool):
                checked = value != (key == "excluded")
                item.setCheckState(Qt.CheckState.Checked if checked else Qt.CheckState.Unchecked)
            else:
                item.setText(value)
    for name, entered in plan["details"].items():
        dialog.fields.choose(name)
        details = dialog.details
        details.unit.setText(entered.get("unit", ""))
        details.depends_on.setText(entered.get("depends_on", ""))
        details.sensitive.setChecked(entered.get("sensitive", False))
        details.item_values.setPlainText("\n".join(entered.get("item_values", ())))
