"""One request as a widget: what is to run, and the buttons that decide. The dock and the dialog show the same card."""

import time
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QVBoxLayout, QWidget

from agentic_qt.core.approvals import ApprovalQueue, ApprovalRequest
from agentic_qt.core.capability import Risk
from agentic_qt.core.grants import Scope
from agentic_qt.qt.gestures.gesture import GestureGuard, GestureTimes, Refusal
from agentic_qt.qt.gestures.input_watch import InputWatch
from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.boxes import PALETTE_EVENTS, Box, LinkButton, RiskBadge, tint
from agentic_qt.ui.approval.buttons import GuardedButton
from agentic_qt.ui.approval.exact_label import ExactLabel, Tone
from agentic_qt.ui.approval.payload import describe, shortened
from agentic_qt.ui.approval.payload_view import PayloadView
from agentic_qt.ui.approval.refusals import refusal_words
from agentic_qt.ui.approval.remembering import Choice, choices

translate = QCoreApplication.translate
_TICK = 10_000  # milliseconds between two looks at the remaining time


class ApprovalCard(Box):
    """Shows one request and tells the queue what the person decided; afterwards its buttons do nothing.

    A destructive request takes two gestures: "Approve…" and then a second button in another place.

    Args:
        request: What is asked.
        queue: Where it waits.
        watch: The application's input, for the gesture guard.
        times: The two times of the isolated gesture.
        clock: Seconds since the epoch, the queue's clock; for the remaining time.
        parent: The owner.

    Signals:
        ask_again: The person wants an expired request to be made again.
        dismissed: The person closed an expired request.
    """

    ask_again = Signal()
    dismissed = Signal()

    def __init__(
        self,
        request: ApprovalRequest,
        *,
        queue: ApprovalQueue,
        watch: InputWatch,
        times: GestureTimes,
        clock: Callable[[], float] = time.time,
        parent: QWidget,
    ) -> None:
        destructive = request.risk is Risk.DESTRUCTIVE
        super().__init__("danger" if destructive else "warning", parent)
        self.request = request
        self.settled = False
        self._queue = queue
        self._clock = clock
        self._destructive = destructive
        self._shown = describe(request)
        self.setAccessibleName(translate("agentic_qt", "Approval: {title}").format(title=self._shown.title))
        self.guard = GestureGuard(self, watch, times=times)
        self.payload = PayloadView(self._shown, self)
        self.reason = QLineEdit(self)
        self.deny_button = GuardedButton(translate("agentic_qt", "Deny"), self.guard, self)
        approve = translate("agentic_qt", "Approve…") if destructive else translate("agentic_qt", "Approve")
        self.approve_button = GuardedButton(approve, self.guard, self)
        yes = translate("agentic_qt", "Yes: {title}")
        self.confirm_button = GuardedButton(yes.format(title=shortened(self._shown.title)), self.guard, self)
        self.confirm_button.setAccessibleName(yes.format(title=self._shown.title))
        self.scope_button = GuardedButton("", self.guard, self)
        self.scope_menu = QMenu(self)
        self.status = ExactLabel(parent=self)
        self._expiry = ExactLabel(tone="muted", scale=0.9, parent=self)
        self.wait_button = LinkButton(translate("agentic_qt", "Keep waiting"), self)
        self._confirm = QWidget(self)
        self._decide = QWidget(self)
        self._after = QWidget(self)
        self._build()
        self._connect()
        self._tick = QTimer(self, interval=_TICK)
        self._tick.timeout.connect(self.refresh_expiry)
        self._tick.start()
        self.refresh_expiry()
        self._update_lock()

    @property
    def confirming(self) -> bool:
        """Whether the first of the two gestures for a destructive request was made."""
        return not self._confirm.isHidden()

    def refresh_expiry(self) -> None:
        """Show the time that is left."""
        expires_at = self._queue.expires_at(self.request)
        if expires_at is None:
            return
        minutes = max(0, int((expires_at - self._clock()) / 60 + 0.5))
        words = translate("agentic_qt", "Expires in {minutes} min, which denies it.")
        soon = translate("agentic_qt", "Expires in less than a minute, which denies it.")
        self._expiry.setText(words.format(minutes=minutes) if minutes else soon)

    def approve_by_action(self) -> None:
        """Do what the Approve button does, for a QAction of the application; the same guard decides."""
        if not self.approve_button.isEnabled() or self.confirming:
            self._refuse_locked()
            return
        self._judged(self.guard.judge_action(), self._approve)

    def deny_by_action(self) -> None:
        """Do what the Deny button does, for a QAction of the application or the Escape key; the same guard decides."""
        self._judged(self.guard.judge_action(), self._deny)

    def settle(self) -> None:
        """Take note that the request is decided: from now on nothing here does anything."""
        self.settled = True
        self._tick.stop()
        self.guard.close()
        self.scope_menu.close()

    def show_expired(self, *, can_ask_again: bool) -> None:
        """Say that nobody answered in time, and offer to ask again where that is possible."""
        self._decide.hide()
        self._confirm.hide()
        self._after.show()
        self.again_button.setVisible(can_ask_again)
        self._say(translate("agentic_qt", "Expired: nobody answered in time, so it was denied."), "warning")

    def changeEvent(self, event: QEvent) -> None:
        """Tint the icons anew for another palette."""
        super().changeEvent(event)
        if event.type() in PALETTE_EVENTS and hasattr(self, "_tick"):
            self._tint()

    # What the gestures do

    def _approve(self) -> None:
        if self._destructive:
            if self.approve_button.hasFocus():  # else Qt hands the focus on to whatever comes next
                self.payload.setFocus()
            self._confirm.show()
            self.approve_button.setEnabled(False)
            self.guard.reset()
            self._say(translate("agentic_qt", "Press the second button, above, to go through with it."), "danger")
            return
        self._grant(Scope.ONCE)

    def _grant(self, scope: Scope, seconds: float | None = None) -> None:
        if not self.settled and self.payload.complete and scope in self.request.scopes:
            self._queue.approve(self.request, scope=scope, remember_for=seconds)

    def _deny(self) -> None:
        if not self.settled:
            self._queue.deny(self.request, self.reason.text().strip())

    def _open_scopes(self) -> None:
        # Not QPushButton.setMenu(), which would open it at the press, past the guard.
        self.scope_menu.popup(self.scope_button.mapToGlobal(self.scope_button.rect().bottomLeft()))

    def _chosen(self, choice: Choice) -> None:
        self._judged(self.guard.judge_action(), lambda: self._grant(choice.scope, choice.seconds))

    def _judged(self, refusal: Refusal | None, decide: Callable[[], None]) -> None:
        if self.settled:
            return
        if refusal is None:
            decide()
        else:
            self._refuse(refusal)

    def _refuse(self, refusal: Refusal) -> None:
        if self.settled:
            return
        self._say(refusal_words(refusal), "warning")

    def _refuse_locked(self) -> None:
        if not self.settled:
            self._update_lock()
            announce(self, self.status.text(), urgent=True)

    def _say(self, words: str, tone: str) -> None:
        self.status.set_tone("danger" if tone == "danger" else "warning")
        self.status.setText(words)
        announce(self, words, urgent=True)

    def _update_lock(self) -> None:
        ready = self.payload.complete
        self.approve_button.setEnabled(ready and not self.confirming)
        self.confirm_button.setEnabled(ready)
        self.scope_button.setEnabled(ready)
        self.status.set_tone("muted")
        if ready:
            self.status.setText(translate("agentic_qt", "Nothing happens until you decide."))
        elif self.payload.folded:
            self.status.setText(
                translate("agentic_qt", "Unfold the long values and scroll to the end to unlock Approve.")
            )
        else:
            self.status.setText(translate("agentic_qt", "Scroll to the end to unlock Approve."))

    def _content_changed(self) -> None:
        self.guard.reset()
        if not self.settled:
            self._update_lock()

    # How it is put together

    def _build(self) -> None:
        em = self.fontMetrics().height()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(em // 3, em // 3, em // 3, em // 3)
        layout.setSpacing(em // 2)
        layout.addWidget(ExactLabel(self._shown.title, scale=1.2, bold=True, parent=self))
        facts = QHBoxLayout()
        facts.setSpacing(em // 2)
        facts.addWidget(RiskBadge(self.request.risk, self))
        undo_tone: Tone = "danger" if self.request.undoable is False else "muted"
        facts.addWidget(ExactLabel(self._shown.undo, tone=undo_tone, parent=self), 1)
        layout.addLayout(facts)
        layout.addWidget(self._confirm)
        layout.addWidget(self.payload, 1)
        self.status.setMinimumHeight(self.status.fontMetrics().lineSpacing() * 2)  # a refusal must not move the buttons
        layout.addWidget(self.status)
        layout.addWidget(self._decide)
        layout.addWidget(self._after)
        self._build_confirm()
        self._build_decision()
        self._build_after()
        self._tint()

    def _build_confirm(self) -> None:
        row = QHBoxLayout(self._confirm)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.confirm_button)
        row.addStretch(1)
        self._confirm.hide()

    def _build_decision(self) -> None:
        em = self.fontMetrics().height()
        column = QVBoxLayout(self._decide)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(em // 3)
        waiting = QHBoxLayout()
        waiting.addWidget(self._expiry, 1)
        waiting.addWidget(self.wait_button)
        column.addLayout(waiting)
        self.reason.setPlaceholderText(translate("agentic_qt", "Reason for a no (the model reads it)"))
        self.reason.setAccessibleName(translate("agentic_qt", "Reason for denying, sent to the model"))
        column.addWidget(self.reason)
        buttons = QHBoxLayout()
        buttons.addWidget(self.deny_button)
        buttons.addStretch(1)
        buttons.addWidget(self.approve_button)
        buttons.addWidget(self.scope_button)
        column.addLayout(buttons)
        self._build_scopes()

    def _build_scopes(self) -> None:
        # Never for destructive, whatever is offered: one gesture on a menu would stand for the two.
        offered = () if self._destructive else choices(self.request, self._shown.title)
        self.scope_button.setVisible(bool(offered))
        self.scope_button.setAccessibleName(translate("agentic_qt", "Approve and remember"))
        self.scope_button.setToolTip(translate("agentic_qt", "Approve and remember"))
        for choice in offered:
            action = self.scope_menu.addAction(choice.words.replace("&", "&&"))
            action.setData(choice.scope.value)
            action.triggered.connect(lambda _checked=False, choice=choice: self._chosen(choice))

    def _build_after(self) -> None:
        row = QHBoxLayout(self._after)
        row.setContentsMargins(0, 0, 0, 0)
        row.addStretch(1)
        self.close_button = LinkButton(translate("agentic_qt", "Close"), self._after)
        self.again_button = LinkButton(translate("agentic_qt", "Ask again"), self._after)
        row.addWidget(self.close_button)
        row.addWidget(self.again_button)
        self._after.hide()

    def _connect(self) -> None:
        for button, act in (
            (self.approve_button, self._approve),
            (self.confirm_button, lambda: self._grant(Scope.ONCE)),
            (self.deny_button, self._deny),
            (self.scope_button, self._open_scopes),
        ):
            button.decided.connect(lambda act=act: self._judged(None, act))
            button.refused.connect(self._refuse)
        self.payload.changed.connect(self._content_changed)
        self.payload.progressed.connect(self._content_changed)
        self.wait_button.clicked.connect(lambda: self._queue.extend(self.request))
        self.reason.returnPressed.connect(self.deny_button.setFocus)  # a second, deliberate press denies
        self.close_button.clicked.connect(self.dismissed)
        self.again_button.clicked.connect(self.ask_again)

    def _tint(self) -> None:
        tint(self.deny_button, "cross", "danger")
        tint(self.approve_button, "check", "ok")
        tint(self.confirm_button, "risk-destructive", "danger")
        tint(self.scope_button, "chevron-down", "text")
