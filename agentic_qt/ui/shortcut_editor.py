"""The page where a person changes the assistant's shortcuts: each is checked before it counts, and kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QGridLayout, QKeySequenceEdit, QLabel, QLineEdit, QVBoxLayout, QWidget

from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.boxes import LinkButton
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.labels import plain_label
from agentic_qt.ui.shortcuts import holder, is_for_writing
from agentic_qt.ui.stored import Stored
from agentic_qt.ui.words import translate

_PORTABLE = QKeySequence.SequenceFormat.PortableText


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """The controls of one action."""

    action: QAction
    label: QLabel
    edit: QKeySequenceEdit
    remove: LinkButton
    reset: LinkButton


class ShortcutEditor(QWidget):
    """A table of the assistant's actions with their shortcuts.

    Args:
        window: The application's window, whose own shortcuts stay its own.
        actions: The assistant's, by name.
        defaults: The shortcuts that count without a choice of the person, by name; portable text.
        stored: Keeps the choices.
        parent: The settings.

    Attributes:
        rows: The controls by name.
        answer: Why a shortcut was not taken.
    """

    def __init__(
        self,
        window: QWidget,
        actions: Mapping[str, QAction],
        defaults: Mapping[str, str],
        stored: Stored,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._actions = actions
        self._defaults = defaults
        self._stored = stored
        intro = translate(
            "agentic_qt", "Click a shortcut and press the new keys. What the application uses stays its own."
        )
        self._grid = QGridLayout()
        self._grid.setColumnStretch(1, 1)
        self.rows = {name: self._add(name, at) for at, name in enumerate(defaults) if name in actions}
        self.answer = plain_label(self)
        self.answer.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.addWidget(ExactLabel(intro, tone="muted", parent=self))
        layout.addLayout(self._grid)
        layout.addWidget(self.answer)
        layout.addStretch(1)

    def refresh(self) -> None:
        """Show what counts now."""
        for name in self.rows:
            self._show(name)
        self._say("")

    def _add(self, name: str, at: int) -> Row:
        action = self._actions[name]
        words = action.text().replace("&", "").rstrip("…")
        if name == "toggle":  # its own text stands in a menu of things to show
            words = translate("agentic_qt", "Show or Hide the Assistant")
        row = Row(
            action=action,
            label=plain_label(self),
            edit=QKeySequenceEdit(self),
            remove=LinkButton(translate("agentic_qt", "Remove"), self),
            reset=LinkButton(translate("agentic_qt", "Reset"), self),
        )
        row.label.setText(words)
        row.edit.setMaximumSequenceLength(1)
        spoken = translate("agentic_qt", "Shortcut for: {action}").format(action=words)
        for part in (row.edit, row.edit.findChild(QLineEdit)):
            if part is not None:  # the field inside is what has the focus
                part.setAccessibleName(spoken)
        row.remove.setAccessibleName(translate("agentic_qt", "Remove the shortcut for: {action}").format(action=words))
        row.reset.setAccessibleName(translate("agentic_qt", "Reset the shortcut for: {action}").format(action=words))
        row.edit.editingFinished.connect(lambda: self._change(name))
        row.remove.clicked.connect(lambda: self._remove(name))
        row.reset.clicked.connect(lambda: self._reset(name))
        self._grid.addWidget(row.label, at, 0)
        self._grid.addWidget(row.edit, at, 1)
        self._grid.addWidget(row.remove, at, 2)
        self._grid.addWidget(row.reset, at, 3)
        self._paint(row, name)
        return row

    def _change(self, name: str) -> None:
        row = self.rows[name]
        keys = row.edit.keySequence()
        if keys.isEmpty() or keys == row.action.shortcut():  # nothing was pressed, or only a modifier
            self._show(name)
        elif self._take(name, keys):
            self._stored.keep_shortcut(name, keys.toString(_PORTABLE))

    def _remove(self, name: str) -> None:
        if self._take(name, QKeySequence()):
            self._stored.keep_shortcut(name, "")
            self.rows[name].edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _reset(self, name: str) -> None:
        if self._take(name, QKeySequence(self._defaults[name], _PORTABLE)):
            self._stored.keep_shortcut(name, None)
            self.rows[name].edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _take(self, name: str, keys: QKeySequence) -> bool:
        """Let a shortcut count, or say why it cannot."""
        row = self.rows[name]
        problem = self._problem(row.action, keys)
        if not problem:
            row.action.setShortcut(keys)
        self._show(name)
        self._say(problem)
        return not problem

    def _problem(self, action: QAction, keys: QKeySequence) -> str:
        shown = keys.toString(QKeySequence.SequenceFormat.NativeText)
        if is_for_writing(keys):
            words = translate("agentic_qt", "{keys} is for writing: take one with Ctrl or Alt, or a function key.")
            return words.format(keys=shown)
        taken = None if keys.isEmpty() else holder(self._window, action, keys, self._actions.values())
        if taken is None:
            return ""
        words = translate("agentic_qt", "{keys} is used by “{other}” already, so nothing was changed.")
        return words.format(keys=shown, other=taken)

    def _show(self, name: str) -> None:
        self._paint(self.rows[name], name)

    def _paint(self, row: Row, name: str) -> None:
        row.edit.setKeySequence(row.action.shortcut())
        default = QKeySequence(self._defaults[name], _PORTABLE)
        row.remove.setEnabled(not row.action.shortcut().isEmpty())
        row.reset.setEnabled(row.action.shortcut() != default)

    def _say(self, words: str) -> None:
        self.answer.setText(words)
        self.answer.setAccessibleName(words)
        if words:
            announce(self, words)
