"""Finds or makes the View menu of a window, and puts the assistant's toggle there."""

from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar

from agentic_qt.ui.words import translate


def find_view_menu(window: QMainWindow) -> QMenu | None:
    """Return the window's View menu: by its title, English or translated, or by an object name with "view" in it."""
    bar = window.menuWidget()
    if not isinstance(bar, QMenuBar):
        return None
    titles = {"view", translate("agentic_qt", "&View").replace("&", "").casefold()}
    for action in bar.actions():
        # PySide6 loses the owner of QAction.menu(): the static function keeps it.
        menu = QMenu.menuInAction(action)
        if menu is None:
            continue
        if action.text().replace("&", "").casefold() in titles or "view" in menu.objectName().casefold():
            return menu
    return None


def add_to_view_menu(window: QMainWindow, action: QAction) -> Callable[[], None]:
    """Put `action` at the end of the View menu, made when there is none; returns a function that takes it all back."""
    menu = find_view_menu(window)
    if menu is not None:
        separator = menu.addSeparator() if menu.actions() else None
        menu.addAction(action)
        return lambda: _forget(menu, action, separator)
    had_bar = isinstance(window.menuWidget(), QMenuBar)
    bar = window.menuBar()
    made = QMenu(translate("agentic_qt", "&View"), bar)
    made.setObjectName("agentic_qt_view_menu")
    made.addAction(action)
    before = _last_menu(bar)
    if before is not None:
        bar.insertMenu(before, made)
    else:
        bar.addMenu(made)

    def remove() -> None:
        _forget(made, action, None)
        if not shiboken6.isValid(made) or made.actions():
            return  # the application has put something of its own there
        bar.removeAction(made.menuAction())
        made.deleteLater()
        if not had_bar and not bar.actions():
            window.setMenuWidget(None)  # type: ignore[arg-type] # Qt takes None, its stubs do not

    return remove


def _last_menu(bar: QMenuBar) -> QAction | None:
    """Help stands last; View comes before it."""
    actions = bar.actions()
    helps = {"help", translate("agentic_qt", "&Help").replace("&", "").casefold()}
    if actions and actions[-1].text().replace("&", "").casefold() in helps:
        return actions[-1]
    return None


def _forget(menu: QMenu, action: QAction, separator: QObject | None) -> None:
    if not shiboken6.isValid(menu):
        return
    if shiboken6.isValid(action):
        menu.removeAction(action)
    if isinstance(separator, QAction) and shiboken6.isValid(separator):
        menu.removeAction(separator)
        separator.deleteLater()
