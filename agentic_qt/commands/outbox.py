"""The outbox: each end of a command, written in the command's own transaction and shipped elsewhere at least once.

Messages of one aggregate are shipped in the order in which their commands were committed; one that cannot be sent
holds back the later ones of its aggregate, and no others.
"""

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from agentic_qt.commands.tables import outbox
from agentic_qt.commands.transactions import Transactions

_log = logging.getLogger("agentic_qt.commands.outbox")


@dataclass(frozen=True, kw_only=True, slots=True)
class OutboxMessage:
    """What is sent.

    Args:
        message_id: Unique in this store; the receiver's key against doubles.
        aggregate: What the order is kept within.
        sequence: 1, 2, 3... within the aggregate, without gaps.
        body: JSON: type, target, digest and result of the command.
        created_at: Seconds since the epoch.
    """

    message_id: int
    aggregate: str
    sequence: int
    body: Any
    created_at: float


Send = Callable[[OutboxMessage], Awaitable[None]]
"""Delivers a message; returning means that the other side has it, raising that it may not."""

Io = Callable[[Callable[[], Any]], Awaitable[Any]]


class Outbox:
    """Reads, ships and prunes messages; `CommandService.outbox` is one.

    Args:
        transactions: Of the store.
        io: Runs a function in the I/O thread.
        clock: Seconds since the epoch.
    """

    def __init__(self, transactions: Transactions, io: Io, *, clock: Callable[[], float]) -> None:
        self._transactions = transactions
        self._io = io
        self._clock = clock

    async def waiting(self, *, limit: int = 100) -> tuple[OutboxMessage, ...]:
        """Return messages that were not shipped yet, the oldest first."""

        def work(connection: Connection) -> tuple[OutboxMessage, ...]:
            columns = [column for column in outbox.c if column.name != "shipped_at"]
            found = select(*columns).where(outbox.c.shipped_at.is_(None)).order_by(outbox.c.message_id).limit(limit)
            rows = connection.execute(found)
            return tuple(OutboxMessage(**row._asdict() | {"body": json.loads(row.body)}) for row in rows)

        messages: tuple[OutboxMessage, ...] = await self._io(lambda: self._transactions.ask(work))
        return messages

    async def ship(self, send: Send, *, limit: int = 100) -> int:
        """Send waiting messages once each and return how many arrived.

        A crash between sending and noting that sends a message again: receivers drop what they know.
        """
        held: set[str] = set()
        shipped = 0
        for message in sorted(await self.waiting(limit=limit), key=lambda each: (each.aggregate, each.sequence)):
            if message.aggregate in held:
                continue
            try:
                await send(message)
            except Exception:
                _log.exception("Message %s of the outbox could not be sent", message.message_id)
                held.add(message.aggregate)
                continue
            await self._note_shipped(message.message_id)
            shipped += 1
        return shipped

    async def prune(self, *, before: float) -> int:
        """Delete messages that were shipped before a time, but the last of each aggregate: it keeps the count."""
        later = outbox.alias()
        last = select(func.max(later.c.sequence)).where(later.c.aggregate == outbox.c.aggregate).scalar_subquery()
        old = delete(outbox).where(outbox.c.shipped_at < before, outbox.c.sequence < last)
        count: int = await self._io(
            lambda: self._transactions.note(lambda connection: connection.execute(old).rowcount)
        )
        return count

    async def _note_shipped(self, message_id: int) -> None:
        shipped = update(outbox).where(outbox.c.message_id == message_id).values(shipped_at=self._clock())
        await self._io(lambda: self._transactions.note(lambda connection: connection.execute(shipped).rowcount))
