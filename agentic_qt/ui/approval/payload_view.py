"""The payload of a request in one scroll area, and whether a person has come to its end."""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from agentic_qt.ui.approval.boxes import Box, LinkButton
from agentic_qt.ui.approval.exact_label import ExactLabel, Tone
from agentic_qt.ui.approval.payload import Payload, Row, Section, Shown

translate = QCoreApplication.translate
_SHORT = 22  # characters of an old and a new value that fit beside each other


class ValueView(QWidget):
    """One value; a long one is folded to its beginning and end, with its exact length.

    Signals:
        toggled: It was unfolded or folded.
    """

    toggled = Signal()

    def __init__(self, value: Shown, *, label: str, struck: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._value = value
        self.was_open = not value.is_long
        self._is_open = not value.is_long
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(self.fontMetrics().height() // 5)
        tone: Tone = "muted" if struck else "text"
        self._text = ExactLabel(value.full if self._is_open else value.head, tone=tone, struck=struck)
        layout.addWidget(self._text)
        self._tail = ExactLabel(value.tail, tone=tone, struck=struck)
        self._toggle = LinkButton("")
        self._label = label
        if value.is_long:
            layout.addWidget(self._toggle, 0, Qt.AlignmentFlag.AlignLeading)
            layout.addWidget(self._tail)
            self._toggle.clicked.connect(self.toggle)
            self._name_toggle()
        else:
            self._tail.hide()
            self._toggle.hide()
        if value.mixed:
            words = translate("agentic_qt", "Look-alike letters of several alphabets in one word:")
            layout.addWidget(ExactLabel(f"{words} {', '.join(value.mixed)}", tone="warning"))

    def toggle(self) -> None:
        """Unfold a long value, or fold it again."""
        self._is_open = not self._is_open
        self.was_open = True
        self._text.setText(self._value.full if self._is_open else self._value.head)
        self._tail.setVisible(not self._is_open)
        self._name_toggle()
        self.toggled.emit()

    def _name_toggle(self) -> None:
        if self._is_open:
            self._toggle.rename(translate("agentic_qt", "Fold"))
            return
        words = translate("agentic_qt", "… show all: {characters} characters, {lines} lines")
        locale = self.locale()
        self._toggle.rename(
            words.format(
                characters=locale.toString(self._value.characters), lines=locale.toString(self._value.lines)
            )
        )


class PayloadView(QScrollArea):
    """Everything that is to run, scrollable with the keyboard.

    Signals:
        changed: What is shown has changed (a value was unfolded, the JSON was shown).
        progressed: `complete` has changed.
    """

    changed = Signal()
    progressed = Signal()

    def __init__(self, payload: Payload, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: list[ValueView] = []
        self._end_seen = False
        self._was_complete = False
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(translate("agentic_qt", "What is to run"))
        self._content = QWidget()
        self._column = QVBoxLayout(self._content)
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
        return sum(not value.was_open for value in self._values)

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
        self._report()
        self.changed.emit()

    def _fill(self, payload: Payload) -> None:
        layout = self._column
        em = self.fontMetrics().height()
        layout.setContentsMargins(0, 0, em // 3, 0)
        layout.setSpacing(em // 3)
        layout.addLayout(self._rows(payload.sections))
        if payload.reason:
            layout.addWidget(_words_of_the_model(payload.reason))
        layout.addLayout(self._signature(payload))
        layout.addStretch(1)

    def _rows(self, sections: Sequence[Section]) -> QGridLayout:
        grid = QGridLayout()
        em = self.fontMetrics().height()
        grid.setHorizontalSpacing(em * 2 // 3)
        grid.setVerticalSpacing(em // 3)
        grid.setColumnStretch(0, 2)
        grid.setColumnStretch(1, 5)
        for section in sections:
            if section.heading:
                line = grid.rowCount()
                grid.setRowMinimumHeight(line, em // 4)
                grid.addWidget(ExactLabel(section.heading, tone="muted", scale=0.9, bold=True), line + 1, 0, 1, 2)
            for row in section.rows:
                line = grid.rowCount()
                grid.addWidget(ExactLabel(row.label, tone="muted"), line, 0, Qt.AlignmentFlag.AlignTop)
                grid.addLayout(self._value(row), line, 1)
        return grid

    def _value(self, row: Row) -> QHBoxLayout | QVBoxLayout:
        if row.old is None:
            only = QHBoxLayout()
            only.addWidget(self._keep(ValueView(row.value, label=row.label)))
            return only
        short = max(len(row.old.full), len(row.value.full)) <= _SHORT
        both: QHBoxLayout | QVBoxLayout = QHBoxLayout() if short else QVBoxLayout()
        both.setSpacing(self.fontMetrics().height() // 3)
        old = self._keep(ValueView(row.old, label=row.label, struck=True))
        old.setAccessibleName(translate("agentic_qt", "Old value"))
        new = self._keep(ValueView(row.value, label=row.label))
        new.setAccessibleName(translate("agentic_qt", "New value"))
        arrow = ExactLabel("←" if self.isRightToLeft() else "→", tone="muted", bold=True)
        arrow.setAccessibleName(translate("agentic_qt", "becomes"))
        both.addWidget(old)
        if short:
            both.addWidget(arrow)
            both.addWidget(new)
            both.addStretch(1)
        else:
            line = QHBoxLayout()
            line.addWidget(arrow, 0, Qt.AlignmentFlag.AlignTop)
            line.addWidget(new, 1)
            both.addLayout(line)
        return both

    def _keep(self, value: ValueView) -> ValueView:
        self._values.append(value)
        value.toggled.connect(self._content_changed)
        return value

    def _signature(self, payload: Payload) -> QVBoxLayout:
        layout = QVBoxLayout()
        line = QHBoxLayout()
        digest = ExactLabel(
            translate("agentic_qt", "Digest {digits}").format(digits=payload.short_digest), tone="muted", scale=0.9
        )
        digest.setToolTip(payload.digest)  # hexadecimal: nothing that could be markup
        line.addWidget(digest, 1)
        show = LinkButton(translate("agentic_qt", "Show JSON"))
        line.addWidget(show)
        layout.addLayout(line)
        text = ExactLabel(payload.json, code=True, scale=0.9)
        text.hide()
        layout.addWidget(text)

        def toggle() -> None:
            text.setVisible(text.isHidden())
            hidden = text.isHidden()
            show.rename(translate("agentic_qt", "Show JSON") if hidden else translate("agentic_qt", "Hide JSON"))
            self.changed.emit()

        show.clicked.connect(toggle)
        return layout


def _words_of_the_model(reason: str) -> QWidget:
    box = Box("quote")
    layout = QVBoxLayout(box)
    em = box.fontMetrics().height()
    layout.setContentsMargins(em // 4, 0, em // 4, 0)
    layout.setSpacing(em // 5)
    layout.addWidget(ExactLabel(translate("agentic_qt", "The model's words"), tone="muted", scale=0.9, bold=True))
    layout.addWidget(ExactLabel(reason))
    return box
