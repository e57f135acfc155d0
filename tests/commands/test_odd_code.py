"""What an application's own code returns, raises and does past its session: an answer that is true, and no hang."""

import asyncio
import datetime as dt
import math
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Command, CommandResult, CommandStatus
from agentic_qt.core.errors import CapabilityError
from tests.support.command_kit import ANN, CHIEF, Inspector, add_entry, ledger, make_service, schema

pytestmark = pytest.mark.anyio
Code = Callable[..., Any]


def leave(error: BaseException) -> Code:
    def code(*_: Any) -> Any:
        raise error

    return code


ODD: dict[str, Code] = {
    "StopIteration": leave(StopIteration()),
    "SystemExit": leave(SystemExit(3)),
    "KeyboardInterrupt": leave(KeyboardInterrupt()),
    "CancelledError": leave(asyncio.CancelledError()),
    "KeyError": leave(KeyError("secret")),
    "datetime": lambda *_: dt.datetime(2024, 5, 3, tzinfo=dt.UTC),
    "set": lambda *_: {1},
    "surrogate": lambda *_: "\ud800",
    "integer": lambda *_: 2**60,
}
NO_VERSION: dict[str, Code] = {"bool": lambda *_: True, "float": lambda *_: 1.0, "list": lambda *_: [1]}
NO_NAME: dict[str, Code] = {"none": lambda *_: None, "number": lambda *_: 1, "nul": lambda *_: "a\x00"}
WORDS = {
    "no code": CapabilityError(""),
    "long code": CapabilityError("x" * 201),
    "control": CapabilityError("a\x00"),
    "surrogate": CapabilityError("\ud800"),
    "number": CapabilityError(5),  # type: ignore[arg-type]
    "hint": CapabilityError("a", object()),  # type: ignore[arg-type]
    "applied": CapabilityError("a", applied={1}),
}


async def submit(service: CommandService, neighbours: int, **options: Any) -> CommandResult:
    """Register a type of which a part is odd, and submit one command of it, with neighbours in its group."""
    handler = options.pop("handler", lambda *_: 1)

    def work(session: Session, input_: dict[str, Any], actor: object) -> Any:
        session.execute(insert(ledger).values(entry="odd"))
        return handler(session, input_, actor)

    service.command("ledger.odd", schema=schema(), permission=None, **options)(work)
    version = 1 if "version_of" in options else None
    odd = Command.of("ledger.odd", {}, command_id="odd-1", expected_version=version)
    near = [add_entry(f"near-{number}") for number in range(neighbours)]
    async with asyncio.timeout(30):
        result, *others = await asyncio.gather(*(service.submit(each, ANN) for each in (odd, *near)))
        assert all(other.ok for other in others)
        assert (await service.submit(add_entry("after"), ANN)).ok
        assert await service.status("odd-1", ANN) == result == await service.submit(odd, ANN)
    return result


@pytest.mark.parametrize("neighbours", [0, 3])
@pytest.mark.parametrize(
    ("part", "how"),
    [
        *[("version_of", how) for how in {**ODD, **NO_VERSION}],
        *[("aggregate_of", how) for how in {**ODD, **NO_NAME} if how != "integer"],
        *[("handler", how) for how in ODD],
    ],
)
async def test_what_cannot_be_used_is_a_failure_with_everything_undone(
    service: CommandService, inspector: Inspector, part: str, how: str, neighbours: int
) -> None:
    result = await submit(service, neighbours, **{part: {**ODD, **NO_VERSION, **NO_NAME}[how]})
    assert (result.status, result.code) == (CommandStatus.FAILED, "handler_error")
    assert "secret" not in result.hint
    assert inspector.entries() == {f"near-{number}": 1 for number in range(neighbours)} | {"after": 1}
    assert inspector.events("odd-1") == ["failed handler_error"]


@pytest.mark.parametrize("how", [*ODD, "nan", "long"])
@pytest.mark.parametrize("part", ["preview_of", "version_of"])
async def test_a_preview_that_cannot_be_used_says_so_and_leaves_the_loop_alone(
    service: CommandService, part: str, how: str
) -> None:
    """A person is waiting: on Python 3.11 a StopIteration left them waiting for ever."""
    odd = ODD | {"nan": lambda *_: math.nan, "long": lambda *_: "x" * 2_000_000}
    service.command("ledger.odd", schema=schema(), permission=None, **{part: odd[how]})(lambda *_: None)
    async with asyncio.timeout(30):
        with pytest.raises(CapabilityError) as raised:
            await service.preview("ledger.odd", {}, ANN)
    assert (raised.value.code, raised.value.hint) == ("handler_error", "It could not be previewed.")


@pytest.mark.parametrize("neighbours", [0, 3])
@pytest.mark.parametrize("how", WORDS)
async def test_a_failure_in_words_that_cannot_be_stored_is_a_failure(
    service: CommandService, inspector: Inspector, how: str, neighbours: int
) -> None:
    result = await submit(service, neighbours, handler=leave(WORDS[how]))
    assert (result.status, result.code) == (CommandStatus.FAILED, "handler_error")
    assert "odd" not in inspector.entries()


async def test_the_first_answer_has_the_data_of_every_replay(service: CommandService) -> None:
    """`==`, and not only the same bytes: what a model is told is no tuple the first time and a list the next."""
    result = await submit(service, 0, handler=lambda *_: (1, 2.0, {"a": (3,)}))
    assert result.data == [1, 2, {"a": [3]}]


@pytest.mark.parametrize("how", ["DELETE FROM agentic_command", "UPDATE agentic_command SET state = 'failed'"])
async def test_a_handler_that_touches_its_own_command_fails(
    service: CommandService, inspector: Inspector, how: str
) -> None:
    """Else it would succeed with an effect and without a stored result, and happen again."""
    result = await submit(service, 0, handler=lambda session, *_: session.execute(text(how)) and None)
    assert (result.status, result.code) == (CommandStatus.FAILED, "handler_error")
    assert inspector.entries() == {"after": 1}


@pytest.mark.parametrize("statement", ["/* now */ COMMIT", "-- now\nCOMMIT", "; COMMIT"])
async def test_a_commit_behind_a_comment_is_one(service: CommandService, inspector: Inspector, statement: str) -> None:
    result = await submit(service, 0, handler=lambda session, *_: session.execute(text(statement)))
    assert (result.status, result.code) == (CommandStatus.FAILED, "handler_error")
    assert inspector.entries() == {"after": 1}


@pytest.mark.parametrize("neighbours", [0, 3])
async def test_a_commit_past_sqlalchemy_is_unknown_and_can_be_settled(
    service: CommandService, inspector: Inspector, neighbours: int
) -> None:
    """Nothing can keep a handler from it; "nothing was changed" would be a lie, and `executing` for ever no way out."""
    result = await submit(
        service, neighbours, handler=lambda session, *_: session.connection().connection.driver_connection.commit()
    )
    assert (result.status, result.code) == (CommandStatus.UNKNOWN, "effect_unknown")
    assert inspector.entries()["odd"] == 1
    again = Command.of("ledger.odd", {}, command_id="odd-2")
    assert (found := await service.find_open(again, ANN)) is not None
    assert found.command.command_id == "odd-1"
    settled = await service.settle("odd-1", CHIEF, happened=True, note="Its row is there.")
    assert (settled.status, await service.status("odd-1", ANN)) == (CommandStatus.SUCCEEDED, settled)


async def test_tables_that_cannot_be_made_leave_a_start_that_failed(sqlite_url: str) -> None:
    """And no start that waits for ever, or that ends the loop."""
    for how in ("StopIteration", "SystemExit", "CancelledError"):
        async with asyncio.timeout(30):
            with pytest.raises(RuntimeError, match=how):
                await make_service(sqlite_url, on_start=ODD[how]).start()
    async with make_service(sqlite_url) as service:
        assert (await service.submit(add_entry("a"), ANN)).ok


async def test_a_question_has_a_page_however_it_is_asked(service: CommandService) -> None:
    """A negative limit is none for SQLite, and an error for PostgreSQL."""
    assert (await service.submit(add_entry("a"), ANN)).ok
    assert await service.history(limit=-1) == ()
    assert await service.records(limit=-1) == ()
