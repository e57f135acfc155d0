"""Submits what the person does as commands: one at a time for each kind of work, each under an id of its own."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import shiboken6
from PySide6.QtCore import QObject, Signal

from agentic_qt.commands.answers import refused
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.port import CommandPort
from agentic_qt.commands.values import Actor, Command, CommandResult, Version
from agentic_qt.qt.loop import spawn

Then = Callable[[CommandResult], None]


class Clerk(QObject):
    """The person's way to the service of commands.

    Args:
        service: Embedded, or the client of a remote one.
        actor: Who sits at the window.

    Signals:
        busy_changed: Some work has begun or ended.
    """

    busy_changed = Signal()

    def __init__(self, service: CommandPort, actor: Actor, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.service = service
        self.actor = actor
        self._work: dict[str, asyncio.Task[CommandResult]] = {}
        self._submitted: dict[str, str] = {}  # by command id, the kind of work

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._work)

    def is_at(self, work: str) -> bool:
        """Whether this kind of work is under way."""
        return work in self._work

    def work_of(self, command: Command) -> str:
        """Return the kind of work that submitted a command here; empty for one of the assistant's."""
        return self._submitted.get(command.command_id, "")

    def submit(
        self,
        work: str,
        type_: str,
        input_: Mapping[str, Any],
        *,
        version: Version | None = None,
        target: str | None = None,
        then: Then,
    ) -> "asyncio.Task[CommandResult] | None":
        """Submit a command; nothing when work of this kind is under way: a double click is one command.

        Args:
            work: The kind of work, such as ``"save"``.
            type_: The type of the command.
            input_: Its input.
            version: Of the row that the person saw.
            target: Which thing it is about.
            then: Told what became of it.
        """
        if work in self._work:
            return None
        command = Command.of(type_, input_, command_id=self.service.new_id(), expected_version=version, target=target)
        self._submitted[command.command_id] = work
        return self._begin(work, self._carry_out(command), then)

    def look(self, work: str, command_id: str, then: Then) -> None:
        """Ask what became of a command of which nobody could say so."""
        if work not in self._work:
            self._begin(work, self._ask(command_id), then)

    def _begin(
        self, work: str, asking: Coroutine[Any, Any, CommandResult], then: Then
    ) -> "asyncio.Task[CommandResult]":
        task = spawn(asking, name=f"crm: {work}")
        self._work[work] = task

        def ended(done: "asyncio.Task[CommandResult]") -> None:
            self._work.pop(work, None)
            if not shiboken6.isValid(self):
                return
            try:
                if not done.cancelled() and done.exception() is None:
                    then(done.result())
            finally:
                self.busy_changed.emit()

        task.add_done_callback(ended)
        self.busy_changed.emit()
        return task

    async def _carry_out(self, command: Command) -> CommandResult:
        try:
            return await self.service.submit(command, self.actor)
        except CommandError as error:  # nothing was sent or stored
            return refused(command.command_id, error.code, "The service cannot do it now.", retryable=True)

    async def _ask(self, command_id: str) -> CommandResult:
        try:
            return await self.service.status(command_id, self.actor)
        except CommandError as error:
            return refused(command_id, error.code, "The service cannot say it now.", retryable=True)
