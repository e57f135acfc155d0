"""Giving up: a tombstone under the id, so that exactly one of execute and abandon wins."""

import pytest

from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Actor, Command, CommandStatus
from tests.support.command_kit import ANN, BOB, CHIEF, Inspector, add_entry

pytestmark = pytest.mark.anyio


async def test_an_id_that_was_given_up_before_it_was_seen_never_executes(
    service: CommandService, inspector: Inspector
) -> None:
    assert (await service.status("a")).status is CommandStatus.NOT_FOUND
    closed = await service.abandon("a", ANN)
    assert (closed.status, closed.code) == (CommandStatus.FAILED, "abandoned")
    assert (await service.submit(add_entry("a"), ANN)).encode() == closed.encode()
    assert (await service.abandon("a", ANN)).encode() == closed.encode()
    assert inspector.entries() == {}
    assert inspector.events("a") == ["abandoned abandoned"]


async def test_what_was_executed_cannot_be_given_up(service: CommandService, inspector: Inspector) -> None:
    done = await service.submit(add_entry("a"), ANN)
    assert (await service.abandon("a", ANN)).encode() == done.encode()
    assert (await service.abandon("a", CHIEF)).encode() == done.encode()
    assert inspector.entries() == {"a": 1}


async def test_a_failed_command_keeps_its_failure(service: CommandService) -> None:
    command = Command.of("customer.delete", {"id": 1}, command_id="d", expected_version=1)
    failed = await service.submit(command, ANN)
    assert (await service.abandon("d", ANN)).encode() == failed.encode()


async def test_nobody_gives_up_the_command_of_another_actor(service: CommandService, inspector: Inspector) -> None:
    done = await service.submit(add_entry("a"), ANN)
    assert (await service.abandon("a", BOB)).code == "denied"
    assert (await service.abandon("b", BOB)).code == "abandoned"
    assert (await service.status("a")).encode() == done.encode()
    assert inspector.events("a") == ["succeeded", "refused denied"]


@pytest.mark.parametrize("who", [BOB, CHIEF], ids=["another", "operator"])
async def test_an_id_that_somebody_else_closed_is_known_to_whoever_sends_it(
    service: CommandService, inspector: Inspector, who: Actor
) -> None:
    """An operator closes what was lost on the way: whoever waits for it has to learn that, and may give it up too."""
    closed = await service.abandon("b", who)
    assert (await service.status("b", ANN)).encode() == closed.encode()
    assert (await service.submit(add_entry("b"), ANN)).encode() == closed.encode()
    assert (await service.abandon("b", ANN)).encode() == closed.encode()
    assert inspector.entries() == {}


@pytest.mark.parametrize("command_id", ["", "x" * 201, "\n"], ids=["empty", "long", "control"])
async def test_an_id_that_cannot_be_one_is_refused_everywhere(service: CommandService, command_id: str) -> None:
    for answer in (await service.abandon(command_id, ANN), await service.status(command_id)):
        assert answer.status is CommandStatus.REFUSED
