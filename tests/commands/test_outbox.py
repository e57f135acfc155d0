"""Messages for elsewhere: written with the command, shipped at least once, in order within an aggregate."""

from collections.abc import AsyncIterator

import pytest

from agentic_qt.commands.outbox import OutboxMessage
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Command
from tests.support.command_kit import ANN, Inspector, make_service

pytestmark = pytest.mark.anyio


@pytest.fixture
async def service(url: str) -> AsyncIterator[CommandService]:
    async with make_service(url, outbox=True) as started:
        yield started


async def submit(service: CommandService, *places: tuple[str, str]) -> None:
    for entry, target in places:
        command = Command.of("ledger.add", {"entry": entry}, command_id=entry, target=target)
        assert (await service.submit(command, ANN)).ok


class Receiver:
    def __init__(self) -> None:
        self.got: list[tuple[str, int]] = []
        self.refusing: set[str] = set()

    async def __call__(self, message: OutboxMessage) -> None:
        command_id = message.body["result"]["command_id"]
        if command_id in self.refusing:
            raise ConnectionError("down")
        self.got.append((command_id, message.sequence))


async def test_each_end_of_a_command_is_shipped_once_in_the_order_of_its_aggregate(service: CommandService) -> None:
    await submit(service, ("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b"))
    receiver = Receiver()
    assert await service.outbox.ship(receiver) == 4
    assert receiver.got == [("a1", 1), ("a2", 2), ("b1", 1), ("b2", 2)]
    assert await service.outbox.ship(receiver) == 0


async def test_a_message_that_cannot_be_sent_holds_back_its_aggregate_and_no_other(service: CommandService) -> None:
    await submit(service, ("a1", "a"), ("b1", "b"), ("a2", "a"))
    receiver = Receiver()
    receiver.refusing.add("a1")
    assert await service.outbox.ship(receiver) == 1
    assert receiver.got == [("b1", 1)]
    receiver.refusing.clear()
    assert await service.outbox.ship(receiver) == 2
    assert receiver.got == [("b1", 1), ("a1", 1), ("a2", 2)]


async def test_an_arrival_that_could_not_be_noted_is_sent_again(
    service: CommandService, monkeypatch: pytest.MonkeyPatch
) -> None:
    await submit(service, ("a1", "a"))
    receiver = Receiver()

    async def crash(_message_id: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(service.outbox, "_note_shipped", crash)
    with pytest.raises(KeyboardInterrupt):
        await service.outbox.ship(receiver)
    monkeypatch.undo()
    assert await service.outbox.ship(receiver) == 1
    assert receiver.got == [("a1", 1), ("a1", 1)]


async def test_pruning_keeps_what_was_not_shipped_and_the_count_of_each_aggregate(
    service: CommandService, inspector: Inspector
) -> None:
    await submit(service, ("a1", "a"), ("a2", "a"))
    receiver = Receiver()
    await service.outbox.ship(receiver)
    await submit(service, ("b1", "b"))
    assert await service.outbox.prune(before=4e9) == 1
    await submit(service, ("a3", "a"))
    await service.outbox.ship(receiver)
    assert receiver.got[-2:] == [("a3", 3), ("b1", 1)]


async def test_a_message_is_rolled_back_with_its_command(url: str) -> None:
    def fail(label: str) -> None:
        if label == "outbox":
            raise RuntimeError(label)

    async with make_service(url, outbox=True, faults=fail) as service:
        assert (await service.submit(Command.of("ledger.add", {"entry": "x"}, command_id="x"), ANN)).code
        assert await service.outbox.waiting() == ()


async def test_the_longest_target_has_messages_in_order_too(service: CommandService) -> None:
    """An index of PostgreSQL takes 2,704 bytes: with more each such command was a `store_error` for ever."""
    long = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(1000))
    other = long[:-1] + "x"
    await submit(service, ("a1", long), ("a2", long), ("b1", other))
    receiver = Receiver()
    assert await service.outbox.ship(receiver) == 3
    assert sorted(receiver.got) == [("a1", 1), ("a2", 2), ("b1", 1)]
