"""The remembered approvals, what is left of each, and how to take them back."""

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale, Qt, QTimer
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from agentic_qt.core.approvals import ApprovalQueue
from agentic_qt.core.grants import Grant, Grants, Scope
from agentic_qt.ui.approval.boxes import Box, LinkButton
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.approval.remembering import left_words
from agentic_qt.ui.approval.text import exact

translate = QCoreApplication.translate
_TICK = 10_000  # milliseconds between two looks at the remaining time


class RememberedApprovals(QWidget):
    """Lists what may run without being asked, with scope, target, client, time and what is left; each can be revoked.

    Args:
        queue: Whose grants are listed; the list follows them.
        parent: The owner.
    """

    def __init__(self, queue: ApprovalQueue, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("agentic_qt_remembered_approvals")
        self.setAccessibleName(translate("agentic_qt", "Remembered approvals"))
        self._queue = queue
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._list: QWidget | None = None
        self._left: list[tuple[Grant, ExactLabel]] = []
        self._buttons: list[LinkButton] = []
        self._tick = QTimer(self, interval=_TICK)
        self._tick.timeout.connect(self.refresh)
        self._show(queue.grants)
        leave = queue.grants.observe(self._show)
        self.destroyed.connect(leave)

    def refresh(self) -> None:
        """Show the time that is left, and no more what is over."""
        grants = self._queue.grants
        grants.drop_ended()
        now = grants.clock()
        for grant, label in self._left:
            label.setText(left_words(grant, now))

    def _show(self, grants: Grants) -> None:
        place = next((at for at, button in enumerate(self._buttons) if button.hasFocus()), None)
        if self._list is not None:
            self._layout.removeWidget(self._list)
            self._list.hide()
            self._list.deleteLater()
        self._list = QWidget(self)
        self._left, self._buttons = [], []
        column = QVBoxLayout(self._list)
        column.setContentsMargins(0, 0, 0, 0)
        for grant in grants:
            column.addWidget(self._row(grant, self._list))
        if not len(grants):
            words = translate("agentic_qt", "Nothing is remembered: each change will be asked for.")
            column.addWidget(ExactLabel(words, tone="muted", parent=self._list))
        column.addStretch(1)
        self._layout.addWidget(self._list)
        if self._left:
            self._tick.start()
        else:
            self._tick.stop()
        if place is not None and self._buttons:  # who revokes with keys goes on with the next one
            self._list.show()
            self._buttons[min(place, len(self._buttons) - 1)].setFocus(Qt.FocusReason.OtherFocusReason)

    def _row(self, grant: Grant, parent: QWidget) -> QWidget:
        box = Box("card", parent)
        grid = QGridLayout(box)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(0, 1)
        name = exact(grant.name)
        words = {
            Scope.ONCE: translate("agentic_qt", "Once"),
            Scope.DIGEST: translate("agentic_qt", "This exact call ({digits})"),
            Scope.RUN: translate("agentic_qt", "Until its run ends"),
            Scope.SESSION: translate("agentic_qt", "Until the application closes"),
        }[grant.scope].format(digits=grant.digest[:12])
        where = exact(grant.target_id) if grant.target_id is not None else translate("agentic_qt", "the application")
        given = QLocale().toString(QDateTime.fromSecsSinceEpoch(int(grant.granted_at)), QLocale.FormatType.ShortFormat)
        grid.addWidget(ExactLabel(name, bold=True, parent=box), 0, 0)
        grid.addWidget(ExactLabel(translate("agentic_qt", "On {target}").format(target=where), parent=box), 1, 0)
        client = f" · {exact(grant.client)}" if grant.client is not None else ""
        grid.addWidget(ExactLabel(f"{words} · {given}{client}", tone="muted", scale=0.9, parent=box), 2, 0)
        left = left_words(grant, self._queue.grants.clock())
        if left:
            label = ExactLabel(left, scale=0.9, parent=box)
            grid.addWidget(label, 3, 0)
            self._left.append((grant, label))
        revoke = LinkButton(translate("agentic_qt", "Revoke"), box)
        revoke.setAccessibleName(translate("agentic_qt", "Revoke {name}").format(name=name))
        revoke.clicked.connect(lambda: self._queue.grants.revoke(grant.id))
        self._buttons.append(revoke)
        grid.addWidget(revoke, 0, 1, Qt.AlignmentFlag.AlignTop)
        return box
