"""The form of one customer: what is typed, whether it is valid, and whether it differs from the store."""

from collections.abc import Mapping

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from examples.crm.domain import CUSTOMER_FIELDS, CUSTOMER_STATUSES, Customer, RuleError, check_field
from examples.crm.look import em, error_colour, icon

_LABELS = {
    "name": "&Name", "email": "&E-mail", "phone": "&Phone", "company": "C&ompany", "city": "C&ity",
    "country": "Co&untry", "status": "S&tatus", "notes": "No&tes",
}  # fmt: skip


class CustomerForm(QWidget):
    """Shows one customer for editing.

    Signals:
        edited: The input, or whether it can be saved, changed.
        save_asked: The Save button was pressed.
        revert_asked: The Revert button was pressed.
    """

    edited = Signal()
    save_asked = Signal()
    revert_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.customer: Customer | None = None
        self._saving = False
        self._lines = {f: QLineEdit() for f in CUSTOMER_FIELDS if f not in ("status", "notes")}
        self._status = QComboBox()
        for status in CUSTOMER_STATUSES:
            self._status.addItem(status.capitalize(), status)
        self._notes = QPlainTextEdit()
        self._notes.setTabChangesFocus(True)
        self._errors = {field: QLabel() for field in ("name", "email")}
        self.save_button = QPushButton("&Save")
        self.save_button.setToolTip("Save the changes (Ctrl+S)")
        self.revert_button = QPushButton("&Revert")
        self.revert_button.setToolTip("Back to what is stored")
        self._lay_out()
        for line in self._lines.values():
            line.textEdited.connect(self._tell)
            line.returnPressed.connect(self.save_button.click)
        self._status.currentIndexChanged.connect(self._tell)
        self._notes.textChanged.connect(self._tell)
        self.save_button.clicked.connect(self.save_asked)
        self.revert_button.clicked.connect(self.revert_asked)
        self._tell()

    def editor(self, field: str) -> QWidget:
        """Return the widget of a field."""
        if field == "status":
            return self._status
        return self._notes if field == "notes" else self._lines[field]

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
        for field in CUSTOMER_FIELDS:
            editor = self.editor(field)
            editor.setObjectName(f"customer_{field}")
            editor.setAccessibleName(_LABELS[field].replace("&", ""))
            label = QLabel(_LABELS[field])
            label.setBuddy(editor)
            form.addRow(label, self._with_error(field, editor))
        self._notes.setPlaceholderText("Anything worth knowing")
        self._notes.setMinimumHeight(em(self, 4))
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.revert_button)
        buttons.addWidget(self.save_button)
        layout = QVBoxLayout(self)
        layout.addLayout(form, 1)
        layout.addLayout(buttons)
        self.refresh_icons()

    def _with_error(self, field: str, editor: QWidget) -> QWidget:
        label = self._errors.get(field)
        if label is None:
            return editor
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.hide()
        both = QWidget()
        layout = QVBoxLayout(both)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(em(self, 0.15))
        layout.addWidget(editor)
        layout.addWidget(label)
        return both

    # What is shown, and what was made of it

    def show_customer(self, customer: Customer | None) -> None:
        """Show a customer as it is stored; one with the id 0 is a new one."""
        self.customer = customer
        shown = customer or Customer()
        with QSignalBlocker(self._status), QSignalBlocker(self._notes):
            for field, line in self._lines.items():
                line.setText(getattr(shown, field))
                line.setCursorPosition(0)
            self._status.setCurrentIndex(self._status.findData(shown.status))
            self._notes.setPlainText(shown.notes)
        self._tell()

    def take_saved(self, stored: Customer, submitted: Mapping[str, str]) -> None:
        """Show what was saved of this form; what was typed since it was submitted stays."""
        base = self.customer or Customer()
        typed_since = {f: v for f, v in self.values().items() if v != submitted.get(f, getattr(base, f))}
        self.show_customer(stored)
        for field, value in typed_since.items():
            self._put(field, value)
        self._tell()

    def _put(self, field: str, value: str) -> None:
        if field == "status":
            self._status.setCurrentIndex(self._status.findData(value))
        elif field == "notes":
            self._notes.setPlainText(value)
        else:
            self._lines[field].setText(value)

    def show_saving(self, *, saving: bool) -> None:
        """Let the Save button wait while what it submitted is under way."""
        self._saving = saving
        self._tell()

    def values(self) -> dict[str, str]:
        """Return what the fields hold now."""
        typed = {field: line.text().strip() for field, line in self._lines.items()}
        return {**typed, "status": self._status.currentData(), "notes": self._notes.toPlainText().strip()}

    def changes(self) -> Mapping[str, str]:
        """Return the fields that differ from what is stored, with their new values."""
        if self.customer is None:
            return {}
        return {f: value for f, value in self.values().items() if value != getattr(self.customer, f)}

    @property
    def dirty(self) -> bool:
        """Whether anything differs from what is stored."""
        return bool(self.changes())

    @property
    def savable(self) -> bool:
        """Whether there is something to save, all of it is valid, and none of it is being saved."""
        return self.dirty and not self._saving and not self.problems()

    def problems(self) -> Mapping[str, str]:
        """Return what is wrong, by field."""
        found = {}
        for field, value in self.values().items():
            try:
                check_field(field, value)
            except RuleError as error:
                found[field] = error.message
        return found

    def focus_first_problem(self) -> None:
        """Move the keyboard to the first field that is wrong, else to the first field."""
        field = next(iter(self.problems()), "name")
        self.editor(field).setFocus(Qt.FocusReason.OtherFocusReason)

    def refresh_icons(self) -> None:
        """Draw the icons again, in the colours of the palette."""
        self.save_button.setIcon(icon("save", self.palette()))
        self.revert_button.setIcon(icon("revert", self.palette()))
        for label in self._errors.values():
            palette = QPalette(self.palette())
            palette.setColor(QPalette.ColorRole.WindowText, error_colour(palette))
            label.setPalette(palette)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.refresh_icons()

    def _tell(self) -> None:
        dirty = self.dirty
        problems = self.problems() if dirty else {}
        for field, label in self._errors.items():
            label.setText(problems.get(field, ""))
            label.setVisible(field in problems)
            self.editor(field).setAccessibleDescription(problems.get(field, ""))
        self.save_button.setEnabled(dirty and not problems and not self._saving)
        self.revert_button.setEnabled(dirty and not self._saving)
        self.edited.emit()
