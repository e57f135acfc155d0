"""The fields of a form as a table: which are offered, what they are called, described and required."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypedDict, Unpack

from PySide6.QtCore import QCoreApplication, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from agentic_qt.devtools.designer.twin import Row

translate = QCoreApplication.translate

OFFERED: Final = 0
NAME: Final = 1
DESCRIPTION: Final = 2
REQUIRED: Final = 3

_FIXED: Final = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


class Details(TypedDict):
    """What is said of a field beside the table; see `Row`."""

    unit: str
    depends_on: tuple[str, ...]
    sensitive: bool
    item_values: tuple[str, ...]


class FieldTable(QTableWidget):
    """One line a field; what is not declared stands there in grey, as the model would see it.

    Signals:
        edited: A person changed something.
    """

    edited = Signal()

    def __init__(self, rows: Sequence[Row], parent: QWidget) -> None:
        super().__init__(len(rows), REQUIRED + 1, parent)
        self.setObjectName("agentic_qt_fields")
        self.setAccessibleName(translate("agentic_qt", "Fields"))
        self._rows = list(rows)
        self.setHorizontalHeaderLabels([
            translate("agentic_qt", "Field"),
            translate("agentic_qt", "Name"),
            translate("agentic_qt", "Description for the assistant"),
            translate("agentic_qt", "Required"),
        ])  # fmt: skip
        self.verticalHeader().hide()
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(DESCRIPTION, QHeaderView.ResizeMode.Stretch)
        for line, row in enumerate(self._rows):
            self._fill(line, row)
        self.itemChanged.connect(self._changed)

    def rows(self) -> tuple[Row, ...]:
        """Return the rows as they are entered now."""
        return tuple(map(self.row_at, range(len(self._rows))))

    def row_at(self, line: int) -> Row:
        """Return one row as it is entered now."""
        return replace(
            self._rows[line],
            name=self._text(line, NAME),
            description=self._text(line, DESCRIPTION),
            required=self._checked(line, REQUIRED),
            excluded=not self._checked(line, OFFERED),
        )

    def amend(self, line: int, **details: Unpack[Details]) -> None:
        """Note what was entered for a line elsewhere."""
        self._rows[line] = replace(self._rows[line], **details)
        self.edited.emit()

    def line_of(self, object_name: str) -> int:
        """Return the line of the field that a widget belongs to; -1 when it belongs to none."""
        return next((line for line, row in enumerate(self._rows) if object_name in row.objects), -1)

    def cell(self, line: int, column: int) -> QTableWidgetItem:
        """Return one cell.

        Raises:
            LookupError: There is no such cell.
        """
        found = self.item(line, column)
        if found is None:
            raise LookupError(f"the table has no cell in line {line} and column {column}")
        return found

    def choose(self, object_name: str) -> None:
        """Make the line of a widget the current one; the first line when it has none."""
        if self._rows:
            self.setCurrentCell(max(0, self.line_of(object_name)), DESCRIPTION)

    def _fill(self, line: int, row: Row) -> None:
        offered = QTableWidgetItem(row.label)
        offered.setFlags(_FIXED | Qt.ItemFlag.ItemIsUserCheckable)
        offered.setCheckState(_state(on=not row.excluded))
        offered.setToolTip(", ".join(row.objects))
        self.setItem(line, OFFERED, offered)
        self._set_text(line, NAME, row.name, row.key)
        self._set_text(line, DESCRIPTION, row.description, row.known)
        if not row.describe_at:
            self.cell(line, DESCRIPTION).setFlags(_FIXED)
            self.cell(line, DESCRIPTION).setToolTip(
                translate("agentic_qt", "Put these buttons into a group box: it holds the description")
            )
        required = QTableWidgetItem()
        required.setFlags(_FIXED | Qt.ItemFlag.ItemIsUserCheckable)
        required.setCheckState(_state(on=row.required))
        self.setItem(line, REQUIRED, required)

    def _set_text(self, line: int, column: int, text: str, otherwise: str) -> None:
        item = QTableWidgetItem(text or otherwise)
        item.setData(Qt.ItemDataRole.UserRole, otherwise)
        self.setItem(line, column, item)
        self._tint(item)

    def _text(self, line: int, column: int) -> str:
        item = self.cell(line, column)
        text = item.text().strip()
        return "" if text == item.data(Qt.ItemDataRole.UserRole) else text

    def _checked(self, line: int, column: int) -> bool:
        return self.cell(line, column).checkState() == Qt.CheckState.Checked

    def _tint(self, item: QTableWidgetItem) -> None:
        known = item.data(Qt.ItemDataRole.UserRole)
        role = QPalette.ColorRole.PlaceholderText if item.text() == known else QPalette.ColorRole.Text
        item.setForeground(self.palette().color(role))

    def _changed(self, item: QTableWidgetItem) -> None:
        if item.column() in (NAME, DESCRIPTION):
            with QSignalBlocker(self):
                if not item.text().strip():
                    item.setText(item.data(Qt.ItemDataRole.UserRole))
                self._tint(item)
        self.edited.emit()


def _state(*, on: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
