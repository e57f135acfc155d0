"""The assistant's shortcuts: checked against those of the window, and left out where they would collide."""

import logging
from collections.abc import Iterable

from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

_log = logging.getLogger("agentic_qt.ui.shortcuts")


def assign(window: QWidget, action: QAction, keys: str, ours: Iterable[QAction]) -> bool:
    """Give `action` the shortcut `keys` unless the window uses it already; returns whether it was given.

    Args:
        window: Whose actions and shortcuts count.
        action: One of ours.
        keys: Portable text, such as ``"Ctrl+Shift+A"``; empty for none.
        ours: All of our actions; two of ours may not collide either.
    """
    wanted = QKeySequence(keys, QKeySequence.SequenceFormat.PortableText)
    if wanted.isEmpty():
        return False
    taken = _holder(window, wanted, action)
    taken = taken or next(
        (str(other.text()) for other in ours if other is not action and wanted in other.shortcuts()), None
    )
    if taken is not None:
        _log.warning("The shortcut %s of %r is taken by %r and was left unset", keys, action.text(), taken)
        return False
    action.setShortcut(wanted)
    return True


def _holder(window: QWidget, wanted: QKeySequence, except_for: QAction) -> str | None:
    actions = {*window.findChildren(QAction), *window.actions()}
    for action in actions:
        if action is not except_for and wanted in action.shortcuts():
            return str(action.text() or action.objectName())
    for shortcut in window.findChildren(QShortcut):
        if wanted in tuple(shortcut.keys()):
            return shortcut.objectName() or "a QShortcut"
    return None
