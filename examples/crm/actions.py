"""The actions of the window, its menus and its toolbar."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QToolBar

from examples.crm.capabilities import THEMES
from examples.crm.edits import History
from examples.crm.look import icon

_Keys = QKeySequence.StandardKey


@dataclass(frozen=True, kw_only=True)
class Slots:
    """What the actions do."""

    new: Callable[[], None]
    save: Callable[[], None]
    revert: Callable[[], None]
    delete: Callable[[], None]
    merge: Callable[[], None]
    find: Callable[[], None]
    refresh: Callable[[], None]
    theme: Callable[[str], None]
    about: Callable[[], None]
    leave: Callable[[], None]


class Actions:
    """Every action of the window, by name; made once, put into menus and the toolbar."""

    def __init__(self, window: QMainWindow, history: History, slots: Slots) -> None:
        self._window = window
        self._icons: dict[QAction, str] = {}
        add = self._add
        self.new = add("new", "&New customer", slots.new, _Keys.New, "Add a customer")
        self.save = add("save", "&Save", slots.save, _Keys.Save, "Save the changes in the form")
        self.revert = add("revert", "&Revert", slots.revert, "Ctrl+Shift+R", "Back to what is stored")
        self.delete = add("delete", "&Delete customer…", slots.delete, "Ctrl+Del", "Delete the customer in the form")
        self.merge = add(
            "merge", "&Merge into…", slots.merge, "Ctrl+M", "Merge the customer in the form into another one"
        )
        self.find = add("search", "&Find…", slots.find, _Keys.Find, "Search the customers")
        self.refresh = add("refresh", "Re&fresh", slots.refresh, _Keys.Refresh, "Read the file again")
        self.about = add("app", "&About Customers", slots.about, None, "What this application is")
        self.leave = add("", "&Quit", slots.leave, _Keys.Quit, "Leave the application")
        self.leave.setMenuRole(QAction.MenuRole.QuitRole)
        self.undo, self.redo = history.undo, history.redo
        for action, name, keys in ((self.undo, "undo", _Keys.Undo), (self.redo, "redo", _Keys.Redo)):
            action.setObjectName(name)
            action.setShortcuts(keys)
            self._icons[action] = name
        self.themes = self._make_themes(slots.theme)
        self._make_menus()
        self._make_toolbar()
        self.refresh_icons()

    def _add(self, name: str, text: str, slot: Callable[[], None], keys: "_Keys | str | None", tip: str) -> QAction:
        action = QAction(text, self._window)
        action.setObjectName(text.replace("&", "").rstrip("…").lower().replace(" ", "_"))
        action.setStatusTip(tip)
        if isinstance(keys, str):
            action.setShortcut(QKeySequence(keys))
        elif keys is not None:
            action.setShortcuts(keys)
        shortcut = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(f"{tip} ({shortcut})" if shortcut else tip)
        action.triggered.connect(lambda _checked=False: slot())
        if name:
            self._icons[action] = name
        return action

    def _make_themes(self, choose: Callable[[str], None]) -> dict[str, QAction]:
        group = QActionGroup(self._window)
        made = {}
        for theme in THEMES:
            label = "As the &system" if theme == "system" else f"&{theme.capitalize()}"
            action = QAction(label, group)
            action.setObjectName(f"theme_{theme}")
            action.setCheckable(True)
            action.triggered.connect(lambda _checked=False, wanted=theme: choose(wanted))
            made[theme] = action
        return made

    def _make_menus(self) -> None:
        bar = self._window.menuBar()
        for title, actions in (
            ("&File", (self.new, self.save, self.revert, None, self.leave)),
            ("&Edit", (self.undo, self.redo, None, self.find, None, self.merge, self.delete)),
        ):
            menu = bar.addMenu(title)
            for action in actions:
                if action is None:
                    menu.addSeparator()
                else:
                    menu.addAction(action)
        view = bar.addMenu("&View")
        view.setObjectName("view_menu")
        view.addAction(self.refresh)
        theme = view.addMenu("&Theme")
        theme.addActions(list(self.themes.values()))
        bar.addMenu("&Help").addAction(self.about)

    def _make_toolbar(self) -> None:
        bar = QToolBar("Toolbar", self._window)
        bar.setObjectName("toolbar")
        bar.setMovable(False)
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        for action, text in (
            (self.new, "New"), (self.save, "Save"), (self.revert, "Revert"), (None, ""),
            (self.undo, "Undo"), (self.redo, "Redo"), (None, ""), (self.delete, "Delete"),
        ):  # fmt: skip
            if action is None:
                bar.addSeparator()
            else:
                action.setIconText(text)
                bar.addAction(action)
        self._window.addToolBar(bar)

    def refresh_icons(self) -> None:
        """Draw the icons again, in the colours of the palette."""
        palette = self._window.palette()
        for action, name in self._icons.items():
            action.setIcon(icon(name, palette))
