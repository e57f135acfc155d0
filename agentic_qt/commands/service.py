"""The embedded service: commands that happen exactly once in a database of the application's own.

Transactions run in one I/O worker thread, so that a GUI loop never waits for a disk. The worker is given work and gives
answers; it controls nothing.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from sqlalchemy import Connection

from agentic_qt.commands import intake, reading
from agentic_qt.commands.command_type import CommandType
from agentic_qt.commands.declaring import CommandTypes
from agentic_qt.commands.effects import run_effect
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.execution import Execution, in_progress
from agentic_qt.commands.journal import DurableJournal
from agentic_qt.commands.library import SqliteLibrary
from agentic_qt.commands.migrate import OnStart
from agentic_qt.commands.outbox import Outbox
from agentic_qt.commands.proposals import Proposals
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.store import Store, StoreFacts
from agentic_qt.commands.transactions import Faults, Transactions
from agentic_qt.commands.values import (
    Actor,
    AuditEntry,
    Code,
    Command,
    CommandRecord,
    CommandResult,
    CommandStatus,
    Preview,
)
from agentic_qt.core.errors import CapabilityError

_T = TypeVar("_T")


class CommandService(CommandTypes):
    """Executes registered commands once each; use it as ``async with``, or call `start` and `close`.

    All of its coroutines belong to one event loop.

    Args:
        url: ``sqlite:///FILE`` (see `store.data_folder_url`) or ``postgresql://USER@HOST/NAME``.
        clock: Seconds since the epoch.
        ids: Source of new command ids; each must be unique for ever.
        on_start: Makes the application's own tables, given a connection; runs at every start in the migration's
            transaction.
        outbox: Whether each end of a command becomes a message for a relay.
        wait: Seconds that a duplicate waits for the first of its id before it is told ``in_progress``.
        busy_timeout: Seconds that a transaction waits for another process.
        faults: Called at each point of `transactions.POINTS`, in the I/O thread; for tests.
        library: The SQLite library; None chooses one that is safe.

    Raises:
        CommandError: The URL cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], float] = time.time,
        ids: Callable[[], str] = lambda: str(uuid.uuid4()),
        on_start: OnStart | None = None,
        outbox: bool = False,
        wait: float = 5.0,
        busy_timeout: float = 10.0,
        faults: Faults = lambda _label: None,
        library: SqliteLibrary | None = None,
    ) -> None:
        super().__init__()
        self._store = Store(url, busy_timeout=busy_timeout, library=library)
        self._clock = clock
        self._ids = ids
        self._on_start = on_start
        self._wait = wait
        self._running: dict[str, _Running] = {}
        self._transactions = Transactions(self._store, faults)
        self._execution = Execution(self._transactions, clock, with_outbox=outbox)
        self._worker: ThreadPoolExecutor | None = None
        self._facts: StoreFacts | None = None
        self.proposals = Proposals(self._transactions, self._io, clock=clock, ids=ids)
        self.outbox = Outbox(self._transactions, self._io, clock=clock)
        self.journal = DurableJournal(self._transactions, self._io, clock=clock)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def store(self) -> Store:
        """The database; its engine belongs to the I/O thread."""
        return self._store

    @property
    def facts(self) -> StoreFacts:
        """What the store runs on; known after `start`."""
        if self._facts is None:
            raise CommandError("store_closed", "The service was not started.")
        return self._facts

    # ---- life

    async def start(self) -> StoreFacts:
        """Open and migrate the store.

        Raises:
            CommandError: It cannot be opened, or was written by a newer version.
        """
        if self._worker is None:
            self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agentic-qt-commands")
            try:
                self._facts = await self._io(lambda: self._store.open(self._on_start))
                await self._io(self._execution.expire_overdue)
            except BaseException:
                await self.close()
                raise
        return self.facts

    async def close(self) -> None:
        """Let what is running end, and close the store."""
        if self._worker is None:
            return
        while self._running:
            await asyncio.wait([each.task for each in self._running.values()])
        worker, self._worker = self._worker, None
        await asyncio.wrap_future(worker.submit(self._store.close))
        worker.shutdown(wait=False)

    # ---- commands

    def new_id(self) -> str:
        """Return a new command id."""
        return self._ids()

    async def submit(self, command: Command, actor: Actor) -> CommandResult:
        """Execute a command once; the same id, payload and actor again give the stored result, byte for byte.

        A caller that is cancelled stops waiting: the command goes on, and `status` tells what became of it.
        """
        kind = self._types.get(command.type)
        refusal = intake.check(command, kind)
        if refusal is not None or kind is None:
            return await self._refuse(command, actor, refusal)
        while (first := self._running.get(command.command_id)) is not None:
            done, _ = await asyncio.wait([first.task], timeout=self._wait)
            if not done:
                return await self._answer_duplicate(first, command, actor)
        task = asyncio.ensure_future(self._execute(kind, command, actor))
        self._running[command.command_id] = _Running(command=command, actor=actor, task=task)
        task.add_done_callback(lambda _: self._running.pop(command.command_id, None))
        return await asyncio.shield(task)

    async def status(self, command_id: str, actor: Actor | None = None) -> CommandResult:
        """Return what is stored under an id.

        Args:
            command_id: Which command.
            actor: Who asks: commands of others are ``not_found`` without the permission `OPERATE`. None: trusted code.
        """
        bad_id = intake.check_id(command_id)
        if bad_id is not None:
            return bad_id
        if command_id in self._running and actor is None:
            return in_progress(command_id)
        return await self._io(lambda: self._execution.status(command_id, actor))

    async def abandon(self, command_id: str, actor: Actor) -> CommandResult:
        """Close an id that is unknown or was never seen, by a tombstone under it: it can no longer execute.

        The answer is what won: ``failed`` with code ``abandoned``, or the result of the command that was faster.
        """
        bad_id = intake.check_id(command_id)
        if bad_id is not None:
            return bad_id
        return await self._io(lambda: self._execution.abandon(command_id, actor))

    async def resolve(self, command_id: str, actor: Actor) -> CommandResult:
        """Ask the other side what became of an external effect that is unknown, and write down the answer."""
        current = await self.status(command_id, actor)
        if current.status is not CommandStatus.UNKNOWN:
            return current
        record = await self.find(command_id)
        kind = None if record is None else self._types.get(record.command.type)
        if record is None or kind is None or kind.resolve is None:
            return current
        owner = Actor(name=record.actor)
        result = await run_effect(kind, record.command, owner, kind.resolve, clock=self._clock)
        if result.status is CommandStatus.UNKNOWN:
            return current
        return await self._io(lambda: self._execution.finish(kind, record.command, owner, result))

    async def preview(self, type_: str, input_: Mapping[str, Any], actor: Actor) -> Preview:
        """Read what a person should see before approving, and the row's version.

        Raises:
            CapabilityError: The type is unknown, the input is refused or the actor may not; or the type's own reader
                raised it.
            CommandError: The store could not be read.
        """
        command = Command.of(type_, input_, command_id="preview", expected_version=0)
        kind = self._types.get(type_)
        refusal = intake.check(command, kind)
        if refusal is not None or kind is None:
            raise CapabilityError(refusal.code if refusal else Code.UNKNOWN_TYPE, refusal.hint if refusal else "")
        return await self._io(lambda: self._transactions.ask(reading.preview(kind, command, actor)))

    # ---- questions

    async def find(self, command_id: str) -> CommandRecord | None:
        """Return a stored command; for trusted code."""
        return await self._ask(reading.find(command_id))

    async def find_open(self, command: Command, actor: Actor) -> CommandRecord | None:
        """Return the actor's command of the same type and digest that is executing or unknown.

        A model that calls again because it saw no result is told of that one; nothing new is made.
        """
        running = [each for each in self._running.values() if each.is_like(command, actor)]
        stored = await self._ask(reading.find_open(command, actor))
        if stored is None and running:
            first = running[0]
            return CommandRecord(
                command=first.command, state=CommandState.EXECUTING, actor=actor.name, created_at=self._clock()
            )
        return stored

    async def records(
        self, *, state: CommandState | None = None, type_: str | None = None, limit: int = 100
    ) -> tuple[CommandRecord, ...]:
        """Return stored commands, the newest first; for operators."""
        return await self._ask(reading.list_commands(state=state, type_=type_, limit=limit))

    async def history(
        self,
        *,
        command_id: str | None = None,
        type_: str | None = None,
        actor: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> tuple[AuditEntry, ...]:
        """Return lines of the audit, the newest first; `before` pages on from an entry id."""
        question = reading.list_audit(command_id=command_id, type_=type_, actor=actor, before=before, limit=limit)
        return await self._ask(question)

    # ---- the worker

    async def _execute(self, kind: CommandType, command: Command, actor: Actor) -> CommandResult:
        result = await self._io(lambda: self._execution.execute(kind, command, actor))
        if result is not None or kind.effect is None:
            return result or in_progress(command.command_id)
        ended = await run_effect(kind, command, actor, kind.effect, clock=self._clock)
        return await self._io(lambda: self._execution.finish(kind, command, actor, ended))

    async def _refuse(self, command: Command, actor: Actor, refusal: CommandResult | None) -> CommandResult:
        answer = refusal or intake.refused(command.command_id, Code.UNKNOWN_TYPE, "There is no command of this type.")
        if answer.code == Code.FORGED_FIELD:
            await self._io(lambda: self._execution.audit_refusal(command, actor, answer.code))
        return answer

    async def _answer_duplicate(self, first: "_Running", command: Command, actor: Actor) -> CommandResult:
        if first.is_same(command, actor):
            return in_progress(command.command_id)
        await self._io(lambda: self._execution.audit_refusal(command, actor, Code.PAYLOAD_MISMATCH))
        hint = "This id belongs to another command; use a new id for a new command."
        return intake.refused(command.command_id, Code.PAYLOAD_MISMATCH, hint)

    async def _ask(self, work: Callable[[Connection], _T]) -> _T:
        return await self._io(lambda: self._transactions.ask(work))

    async def _io(self, work: Callable[[], _T]) -> _T:
        if self._worker is None:
            raise CommandError("store_closed", "The service was not started, or is closed.")
        return await asyncio.wrap_future(self._worker.submit(work))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Running:
    command: Command
    actor: Actor
    task: asyncio.Task[CommandResult]

    def is_like(self, command: Command, actor: Actor) -> bool:
        """Whether the payload and the actor are the same."""
        return self.command.digest == command.digest and self.actor.name == actor.name

    def is_same(self, command: Command, actor: Actor) -> bool:
        """Whether it is this very command."""
        return self.command.command_id == command.command_id and self.is_like(command, actor)
