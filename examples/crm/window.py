"""The main window: joins table, form and orders to the store, and offers what the assistant uses."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QSettings, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QUndoCommand, QUndoStack
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QSplitter, QWidget

from agentic_qt.ui.theme import apply_theme
from examples.crm.actions import Actions, Slots
from examples.crm.customer_list import CustomerList
from examples.crm.detail import Detail
from examples.crm.dialogs import NewOrderDialog, ask_delete, ask_unsaved, tell
from examples.crm.domain import Customer, Order, RuleError, Store
from examples.crm.edits import CustomerChanged, CustomerCreated, OrderStatusChanged
from examples.crm.look import em, icon

_MESSAGE_MS = 6000


class CrmWindow(QMainWindow):
    """The customers of one store.

    Args:
        store: Where they are.
        settings: Where size, columns and theme are remembered.
    """

    def __init__(self, store: Store, settings: QSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.store = store
        self._settings = settings
        self._seen_changes = store.changes_of_others
        self._may_close = False
        self.setObjectName("crm")
        self.setWindowTitle("Customers[*]")
        self.undo_stack = QUndoStack(self)
        self.list = CustomerList()
        self.detail = Detail()
        self.form = self.detail.form
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(self.list)
        self._splitter.addWidget(self.detail)
        self._splitter.setStretchFactor(0, 5)
        self._splitter.setStretchFactor(1, 3)
        self._splitter.setSizes([em(self, 46), em(self, 26)])
        self.setCentralWidget(self._splitter)
        self._count = QLabel()
        self._file = QLabel(Path(store.path).name)
        self._file.setTextFormat(Qt.TextFormat.PlainText)
        self._file.setToolTip(str(store.path))
        for label in (self._count, self._file):
            label.setContentsMargins(em(self, 0.5), 0, em(self, 0.5), 0)
        self.statusBar().addWidget(self._count)
        self.statusBar().addPermanentWidget(self._file)
        self.actions_ = Actions(self, self.undo_stack, self._slots())
        self.setWindowIcon(icon("app", self.palette()))
        self._connect()
        self._restore()
        self.refresh()
        self.detail.show_customer(None, [])
        self.list.search.setFocus(Qt.FocusReason.OtherFocusReason)

    def _slots(self) -> Slots:
        return Slots(
            new=self._new,
            save=self._save,
            revert=self._revert,
            delete=self._ask_delete,
            find=self._find,
            refresh=self.refresh,
            theme=self.show_theme,
            about=self._about,
            leave=lambda: QTimer.singleShot(0, self.close),
        )

    def _connect(self) -> None:
        self.list.counted.connect(self._show_count)
        self.list.chosen.connect(self._choose)
        self.list.activated.connect(self.form.focus_first_problem)
        self.form.edited.connect(self._form_edited)
        self.form.save_asked.connect(self._save)
        self.form.revert_asked.connect(self._revert)
        self.detail.orders.status_asked.connect(self._order_status_asked)
        self.detail.orders.new_asked.connect(self._ask_new_order)
        self.undo_stack.indexChanged.connect(self._history_moved)

    # What the assistant may use (capabilities.Desk), and the person's actions too

    @property
    def edited_customer(self) -> int | None:
        """The id of the customer whose form holds unsaved input (0: a new one), or None."""
        customer = self.form.customer
        return customer.id if customer is not None and self.form.dirty else None

    def show_customer(self, customer_id: int) -> None:
        """Show one customer in the form, and mark its row where the filter lets it be seen."""
        self.detail.show_customer(self.store.customer(customer_id), self.store.orders(customer_id))
        self.list.make_current(customer_id)

    def show_orders(self, customer_id: int) -> None:
        """Show one customer and its orders."""
        self.show_customer(customer_id)
        self.detail.tabs.setCurrentWidget(self.detail.orders)

    def show_filter(self, *, text: str | None = None, status: str | None = None) -> int:
        """Search and filter the table; returns how many rows are shown."""
        return self.list.show_filter(text=text, status=status)

    def show_sorted(self, column: str, direction: str) -> None:
        """Sort the table by a column, ``"ascending"`` or ``"descending"``."""
        order = Qt.SortOrder.DescendingOrder if direction == "descending" else Qt.SortOrder.AscendingOrder
        self.list.sort_by(column, order)

    def show_theme(self, theme: str) -> None:
        """Switch to ``"light"``, ``"dark"`` or ``"system"``, and remember it."""
        app = QApplication.instance()
        if isinstance(app, QApplication):
            apply_theme(app, "light" if theme == "light" else "dark" if theme == "dark" else "system")
        self.actions_.themes[theme].setChecked(True)
        self._settings.setValue("theme", theme)

    def create_customer(self, values: Mapping[str, str]) -> Customer:
        """Store a new customer and show it.

        Raises:
            RuleError: A value breaks its rule.
        """
        customer = self.store.create_customer(values)
        self.detail.show_customer(None, [])
        self._done(CustomerCreated(self.store, customer, self._say))
        self.show_customer(customer.id)
        return customer

    def change_customer(self, customer_id: int, changes: Mapping[str, str], version: int) -> Customer:
        """Store changed fields of a customer and show it.

        Raises:
            RuleError: A value breaks its rule, or the customer is not at `version` any more.
        """
        before = self.store.customer(customer_id)
        after = self.store.update_customer(customer_id, changes, version=version)
        self._done(CustomerChanged(self.store, before, after, self._say))
        if self.edited_customer is None:
            self.show_customer(customer_id)
            self.detail.tabs.setCurrentWidget(self.form)
        return after

    def delete_customer(self, customer_id: int, version: int) -> Customer:
        """Delete a customer for good.

        Raises:
            RuleError: It has open orders, or is not at `version` any more.
        """
        customer = self.store.delete_customer(customer_id, version=version)
        self._say(f"{customer.name} was deleted.")
        self.refresh()
        return customer

    def change_order_status(self, order_id: int, status: str) -> Order:
        """Set the status of an order and show it.

        Raises:
            RuleError: The order or the status does not exist.
        """
        before = self.store.order(order_id)
        after = self.store.set_order_status(order_id, status, expected=before.status)
        self._done(OrderStatusChanged(self.store, before, after, self._say))
        if self.edited_customer is None:
            self.show_orders(after.customer_id)
        return after

    def refresh(self) -> None:
        """Show what the file holds now; what the person is typing stays."""
        self._seen_changes = self.store.changes_of_others
        self.list.update_from(self.store.customers())
        shown = self.form.customer
        if shown is None or shown.id == 0:
            return
        try:
            stored = self.store.customer(shown.id)
        except RuleError:
            self.detail.show_customer(None, [])
            return
        if self.form.dirty:
            self.detail.show_orders(self.store.orders(shown.id))
        else:
            self.detail.show_customer(stored, self.store.orders(shown.id))

    # The person's actions

    def _new(self) -> None:
        self._leave_form(self._show_new)

    def _show_new(self) -> None:
        self.list.make_current(None)
        self.detail.show_customer(Customer(), [])
        self.detail.tabs.setCurrentIndex(0)
        self.form.editor("name").setFocus(Qt.FocusReason.OtherFocusReason)

    def _save(self) -> None:
        customer = self.form.customer
        if customer is None or not self.form.savable:
            return
        try:
            if customer.id == 0:
                self.create_customer(self.form.values())
            else:
                changes = dict(self.form.changes())
                saved = self.store.update_customer(customer.id, changes, version=customer.version)
                self.form.show_customer(saved)
                self._done(CustomerChanged(self.store, customer, saved, self._say))
        except RuleError as error:
            tell(self, "The customer was not saved.", f"{error.message} Revert to see what is stored.")
            return
        self._say("Saved.")

    def _revert(self) -> None:
        customer = self.form.customer
        if customer is None:
            return
        if customer.id == 0:
            self.detail.show_customer(None, [])
        else:
            self.detail.show_customer(None, [])
            self._show_if_there(customer.id)

    def _show_if_there(self, customer_id: int) -> None:
        try:
            self.show_customer(customer_id)
        except RuleError as error:
            self._say(error.message)

    def _ask_delete(self) -> None:
        customer = self.form.customer
        if customer is None or customer.id == 0:
            return
        try:
            current = self.store.check_deletable(customer.id)
        except RuleError as error:
            tell(self, f"{customer.name} cannot be deleted.", error.message)
            return
        delete = partial(self._delete, current)
        ask_delete(self, current, len(self.store.orders(current.id)), delete)

    def _delete(self, customer: Customer) -> None:
        try:
            self.delete_customer(customer.id, customer.version)
        except RuleError as error:
            tell(self, f"{customer.name} was not deleted.", error.message)

    def _order_status_asked(self, order_id: int, status: str) -> None:
        try:
            self.change_order_status(order_id, status)
        except RuleError as error:
            tell(self, "The order was not changed.", error.message)

    def _ask_new_order(self) -> None:
        customer = self.form.customer
        if customer is not None and customer.id:
            self._close_order_dialogs()
            NewOrderDialog(self, customer, self._add_order).show()

    def _close_order_dialogs(self) -> None:
        for dialog in self.findChildren(NewOrderDialog):
            dialog.close()

    def _add_order(self, order: Order) -> Order:
        added = self.store.create_order(order)
        self._say(f"Order {added.id} was added.")
        self.refresh()
        return added

    def _find(self) -> None:
        self.list.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.list.search.selectAll()

    def _about(self) -> None:
        count = len(self.store.customers())
        tell(
            self,
            "Customers",
            f"A small customer application with an assistant.\n{count} customers in {self.store.path}",
        )

    def _history_moved(self, _index: int) -> None:
        # A method and not a lambda: Qt lets go of it before it deletes the stack, which tells of a move once more.
        self.refresh()

    # Between table and form

    def _choose(self, customer_id: int) -> None:
        shown = self.form.customer
        if shown is not None and shown.id == customer_id:
            return
        if self.form.dirty:
            self.list.make_current(shown.id if shown is not None and shown.id else None)
        self._leave_form(partial(self._show_if_there, customer_id))

    def _leave_form(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` when nothing typed is lost: at once, or after the person has decided."""
        if not self.form.dirty:
            go_on()
            return

        def discard() -> None:
            self._revert()
            go_on()

        def save() -> None:
            self._save()
            if not self.form.dirty:
                go_on()

        name = self.form.values()["name"] or "the new customer"
        ask_unsaved(self, name, save=save if self.form.savable else None, discard=discard)

    def _form_edited(self) -> None:
        customer = self.form.customer
        self.setWindowModified(self.form.dirty)
        self.actions_.save.setEnabled(self.form.savable)
        self.actions_.revert.setEnabled(self.form.dirty)
        self.actions_.delete.setEnabled(customer is not None and customer.id != 0)

    def _done(self, command: QUndoCommand) -> None:
        self.undo_stack.push(command)

    def _say(self, text: str) -> None:
        self.statusBar().showMessage(text, _MESSAGE_MS)

    def _show_count(self, shown: int, total: int) -> None:
        self._count.setText(f"{total} customers" if shown == total else f"{shown} of {total} customers")

    # The window itself

    def _restore(self) -> None:
        self.resize(em(self, 94), em(self, 52))
        geometry, state = self._settings.value("geometry"), self._settings.value("splitter")
        if geometry is not None:
            self.restoreGeometry(geometry)
        if state is not None:
            self._splitter.restoreState(state)
        self.list.restore_state(self._settings)
        theme = str(self._settings.value("theme", "system"))
        self.show_theme(theme if theme in self.actions_.themes else "system")

    def _remember(self) -> None:
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.setValue("splitter", self._splitter.saveState())
        self.list.save_state(self._settings)

    def _close_for_good(self) -> None:
        self._may_close = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.form.dirty and not self._may_close:
            event.ignore()
            self._leave_form(self._close_for_good)
            return
        self._close_order_dialogs()
        self._remember()
        super().closeEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.actions_.refresh_icons()
        elif event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self._look_for_changes()

    def _look_for_changes(self) -> None:
        if self.store.changes_of_others != self._seen_changes:
            self.refresh()
