"""What the embedded service and the client of a remote one share: ids, one run for each id, and who is told of ends."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agentic_qt.commands.answers import in_progress
from agentic_qt.commands.values import Actor, Command, CommandResult, CommandStatus
from agentic_qt.core.events import Observers

ENDED: Final = frozenset({CommandStatus.SUCCEEDED, CommandStatus.FAILED})
"""The statuses that nothing follows."""

EndObserver = Callable[[Command, CommandResult], None]
"""``callback(command, result)``, on the event loop."""


class Submissions(ABC):
    """Runs each id once at a time and tells of ends; `CommandService` and `CommandClient` are two.

    All of its coroutines belong to one event loop.

    Args:
        ids: Source of new command ids.
        wait: Seconds that a duplicate waits for the first of its id before it is told ``in_progress``.
    """

    def __init__(self, *, ids: Callable[[], str], wait: float) -> None:
        self._ids = ids
        self._wait = wait
        self._running: dict[str, Running] = {}
        self._open: dict[str, Command] = {}  # submitted here, and not known to have ended
        self._ends: Observers[tuple[Command, CommandResult]] = Observers()

    def new_id(self) -> str:
        """Return a new command id."""
        return self._ids()

    def observe(self, callback: EndObserver) -> Callable[[], None]:
        """Tell `callback` of each command of this process that is known to have ended; returns what ends that.

        It is called on the event loop with the command and its stored result, succeeded or failed: when `submit`
        comes to an end, whoever still waits for it, and when the end of one that was unknown is found out later. A
        command that is submitted again after its end is told again. One that raises is logged and harms nobody.
        """
        return self._ends.add(lambda end: callback(*end))

    async def submit(self, command: Command, actor: Actor) -> CommandResult:
        """Execute a command once; the same id, payload and actor again give the stored result, byte for byte.

        A caller that is cancelled stops waiting: the command goes on, and `status` tells what became of it.
        """
        refusal = await self._refuse(command, actor)
        if refusal is not None:
            return refusal
        while (first := self._running.get(command.command_id)) is not None:
            same = first.is_like(command, actor)
            done, _ = await asyncio.wait([first.task], timeout=self._wait)
            if not done:
                return in_progress(command.command_id) if same else await self._answer_other(command, actor)
            if same and (result := first.answer()) is not None:
                return result
        task = asyncio.ensure_future(self._execute(command, actor))
        self._running[command.command_id] = Running(command=command, actor=actor, task=task)
        task.add_done_callback(lambda _: self._running.pop(command.command_id, None))
        return await asyncio.shield(task)

    @abstractmethod
    async def _refuse(self, command: Command, actor: Actor) -> CommandResult | None:
        """Return why a command is not even begun."""

    @abstractmethod
    async def _carry_out(self, command: Command, actor: Actor) -> CommandResult:
        """Execute a command whose id is not under way here."""

    @abstractmethod
    async def _answer_other(self, command: Command, actor: Actor) -> CommandResult:
        """Answer another command under an id that is under way and did not end in time."""

    async def _execute(self, command: Command, actor: Actor) -> CommandResult:
        result = await self._carry_out(command, actor)
        if result.status in (CommandStatus.UNKNOWN, CommandStatus.EXECUTING):
            self._open.setdefault(command.command_id, command)
        self._note(result, command)
        return result

    def _note(self, result: CommandResult, command: Command | None = None) -> CommandResult:
        """Tell of an end: of the given command, or of the one that was submitted here and left open."""
        if result.status in ENDED:
            left = self._open.pop(result.command_id, None)
            if (told := command or left) is not None:
                self._ends.tell((told, result))
        return result

    async def _wait_for_all(self) -> None:
        while self._running:
            await asyncio.wait([each.task for each in self._running.values()])


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """A command under way in this process."""

    command: Command
    actor: Actor
    task: asyncio.Task[CommandResult]

    def is_like(self, command: Command, actor: Actor) -> bool:
        """Whether the payload and the actor are the same."""
        return self.command.digest == command.digest and self.actor.name == actor.name

    def answer(self) -> CommandResult | None:
        """Return what it ended with, for whoever sent the same; None when nothing was recorded: worth another try."""
        if self.task.cancelled() or self.task.exception() is not None:
            return None
        result = self.task.result()
        return None if result.status is CommandStatus.REFUSED else result
