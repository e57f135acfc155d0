"""The dialog that asks into whom a customer is merged, and shows what that would do."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QSize, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from examples.crm.customer_list import SearchField
from examples.crm.domain import Customer, RuleError, fold, searchable
from examples.crm.look import em, icon
from examples.crm.rows import Merge
from examples.crm.store import Store

_CUSTOMER = Qt.ItemDataRole.UserRole
MergeThem = Callable[[Customer, Customer], None]


class MergeDialog(QDialog):
    """Asks for the customer that stays.

    Nothing is chosen at first, and no button is the default one: Return does nothing.

    Args:
        store: Where the customers are.
        gone: Who would be deleted, as the person sees it.
        merge: Called with both customers, as they were shown, when the person agrees.
    """

    def __init__(self, parent: QWidget, store: Store, gone: Customer, merge: MergeThem) -> None:
        super().__init__(parent)
        self.setObjectName("merge_customers")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"Merge {gone.name}")
        self._store, self._gone, self._merge = store, gone, merge
        self.search = SearchField()
        self.search.setPlaceholderText("Search name, e-mail, company, city")
        self.search.setAccessibleName("Search the customer that stays")
        self.search.setClearButtonEnabled(True)
        self.search.addAction(icon("search", self.palette()), SearchField.ActionPosition.LeadingPosition)
        self.list = QListWidget()
        self.list.setObjectName("merge_list")
        self.list.setAccessibleName("Customers to merge into")
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.list.setAlternatingRowColors(True)
        self.list.setUniformItemSizes(True)
        self.preview = QLabel()
        self.preview.setTextFormat(Qt.TextFormat.PlainText)
        self.preview.setWordWrap(True)
        self.preview.setMinimumHeight(em(self, 4.6))
        self.preview.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        # The role of what destroys: the box makes a button that accepts the default one, and Return would merge.
        self.merge_button = self.buttons.addButton("&Merge", QDialogButtonBox.ButtonRole.DestructiveRole)
        self.merge_button.setIcon(icon("merge", self.palette()))
        for button in (self.merge_button, self.buttons.button(QDialogButtonBox.StandardButton.Cancel)):
            button.setAutoDefault(False)
        self._lay_out()
        self._fill()
        self.search.textChanged.connect(self._filter)
        self.search.left_downwards.connect(self._go_to_list)
        self.list.currentItemChanged.connect(self._show_preview)
        self.merge_button.clicked.connect(self._agree)
        self.buttons.rejected.connect(self.reject)
        self._show_preview()

    def _lay_out(self) -> None:
        words = QLabel(f"Into which customer is {self._gone.name} ({self._gone.id}) merged?")
        words.setTextFormat(Qt.TextFormat.PlainText)
        words.setWordWrap(True)
        words.setBuddy(self.search)
        layout = QVBoxLayout(self)
        layout.setSpacing(em(self, 0.6))
        layout.addWidget(words)
        layout.addWidget(self.search)
        layout.addWidget(self.list, 1)
        layout.addWidget(self.preview)
        layout.addWidget(self.buttons)
        self.resize(em(self, 30), em(self, 30))

    def _fill(self) -> None:
        others = [known for known in self._store.customers() if known.id != self._gone.id]
        alike = fold(self._gone.name)
        # Who has the same name comes first: that is whom people merge.
        for known in sorted(others, key=lambda other: (fold(other.name) != alike, fold(other.name))):
            where = ", ".join(part for part in (known.company, known.city) if part)
            item = QListWidgetItem(f"{known.name} ({known.id}) · {where}" if where else f"{known.name} ({known.id})")
            item.setData(_CUSTOMER, known)
            item.setSizeHint(QSize(0, em(self, 1.8)))
            self.list.addItem(item)

    @property
    def kept(self) -> Customer | None:
        """The customer that is chosen, as it is shown."""
        item = self.list.currentItem()
        return None if item is None or item.isHidden() else item.data(_CUSTOMER)

    def _filter(self) -> None:
        wanted = fold(self.search.text()).split()
        for row in range(self.list.count()):
            item = self.list.item(row)
            text = searchable(item.data(_CUSTOMER))
            item.setHidden(not all(word in text for word in wanted))
        if self.kept is None:
            self.list.setCurrentIndex(QModelIndex())
        self._show_preview()

    def _go_to_list(self) -> None:
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)
        if self.kept is None:
            shown = (row for row in range(self.list.count()) if not self.list.item(row).isHidden())
            self.list.setCurrentRow(next(shown, -1))

    def _show_preview(self) -> None:
        kept, words = self.kept, "Choose a customer to see what would happen."
        possible = False
        if kept is not None:
            try:
                words, possible = in_words(self._store.plan_merge(self._gone.id, kept.id)), True
            except RuleError as error:
                words = error.message
        self.preview.setText(words)
        self.preview.setEnabled(kept is not None)
        self.merge_button.setEnabled(possible)

    def _agree(self) -> None:
        kept = self.kept
        if kept is not None:
            self.accept()
            self._merge(self._gone, kept)


def in_words(plan: Merge) -> str:
    """Return what a merge would do, for a person."""
    gone, kept = plan.gone, plan.kept
    moving = {0: "No orders move.", 1: f"1 order moves to {kept.name}."}
    moved = moving.get(len(plan.orders), f"{len(plan.orders)} orders move to {kept.name}.")
    filled = [field for field in plan.changes if field != "notes"]
    parts = [moved]
    if filled:
        parts.append(f"Filled in from {gone.name}: {', '.join(filled)}.")
    if "notes" in plan.changes:
        parts.append("The notes are joined.")
    parts.append(f"{gone.name} ({gone.id}) is deleted. This cannot be undone.")
    return " ".join(parts)
