"""The assistant's face as a plain widget: for our dock, and for hosts with a docking system of their own.

It holds the parts and passes on what the person does; what happens is told to it by `conversation`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from agentic_qt.ui import later
from agentic_qt.ui.composer import Composer
from agentic_qt.ui.header import Header
from agentic_qt.ui.highlight import warm_up
from agentic_qt.ui.status_line import StatusLine
from agentic_qt.ui.welcome import Welcome
from agentic_qt.ui.words import translate

_log = logging.getLogger("agentic_qt.ui.panel")

PREPARE_MS = 150
_LAYOUT_TURNS = 8  # of the loop: where heights follow from widths, Qt's layouts ask each other several times
MIN_WIDTH = 280
"""Logical pixels: the narrowest dock in which cards and approvals can still be read."""


class Panel(QWidget):
    """Header, conversation, composer and status line.

    Attributes:
        submitted: A text that the person sends.
        stop_requested: Stop was pressed.
        retry_requested: The last request shall be sent again.
        call_retry_requested: The call of that id shall be tried again.
        call_cancel_requested: The call of that id shall be stopped.
        has_audit: Whether somebody can tell what happened to a call's command, so that its card offers it.
        action_requested: A content of the conversation and the name of its action that was pressed.
        edit_left: An earlier message shall stay as it was.
        call_answered: A person said of the call of that id, whose end was not known, whether it happened.
    """

    submitted = Signal(str)
    stop_requested = Signal()
    retry_requested = Signal()
    call_retry_requested = Signal(str)
    call_cancel_requested = Signal(str)
    action_requested = Signal(object, str)
    edit_left = Signal()
    call_answered = Signal(str, bool)

    def __init__(self, suggestions: Sequence[str] | Callable[[], Sequence[str]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(translate("agentic_qt", "Assistant"))
        self.setMinimumWidth(MIN_WIDTH)
        self._transcript: later.Transcript | None = None
        self.has_audit = False
        self.header = Header(self)
        self.pages = QStackedWidget(self)
        self.pages.setMinimumHeight(4 * self.fontMetrics().height())  # whatever is asked, what led to it is in sight
        self._suggestions = suggestions
        self.welcome = Welcome(() if callable(suggestions) else suggestions, self)
        self.pages.addWidget(self.welcome)
        self._link_bar: later.LinkBar | None = None
        self.composer = Composer(self)
        self.status = StatusLine(self)
        em = self.fontMetrics().height()
        self.leftover_place = QVBoxLayout()
        self.approval_place = QVBoxLayout()
        self.approval_place.setContentsMargins(round(0.6 * em), round(0.5 * em), round(0.6 * em), 0)
        lower = QVBoxLayout()
        lower.setContentsMargins(round(0.6 * em), round(0.5 * em), round(0.6 * em), round(0.4 * em))
        lower.setSpacing(round(0.45 * em))
        self._above_composer = QVBoxLayout()
        lower.addLayout(self._above_composer)
        lower.addWidget(self.composer)
        lower.addWidget(self.status)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.header)
        layout.addLayout(self.leftover_place)
        layout.addWidget(self.pages, 1)
        layout.addLayout(self.approval_place)
        layout.addLayout(lower)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        self.composer.submitted.connect(self.submitted)
        self.composer.stop_requested.connect(self.stop_requested)
        self.composer.field.escaped.connect(self._escape)
        self.edit_bar: later.EditBar | None = None
        self.context_bar: later.ContextBar | None = None
        self.welcome.chosen.connect(self._choose)
        self.setAutoFillBackground(True)
        # After the first paint and before the first message: making the transcript costs tens of milliseconds.
        self._prepare = QTimer(self, singleShot=True, interval=PREPARE_MS)
        self._prepare.timeout.connect(self._make_transcript)
        self._warm = QTimer(self, singleShot=True, interval=PREPARE_MS)  # in a turn of its own: each is a short gap
        self._warm.timeout.connect(partial(warm_up, "python"))

    @property
    def transcript(self) -> "later.Transcript":
        """The conversation; made when it is first needed, since most windows open without one."""
        return self._transcript or self._make_transcript()

    @property
    def link_bar(self) -> "later.LinkBar":
        """Where the address of a link is shown before it is opened; made for the first link."""
        if self._link_bar is None:
            self._link_bar = later.LinkBar(self)
            self._above_composer.insertWidget(0, self._link_bar)
        return self._link_bar

    def show_conversation(self) -> None:
        """Show the transcript in the place of the welcome."""
        self.pages.setCurrentWidget(self.transcript)

    def show_welcome(self) -> None:
        """Show the page of an empty conversation."""
        if self._transcript is not None:
            self._transcript.clear_conversation()
        self.pages.setCurrentWidget(self.welcome)
        self.refresh_suggestions()
        if self._link_bar is not None:
            self._link_bar.hide()

    def refresh_suggestions(self) -> None:
        """Ask the application for its suggestions, where they depend on what it shows."""
        if not callable(self._suggestions):
            return
        try:
            found = tuple(self._suggestions())
        except Exception:
            _log.exception("The suggestions failed and are left out")
            found = ()
        self.welcome.set_suggestions(found)

    def set_editing(self, *, editing: bool) -> None:
        """Say whether sending changes an earlier message."""
        if self.edit_bar is None and editing:
            self.edit_bar = later.EditBar(self)
            self.edit_bar.left.connect(self.edit_left)
            self._above_composer.addWidget(self.edit_bar)
        if self.edit_bar is not None:
            self.edit_bar.setVisible(editing)
        self.composer.field.editing = editing
        if editing:
            self.composer.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def need_context_bar(self) -> "later.ContextBar":
        """Return the chips above the composer; made when there is something to show."""
        if self.context_bar is None:
            self.context_bar = later.ContextBar(self)
            self._above_composer.insertWidget(0, self.context_bar)
        return self.context_bar

    def renew_context(self) -> None:
        """A message was sent: the next one takes all facts along again."""
        if self.context_bar is not None:
            self.context_bar.renew()

    def set_ready(self, *, ready: bool) -> None:
        """Whether there is a chat model."""
        self.welcome.set_ready(ready=ready)
        self.composer.set_ready(ready=ready)

    async def shown(self) -> None:
        """Wait until everything that has happened so far is on the screen."""
        transcript = self.transcript
        while not transcript.idle:
            turned: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            connection = transcript.became_idle.connect(lambda turned=turned: turned.done() or turned.set_result(None))
            await turned
            transcript.became_idle.disconnect(connection)
        for _ in range(_LAYOUT_TURNS):
            await asyncio.sleep(0)

    def sizeHint(self) -> QSize:
        """As wide as a column of text, as high as the window likes."""
        hint = super().sizeHint()
        hint.setWidth(max(MIN_WIDTH, round(24 * self.fontMetrics().height())))
        return hint

    def showEvent(self, event: QShowEvent) -> None:
        """Prepare what the first message will need."""
        super().showEvent(event)
        self.refresh_suggestions()
        if self._transcript is None:
            self._prepare.start()

    def _make_transcript(self) -> "later.Transcript":
        self._prepare.stop()
        if self._transcript is None:
            made = later.Transcript(self)
            later.EndButton(made)
            made.link_requested.connect(self._ask_link)
            made.retry_requested.connect(self.retry_requested)
            made.call_retry_requested.connect(self.call_retry_requested)
            made.call_answered.connect(self.call_answered)
            made.call_cancel_requested.connect(self.call_cancel_requested)
            made.action_requested.connect(self.action_requested)
            self.pages.addWidget(made)
            self._transcript = made
            self._warm.start()
        return self._transcript

    def _ask_link(self, url: QUrl) -> None:
        self.link_bar.ask(url)

    def _escape(self) -> None:
        if self.composer.field.editing and not self.composer.field.running:
            self.edit_left.emit()

    def _choose(self, words: str) -> None:
        # The words go through the field, so that a draft is seen and nothing is sent behind it.
        if self.composer.text.strip():
            self.composer.set_text(words)
            self.composer.field.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.submitted.emit(words)
