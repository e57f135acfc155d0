"""The left side of the window: search, status filter and the table of customers."""

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QSettings, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from examples.crm.domain import CUSTOMER_COLUMNS, CUSTOMER_STATUSES, Customer
from examples.crm.look import em, icon
from examples.crm.models import ID_ROLE, CustomersModel, CustomersProxy
from examples.crm.status_delegate import StatusDelegate

_WIDTHS = (9, 10, 5.5, 7, 14, 8)


class SearchField(QLineEdit):
    """A search field; Down goes to the table, Escape empties it."""

    left_downwards = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.left_downwards.emit()
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)


class CustomerList(QWidget):
    """Shows the customers; tells which one the person chose.

    Signals:
        chosen: The id of the customer that became current.
        activated: Return or a double click on a row.
        counted: Rows shown, rows in all.
    """

    chosen = Signal(int)
    activated = Signal()
    counted = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = CustomersModel(self)
        self.proxy = CustomersProxy(self.model, self)
        self._current: int | None = None
        self.search = SearchField()
        self.search.setPlaceholderText("Search name, e-mail, company, city")
        self.search.setAccessibleName("Search customers")
        self.search.setClearButtonEnabled(True)
        self._search_icon = self.search.addAction(
            icon("search", self.palette()), QLineEdit.ActionPosition.LeadingPosition
        )
        self.status = QComboBox()
        self.status.setAccessibleName("Show customers with status")
        for status in ("all", *CUSTOMER_STATUSES):
            self.status.addItem("All customers" if status == "all" else status.capitalize(), status)
        self.table = self._make_table()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.table)
        self._pages.addWidget(self._make_empty_page())
        self._lay_out()
        self.search.textChanged.connect(self._filter)
        self.search.left_downwards.connect(self.focus_table)
        self.search.returnPressed.connect(self.focus_table)
        self.status.currentIndexChanged.connect(self._filter)
        self.table.selectionModel().currentChanged.connect(self._tell_chosen)
        self.table.activated.connect(lambda _index: self.activated.emit())

    def _make_table(self) -> QTableView:
        table = QTableView()
        table.setObjectName("customers_table")
        table.setAccessibleName("Customers")
        table.setModel(self.proxy)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setAlternatingRowColors(True)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTabKeyNavigation(False)
        table.setSortingEnabled(True)
        table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(em(table, 1.8))
        header = table.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        header.setSectionsMovable(True)
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for column, width in enumerate(_WIDTHS):
            table.setColumnWidth(column, em(table, width))
        table.setItemDelegateForColumn(CUSTOMER_COLUMNS.index("status"), StatusDelegate(table))
        return table

    def _make_empty_page(self) -> QWidget:
        page = QWidget()
        self._nothing = QLabel("No customer matches.")
        self._nothing.setTextFormat(Qt.TextFormat.PlainText)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.setWordWrap(True)
        self._nothing.setEnabled(False)
        layout = QVBoxLayout(page)
        layout.addWidget(self._nothing)
        return page

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self.search, 1)
        top.addWidget(self.status)
        layout = QVBoxLayout(self)
        layout.addLayout(top)
        layout.addWidget(self._pages, 1)

    # What is shown

    def show_filter(self, *, text: str | None, status: str | None) -> int:
        """Search and filter as if the person had done it (None: as it is); returns the rows shown."""
        with QSignalBlocker(self.search), QSignalBlocker(self.status):
            if text is not None:
                self.search.setText(text)
            if status is not None:
                self.status.setCurrentIndex(self.status.findData(status))
        self._filter()
        return self.proxy.rowCount()

    def sort_by(self, column: str, order: Qt.SortOrder) -> None:
        """Sort by the column with this name."""
        self.table.sortByColumn(CUSTOMER_COLUMNS.index(column), order)

    def update_from(self, customers: list[Customer]) -> None:
        """Show what the store holds now; the current customer stays current."""
        with QSignalBlocker(self):
            self.model.update_from(customers)
        self.make_current(self._current)
        self._count()

    def make_current(self, customer_id: int | None) -> None:
        """Mark the row of a customer, without telling; None, or one that the filter hides, marks nothing."""
        self._current = customer_id
        row = -1 if customer_id is None else self.proxy.row_of(customer_id)
        selection = self.table.selectionModel()
        with QSignalBlocker(self):
            if row < 0:
                selection.clear()
            elif customer_id != self.current_id or not selection.hasSelection():
                flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
                selection.setCurrentIndex(self.proxy.index(row, 0), flags)
                self.table.scrollTo(self.proxy.index(row, 0))

    @property
    def current_id(self) -> int | None:
        """The id of the current row's customer."""
        index = self.table.currentIndex()
        return int(index.data(ID_ROLE)) if index.isValid() else None

    def focus_table(self) -> None:
        """Move the keyboard to the table, to the first row if none is current."""
        self.table.setFocus(Qt.FocusReason.OtherFocusReason)
        if not self.table.currentIndex().isValid() and self.proxy.rowCount():
            self.table.selectRow(0)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._search_icon.setIcon(icon("search", self.palette()))

    # Kept between two starts

    def save_state(self, settings: QSettings) -> None:
        """Remember widths, order and sorting of the columns."""
        settings.setValue("customers_header", self.table.horizontalHeader().saveState())

    def restore_state(self, settings: QSettings) -> None:
        """Take up what `save_state` remembered."""
        state = settings.value("customers_header")
        if state is not None:
            self.table.horizontalHeader().restoreState(state)
            self.table.sortByColumn(
                self.table.horizontalHeader().sortIndicatorSection(),
                self.table.horizontalHeader().sortIndicatorOrder(),
            )

    def _filter(self) -> None:
        with QSignalBlocker(self):  # Qt moves a hidden current row to its neighbour, which nobody chose
            self.proxy.set_filter(text=self.search.text(), status=self.status.currentData())
        self.make_current(self._current)
        if self.current_id is not None:
            self.table.scrollTo(self.table.currentIndex())
        self._count()

    def _count(self) -> None:
        shown, total = self.proxy.rowCount(), self.model.rowCount()
        self._pages.setCurrentIndex(0 if shown else 1)
        self._nothing.setText("No customer matches." if total else "There are no customers yet.")
        self.counted.emit(shown, total)

    def _tell_chosen(self, current: QModelIndex) -> None:
        if current.isValid() and not self.signalsBlocked():
            self._current = int(current.data(ID_ROLE))
            self.chosen.emit(self._current)
