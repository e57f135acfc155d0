"""The place for cards inside the application's window: a plain widget for a dock, a panel or any layout."""

from PySide6.QtCore import QCoreApplication, QSize, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QDockWidget, QVBoxLayout, QWidget

from agentic_qt.ui import later
from agentic_qt.ui.labels import plain_label

translate = QCoreApplication.translate


class ApprovalPanel(QWidget):
    """Shows one card at a time and how many more wait; takes no room when nothing waits, and never the focus.

    Signals:
        reachable_changed: The panel may have come into sight or gone out of it.
        focus_left: A card went away that had the focus: the host says where it goes, or Qt picks the next in line.
    """

    reachable_changed = Signal()
    focus_left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("agentic_qt_approval_panel")
        self.setAccessibleName(translate("agentic_qt", "Approvals"))
        self._card: later.ApprovalCard | None = None
        self._dock: QDockWidget | None = None
        self._more = plain_label(self)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.addWidget(self._more)
        self._more.hide()
        self.hide()

    @property
    def card(self) -> "later.ApprovalCard | None":
        """The card that is shown now."""
        return self._card

    @property
    def reachable(self) -> bool:
        """Whether a person can see what is shown here: the host is visible, and no dock at the back of its tabs."""
        host = self.parentWidget()
        return host is not None and host.isVisible() and not host.visibleRegion().isEmpty()

    def show_card(self, card: "later.ApprovalCard | None") -> None:
        """Show another card, or none."""
        if self._card is card:
            return
        focused = QApplication.focusWidget()
        had_focus = self._card is not None and focused is not None and self._card.isAncestorOf(focused)
        if self._card is not None:
            self._layout.removeWidget(self._card)
            self._card.hide()
        self._card = card
        if card is not None:
            self._layout.addWidget(card, 1)
            card.show()
            self._follow_dock()
        self.setVisible(card is not None)
        self.updateGeometry()
        if had_focus:
            self.focus_left.emit()

    def show_waiting(self, count: int) -> None:
        """Say how many further requests wait."""
        self._more.setText(translate("agentic_qt", "{count} more waiting").format(count=count))
        self._more.setVisible(count > 0)

    def minimumSizeHint(self) -> QSize:
        """Return room for a card's buttons and some lines of its payload."""
        em = self.fontMetrics().height()
        return QSize(em * 12, em * 18 if self._card is not None else 0)

    def showEvent(self, event: QShowEvent) -> None:
        """Tell that the panel may be in sight now."""
        super().showEvent(event)
        self.reachable_changed.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        """Tell that the panel is out of sight."""
        super().hideEvent(event)
        self.reachable_changed.emit()

    def _follow_dock(self) -> None:
        """Follow the dock around this panel: one at the back of its tabs gets no event, only this signal."""
        found: QWidget | None = self.parentWidget()
        while found is not None and not isinstance(found, QDockWidget):
            found = found.parentWidget()
        if isinstance(found, QDockWidget) and found is not self._dock:
            self._dock = found
            found.visibilityChanged.connect(self.reachable_changed)
