"""The orders of one customer: the table, and what a person can do with an order."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QMenu,
    QPushButton,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from examples.crm.domain import ORDER_STATUSES, Order
from examples.crm.look import em, icon
from examples.crm.models import ORDER_COLUMNS, OrdersModel
from examples.crm.status_delegate import StatusDelegate


class OrdersPanel(QWidget):
    """Shows the orders of the customer in the form.

    Signals:
        status_asked: An order as it is shown, and the status it shall have.
        new_asked: The person wants to add an order.
    """

    status_asked = Signal(object, str)
    new_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._busy = False
        self.model = OrdersModel(self)
        self.table = QTableView()
        self.table.setObjectName("orders_table")
        self.table.setAccessibleName("Orders")
        self.table.setModel(self.model)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.setAlternatingRowColors(True)
        self.table.setShowGrid(False)
        self.table.setTabKeyNavigation(False)
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(em(self, 1.8))
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(ORDER_COLUMNS.index("item"), QHeaderView.ResizeMode.Stretch)
        self.table.setItemDelegateForColumn(ORDER_COLUMNS.index("status"), StatusDelegate(self.table))
        self.new_button = QPushButton("&New order…")
        self.status_button = QPushButton("Set &status")
        self.status_menu = QMenu(self)
        for status in ORDER_STATUSES:
            action = self.status_menu.addAction(status.capitalize())
            action.triggered.connect(lambda _checked=False, wanted=status: self._ask_status(wanted))
        self.status_button.setMenu(self.status_menu)
        empty = QLabel("No orders yet.")
        empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        empty.setEnabled(False)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.table)
        self._pages.addWidget(empty)
        buttons = QHBoxLayout()
        buttons.addWidget(self.new_button)
        buttons.addStretch(1)
        buttons.addWidget(self.status_button)
        layout = QVBoxLayout(self)
        layout.addWidget(self._pages, 1)
        layout.addLayout(buttons)
        self.table.selectionModel().selectionChanged.connect(self._update_buttons)
        self.model.modelReset.connect(self._update_buttons)
        self.new_button.clicked.connect(self.new_asked)
        self.refresh_icons()
        self._update_buttons()

    def show_orders(self, orders: list[Order], *, can_add: bool) -> None:
        """Show `orders`; the current one stays current."""
        current = self._current()
        self.model.set_orders(orders)
        self._pages.setCurrentIndex(0 if orders else 1)
        self.new_button.setEnabled(can_add)
        if current is not None:
            for row, order in enumerate(orders):
                if order.id == current.id:
                    self.table.selectRow(row)

    def show_busy(self, *, busy: bool) -> None:
        """Let the button wait while a status is being set."""
        self._busy = busy
        self._update_buttons()

    def refresh_icons(self) -> None:
        """Draw the icons again, in the colours of the palette."""
        self.new_button.setIcon(icon("order", self.palette()))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.refresh_icons()

    def _current(self) -> Order | None:
        rows = self.table.selectionModel().selectedRows()
        return self.model.order_at(rows[0].row()) if rows else None

    def _update_buttons(self) -> None:
        self.status_button.setEnabled(self._current() is not None and not self._busy)

    def _ask_status(self, status: str) -> None:
        order = self._current()
        if order is not None and order.status != status:
            self.status_asked.emit(order, status)
