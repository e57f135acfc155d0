"""What cannot be read now, and a button that tries again."""

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.boxes import Box
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.commands.command_words import State
from agentic_qt.ui.commands.mark import StateMark
from agentic_qt.ui.words import translate


class ProblemCard(Box):
    """Says what is wrong and what helps."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__("danger", parent)
        em = self.fontMetrics().height()
        self.words = ExactLabel(parent=self)
        self.retry_button = QPushButton(translate("agentic_qt", "Try again"), self)
        self.retry_button.setAutoDefault(False)
        line = QHBoxLayout()
        line.setSpacing(em // 2)
        line.addWidget(StateMark(State(icon="warning", tone="danger", word=""), self))
        line.addWidget(self.words, 1)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.retry_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, em // 4, 0, em // 4)
        column.addLayout(line)
        column.addLayout(buttons)

    def show_problem(self, words: str) -> None:
        """Show it and have it spoken."""
        self.words.setText(words)
        self.setAccessibleName(words)
        announce(self, words, urgent=True)
