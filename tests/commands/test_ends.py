"""Observers of ends, by the service and by the client: each command of this process that is known to have ended."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentic_qt.commands.client import CommandClient
from agentic_qt.commands.errors import EffectUnknown
from agentic_qt.commands.http import create_app
from agentic_qt.commands.serving import serving
from agentic_qt.commands.values import Command, CommandResult, CommandStatus
from tests.support.bank import Bank, pay, paying
from tests.support.command_kit import ANN, BOB, CHIEF, TOKENS, Inspector, add_entry, make_service
from tests.support.cut_proxy import CutProxy
from tests.support.http_server import PAUSE, ReplayServer, Reply

pytestmark = pytest.mark.anyio


class Listener:
    """Keeps what it was told, and checks where."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.ends: list[tuple[Command, CommandResult]] = []

    def __call__(self, command: Command, result: CommandResult) -> None:
        asyncio.get_running_loop()
        assert command.command_id == result.command_id
        self.ends.append((command, result))
        self.told.append((command.command_id, result.status.value))


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture(params=["embedded", "remote"])
async def port(request: pytest.FixtureRequest, url: str, bank: Bank) -> AsyncIterator[object]:
    async with paying(url, bank) as service:
        if request.param == "embedded":
            yield service
            return
        async with (
            serving(create_app(service, TOKENS)) as base,
            CommandClient(base, "t-ann") as client,
        ):
            yield client


async def test_each_end_is_told_with_its_command_until_the_observer_is_removed(port: CommandClient) -> None:
    heard = Listener()
    remove = port.observe(heard)
    result = await port.submit(add_entry("a"), ANN)
    conflict = Command.of("customer.delete", {"id": 1}, command_id="d", expected_version=1)
    await port.submit(conflict, ANN)
    await port.submit(Command.of("ledger.add", {"entry": 5}, command_id="bad"), ANN)
    await port.submit(add_entry("other", "a"), ANN)
    assert heard.told == [("a", "succeeded"), ("d", "failed")]
    assert heard.ends[0] == (add_entry("a"), result)
    remove()
    remove()
    await port.submit(add_entry("b"), ANN)
    assert len(heard.told) == 2


async def test_duplicates_at_the_same_time_are_one_end(port: CommandClient, inspector: Inspector) -> None:
    heard = Listener()
    port.observe(heard)
    results = await asyncio.gather(*(port.submit(add_entry("a"), ANN) for _ in range(5)))
    assert len({result.encode() for result in results}) == 1
    assert heard.told == [("a", "succeeded")]
    assert inspector.entries() == {"a": 1}


@pytest.mark.parametrize("way", ["abandon", "status"])
async def test_an_end_that_is_found_out_later_is_told(port: CommandClient, bank: Bank, way: str, url: str) -> None:
    heard = Listener()
    port.observe(heard)
    bank.raising = EffectUnknown()
    assert (await port.submit(pay(), ANN)).status is CommandStatus.UNKNOWN
    assert (await port.status("p", ANN)).status is CommandStatus.UNKNOWN
    assert heard.told == []
    if way == "abandon":
        await port.abandon("p", ANN)
    else:
        async with paying(url, bank) as other_process:
            await other_process.abandon("p", ANN)
    for _ in range(2):
        assert (await port.status("p", ANN)).code == "abandoned"
    assert heard.told == [("p", "failed")]
    assert heard.ends[0][0] == pay()


async def test_what_others_did_is_not_told(port: CommandClient, url: str) -> None:
    heard = Listener()
    port.observe(heard)
    async with make_service(url) as other_process:
        await other_process.submit(add_entry("a"), ANN)
    assert (await port.status("a", ANN)).ok
    assert heard.told == []


async def test_an_end_by_the_other_sides_word_is_told(url: str, bank: Bank) -> None:
    heard = Listener()
    bank.raising = EffectUnknown()
    async with paying(url, bank) as service:
        await service.submit(pay(), ANN)
    async with paying(url, bank) as service:  # not even submitted by this process
        service.observe(heard)
        assert (await service.resolve("p", CHIEF)).code == "no_payment"
    assert heard.told == [("p", "failed")]


async def test_an_observer_that_fails_is_logged_and_harms_nobody(
    port: CommandClient, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Listener()

    def fail(_command: Command, _result: CommandResult) -> None:
        raise RuntimeError("a broken view")

    port.observe(fail)
    port.observe(heard)
    assert (await port.submit(add_entry("a"), ANN)).ok
    assert heard.told == [("a", "succeeded")]
    assert "a broken view" in caplog.text


async def test_an_end_is_told_when_nobody_waits_for_it_any_more(port: CommandClient, bank: Bank) -> None:
    """FC-42"""
    heard, told = Listener(), asyncio.Event()
    port.observe(heard)
    port.observe(lambda *_: told.set())
    bank.goes_on = asyncio.Event()
    caller = asyncio.ensure_future(port.submit(pay(), ANN))
    await asyncio.wait_for(bank.asked.wait(), 10)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    bank.goes_on.set()
    await asyncio.wait_for(told.wait(), 10)
    assert heard.told == [("p", "succeeded")]


async def test_an_answer_that_was_lost_is_told_when_it_is_found(url: str) -> None:
    """FC-39"""
    heard = Listener()
    async with (
        make_service(url) as service,
        serving(create_app(service, TOKENS)) as base,
        CutProxy(base) as proxy,
        CommandClient(proxy.url, "t-ann", first_pause=0.01, longest_pause=0.01) as client,
    ):
        client.observe(heard)
        proxy.cuts = 2
        assert (await client.submit(add_entry("a"), ANN)).ok
    assert heard.told == [("a", "succeeded")]


async def test_a_client_that_is_closed_tells_who_waits_that_it_is_unknown() -> None:
    async with ReplayServer(Reply(body=(PAUSE, "{}"))) as server:
        client = CommandClient(server.url, "t")
        waiting = [asyncio.ensure_future(client.submit(add_entry("a"), actor)) for actor in (ANN, ANN)]
        await asyncio.sleep(0)
        await client.close()
        assert [(each.status, each.code) for each in await asyncio.gather(*waiting)] == [
            (CommandStatus.UNKNOWN, "connection_lost")
        ] * 2


async def test_the_client_joins_a_duplicate_and_sends_another_payload_on(url: str, bank: Bank) -> None:
    bank.goes_on = asyncio.Event()
    async with (
        paying(url, bank, wait=0.01) as service,
        serving(create_app(service, TOKENS)) as base,
        CommandClient(base, "t-ann", wait=0.01) as client,
    ):
        first = asyncio.ensure_future(client.submit(pay(), ANN))
        await asyncio.wait_for(bank.asked.wait(), 10)
        assert (await client.submit(pay(), ANN)).code == "in_progress"
        assert (await client.submit(pay(amount=6), ANN)).code == "payload_mismatch"
        assert (await client.submit(pay(), BOB)).code == "in_progress"  # the token is ann's
        bank.goes_on.set()
        assert (await first).ok
