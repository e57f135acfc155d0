"""Who asks the person: follows an approval queue, and shows its oldest request as a card and, when needed, a dialog."""

import time
from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent, ApprovalQueue, ApprovalRequest
from agentic_qt.qt.availability import is_own
from agentic_qt.qt.gestures.gesture import GestureTimes
from agentic_qt.qt.gestures.input_watch import InputWatch
from agentic_qt.ui import later
from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.attention import Attention
from agentic_qt.ui.approval.panel import ApprovalPanel
from agentic_qt.ui.approval.text import exact

translate = QCoreApplication.translate


class ApprovalViews:
    """The views of one queue in one window.

    The card is shown in `panel`, which the host puts where it likes. The dialog comes up when the panel is out of sight
    or the person prefers dialogs; while a modal dialog of somebody else is open, the request waits in the panel.

    Args:
        queue: Whose requests are shown; its approver as long as the window is there.
        window: The application's window; when it is closed or destroyed, what waits is denied (``window_closed``).
        prefer_dialogs: Show the dialog even when the panel is in sight.
        ask_again: Called with an expired request when the person wants it after all; without it that is not offered.
        times: The two times of the isolated gesture.
        clock: Seconds since the epoch, the queue's clock.
        gesture_clock: Seconds, monotonic.

    Attributes:
        watch: The application's input, which also judges other gestures that are final.
        times: The two times of the isolated gesture.
    """

    def __init__(
        self,
        queue: ApprovalQueue,
        window: QWidget,
        *,
        prefer_dialogs: bool = False,
        ask_again: Callable[[ApprovalRequest], None] | None = None,
        times: GestureTimes | None = None,
        clock: Callable[[], float] = time.time,
        gesture_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.queue = queue
        self.prefer_dialogs = prefer_dialogs
        # Hidden, and a place of the panel until the host gives it one: it goes with the window either way.
        self._shelf = QWidget(window)
        self._shelf.hide()
        self.panel = ApprovalPanel(self._shelf)
        self.attention = Attention(window)
        self._window = window
        self.times = times or GestureTimes()
        self._ask_again = ask_again
        self._clock = clock
        self.watch = InputWatch(clock=gesture_clock, parent=window)
        self._front: ApprovalRequest | None = None
        self._expired = False
        self._dialog: later.ApprovalDialog | None = None
        self._leave: Callable[[], None] | None = queue.attach(self._changed)
        self._eyes = _WindowEyes(window, self)
        self._gone = window.destroyed.connect(self._window_gone)
        self.panel.reachable_changed.connect(self._sight_changed)
        self._later = QTimer(window, singleShot=True, interval=0)
        self._later.timeout.connect(self._decide_on_dialog)

    @property
    def dialog(self) -> "later.ApprovalDialog | None":
        """The dialog that is open now."""
        return self._dialog

    @property
    def cards(self) -> "tuple[later.ApprovalCard, ...]":
        """The cards of the request in front: in the panel, in the dialog, or in both."""
        dialog = self._dialog.card if self._dialog is not None else None
        return tuple(card for card in (self.panel.card, dialog) if card is not None)

    def detach(self) -> None:
        """Leave the queue and the window, and take every widget along."""
        self._leave_queue()
        self._show_front(None)
        self._window.removeEventFilter(self._eyes)
        self._window.destroyed.disconnect(self._gone)
        self.panel.reachable_changed.disconnect(self._sight_changed)
        for owned in (self._later, self._eyes, self.watch, self.panel, self._shelf):
            owned.deleteLater()

    # The queue

    def _changed(self, event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            self._added(event.request)
        elif event.change is ApprovalChange.EXTENDED:
            for card in self.cards:
                card.refresh_expiry()
        elif event.request == self._front:
            code = event.approval.code if event.approval is not None else ""
            self._front_settled(expired=code == "expired")
        self._show_count()

    def _added(self, request: ApprovalRequest) -> None:
        if self._front is None or self._expired:
            self._show_front(request)
        self.attention.raise_if_inactive()
        words = translate("agentic_qt", "Approval needed: {title}").format(title=exact(request.title))
        announce(self._window, words, urgent=True)

    def _front_settled(self, *, expired: bool) -> None:
        for card in self.cards:
            card.settle()
        waiting = self.queue.pending
        if not waiting:
            self.attention.withdraw()
        if expired and not waiting:
            self._expired = True
            for card in self.cards:
                card.show_expired(can_ask_again=self._ask_again is not None)
            return
        self._show_front(waiting[0] if waiting else None)

    def _again(self) -> None:
        request = self._front
        self._show_front(None)
        if request is not None and self._ask_again is not None:
            self._ask_again(request)

    # The window

    def _window_gone(self) -> None:
        self._front = self._dialog = None  # the widgets are going with the window: nothing may touch them
        self._leave_queue()

    def _leave_queue(self) -> None:
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()

    def window_closing(self) -> None:
        """The window was told to close; the application may still refuse that."""
        QTimer.singleShot(0, self._window, self._window_closed)

    def _window_closed(self) -> None:
        if self._window.isVisible():
            return
        self._leave_queue()
        self._show_front(None)
        self.attention.withdraw()

    def window_shown(self) -> None:
        """The window is there (again): ask here."""
        if self._leave is None:
            self._leave = self.queue.attach(self._changed)

    def sight_may_have_changed(self) -> None:
        """Look again, once, whether the dialog is needed."""
        if shiboken6.isValid(self._later):
            self._later.start()

    def _sight_changed(self) -> None:
        if self._front is not None:
            self.sight_may_have_changed()

    # The two views

    def _show_front(self, request: ApprovalRequest | None) -> None:
        for card in self.cards:
            card.settle()
            card.deleteLater()
        self.panel.show_card(None)
        if self._dialog is not None:
            self._dialog.finish()
            self._dialog = None
        self._front, self._expired = request, False
        if request is not None:
            self.panel.show_card(self._make_card(self.panel))
            self._decide_on_dialog()

    def _show_count(self) -> None:
        if shiboken6.isValid(self.panel):
            self.panel.show_waiting(max(0, len(self.queue.pending) - 1))

    def _decide_on_dialog(self) -> None:
        if self._front is None or self._dialog is not None or self._expired:
            return
        if _foreign_modal() or (self.panel.reachable and not self.prefer_dialogs):
            return
        self._dialog = later.ApprovalDialog(self._make_card, closed=self._dialog_closed, parent=self._window)
        self._dialog.present()

    def _dialog_closed(self) -> None:
        request = self._front
        if request is None:
            return
        if self._expired:
            self._show_front(None)
        else:
            self.queue.deny(request, "The window that asks was closed.", code="window_closed")

    def _make_card(self, parent: QWidget) -> "later.ApprovalCard":
        if self._front is None:  # callers have just set it
            raise RuntimeError("there is no request to show")
        card = later.ApprovalCard(
            self._front, queue=self.queue, watch=self.watch, times=self.times, clock=self._clock, parent=parent
        )
        card.dismissed.connect(lambda: self._show_front(None))
        card.ask_again.connect(self._again)
        return card


class _WindowEyes(QObject):
    """Sees what happens to the application's window."""

    def __init__(self, window: QWidget, views: ApprovalViews) -> None:
        super().__init__(window)
        self._views = views
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: ARG002 - it watches the window only
        kind = event.type()
        if kind == QEvent.Type.Close:
            self._views.window_closing()
        elif kind == QEvent.Type.Show:
            self._views.window_shown()
        elif kind in (QEvent.Type.WindowUnblocked, QEvent.Type.WindowActivate):
            if kind == QEvent.Type.WindowActivate:
                self._views.attention.answered()
            self._views.sight_may_have_changed()
        return False


def _foreign_modal() -> bool:
    modal = QApplication.activeModalWidget()
    return modal is not None and not is_own(modal)
