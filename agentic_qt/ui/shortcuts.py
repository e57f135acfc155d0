"""The assistant's shortcuts: checked against those of the window, and left out where they would collide."""

import logging
from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

_log = logging.getLogger("agentic_qt.ui.shortcuts")
_NOT_FOR_WRITING = (
    Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
)


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
    taken = holder(window, action, wanted, ours)
    if taken is not None:
        _log.warning("The shortcut %s of %r is taken by %r and was left unset", keys, action.text(), taken)
        return False
    action.setShortcut(wanted)
    return True


def holder(window: QWidget, action: QAction, keys: QKeySequence, ours: Iterable[QAction]) -> str | None:
    """Return the name of what uses `keys` already, or a beginning or continuation of them; None when they are free.

    Args:
        window: Whose actions and shortcuts count.
        action: For which they are wanted.
        keys: The shortcut.
        ours: All of our actions.
    """
    for other in {*window.findChildren(QAction), *window.actions(), *ours}:
        if other is not action and _collide(keys, other.shortcuts()):
            return str(other.text() or other.objectName()).replace("&", "")
    for shortcut in window.findChildren(QShortcut):
        if _collide(keys, shortcut.keys()):
            return shortcut.objectName() or "a QShortcut"
    return None


def is_for_writing(keys: QKeySequence) -> bool:
    """Whether a shortcut is a key that people write or move with: it would be lost for that in the whole window."""
    if keys.isEmpty():
        return False
    combination = keys[0]  # type: ignore[index] # its stub does not say so
    if combination.keyboardModifiers() & _NOT_FOR_WRITING:
        return False
    key = combination.key()
    return key != Qt.Key.Key_Escape and not Qt.Key.Key_F1 <= key <= Qt.Key.Key_F35


def _collide(keys: QKeySequence, others: Iterable[QKeySequence]) -> bool:
    none = QKeySequence.SequenceMatch.NoMatch
    return any(keys.matches(other) != none or other.matches(keys) != none for other in others if not other.isEmpty())
