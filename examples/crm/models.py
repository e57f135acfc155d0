"""Item models of customers and orders, and the proxy that searches, filters and sorts."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)

from examples.crm.domain import CUSTOMER_COLUMNS, Customer, Order, amount_text, fold, searchable

Index = QModelIndex | QPersistentModelIndex
ID_ROLE = Qt.ItemDataRole.UserRole + 1
STATUS_ROLE = Qt.ItemDataRole.UserRole + 2
SORT_ROLE = Qt.ItemDataRole.UserRole + 3
ORDER_COLUMNS = ("id", "ordered_on", "item", "amount_cents", "status")
_HEADINGS = {
    "name": "Name", "company": "Company", "city": "City", "country": "Country", "email": "E-mail",
    "status": "Status",
    "id": "Order", "ordered_on": "Date", "item": "Item", "amount_cents": "Amount",
}  # fmt: skip


def heading(column: str) -> str:
    """Return what a person reads above a column."""
    return _HEADINGS[column]


class CustomersModel(QAbstractTableModel):
    """The customers, by id; `update_from` tells exactly which rows changed, so that selections live on."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Customer] = []
        self._texts: list[str] = []

    def update_from(self, customers: Sequence[Customer]) -> None:
        """Become `customers`, which are sorted by id."""
        if not self._rows:
            self.beginResetModel()
            self._rows = list(customers)
            self._texts = [searchable(customer) for customer in customers]
            self.endResetModel()
            return
        wanted = {customer.id for customer in customers}
        for row in reversed(range(len(self._rows))):
            if self._rows[row].id not in wanted:
                self.beginRemoveRows(QModelIndex(), row, row)
                del self._rows[row], self._texts[row]
                self.endRemoveRows()
        for customer in customers:
            self._put(customer)

    def _put(self, customer: Customer) -> None:
        row = self.row_of(customer.id)
        if row < len(self._rows) and self._rows[row].id == customer.id:
            if self._rows[row] != customer:
                self._rows[row], self._texts[row] = customer, searchable(customer)
                self.dataChanged.emit(self.index(row, 0), self.index(row, len(CUSTOMER_COLUMNS) - 1))
            return
        self.beginInsertRows(QModelIndex(), row, row)
        self._rows.insert(row, customer)
        self._texts.insert(row, searchable(customer))
        self.endInsertRows()

    def row_of(self, customer_id: int) -> int:
        """Return the row of a customer, or the row that it would have."""
        return bisect_left(self._rows, customer_id, key=lambda customer: customer.id)

    def customer_at(self, row: int) -> Customer:
        """Return the customer of a row."""
        return self._rows[row]

    def search_text(self, row: int) -> str:
        """Return the text of a row that a search looks at, without case and accents."""
        return self._texts[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(CUSTOMER_COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        customer = self._rows[index.row()]
        column = CUSTOMER_COLUMNS[index.column()]
        if role == ID_ROLE:
            return customer.id
        if role == STATUS_ROLE:
            return customer.status if column == "status" else None
        value = getattr(customer, column)
        if role == Qt.ItemDataRole.DisplayRole:
            return value.capitalize() if column == "status" else value
        if role == SORT_ROLE:
            return fold(value)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return heading(CUSTOMER_COLUMNS[section])
        return None


class CustomersProxy(QSortFilterProxyModel):
    """The customers that match a search text and a status, sorted without regard to case and accents."""

    def __init__(self, source: CustomersModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._customers = source
        self._words: Sequence[str] = ()
        self.text = ""
        self.status = "all"
        self.setSortRole(SORT_ROLE)
        self.setSourceModel(source)

    def set_filter(self, *, text: str, status: str) -> None:
        """Show only the customers that hold every word of `text` and have `status` (``"all"``: any)."""
        self.text, self.status = text, status
        self._words = fold(text).split()
        self.invalidate()

    def filterAcceptsRow(self, source_row: int, source_parent: Index) -> bool:  # noqa: ARG002 - Qt's signature
        if self.status not in ("all", self._customers.customer_at(source_row).status):
            return False
        text = self._customers.search_text(source_row)
        return all(word in text for word in self._words)

    def row_of(self, customer_id: int) -> int:
        """Return the row of a customer, or -1 when it is not shown."""
        row = self._customers.row_of(customer_id)
        if row >= self._customers.rowCount() or self._customers.customer_at(row).id != customer_id:
            return -1
        return self.mapFromSource(self._customers.index(row, 0)).row()


class OrdersModel(QAbstractTableModel):
    """The orders of one customer."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Order] = []

    def set_orders(self, orders: Sequence[Order]) -> None:
        """Become `orders`."""
        if list(orders) == self._rows:
            return
        self.beginResetModel()
        self._rows = list(orders)
        self.endResetModel()

    def order_at(self, row: int) -> Order:
        """Return the order of a row."""
        return self._rows[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(ORDER_COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        order = self._rows[index.row()]
        column = ORDER_COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return _order_text(order, column)
        if role == ID_ROLE:
            return order.id
        if role == STATUS_ROLE:
            return order.status if column == "status" else None
        if role == Qt.ItemDataRole.TextAlignmentRole and column in ("id", "amount_cents"):
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return heading(ORDER_COLUMNS[section])
        if role == Qt.ItemDataRole.TextAlignmentRole and ORDER_COLUMNS[section] in ("id", "amount_cents"):
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None


def _order_text(order: Order, column: str) -> str:
    if column == "amount_cents":
        return amount_text(order.amount_cents)
    if column == "status":
        return order.status.capitalize()
    return str(getattr(order, column))
