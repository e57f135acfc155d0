"""The embedded service: commands that happen exactly once in a database of the application's own.

Transactions run in one I/O worker thread, so that a GUI loop never waits for a disk. The worker is given work and gives
answers; it controls nothing.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar, Unpack

from sqlalchemy import Connection

from agentic_qt.commands import intake, reading
from agentic_qt.commands.answers import MISMATCHED, in_progress, refused
from agentic_qt.commands.closing import Closing
from agentic_qt.commands.declaring import CommandTypes
from agentic_qt.commands.effects import run_effect
from agentic_qt.commands.ending import Ending
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.execution import Execution
from agentic_qt.commands.groups import Groups
from agentic_qt.commands.io_thread import IoThread
from agentic_qt.commands.journal import DurableJournal
from agentic_qt.commands.judging import Job
from agentic_qt.commands.library import SqliteLibrary
from agentic_qt.commands.migrate import OnStart
from agentic_qt.commands.outbox import Outbox
from agentic_qt.commands.port import AuditFilter
from agentic_qt.commands.proposals import Proposals
from agentic_qt.commands.sessions import Sessions
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.store import Store, StoreFacts
from agentic_qt.commands.submissions import Submissions
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


class CommandService(CommandTypes, Submissions):
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
        CommandTypes.__init__(self)
        Submissions.__init__(self, ids=ids, wait=wait)
        self._store = Store(url, busy_timeout=busy_timeout, library=library)
        self._clock = clock
        self._on_start = on_start
        self._transactions = Transactions(self._store, faults)
        self._ending = Ending(self._transactions, clock, with_outbox=outbox)
        self._closing = Closing(self._ending)
        self._execution = Execution(self._ending)
        self._thread = IoThread()
        self._groups = Groups(self._thread, self._execution)
        self._facts: StoreFacts | None = None
        self._starting = asyncio.Lock()
        self.sessions = Sessions(self._store, self._io)
        self.proposals = Proposals(self._transactions, self._io, clock=clock, ids=ids, sessions=self.sessions)
        self.outbox = Outbox(self._transactions, self._io, clock=clock)
        self.journal = DurableJournal(self._transactions, self._io, clock=clock, sessions=self.sessions)

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
        async with self._starting:
            if not self._thread.is_open:
                self._thread.open()
                try:
                    self._facts = await self._io(lambda: self._store.open(self._on_start))
                    await self._io(self.sessions.open)
                    await self._io(self._closing.expire_overdue)
                except BaseException:
                    await self.close()
                    raise
        return self.facts

    async def close(self) -> None:
        """Let what is running end, and close the store."""
        await self._wait_for_all()
        await self._thread.close(self._end)

    # ---- commands

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
        return self._note(await self._io(lambda: self._closing.status(command_id, actor)))

    async def abandon(self, command_id: str, actor: Actor) -> CommandResult:
        """Close an id that is unknown or was never seen, by a tombstone under it: it can no longer execute.

        The answer is what won: ``failed`` with code ``abandoned``, or the result of the command that was faster.
        """
        bad_id = intake.check_id(command_id)
        if bad_id is not None:
            return bad_id
        return self._note(await self._io(lambda: self._closing.abandon(command_id, actor)))

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
        job = Job(kind=kind, command=record.command, actor=owner)
        ended = await self._io(lambda: self._execution.finish(job, result))
        return self._note(ended, record.command)

    async def settle(
        self, command_id: str, actor: Actor, *, happened: bool, note: str, data: Any = None
    ) -> CommandResult:
        """State whether an unknown external effect happened, for somebody who found out (the bank's statement says so).

        Args:
            command_id: Which command; one that is not unknown stays as it is, and the answer is its result.
            actor: Who says so; needs the permission `OPERATE`.
            happened: Whether it did.
            note: How that is known; kept in the audit, never shown to a model.
            data: JSON: the result's data, such as a receipt.
        """
        refusal = intake.check_statement(command_id, note, data)
        if refusal is not None:
            return refusal
        result = await self._io(
            lambda: self._closing.settle(command_id, actor, happened=happened, note=note, data=data)
        )
        return self._note(result)

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

    async def history(self, **asked: Unpack[AuditFilter]) -> tuple[AuditEntry, ...]:
        """Return lines of the audit, the newest first; see `AuditFilter`."""
        return await self._ask(reading.list_audit(asked))

    # ---- the worker

    async def _refuse(self, command: Command, actor: Actor) -> CommandResult | None:
        refusal = intake.check(command, self._types.get(command.type))
        if refusal is not None and refusal.code == Code.FORGED_FIELD:
            await self._io(lambda: self._ending.audit_refusal(command, actor, refusal.code))
        return refusal

    async def _carry_out(self, command: Command, actor: Actor) -> CommandResult:
        job = Job(kind=self._types[command.type], command=command, actor=actor)
        result = await self._groups.execute(job)
        if result is not None or job.kind.effect is None:
            return result or in_progress(command.command_id)
        ended = await run_effect(job.kind, command, actor, job.kind.effect, clock=self._clock)
        return await self._io(lambda: self._execution.finish(job, ended))

    async def _answer_other(self, command: Command, actor: Actor) -> CommandResult:
        await self._io(lambda: self._ending.audit_refusal(command, actor, Code.PAYLOAD_MISMATCH))
        return refused(command.command_id, Code.PAYLOAD_MISMATCH, MISMATCHED)

    def _end(self) -> None:
        self.sessions.close()
        self._store.close()

    async def _ask(self, work: Callable[[Connection], _T]) -> _T:
        return await self._io(lambda: self._transactions.ask(work))

    async def _io(self, work: Callable[[], _T]) -> _T:
        return await self._thread.run(work)
