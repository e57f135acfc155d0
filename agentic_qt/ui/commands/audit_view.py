"""The window that tells what happened to one command. Non-modal; it reads and changes nothing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QFrame, QGridLayout, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.values import Code, CommandStatus
from agentic_qt.qt.availability import OWN_WINDOW
from agentic_qt.qt.loop import spawn
from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.boxes import LinkButton
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.approval.text import exact
from agentic_qt.ui.commands.audit import CommandAudit
from agentic_qt.ui.commands.audit_lines import AuditLine
from agentic_qt.ui.commands.command_words import State, state_of_result, trouble
from agentic_qt.ui.commands.mark import StateMark
from agentic_qt.ui.commands.problem_card import ProblemCard
from agentic_qt.ui.words import translate

_log = logging.getLogger("agentic_qt.ui.commands.audit_view")
_BUSY = State(icon="running", tone="info", word="")


class AuditView(QDialog):
    """Shows the audit of one command at a time.

    Args:
        read: Reads everything about a command by its id.
        title_of: What a command type is called.
        parent: The owner.

    Attributes:
        audit: What is shown; None while nothing could be read.
    """

    def __init__(
        self,
        read: Callable[[str], Awaitable[CommandAudit]],
        title_of: Callable[[str], str],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("agentic_qt_command_audit")
        self.setProperty(OWN_WINDOW, True)  # noqa: FBT003 - Qt's own signature
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)  # noqa: FBT003 - Qt's own signature
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.setWindowTitle(translate("agentic_qt", "What happened"))
        self.audit: CommandAudit | None = None
        self._read = read
        self._title_of = title_of
        self._command_id = ""
        self._task: asyncio.Task[Any] | None = None
        self._lines: QWidget | None = None
        self._mark = StateMark(_BUSY, self)
        self.word = ExactLabel(scale=1.2, bold=True, parent=self)
        self.sentence = ExactLabel(parent=self)
        self.title = ExactLabel(parent=self)
        self.target = ExactLabel(parent=self)
        self.id_label = ExactLabel(code=True, parent=self)
        self.problem = ProblemCard(self)
        self.area = QScrollArea(self)
        self.copy_id_button = LinkButton(translate("agentic_qt", "Copy"), self)
        self.refresh_button = QPushButton(translate("agentic_qt", "Look again"), self)
        self.copy_button = QPushButton(translate("agentic_qt", "Copy as JSON"), self)
        self.close_button = QPushButton(translate("agentic_qt", "Close"), self)
        self._build()
        self._connect()

    @property
    def busy(self) -> bool:
        """Whether it is being read."""
        return self._task is not None and not self._task.done()

    def present(self, command_id: str) -> None:
        """Show what happened to a command."""
        if command_id != self._command_id:
            self._command_id, self.audit = command_id, None
            self._show_lines(None)
        self.id_label.setText(exact(command_id))
        self.show()
        self.raise_()
        self.activateWindow()
        self.area.setFocus(Qt.FocusReason.OtherFocusReason)
        self.reload()

    def reload(self) -> None:
        """Read it again."""
        self.leave()
        self._show_state(State(icon="running", tone="info", word=translate("agentic_qt", "Looking…")))
        self.refresh_button.setEnabled(False)
        self._task = spawn(self._load(self._command_id), name="agentic_qt.audit")

    def leave(self) -> None:
        """Wait for nothing any more."""
        if self._task is not None:
            self._task.cancel()

    async def _load(self, command_id: str) -> None:
        try:
            audit = await self._read(command_id)
        except Exception as error:
            if not isinstance(error, CommandError):
                _log.exception("The audit of a command could not be read")
            if shiboken6.isValid(self):
                self._show_problem(trouble(error))
            return
        if shiboken6.isValid(self):
            self._show(audit)

    def _show(self, audit: CommandAudit) -> None:
        self.refresh_button.setEnabled(True)
        lost = audit.result.status is CommandStatus.UNKNOWN and audit.result.code == Code.CONNECTION_LOST
        self.audit = audit
        self.problem.hide()
        state = state_of_result(audit.result)
        if lost:
            words = translate("agentic_qt", "The service of commands did not answer.")
            state = State(icon="question", tone="warning", word=state.word, sentence=words)
        self._show_state(state)
        self._show_lines(audit)
        announce(self, f"{state.word}. {state.sentence}".strip())

    def _show_problem(self, words: str) -> None:
        self.refresh_button.setEnabled(True)
        self._show_state(State(icon="question", tone="warning", word=translate("agentic_qt", "It cannot be told now")))
        self.problem.show_problem(words)
        self.problem.show()

    def _show_state(self, state: State) -> None:
        self._mark.show_state(state)
        self.word.setText(state.word)
        self.sentence.setText(state.sentence)
        self.sentence.setVisible(bool(state.sentence))

    def _show_lines(self, audit: CommandAudit | None) -> None:
        self.title.setText(self._title_of(audit.type) if audit is not None and audit.type else "-")
        self.target.setText(exact(audit.target) if audit is not None and audit.target else "-")
        self.copy_button.setEnabled(audit is not None)
        made = QWidget(self.area)
        made.setAutoFillBackground(False)
        column = QVBoxLayout(made)
        em = self.fontMetrics().height()
        column.setContentsMargins(0, 0, em // 2, 0)
        column.setSpacing(em * 2 // 3)
        if audit is not None and audit.has_more:
            words = translate("agentic_qt", "Older lines are left out here.")
            column.addWidget(ExactLabel(words, tone="muted", parent=made))
        for entry in audit.entries if audit is not None else ():
            column.addWidget(AuditLine(entry, made))
        if audit is not None and not audit.entries:
            words = translate("agentic_qt", "Nothing is written of it.")
            column.addWidget(ExactLabel(words, tone="muted", parent=made))
        column.addStretch(1)
        self._lines = made
        self.area.setWidget(made)  # the one before is deleted by Qt

    def _build(self) -> None:
        em = self.fontMetrics().height()
        head = QHBoxLayout()
        head.setSpacing(em // 2)
        head.addWidget(self._mark)
        head.addWidget(self.word, 1)
        facts = QGridLayout()
        facts.setHorizontalSpacing(em)
        facts.setColumnStretch(1, 1)
        for row, (label, value) in enumerate(
            (
                (translate("agentic_qt", "Command"), self.title),
                (translate("agentic_qt", "Target"), self.target),
                (translate("agentic_qt", "Command id"), self.id_label),
            )
        ):
            facts.addWidget(ExactLabel(label, tone="muted", parent=self), row, 0, Qt.AlignmentFlag.AlignTop)
            facts.addWidget(value, row, 1)
        facts.addWidget(self.copy_id_button, 2, 2, Qt.AlignmentFlag.AlignTop)
        self.copy_id_button.setAccessibleName(translate("agentic_qt", "Copy the command id"))
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setAccessibleName(translate("agentic_qt", "What happened, the newest last"))
        self.area.viewport().setAutoFillBackground(False)
        buttons = QHBoxLayout()
        for button in (self.refresh_button, self.copy_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        buttons.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setSpacing(em * 2 // 3)
        column.addLayout(head)
        column.addWidget(self.sentence)
        column.addWidget(self.problem)
        column.addLayout(facts)
        column.addWidget(self.area, 1)
        column.addLayout(buttons)
        self.problem.hide()
        self.resize(30 * em, 26 * em)

    def _connect(self) -> None:
        for button in (self.refresh_button, self.copy_button, self.close_button):
            button.setAutoDefault(False)
        self.refresh_button.clicked.connect(self.reload)
        self.problem.retry_button.clicked.connect(self.reload)
        self.copy_id_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._command_id))
        self.copy_button.clicked.connect(self._copy)
        self.close_button.clicked.connect(self.hide)

    def _copy(self) -> None:
        if self.audit is not None:
            QGuiApplication.clipboard().setText(self.audit.as_json())
