"""The window that shows what was sent to the chat model, read-only."""

import json

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QCheckBox, QDialog, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from agentic_qt.qt.availability import OWN_WINDOW
from agentic_qt.ui.labels import plain_label
from agentic_qt.ui.words import translate


class SentView(QDialog):
    """Shows the body of a request: indented for reading, or exactly as it was sent. Non-modal."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("agentic_qt_sent")
        self.setProperty(OWN_WINDOW, True)  # noqa: FBT003 - Qt's own signature
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)  # noqa: FBT003 - Qt's own signature
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.setWindowTitle(translate("agentic_qt", "What was sent"))
        self._sent = ""
        self.where = plain_label(self)
        self.where.setWordWrap(True)
        self.body = QPlainTextEdit(self)
        self.body.setReadOnly(True)
        self.body.setTabChangesFocus(True)
        self.body.setAccessibleName(translate("agentic_qt", "Body of the last request"))
        self.body.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.indented = QCheckBox(translate("agentic_qt", "Indented"), self)
        self.indented.setChecked(True)
        self.copy_button = QPushButton(translate("agentic_qt", "Copy as sent"), self)
        self.close_button = QPushButton(translate("agentic_qt", "Close"), self)
        row = QHBoxLayout()
        row.addWidget(self.indented)
        row.addStretch(1)
        for button in (self.copy_button, self.close_button):
            button.setAutoDefault(False)
            row.addWidget(button)
        layout = QVBoxLayout(self)
        layout.addWidget(self.where)
        layout.addWidget(self.body, 1)
        layout.addLayout(row)
        self.indented.toggled.connect(self._fill)
        self.copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._sent))
        self.close_button.clicked.connect(self.hide)
        em = self.fontMetrics().height()
        self.resize(38 * em, 32 * em)

    def present(self, text: str, host: str) -> None:
        """Show the body of a request, and where it went."""
        self._sent = text
        words = translate("agentic_qt", "The last request to {host}, all of it. Keys are sent beside it and not shown.")
        self.where.setText(words.format(host=host))
        self._fill()
        self.show()
        self.raise_()
        self.activateWindow()
        self.body.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fill(self) -> None:
        shown = self._sent
        if shown and self.indented.isChecked():
            shown = json.dumps(json.loads(shown), ensure_ascii=False, indent=2)
        self.body.setPlainText(shown)
