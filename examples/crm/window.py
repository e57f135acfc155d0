"""The main window: joins table, form and orders to the store, and follows what commands have done.

It reads and never writes: the person's changes and the assistant's are commands of one service.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QSettings, Qt, QTimer
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QSplitter, QWidget

from agentic_qt.commands.port import CommandPort
from agentic_qt.commands.values import Actor, Command, CommandResult
from agentic_qt.ui.theme import apply_theme
from examples.crm.actions import Actions, Slots
from examples.crm.clerk import Clerk
from examples.crm.customer_list import CustomerList
from examples.crm.detail import Detail
from examples.crm.dialogs import ask_unsaved, tell
from examples.crm.domain import Customer, RuleError
from examples.crm.edits import History
from examples.crm.look import em, icon
from examples.crm.person import Person
from examples.crm.store import Store

_MESSAGE_MS = 6000


class CrmWindow(QMainWindow):
    """The customers of one store.

    Args:
        store: Where they are read.
        settings: Where size, columns and theme are remembered.
        service: Where changes are submitted.
        actor: Who sits at the window.
    """

    def __init__(self, store: Store, settings: QSettings, *, service: CommandPort, actor: Actor) -> None:
        super().__init__()
        self.store = store
        self.clerk = Clerk(service, actor, self)
        self.person = Person(self, self.clerk)
        self.history = History(self.clerk, self.say, self)
        self._settings = settings
        self._seen_changes = store.changes_of_others
        self._may_close = self._closes_when_saved = False
        self.setObjectName("crm")
        self.setWindowTitle("Customers[*]")
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
        self._trouble = QLabel()
        self._trouble.setTextFormat(Qt.TextFormat.PlainText)
        self._trouble.hide()
        for label in (self._count, self._trouble, self._file):
            label.setContentsMargins(em(self, 0.5), 0, em(self, 0.5), 0)
        self.statusBar().addWidget(self._count)
        self.statusBar().addPermanentWidget(self._trouble)
        self.statusBar().addPermanentWidget(self._file)
        self.actions_ = Actions(self, self.history, self._slots())
        self.setWindowIcon(icon("app", self.palette()))
        self._connect()
        self._restore()
        self.refresh()
        self.detail.show_customer(None, [])
        self.list.search.setFocus(Qt.FocusReason.OtherFocusReason)

    def _slots(self) -> Slots:
        return Slots(
            new=self._new,
            save=self.person.save,
            revert=self._revert,
            delete=self.person.ask_delete,
            merge=self.person.ask_merge,
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
        self.form.save_asked.connect(self.person.save)
        self.form.revert_asked.connect(self._revert)
        self.detail.orders.status_asked.connect(self.person.set_order_status)
        self.detail.orders.new_asked.connect(self.person.ask_new_order)
        self.clerk.busy_changed.connect(self._show_busy)
        self.destroyed.connect(self.clerk.service.observe(self._ended))

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

    def show_saved(self, customer: Customer) -> None:
        """Mark the row of the customer in the form, which may have been a new one, and count its orders."""
        self.list.make_current(customer.id)
        self.detail.show_orders(self.store.orders(customer.id))

    def show_trouble(self, text: str) -> None:
        """Show in the status bar what keeps changes from being made; empty: nothing does."""
        self._trouble.setText(f"⚠ {text}" if text else "")
        self._trouble.setVisible(bool(text))

    def say(self, text: str) -> None:
        """Show a line in the status bar for a while."""
        self.statusBar().showMessage(text, _MESSAGE_MS)

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
            self.say(error.message)

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

    # What commands have done, the person's and the assistant's

    def _ended(self, command: Command, result: CommandResult) -> None:
        self.show_trouble("")
        self.refresh()
        if not result.ok:
            return
        self.history.note(command, result)
        data = result.data
        if command.type == "customer.delete":
            self.say(f"{data['deleted']['name']} was deleted.")
        elif command.type == "customer.merge":
            self.say(f"{data['deleted']['name']} was merged into {data['into']['name']}.")
            self._follow(int(data["into"]["id"]))
        elif command.type == "order.add":
            self.say(f"Order {data['order']['order']} was added.")
        elif not self.clerk.work_of(command):
            self._follow_assistant(command, result)

    def _follow_assistant(self, command: Command, result: CommandResult) -> None:
        if command.type == "order.set_status":
            self._follow(self.store.order(command.data()["id"]).customer_id)
            tab: QWidget = self.detail.orders
        else:
            self._follow(int(result.data["customer"]["id"]))
            tab = self.form
        if self.edited_customer is None:
            self.detail.tabs.setCurrentWidget(tab)

    def _follow(self, customer_id: int) -> None:
        """Show a customer, unless the person is typing."""
        if self.edited_customer is None:
            self._show_if_there(customer_id)

    def _show_busy(self) -> None:
        self.form.show_saving(saving=self.clerk.is_at("save"))
        self.detail.orders.show_busy(busy=self.clerk.is_at("order"))
        self._form_edited()
        if self._closes_when_saved and not self.clerk.is_at("save"):
            self._closes_when_saved = False
            if not self.form.dirty:  # else the person was told why it was not saved
                QTimer.singleShot(0, self.close)

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
            self.person.save(go_on)

        name = self.form.values()["name"] or "the new customer"
        ask_unsaved(self, name, save=save if self.form.savable else None, discard=discard)

    def _form_edited(self) -> None:
        customer = self.form.customer
        self.setWindowModified(self.form.dirty)
        is_stored = customer is not None and customer.id != 0
        self.actions_.save.setEnabled(self.form.savable)
        self.actions_.revert.setEnabled(self.form.dirty and not self.clerk.is_at("save"))
        self.actions_.delete.setEnabled(is_stored and not self.clerk.is_at("delete"))
        self.actions_.merge.setEnabled(is_stored and not self.form.dirty and not self.clerk.is_at("merge"))

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
        if self.clerk.is_at("save") and not self._closes_when_saved:
            # What is being saved may be refused: then the person must see why, with what was typed. A second press
            # does not wait; the command ends by itself.
            self._closes_when_saved = True
            event.ignore()
            return
        if self.form.dirty and not self._may_close and not self.clerk.is_at("save"):
            event.ignore()
            self._leave_form(self._close_for_good)
            return
        self.person.close_order_dialogs()
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
