"""The labelled rows of an approval: label and value beside each other, or one above the other where it is narrow."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.approval.payload import Row, Section
from agentic_qt.ui.approval.value_view import ChangeView, ValueView

_LABEL_SHARE = 0.4  # of the width: the most that the labels may take
_WIDE = 22  # em: from here on a label of several words may take two lines
_ANY_WIDTH = 16_777_215  # Qt's QWIDGETSIZE_MAX


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    """The widgets of one row; a heading has no value."""

    label: ExactLabel
    value: ValueView | ChangeView | None = None


class RowsView(QWidget):
    """All rows with the headings of their sections.

    Attributes:
        values: Every value that is shown, in order.

    Signals:
        toggled: A long value was unfolded or folded; the new height is known already.
    """

    toggled = Signal()

    def __init__(self, sections: Sequence[Section], parent: QWidget) -> None:
        super().__init__(parent)
        self.values: list[ValueView] = []
        self._lines: list[_Line] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(1, 1)
        for section in sections:
            if section.heading:
                heading = ExactLabel(section.heading, tone="muted", scale=0.9, bold=True, parent=self)
                self._lines.append(_Line(label=heading))
            self._lines.extend(self._make(row) for row in section.rows)
        for value in self.values:
            value.toggled.connect(lambda value=value: self._pass_on(value))

    def arrange(self, width: int) -> None:
        """Lay the rows out for a width in logical pixels; no label is broken inside a word if it can be avoided."""
        em = self.fontMetrics().height()
        gap = em * 2 // 3
        column = self._label_width(width, em)
        room = width - column - gap
        for line in self._lines:
            self._grid.removeWidget(line.label)
            if line.value is not None:
                self._grid.removeWidget(line.value)
        self._grid.setHorizontalSpacing(gap)
        self._grid.setColumnMinimumWidth(0, column)
        for number, line in enumerate(self._lines):
            beside = line.value is not None and self._fits(line, column, width)
            self._place(line, number * 3, column if beside else 0)
            if isinstance(line.value, ChangeView):
                line.value.fit(room if beside else width)

    def _fits(self, line: _Line, column: int, width: int) -> bool:
        """Whether label and value may stand beside each other: without a break, or where there is much room."""
        em = self.fontMetrics().height()
        if width >= em * _WIDE:
            return _longest_word(line.label) <= column
        room = width - column - em * 2 // 3
        return line.label.sizeHint().width() <= column and line.value is not None and line.value.natural_width <= room

    def _pass_on(self, value: ValueView) -> None:
        # Now, level by level: Qt would tell each level of the new height by an event of its own, and until then the
        # end of the old height would pass for the end of all.
        widget: QWidget | None = value
        while widget is not None and widget is not self.parentWidget():
            layout = widget.layout()
            if layout is not None:
                layout.invalidate()
                layout.activate()
            widget.updateGeometry()
            widget = widget.parentWidget()
        self.toggled.emit()

    def _place(self, line: _Line, place: int, column: int) -> None:
        # Three lines of the grid for a row: label (and value), value, gap.
        em = self.fontMetrics().height()
        line.label.setMaximumWidth(column or _ANY_WIDTH)
        self._grid.addWidget(line.label, place, 0, 1, 1 if column else 2, Qt.AlignmentFlag.AlignTop)
        if line.value is None:
            if place:
                self._grid.setRowMinimumHeight(place - 1, em // 2)
            self._grid.setRowMinimumHeight(place + 2, em // 6)
            return
        if column:
            self._grid.addWidget(line.value, place, 1)
        else:
            self._grid.addWidget(line.value, place + 1, 0, 1, 2)
        is_last = place == (len(self._lines) - 1) * 3
        self._grid.setRowMinimumHeight(place + 2, 0 if is_last else em // 4)

    def _label_width(self, width: int, em: int) -> int:
        """Return the width of the label column: that of the widest label that keeps to its share."""
        most = int(width * _LABEL_SHARE)
        wanted = [line.label.sizeHint().width() for line in self._lines if line.value is not None]
        if width >= em * _WIDE:
            return min(max(wanted, default=0), most)
        return max((one for one in wanted if one <= most), default=0)

    def _make(self, row: Row) -> _Line:
        label = ExactLabel(row.label, tone="muted", parent=self)
        if row.old is not None:
            change = ChangeView(row.old, row.value, self)
            self.values.extend(change.values)
            return _Line(label=label, value=change)
        value = ValueView(row.value, parent=self)
        self.values.append(value)
        return _Line(label=label, value=value)


def _longest_word(label: ExactLabel) -> int:
    return max((label.fontMetrics().horizontalAdvance(word) for word in label.text().split()), default=0)
