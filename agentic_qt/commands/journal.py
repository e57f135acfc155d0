"""The durable journal: what was about to run when the process ended, told at the next start.

It holds what the pipeline tells it: an intent before a handler starts, its outcome afterwards. An intent without an
outcome, of a session that is over, is ``unknown``; nothing here runs it again.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Float,
    Integer,
    Row,
    String,
    Table,
    Text,
    delete,
    insert,
    select,
    update,
)

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.sessions import Sessions
from agentic_qt.commands.tables import metadata
from agentic_qt.commands.transactions import Transactions
from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.journal import Intent

_T = TypeVar("_T")
Io = Callable[[Callable[[], Any]], Awaitable[Any]]
_ascending = BigInteger().with_variant(Integer(), "sqlite")  # as in `tables`

intents = Table(
    "agentic_intent",
    metadata,
    Column("intent_id", _ascending, primary_key=True, autoincrement=True),
    Column("session", String(32), nullable=False),
    Column("call_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("target_id", Text),
    Column("payload", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("actor", Text),
    Column("client", Text),
    Column("run", Text),
    Column("at", Float(53), nullable=False),
    Column("command_id", String(200)),
    Column("status", String(20), index=True),  # NULL: no outcome was written
    Column("outcome", Text),
    Column("ended_at", Float(53)),
    Column("settled_by", Text),  # who found out how it ended, where a person did
)
_IS_OPEN = intents.c.status.is_(None) | (intents.c.status == Status.UNKNOWN.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenIntent:
    """A change of an earlier session of which nobody knows whether it happened.

    Args:
        intent_id: Its key.
        intent: What was about to run.
        command_id: Of the command that it was to submit; ask for its status. None: it submitted none.
        outcome: What was written of it, status ``unknown``; None when nothing was.
    """

    intent_id: int
    intent: Intent
    command_id: str | None
    outcome: Outcome | None


class DurableJournal:
    """A `Journal` in the store of commands; `CommandService.journal` is one. Secret fields come masked already.

    Results are not stored: what a command gave is in its own result, and what other handlers return may be a mebibyte.

    Args:
        transactions: Of the store.
        io: Runs a function in the I/O thread.
        clock: Seconds since the epoch.
        sessions: Of the store.
    """

    def __init__(self, transactions: Transactions, io: Io, *, clock: Callable[[], float], sessions: Sessions) -> None:
        self._transactions = transactions
        self._io = io
        self._clock = clock
        self._sessions = sessions
        self._command_of: Callable[[Intent], str | None] = lambda _intent: None

    def name_commands(self, command_of: Callable[[Intent], str | None]) -> None:
        """Ask `command_of` for the id of the command that each intent is about to submit, so that it is journaled."""
        self._command_of = command_of

    async def intent(self, intent: Intent) -> None:
        """Write down that a handler is about to run.

        Raises:
            CommandError: It could not be written, so the handler does not run; code ``store_error``.
        """
        row = {name: getattr(intent, name) for name in Intent.__slots__}
        row |= {"session": self._sessions.own, "command_id": self._command_of(intent)}
        await self._note(lambda connection: connection.execute(insert(intents).values(row)))

    async def outcome(self, intent: Intent, outcome: Outcome) -> None:
        """Write down how it ended; a late end replaces ``unknown``.

        Raises:
            CommandError: It could not be written; code ``store_error``.
        """
        await self._conclude(self._is(intent), outcome)

    async def unresolved(self) -> tuple[OpenIntent, ...]:
        """Return what sessions that are over left without a known end, oldest first."""
        whose = select(intents.c.session).where(_IS_OPEN).distinct()
        sessions = await self._ask(lambda connection: connection.scalars(whose).all())
        ended = await self._sessions.ended(sessions)  # first: what one that is over left changes no more
        found = select(intents).where(intents.c.session.in_(list(ended)), _IS_OPEN).order_by(intents.c.intent_id)
        return await self._ask(lambda connection: tuple(_to_open(row) for row in connection.execute(found)))

    async def resolve(self, intent_id: int, outcome: Outcome, *, by: str | None = None) -> None:
        """Write down what was found out of an open intent, by its command's status or by a person.

        Args:
            intent_id: Which one.
            outcome: What is known of it.
            by: The person who says so.

        Raises:
            ValueError: The outcome is ``unknown`` again.
            CommandError: It is not open (``no_intent``), or it could not be written (``store_error``).
        """
        if outcome.status is Status.UNKNOWN:
            raise ValueError("resolve an intent with what is known of it")
        found = await self._conclude((intents.c.intent_id == intent_id) & _IS_OPEN, outcome, settled_by=by)
        if not found:
            raise CommandError("no_intent", "There is no such interrupted call, or its end is known by now.")

    async def prune(self, *, before: float) -> int:
        """Forget intents that ended before a time (seconds since the epoch) and return how many; open ones stay."""
        ended = intents.c.status.is_not(None) & (intents.c.status != Status.UNKNOWN.value)
        old = delete(intents).where(ended, intents.c.ended_at < before)
        return await self._note(lambda connection: connection.execute(old).rowcount)

    def _is(self, intent: Intent) -> ColumnElement[bool]:
        """The row of an intent: a call id alone names nothing."""
        return (
            (intents.c.session == self._sessions.own)
            & (intents.c.call_id == intent.call_id)
            & (intents.c.at == intent.at)
            & intents.c.client.is_not_distinct_from(intent.client)
            & intents.c.run.is_not_distinct_from(intent.run)
        )

    async def _conclude(self, which: ColumnElement[bool], outcome: Outcome, **also: Any) -> int:
        told = {name: getattr(outcome, name) for name in ("code", "hint", "retry", "applied", "call_id", "command_id")}
        values = {"status": outcome.status.value, "outcome": json.dumps(told), "ended_at": self._clock(), **also}
        if outcome.command_id is not None:
            values["command_id"] = outcome.command_id
        changed = update(intents).where(which).values(**values)
        return await self._note(lambda connection: connection.execute(changed).rowcount)

    async def _note(self, work: Callable[[Connection], _T]) -> _T:
        result: _T = await self._io(lambda: self._transactions.note(work))
        return result

    async def _ask(self, work: Callable[[Connection], _T]) -> _T:
        result: _T = await self._io(lambda: self._transactions.ask(work))
        return result


def _to_open(row: Row[Any]) -> OpenIntent:
    known = {name: getattr(row, name) for name in Intent.__slots__}
    outcome = None if row.outcome is None else Outcome(status=Status(row.status), **json.loads(row.outcome))
    return OpenIntent(intent_id=row.intent_id, intent=Intent(**known), command_id=row.command_id, outcome=outcome)
