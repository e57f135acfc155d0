"""The dialog "Expose to the assistant...": what a form declares, with what the assistant would see of it beside."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QCoreApplication, Qt, QTimer
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from agentic_qt.devtools.designer.changes import changes_of, withdrawal
from agentic_qt.devtools.designer.field_details import FieldDetails
from agentic_qt.devtools.designer.field_table import FieldTable
from agentic_qt.devtools.designer.findings import findings_of
from agentic_qt.devtools.designer.twin import RISKS, Declaration, describe, read_form
from agentic_qt.devtools.designer.ui_text import Changes, UiTextError, with_properties

translate = QCoreApplication.translate

PREVIEW_MS: Final = 150
"""How long typing must pause before the form is built again."""


class ExposeDialog(QDialog):
    """Edits the declaration of one form; knows the .ui text only, and tells what to change.

    Args:
        ui: The text of the form as it is.
        form_name: The name of the widget that is, or becomes, a tool.
        apply: Called with the changes when the person accepts; what it raises as UiTextError is shown.
        field_name: The widget whose line is chosen first; empty for none.
        parent: The window it belongs to.

    Raises:
        UiTextError: The text cannot be loaded, or has no such widget.
    """

    def __init__(
        self,
        ui: str,
        form_name: str,
        apply: Callable[[Changes], object],
        *,
        field_name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._ui, self._form_name, self._apply = ui, form_name, apply
        self._before = read_form(ui, form_name)
        self.setObjectName("agentic_qt_expose")
        self.setWindowTitle(translate("agentic_qt", "Expose {form} to the Assistant").format(form=form_name))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._make_inputs(self._before.declaration)
        self.fields = FieldTable(self._before.rows, self)
        self.details = FieldDetails(self.fields, self)
        self.preview = QPlainTextEdit(self, readOnly=True)
        self.preview.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.preview.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.preview.setAccessibleName(translate("agentic_qt", "What the assistant sees"))
        self.findings = QLabel(self, wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self._lay_out()
        self._pause = QTimer(self, singleShot=True, interval=PREVIEW_MS)
        self._pause.timeout.connect(self.refresh)
        self._watch()
        self.fields.choose(field_name)
        self.refresh()

    def declaration(self) -> Declaration:
        """Return what is entered now for the form itself."""
        risk = RISKS[self.risk.currentIndex()]
        return Declaration(
            name=self.name.text().strip(),
            title=self.title.text().strip(),
            description=self.description.toPlainText().strip(),
            risk=risk,
            auto_submit=self.auto_submit.isChecked() and risk != "destructive",
            submit_button=self.submit_button.currentData(),
        )

    def changes(self) -> Changes:
        """Return the properties that must change for what is entered now."""
        return changes_of(self._form_name, self._before, self.declaration(), self.fields.rows())

    def refresh(self) -> None:
        """Show what the assistant would see now, and what should be mended."""
        self._pause.stop()
        try:
            ui = with_properties(self._ui, self.changes())
            self.preview.setPlainText(describe(ui, self._form_name))
            self._show_findings(findings_of(ui, self._form_name))
        except UiTextError as error:
            self._show_findings((str(error),))

    def accept(self) -> None:
        """Apply what is entered; stay open when the form refuses it."""
        self._finish(self.changes())

    def withdraw(self) -> None:
        """Take the declaration away: the form is no tool any more."""
        self._finish(withdrawal(self._form_name))

    def _finish(self, changes: Changes) -> None:
        try:
            self._apply(changes)
        except UiTextError as error:
            self._show_findings((str(error),))
            return
        super().accept()

    # Building

    def _make_inputs(self, declaration: Declaration) -> None:
        self.name = QLineEdit(declaration.name, self)
        self.name.setPlaceholderText("cars.search")
        self.title = QLineEdit(declaration.title, self)
        self.title.setPlaceholderText(translate("agentic_qt", "For people; optional"))
        self.description = QPlainTextEdit(declaration.description, self)
        self.description.setPlaceholderText(
            translate("agentic_qt", "What it does and when to use it; the schema already says which fields there are")
        )
        self.description.setTabChangesFocus(True)
        self.description.setMaximumHeight(4 * self.fontMetrics().height())
        self.risk = QComboBox(self)
        self.risk.addItems([
            translate("agentic_qt", "Reads only"),
            translate("agentic_qt", "Changes something"),
            translate("agentic_qt", "Destroys something"),
        ])  # fmt: skip
        self.risk.setCurrentIndex(RISKS.index(declaration.risk))
        self.submit_button = QComboBox(self)
        self.submit_button.addItem(translate("agentic_qt", "Automatic"), "")
        for name in dict.fromkeys((*self._before.buttons, declaration.submit_button)):
            if name:
                self.submit_button.addItem(name, name)
        self.submit_button.setCurrentIndex(self.submit_button.findData(declaration.submit_button))
        self.auto_submit = QCheckBox(translate("agentic_qt", "Submit without a review"), self)
        self.auto_submit.setChecked(declaration.auto_submit)
        self._follow_risk()

    def _lay_out(self) -> None:
        inputs = QFormLayout()
        inputs.addRow(translate("agentic_qt", "&Name:"), self.name)
        inputs.addRow(translate("agentic_qt", "&Title:"), self.title)
        inputs.addRow(translate("agentic_qt", "&Description:"), self.description)
        inputs.addRow(translate("agentic_qt", "&Risk:"), self.risk)
        inputs.addRow(translate("agentic_qt", "&Submit button:"), self.submit_button)
        inputs.addRow("", self.auto_submit)
        left = QWidget(self)
        entered = QVBoxLayout(left)
        entered.setContentsMargins(0, 0, 0, 0)
        entered.addLayout(inputs)
        entered.addWidget(self.fields, 1)
        entered.addWidget(self.details)
        right = QWidget(self)
        seen = QVBoxLayout(right)
        seen.setContentsMargins(0, 0, 0, 0)
        seen.addWidget(QLabel(translate("agentic_qt", "What the assistant sees"), right))
        seen.addWidget(self.preview, 1)
        seen.addWidget(self.findings)
        splitter = QSplitter(self, childrenCollapsible=False)
        splitter.addWidget(left)
        splitter.addWidget(right)
        splitter.setStretchFactor(0, 3)
        splitter.setStretchFactor(1, 2)
        buttons = QDialogButtonBox(self)
        buttons.addButton(QDialogButtonBox.StandardButton.Ok)
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        withdraw = buttons.addButton(
            translate("agentic_qt", "Do &Not Expose"), QDialogButtonBox.ButtonRole.DestructiveRole
        )
        withdraw.setEnabled(self._before.declaration != Declaration())
        withdraw.clicked.connect(self.withdraw)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(splitter, 1)
        layout.addWidget(buttons)
        em = self.fontMetrics().height()
        self.resize(66 * em, 40 * em)
        splitter.setSizes([38 * em, 28 * em])

    def _watch(self) -> None:
        self.name.textChanged.connect(self._pause.start)
        self.title.textChanged.connect(self._pause.start)
        self.description.textChanged.connect(self._pause.start)
        self.risk.currentIndexChanged.connect(self._follow_risk)
        self.risk.currentIndexChanged.connect(self._pause.start)
        self.submit_button.currentIndexChanged.connect(self._pause.start)
        self.auto_submit.toggled.connect(self._pause.start)
        self.fields.edited.connect(self._pause.start)

    def _follow_risk(self) -> None:
        self.auto_submit.setEnabled(RISKS[self.risk.currentIndex()] != "destructive")

    def _show_findings(self, sentences: tuple[str, ...]) -> None:
        self.findings.setText("\n".join(f"\N{BULLET} {sentence}" for sentence in sentences))
        self.findings.setVisible(bool(sentences))
