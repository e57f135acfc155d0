"""Connects a command desk with a window: looks for what was left, and opens the audit of one command.

What people see of both is made when there is something to show: most windows start with nothing left.
"""

import asyncio
import time
from collections.abc import Callable

import shiboken6
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from agentic_qt.commands.desk import CommandDesk
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.recovery import Leftovers, Recovery
from agentic_qt.commands.values import Command, CommandResult
from agentic_qt.qt.loop import spawn
from agentic_qt.ui import later
from agentic_qt.ui.approval.text import exact
from agentic_qt.ui.approval.views import ApprovalViews
from agentic_qt.ui.commands.audit import CommandAudit, read_audit
from agentic_qt.ui.panel import Panel
from agentic_qt.ui.words import translate


class CommandViews:
    """What one window shows of its commands.

    Args:
        desk: The window's; its service was started.
        window: The application's window.
        panel: Where what was left is shown.
        approvals: The views that ask the person.
        actor: Who uses the window, by name.
        clock: Seconds since the epoch.

    Attributes:
        leftovers: What was left, once there was something to show.
        audit_view: The window that tells what happened to one command, once it was shown.
        last_action: Shows what happened to the last command of this process.
    """

    def __init__(
        self,
        desk: CommandDesk,
        window: QWidget,
        panel: Panel,
        approvals: ApprovalViews,
        *,
        actor: str | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._desk = desk
        self._window = window
        self._panel = panel
        self._approvals = approvals
        self._actor = actor
        self._clock = clock
        self._recovery = Recovery(desk)
        self._looking: asyncio.Task[None] | None = None
        self._look_again = False
        self._has_left = False
        self._last = ""
        self.leftovers: later.LeftoverViews | None = None
        self.audit_view: later.AuditView | None = None
        panel.has_audit = True
        self.last_action = QAction(translate("agentic_qt", "What Happened to the Last Command…"), panel)
        self.last_action.setObjectName("agentic_qt_last_command")
        self.last_action.setEnabled(False)
        self.last_action.triggered.connect(lambda: self.show_command(self._last))
        panel.addAction(self.last_action)
        self._forget = desk.service.observe(self._ended)
        self.look()

    @property
    def looking(self) -> bool:
        """Whether what was left is being looked for."""
        return self._looking is not None and not self._looking.done()

    def look(self) -> None:
        """Look for what was left; once more after a look that is under way."""
        if self._has_left:
            return
        self._look_again = True
        if not self.looking:
            self._looking = spawn(self._look(), name="agentic_qt.leftovers")

    def show_audit(self, content: object) -> None:
        """Show what happened to the command of a call's card."""
        if isinstance(content, later.Card) and content.command_id is not None:
            self.show_command(content.command_id)

    def show_command(self, command_id: str) -> None:
        """Show what happened to a command."""
        if self.audit_view is None:
            self.audit_view = later.AuditView(self._read, self._title_of, self._window)
        self.audit_view.present(command_id)

    def leave(self) -> None:
        """Take everything away; what is under way goes on without being shown."""
        self._has_left = True
        self._forget()
        if self._looking is not None:
            self._looking.cancel()
        if self.leftovers is not None:
            self.leftovers.leave()
        if self.audit_view is not None and shiboken6.isValid(self.audit_view):
            self.audit_view.leave()
            self.audit_view.hide()
            self.audit_view.deleteLater()
        self.audit_view = None
        if shiboken6.isValid(self._panel):
            self._panel.has_audit = False
        if shiboken6.isValid(self.last_action):
            self.last_action.deleteLater()

    async def _look(self) -> None:
        while self._look_again:
            self._look_again = False
            try:
                found = await self._recovery.look()
            except CommandError as error:
                self._views().show_trouble(error)
                continue
            if self._look_again:  # something was done meanwhile: what was found is how it stood before
                continue
            if self.leftovers is not None or found != Leftovers():
                self._views().show(found)

    def _views(self) -> "later.LeftoverViews":
        if self.leftovers is None:
            self.leftovers = later.LeftoverViews(
                self._desk,
                self._panel,
                self._approvals,
                actor=self._actor,
                look=self.look,
                show_command=self.show_command,
                clock=self._clock,
            )
        return self.leftovers

    def _ended(self, command: Command, _result: CommandResult) -> None:
        self._last = command.command_id
        self.last_action.setEnabled(True)
        if self.leftovers is not None:
            self.leftovers.command_ended(command.command_id)

    async def _read(self, command_id: str) -> CommandAudit:
        actor = self._desk.actor_of(self._actor)
        if actor is None:
            raise CommandError("no_actor", "Nobody is signed in here who may see it.")
        return await read_audit(self._desk.service, command_id, actor)

    def _title_of(self, command_type: str) -> str:
        places = self._desk.registry.places(self._desk.capability_of(command_type))
        declared = next(iter(places.values()), None)
        return exact(command_type if declared is None else declared.capability.display_title)
