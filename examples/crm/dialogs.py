"""The questions and messages of the application: opened, never waited for (`exec` would stop the loop)."""

import asyncio
from collections.abc import Callable
from datetime import date

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QMessageBox,
    QVBoxLayout,
    QWidget,
)

import agentic_qt
from agentic_qt.commands.projection import fact
from agentic_qt.commands.values import CommandResult
from examples.crm.domain import Customer, Order

_LARGEST_AMOUNT = 1_000_000.0


def _box(parent: QWidget, kind: QMessageBox.Icon, text: str, more: str) -> QMessageBox:
    box = QMessageBox(kind, "Customers", text, QMessageBox.StandardButton.NoButton, parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setInformativeText(more)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return box


def tell(parent: QWidget, text: str, more: str = "") -> QMessageBox:
    """Show a message that only needs an OK."""
    box = _box(parent, QMessageBox.Icon.Information, text, more)
    box.setStandardButtons(QMessageBox.StandardButton.Ok)
    box.open()
    return box


def ask_again(parent: QWidget, text: str, more: str, again: Callable[[], None]) -> QMessageBox:
    """Say that nobody knows what became of something; the person may ask again."""
    box = _box(parent, QMessageBox.Icon.Warning, text, more)
    button = box.addButton("Ask again", QMessageBox.ButtonRole.AcceptRole)
    box.setDefaultButton(button)
    box.addButton(QMessageBox.StandardButton.Close)
    _answer(box, {button: again})
    return box


def ask_delete(parent: QWidget, customer: Customer, orders: int, delete: Callable[[], None]) -> QMessageBox:
    """Ask whether to delete `customer`; Cancel is the default."""
    more = "This cannot be undone." if not orders else f"Its {orders} closed orders go too. This cannot be undone."
    box = _box(parent, QMessageBox.Icon.Warning, f"Delete {customer.name}?", more)
    button = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    _answer(box, {button: delete})
    return box


def ask_unsaved(
    parent: QWidget, name: str, *, save: Callable[[], None] | None, discard: Callable[[], None]
) -> QMessageBox:
    """Ask what to do with unsaved input; `save` is None when it cannot be saved."""
    box = _box(parent, QMessageBox.Icon.Question, f"Save the changes to {name}?", "")
    answers: dict[QAbstractButton, Callable[[], None]] = {}
    if save is not None:
        button = box.addButton(QMessageBox.StandardButton.Save)
        answers[button] = save
        box.setDefaultButton(button)
    else:
        box.setInformativeText("Some fields are not valid yet, so they cannot be saved.")
    answers[box.addButton(QMessageBox.StandardButton.Discard)] = discard
    box.addButton(QMessageBox.StandardButton.Cancel)
    _answer(box, answers)
    return box


def _answer(box: QMessageBox, answers: dict[QAbstractButton, Callable[[], None]]) -> None:
    def clicked(button: QAbstractButton) -> None:
        action = answers.get(button)
        if action is not None:
            action()

    box.buttonClicked.connect(clicked)
    box.open()


AddOrder = Callable[[Order], "asyncio.Task[CommandResult] | None"]


class NewOrderDialog(QDialog):
    """Asks for item and amount of a new order.

    Its properties declare it as a form: while it is shown, the assistant may fill it in, and the person presses
    "Add order". It is not modal, so that the person can go on talking to the assistant.

    Args:
        add: Called with the order when the person agrees; submits it and returns the task, or None when another one is
            being added.
    """

    def __init__(self, parent: QWidget, customer: Customer, add: AddOrder) -> None:
        super().__init__(parent)
        self.setObjectName("new_order")
        self.hint = QLabel("The assistant filled this in. Check it, then add the order.")
        self.hint.setWordWrap(True)
        self.hint.hide()
        _declare(
            self,
            toolName="order.add",
            toolTitle="Add order",
            toolDescription="Add an order to the customer whose order dialog is on the screen.",
        )
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"New order of {customer.name}")
        self._customer, self._add = customer, add
        self.item = QLineEdit()
        self.item.setObjectName("item")
        _declare(self.item, toolRequired=True, toolParamDescription="What was ordered")
        self.item.setMaxLength(120)
        self.item.setPlaceholderText("What was ordered")
        self.amount = QDoubleSpinBox()
        self.amount.setObjectName("amount")
        _declare(self.amount, toolRequired=True, toolParamDescription="What it costs in all, in euros")
        self.amount.setRange(0.0, _LARGEST_AMOUNT)
        self.amount.setSuffix(" €")
        self.amount.setGroupSeparatorShown(True)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self.ok = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self.ok.setText("Add order")
        self.ok.setEnabled(False)
        form = QFormLayout()
        form.addRow("&Item", self.item)
        form.addRow("&Amount", self.amount)
        layout = QVBoxLayout(self)
        layout.addWidget(self.hint)
        layout.addLayout(form)
        layout.addWidget(self.buttons)
        self.item.setMinimumWidth(18 * self.fontMetrics().height())
        self.item.textChanged.connect(lambda text: self.ok.setEnabled(bool(text.strip())))
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.accepted.connect(self._finish)

    def event(self, event: QEvent) -> bool:
        """Say whose words stand in the fields, as long as the assistant waits for the person."""
        if event.type() == QEvent.Type.DynamicPropertyChange:
            self.hint.setVisible(self.property("toolFormActive") is True)
            self.adjustSize()  # room for one more line, and not out of the fields
        return super().event(event)

    def _finish(self) -> None:
        submission = agentic_qt.current_submission(self)
        order = Order(
            customer_id=self._customer.id,
            item=self.item.text(),
            amount_cents=round(self.amount.value() * 100),
            ordered_on=date.today().isoformat(),  # noqa: DTZ011 - the person's own calendar day
        )
        task = self._add(order)
        if task is None:
            submission.fail("busy", "Another order is being added.", retryable=True)
            return
        if submission.agent_invoked:
            submission.respond_with(_answer_of(task, self._customer.name))


async def _answer_of(task: "asyncio.Task[CommandResult]", customer: str) -> dict[str, object]:
    """Return what the assistant is told once the command has ended; a stopped call does not stop the command."""
    added = fact(await asyncio.shield(task))
    return {"order": int(added["order"]["order"]), "customer": customer}


def _declare(widget: QWidget, **properties: str | bool) -> None:
    for name, value in properties.items():
        widget.setProperty(name, value)
