"""What an application's code does to the session that it is lent: the transaction stays the service's own."""

import asyncio
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Command, CommandStatus
from agentic_qt.core.errors import CapabilityError
from tests.support.command_kit import ANN, Inspector, add_entry, ledger, schema

pytestmark = pytest.mark.anyio
Borrower = Callable[[Session], object]


def leave(error: BaseException) -> Borrower:
    def borrower(_session: Session) -> object:
        raise error

    return borrower


ENDS: dict[str, Borrower] = {
    "session.commit": lambda session: session.commit(),
    "session.rollback": lambda session: session.rollback(),
    "session.close": lambda session: session.close(),
    "session.begin": lambda session: session.begin(),
    "connection.commit": lambda session: session.connection().commit(),
    "connection.rollback": lambda session: session.connection().rollback(),
    "connection.close": lambda session: session.connection().close(),
    "COMMIT": lambda session: session.execute(text(" commit")),
    "ROLLBACK": lambda session: session.execute(text("ROLLBACK")),
    "KeyboardInterrupt": leave(KeyboardInterrupt()),
    "SystemExit": lambda _session: sys.exit(3),
    "CancelledError": leave(asyncio.CancelledError()),
    "GeneratorExit": leave(GeneratorExit()),
}


def register(service: CommandService, borrower: Borrower) -> None:
    @service.command("ledger.break", schema=schema(), permission=None)
    def work(session: Session, _input: dict[str, Any], _actor: object) -> int:
        session.execute(insert(ledger).values(entry="broken"))
        borrower(session)
        return 1


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("neighbours", [0, 4])
async def test_a_handler_that_ends_the_transaction_fails_and_leaves_nothing(
    service: CommandService, inspector: Inspector, how: str, neighbours: int
) -> None:
    """It is not "nothing was changed" with the row there, nor a success without it."""
    register(service, ENDS[how])
    broken = Command.of("ledger.break", {}, command_id="broken-1")
    near = [add_entry(f"near-{number}") for number in range(neighbours)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of SQLAlchemy, about a connection that was closed by force
        result, *others = await asyncio.gather(*(service.submit(each, ANN) for each in (broken, *near)))
    assert (result.status, result.code) == (CommandStatus.FAILED, "handler_error")
    assert await service.status("broken-1", ANN) == result
    assert all(other.ok for other in others)
    assert (await service.submit(add_entry("after"), ANN)).ok
    assert inspector.entries() == {f"near-{number}": 1 for number in range(neighbours)} | {"after": 1}
    audited = inspector.rows("SELECT event FROM agentic_audit WHERE command_id = 'broken-1'")
    assert audited == [("failed",)]


async def test_a_handler_may_undo_a_part_of_its_work(service: CommandService, inspector: Inspector) -> None:
    def borrower(session: Session) -> None:
        part = session.begin_nested()
        session.execute(insert(ledger).values(entry="undone"))
        part.rollback()
        with session.begin_nested():
            session.execute(insert(ledger).values(entry="kept"))

    register(service, borrower)
    assert (await service.submit(Command.of("ledger.break", {}, command_id="a"), ANN)).ok
    assert inspector.entries() == {"broken": 1, "kept": 1}


async def test_what_a_preview_writes_is_not_kept(service: CommandService, inspector: Inspector) -> None:
    """Nobody has approved anything when a preview runs."""

    def preview_of(session: Session, input_: dict[str, Any]) -> dict[str, Any]:
        session.execute(insert(ledger).values(entry="previewed"))
        if input_["commits"]:
            session.commit()
        return {}

    @service.command("ledger.look", schema=schema(commits={"type": "boolean"}), permission=None, preview_of=preview_of)
    def look(_session: Session, _input: dict[str, Any], _actor: object) -> None: ...

    await service.preview("ledger.look", {"commits": False}, ANN)
    with pytest.raises((CapabilityError, RuntimeError)):
        await service.preview("ledger.look", {"commits": True}, ANN)
    assert (await service.submit(add_entry("after"), ANN)).ok
    assert inspector.entries() == {"after": 1}
