"""The payload of a request in one scroll area, and whether a person has come to its end."""

from PySide6.QtCore import QCoreApplication, QEvent, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from agentic_qt.ui.approval.boxes import Box, LinkButton
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.approval.payload import Payload
from agentic_qt.ui.approval.rows_view import RowsView

translate = QCoreApplication.translate


class PayloadView(QScrollArea):
    """Everything that is to run, scrollable with the keyboard.

    Signals:
        changed: What is shown has changed (a value was unfolded, the JSON was shown).
        progressed: `complete` has changed.
    """

    changed = Signal()
    progressed = Signal()

    def __init__(self, payload: Payload, parent: QWidget) -> None:
        super().__init__(parent)
        self._end_seen = False
        self._was_complete = False
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(translate("agentic_qt", "What is to run"))
        self._content = QWidget(self)
        self._column = QVBoxLayout(self._content)
        self._rows = RowsView(payload.sections, self._content)
        self._fill(payload)
        self.setWidget(self._content)
        self.viewport().setAutoFillBackground(False)
        self._content.setAutoFillBackground(False)
        self.verticalScrollBar().setSingleStep(self.fontMetrics().height())
        self.verticalScrollBar().valueChanged.connect(self._look)

    @property
    def complete(self) -> bool:
        """Whether every long value was unfolded once and the end was in view: only then may it be approved."""
        return self._end_seen and self.folded == 0

    @property
    def end_seen(self) -> bool:
        """Whether the end was in view."""
        return self._end_seen

    @property
    def folded(self) -> int:
        """How many long values were never unfolded."""
        return sum(not value.was_open for value in self._rows.values)

    def viewportEvent(self, event: QEvent) -> bool:
        """Look where the end is once everything is laid out, which is when it is painted."""
        if event.type() == QEvent.Type.Paint:
            self._look()
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Home and End do what they say; the rest is Qt's."""
        bar = self.verticalScrollBar()
        if event.key() == Qt.Key.Key_End:
            bar.setValue(bar.maximum())
        elif event.key() == Qt.Key.Key_Home:
            bar.setValue(bar.minimum())
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            event.accept()  # a stray press ends here
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Start at the beginning."""
        super().showEvent(event)
        self.verticalScrollBar().setValue(0)

    def sizeHint(self) -> QSize:
        """Ask for the height of all of it, so that a short request need not be scrolled."""
        frame = 2 * self.frameWidth()
        height = self._column.totalHeightForWidth(max(self._content.width(), self._content.minimumSizeHint().width()))
        return QSize(super().sizeHint().width(), height + frame)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange the rows for the new width."""
        self._arrange()
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def changeEvent(self, event: QEvent) -> None:
        """Arrange the rows for another font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_rows"):
            self._arrange()

    def _arrange(self) -> None:
        # As if the scroll bar were there: whether it is depends on the height, which depends on the arrangement.
        taken = self._column.contentsMargins().right() + self.verticalScrollBar().sizeHint().width()
        self._rows.arrange(self.width() - taken)

    def _look(self) -> None:
        bar = self.verticalScrollBar()
        if not self._end_seen and self.isVisible() and bar.value() >= bar.maximum() and self._is_laid_out():
            self._end_seen = True
        self._report()

    def _report(self) -> None:
        if self.complete != self._was_complete:
            self._was_complete = self.complete
            self.progressed.emit()

    def _is_laid_out(self) -> bool:
        """Whether the scroll bar already knows of all the content: painting can come before the new layout."""
        self._column.activate()
        return self._content.height() >= self._column.totalHeightForWidth(self._content.width())

    def _content_changed(self) -> None:
        self._end_seen = False  # what was unfolded has an end of its own
        self._column.invalidate()
        self.updateGeometry()
        self._report()
        self.changed.emit()

    def _fill(self, payload: Payload) -> None:
        layout = self._column
        em = self.fontMetrics().height()
        layout.setContentsMargins(0, 0, em // 3, 0)
        layout.setSpacing(em // 3)
        layout.addWidget(self._rows)
        self._rows.toggled.connect(self._content_changed)
        if payload.reason:
            layout.addWidget(words_of_the_model(payload.reason, self._content))
        layout.addLayout(self._signature(payload))
        layout.addStretch(1)

    def _signature(self, payload: Payload) -> QVBoxLayout:
        layout = QVBoxLayout()
        line = QHBoxLayout()
        digest = ExactLabel(
            translate("agentic_qt", "Digest {digits}").format(digits=payload.short_digest),
            tone="muted",
            scale=0.9,
            parent=self._content,
        )
        digest.setToolTip(payload.digest)  # hexadecimal: nothing that could be markup
        line.addWidget(digest, 1)
        show = LinkButton(translate("agentic_qt", "Show JSON"), self._content)
        line.addWidget(show)
        layout.addLayout(line)
        text = ExactLabel(payload.json, code=True, scale=0.9, parent=self._content)
        text.hide()
        layout.addWidget(text)

        def toggle() -> None:
            text.setVisible(text.isHidden())
            hidden = text.isHidden()
            show.rename(translate("agentic_qt", "Show JSON") if hidden else translate("agentic_qt", "Hide JSON"))
            self.changed.emit()

        show.clicked.connect(toggle)
        return layout


def words_of_the_model(reason: str, parent: QWidget) -> QWidget:
    """Return a box with the model's reason (already shown text), marked as its words."""
    box = Box("quote", parent)
    layout = QVBoxLayout(box)
    em = box.fontMetrics().height()
    layout.setContentsMargins(em // 4, 0, em // 4, 0)
    layout.setSpacing(em // 5)
    heading = translate("agentic_qt", "The model's words")
    layout.addWidget(ExactLabel(heading, tone="muted", scale=0.9, bold=True, parent=box))
    layout.addWidget(ExactLabel(reason, parent=box))
    return box
