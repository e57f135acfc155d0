"""The card in a window of its own: shown, never executed, and never the reason that an application ends."""

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QSize, Qt
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QDialog, QVBoxLayout, QWidget

from agentic_qt.qt.availability import OWN_WINDOW
from agentic_qt.ui.approval.card import ApprovalCard

translate = QCoreApplication.translate


class ApprovalDialog(QDialog):
    """A non-modal window around a card.

    Closing it denies with the code ``window_closed``. Escape is a gesture on Deny and must pass the guard like one.
    It does not take the focus from a person who types.

    Args:
        make_card: Makes what it shows, a child of the dialog.
        closed: Called when the person closed the window.
        parent: The application's window; the dialog goes with it.
    """

    def __init__(
        self, make_card: Callable[[QWidget], ApprovalCard], *, closed: Callable[[], None], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.card = make_card(self)
        self._closed = closed
        self.setObjectName("agentic_qt_approval_dialog")
        # Windows of ours never count as blocking a target.
        self.setProperty(OWN_WINDOW, True)  # noqa: FBT003 - Qt's own signature
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)  # noqa: FBT003 - Qt's own signature
        self.setWindowModality(Qt.WindowModality.NonModal)
        # The title is of our words alone: Qt gives a meaning to "[*]", and window managers cut.
        self.setWindowTitle(translate("agentic_qt", "Approval needed"))
        layout = QVBoxLayout(self)
        layout.addWidget(self.card)
        self.setSizeGripEnabled(True)

    def present(self) -> None:
        """Show it; it gets the focus, on the payload, unless the person is typing somewhere."""
        typing = QApplication.focusWidget()
        is_typing = typing is not None and typing.testAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, is_typing)
        self.card.payload.setFocus()
        self.resize(self.sizeHint())
        self.show()
        if not is_typing:
            self.raise_()
            self.activateWindow()

    def finish(self) -> None:
        """Close it for good; the decision was made."""
        self._closed = _nothing
        self.hide()
        self.deleteLater()

    def sizeHint(self) -> QSize:
        """Return a comfortable reading size, in units of the font, within the screen."""
        em = self.fontMetrics().height()
        room = self.screen().availableSize() * 0.8
        wanted = QSize(em * 32, max(em * 24, self.card.sizeHint().height() + em * 2))
        return wanted.boundedTo(QSize(em * 48, em * 36)).boundedTo(room)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Escape deny, through the guard; no other key decides anything."""
        if event.key() == Qt.Key.Key_Escape:
            if not event.isAutoRepeat():
                self.card.deny_by_action()
            event.accept()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Take the window manager's close button as a no."""
        event.accept()
        self._closed()


def _nothing() -> None:
    pass
