"""The line above the composer that says what sending will do, while an earlier message is changed."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from agentic_qt.ui.labels import plain_label
from agentic_qt.ui.words import translate


class EditBar(QWidget):
    """Says that an earlier message is being changed, and lets the person leave that.

    Signals:
        left: The person does not want to change it after all.
    """

    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.words = plain_label(self)
        self.words.setWordWrap(True)
        self.words.setText(
            translate("agentic_qt", "You are changing an earlier message. What was done after it stays done.")
        )
        self.cancel_button = QPushButton(translate("agentic_qt", "Keep it as it was"), self)
        self.cancel_button.clicked.connect(self.left)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.words, 1)
        layout.addWidget(self.cancel_button)
        self.hide()
