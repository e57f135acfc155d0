"""What else may be said of one field, below the table: its unit, its order, the values of its items, its secrecy."""

from typing import Final

from PySide6.QtCore import QCoreApplication, QSignalBlocker
from PySide6.QtWidgets import QCheckBox, QFormLayout, QGroupBox, QHBoxLayout, QLineEdit, QPlainTextEdit, QWidget

from agentic_qt.devtools.designer.field_table import FieldTable
from agentic_qt.qt.forms.properties import words

translate = QCoreApplication.translate

_LINES: Final = 4
"""How many values of items are seen at once."""


class FieldDetails(QGroupBox):
    """Edits the line of the table that is chosen.

    Args:
        table: The fields; what is entered here is kept in its rows.
        parent: The window.
    """

    def __init__(self, table: FieldTable, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("agentic_qt_field_details")
        self._table = table
        self.unit = QLineEdit(self)
        self.unit.setPlaceholderText(translate("agentic_qt", "For example: km/h"))
        self.depends_on = QLineEdit(self)
        self.depends_on.setPlaceholderText(translate("agentic_qt", "Names of other fields"))
        self.sensitive = QCheckBox(translate("agentic_qt", "S&ensitive: its value is told to nobody"), self)
        self.item_values = QPlainTextEdit(self, tabChangesFocus=True)
        self.item_values.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._lay_out()
        self._inputs = (self.unit, self.depends_on, self.sensitive, self.item_values)
        table.currentCellChanged.connect(self._show)
        self.unit.textChanged.connect(self._entered)
        self.depends_on.textChanged.connect(self._entered)
        self.sensitive.toggled.connect(self._entered)
        self.item_values.textChanged.connect(self._entered)
        self._show()

    def _lay_out(self) -> None:
        left = QFormLayout()
        left.addRow(translate("agentic_qt", "&Unit:"), self.unit)
        left.addRow(translate("agentic_qt", "Set &after:"), self.depends_on)
        left.addRow(self.sensitive)
        right = QFormLayout()
        right.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapAllRows)
        right.addRow(translate("agentic_qt", "&Values of its items, one a line:"), self.item_values)
        frame = round(self.item_values.document().documentMargin() + self.item_values.frameWidth())
        self.item_values.setFixedHeight(_LINES * self.fontMetrics().lineSpacing() + 2 * frame)
        layout = QHBoxLayout(self)
        layout.addLayout(left, 1)
        layout.addLayout(right, 1)

    def _show(self) -> None:
        line = self._table.currentRow()
        self.setEnabled(line >= 0)
        self.setTitle(translate("agentic_qt", "Details"))
        if line < 0:
            return
        row = self._table.row_at(line)
        self.setTitle(translate("agentic_qt", "Details of {field}").format(field=row.label).replace("&", "&&"))
        blocked = [QSignalBlocker(one) for one in self._inputs]
        self.unit.setText(row.unit)
        self.depends_on.setText(", ".join(row.depends_on))
        self.sensitive.setChecked(row.sensitive)
        self.item_values.setPlainText("\n".join(row.item_values))
        for one in blocked:
            one.unblock()
        self.unit.setEnabled(row.takes_unit)
        self.item_values.setEnabled(row.has_items or bool(row.item_values))
        self.item_values.setPlaceholderText(
            translate("agentic_qt", "By itself: their data, or their texts")
            if row.has_items
            else translate("agentic_qt", "Only lists have items")
        )

    def _entered(self) -> None:
        lines = self.item_values.toPlainText().rstrip("\n").split("\n")
        values = tuple(line.strip() for line in lines) if any(lines) else ()
        self._table.amend(
            self._table.currentRow(),
            unit=self.unit.text().strip(),
            depends_on=words(self.depends_on.text()),
            sensitive=self.sensitive.isChecked(),
            item_values=values,
        )
