"""Where a link leads, shown before anything is opened."""

from PySide6.QtCore import QRectF, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from agentic_qt.ui.labels import plain_label
from agentic_qt.ui.theme import Tones
from agentic_qt.ui.words import translate


class LinkBar(QWidget):
    """Shows the address of a link before it is opened."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._url = QUrl()
        self.question = plain_label(self)
        self.question.setText(translate("agentic_qt", "Open this address?"))
        self.address = plain_label(self)
        self.address.setWordWrap(True)
        self.address.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.open_button = QPushButton(translate("agentic_qt", "Open"), self)
        self.copy_button = QPushButton(translate("agentic_qt", "Copy address"), self)
        self.cancel_button = QPushButton(translate("agentic_qt", "Cancel"), self)
        for button in (self.open_button, self.copy_button, self.cancel_button):
            button.setAutoDefault(False)
        em = self.fontMetrics().height()
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.cancel_button)
        row.addWidget(self.copy_button)
        row.addWidget(self.open_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(round(0.8 * em), round(0.6 * em), round(0.8 * em), round(0.6 * em))
        layout.addWidget(self.question)
        layout.addWidget(self.address)
        layout.addLayout(row)
        self.open_button.clicked.connect(self._open)
        self.copy_button.clicked.connect(self._copy)
        self.cancel_button.clicked.connect(self.hide)
        self.hide()

    def ask(self, url: QUrl) -> None:
        """Show the address of `url`, encoded so that no letter of it can deceive."""
        self._url = url
        shown = bytes(url.toEncoded().data()).decode("ascii")
        self.address.setText(shown)
        self.address.setAccessibleName(shown)
        self.show()

    def _open(self) -> None:
        self.hide()
        QDesktopServices.openUrl(self._url)

    def _copy(self) -> None:
        self.hide()
        QGuiApplication.clipboard().setText(self.address.text())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the box."""
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(tones.border, 1))
        painter.setBrush(tones.card)
        radius = 0.5 * self.fontMetrics().height()
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), radius, radius)
        painter.end()
