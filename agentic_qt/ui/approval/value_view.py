"""One value of an approval, and the step from an old value to a new one."""

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

from agentic_qt.ui.approval.boxes import LinkButton
from agentic_qt.ui.approval.exact_label import ExactLabel, Tone
from agentic_qt.ui.approval.payload import Shown

translate = QCoreApplication.translate


class ValueView(QWidget):
    """One value; a long one is folded to its beginning and end, with its exact length.

    Signals:
        toggled: It was unfolded or folded.
    """

    toggled = Signal()

    def __init__(self, value: Shown, *, struck: bool = False, parent: QWidget) -> None:
        super().__init__(parent)
        self._value = value
        self.was_open = not value.is_long
        self._is_open = not value.is_long
        self._tone: Tone = "muted" if struck else "text"
        self._struck = struck
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(self.fontMetrics().height() // 5)
        self._text = self._line(value.full if self._is_open else value.head)
        if value.is_long:
            self._toggle = LinkButton("", self)
            self._layout.addWidget(self._toggle, 0, Qt.AlignmentFlag.AlignLeading)
            self._tail = self._line(value.tail)
            self._toggle.clicked.connect(self.toggle)
            self._name_toggle()
        if value.mixed:
            words = translate("agentic_qt", "Look-alike letters of several alphabets in one word:")
            self._layout.addWidget(ExactLabel(f"{words} {', '.join(value.mixed)}", tone="warning", parent=self))

    @property
    def natural_width(self) -> int:
        """The width in logical pixels at which no line is broken, up to a comfortable one."""
        return self._text.sizeHint().width()

    def toggle(self) -> None:
        """Unfold a long value, or fold it again."""
        self._is_open = not self._is_open
        self.was_open = True
        self._text.setText(self._value.full if self._is_open else self._value.head)
        self._tail.setVisible(not self._is_open)
        self._name_toggle()
        self.toggled.emit()

    def _line(self, text: str) -> ExactLabel:
        label = ExactLabel(text, tone=self._tone, struck=self._struck, parent=self)
        self._layout.addWidget(label)
        return label

    def _name_toggle(self) -> None:
        if self._is_open:
            self._toggle.rename(translate("agentic_qt", "Fold"))
            return
        words = translate("agentic_qt", "… show all: {characters} characters, {lines} lines")
        locale = self.locale()
        self._toggle.rename(
            words.format(characters=locale.toString(self._value.characters), lines=locale.toString(self._value.lines))
        )


class ChangeView(QWidget):
    """An old value, struck through, and the new one: beside it where both fit, else below it.

    Attributes:
        values: Both, the old one first.
    """

    def __init__(self, old: Shown, new: Shown, parent: QWidget) -> None:
        super().__init__(parent)
        em = self.fontMetrics().height()
        before = ValueView(old, struck=True, parent=self)
        before.setAccessibleName(translate("agentic_qt", "Old value"))
        after = ValueView(new, parent=self)
        after.setAccessibleName(translate("agentic_qt", "New value"))
        self.values = (before, after)
        self._has_long = old.is_long or new.is_long
        self._arrow = ExactLabel("←" if self.isRightToLeft() else "→", tone="muted", bold=True, parent=self)
        self._arrow.setAccessibleName(translate("agentic_qt", "becomes"))
        self._layout = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(em // 3)
        self._layout.addWidget(before)
        line = QHBoxLayout()
        line.setSpacing(em // 3)
        line.addWidget(self._arrow, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(after, 1)
        self._layout.addLayout(line, 1)

    @property
    def natural_width(self) -> int:
        """The width in logical pixels at which neither value is broken when they stand below each other."""
        before, after = (value.natural_width for value in self.values)
        return max(before, after + self._arrow.sizeHint().width() + self._layout.spacing())

    def fit(self, width: int) -> None:
        """Choose the direction for a width in logical pixels."""
        gaps = 2 * self._layout.spacing() + self._arrow.sizeHint().width()
        needed = sum(value.natural_width for value in self.values) + gaps
        beside = not self._has_long and needed <= width
        direction = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        if self._layout.direction() != direction:
            self._layout.setDirection(direction)
