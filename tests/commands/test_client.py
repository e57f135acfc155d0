"""The client of a remote service: what is lost on the way is unknown, and found out under the same id."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from agentic_qt.commands.client import CommandClient
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.http import create_app
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.serving import serving
from agentic_qt.commands.values import Command, CommandStatus, Preview
from agentic_qt.core.errors import CapabilityError
from tests.support.command_kit import ANN, BOB, TOKENS, Inspector, add_entry, make_service
from tests.support.cut_proxy import CutProxy
from tests.support.http_server import PAUSE, ReplayServer, Reply

pytestmark = pytest.mark.anyio


class Pauses:
    """Sleeps of the client, which take no time here."""

    def __init__(self) -> None:
        self.lengths: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.lengths.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
async def proxy(base: str) -> AsyncIterator[CutProxy]:
    async with CutProxy(base) as relay:
        yield relay


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def client(proxy: CutProxy, pauses: Pauses) -> AsyncIterator[CommandClient]:
    async with CommandClient(proxy.url, "t-ann", sleep=pauses) as opened:
        yield opened


async def test_it_answers_as_the_embedded_service_does(
    client: CommandClient, service: CommandService, inspector: Inspector
) -> None:
    sent = await client.submit(add_entry("a"), BOB)
    assert sent == await service.submit(add_entry("a"), ANN) == await client.status("a")
    assert sent.actor == "ann"  # the token's, whatever the caller says
    create = Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c")
    assert (await client.submit(create, ANN)).ok
    assert await client.preview("customer.rename", {"id": 1, "name": "Bea"}, ANN) == Preview(
        facts={"id": 1, "name": "Ada", "version": 1}, version=1
    )
    assert await client.history() == await service.history(actor="ann")
    assert await client.find_open(add_entry("a"), ANN) is None
    assert (await client.abandon("never", ANN)).code == "abandoned"
    assert inspector.entries() == {"a": 1}


async def test_an_answer_lost_after_the_commit_is_found_under_the_same_id(
    client: CommandClient, proxy: CutProxy, inspector: Inspector
) -> None:
    """G29, FC-24, FC-39"""
    proxy.cuts = 1
    result = await client.submit(add_entry("a"), ANN)
    assert (result.status, result.data) == (CommandStatus.SUCCEEDED, {"entry": "a", "ratio": 1.0})
    assert proxy.requests == ["POST /commands HTTP/1.1", "GET /commands/a HTTP/1.1"]
    assert inspector.entries() == {"a": 1}


async def test_questions_come_with_growing_pauses_and_end_unknown_but_never_failed(
    client: CommandClient, proxy: CutProxy, pauses: Pauses, inspector: Inspector
) -> None:
    """FC-04"""
    proxy.cuts = 1000
    result = await client.submit(add_entry("a"), ANN)
    assert (result.status, result.code) == (CommandStatus.UNKNOWN, "connection_lost")
    assert pauses.lengths[:6] == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0]
    assert 30 <= sum(pauses.lengths) < 36
    assert [line.split()[0] for line in proxy.requests] == ["POST"] + ["GET"] * len(pauses.lengths)
    assert {line.split()[1] for line in proxy.requests[1:]} == {"/commands/a"}
    proxy.cuts = 0
    assert (await client.status("a")).ok
    assert (await client.submit(add_entry("a"), ANN)).ok
    assert inspector.entries() == {"a": 1}


async def test_what_was_not_found_is_not_read_as_failed(
    client: CommandClient, proxy: CutProxy, pauses: Pauses, inspector: Inspector
) -> None:
    proxy.refuse = True

    async def mend(seconds: float) -> None:
        proxy.refuse = False
        await pauses(seconds)

    client._sleep = mend
    result = await client.submit(add_entry("a"), ANN)
    assert (result.status, result.code) == (CommandStatus.UNKNOWN, "connection_lost")
    assert inspector.entries() == {}
    closed = await client.abandon("a", ANN)
    assert (closed.code, (await client.submit(add_entry("a"), ANN)).code) == ("abandoned", "abandoned")
    assert inspector.entries() == {}


async def test_a_service_that_cannot_be_reached_was_sent_nothing(pauses: Pauses) -> None:
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with CommandClient(f"http://127.0.0.1:{port}", "t", sleep=pauses) as client:
        result = await client.submit(add_entry("a"), ANN)
        assert (result.status, result.code, result.retryable) == (CommandStatus.REFUSED, "unreachable", True)
        assert pauses.lengths == []
        assert (await client.status("a")).status is CommandStatus.UNKNOWN
        with pytest.raises(CapabilityError, match="unreachable"):
            await client.preview("ledger.add", {"entry": "a"}, ANN)
        with pytest.raises(CommandError, match="unreachable"):
            await client.find_open(add_entry("a"), ANN)


async def test_a_time_out_is_unknown(pauses: Pauses) -> None:
    """FC-04"""
    async with (
        ReplayServer(Reply(body=(PAUSE, "{}"))) as server,
        CommandClient(server.url, "t", timeout=0.1, patience=0.3, sleep=pauses) as client,
    ):
        result = await client.submit(add_entry("a"), ANN)
    assert (result.status, result.code) == (CommandStatus.UNKNOWN, "connection_lost")


async def test_an_answer_that_drips_is_a_time_out_too(pauses: Pauses) -> None:
    """Each piece comes in time, and the whole never would."""

    dripping: list[asyncio.Task[None] | None] = []

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        dripping.append(asyncio.current_task())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, asyncio.timeout(30):
        client = CommandClient(address, "t", timeout=0.2, patience=0.3, sleep=pauses)
        result = await client.submit(add_entry("a"), ANN)
        with pytest.raises(CapabilityError, match="unreachable"):
            await client.preview("ledger.add", {"entry": "a"}, ANN)
        await client.close()
        await asyncio.gather(*(task for task in dripping if task is not None))
    assert (result.status, result.code) == (CommandStatus.UNKNOWN, "connection_lost")


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body="no gzip", headers={"Content-Encoding": "gzip"}),
        Reply(body='{"facts":null,"version":{}}'),
        Reply(body='{"facts":null}'),
        Reply(body="[" * 100_000),
    ],
    ids=["encoding", "version", "field", "depth"],
)
async def test_a_preview_that_is_none_cannot_be_had(reply: Reply) -> None:
    async with ReplayServer(reply) as server, CommandClient(server.url, "t") as client:
        with pytest.raises(CapabilityError):
            await client.preview("ledger.add", {"entry": "a"}, ANN)


@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (Reply(body="<html>", status=502), CommandStatus.UNKNOWN, "connection_lost"),
        (Reply(body="{}", status=200), CommandStatus.UNKNOWN, "connection_lost"),
        (Reply(body='{"command_id":"b","status":"succeeded"}'), CommandStatus.UNKNOWN, "connection_lost"),
        (Reply(body='{"command_id":"a","status":"nonsense"}'), CommandStatus.UNKNOWN, "connection_lost"),
        (Reply(body='{"command_id":"a","status":"failed","code":[]}'), CommandStatus.UNKNOWN, "connection_lost"),
        (Reply(body='{"command_id":"a","status":"failed","version":{}}'), CommandStatus.UNKNOWN, "connection_lost"),
        (Reply(body="", status=307, headers={"Location": "http://127.0.0.1:1/"}), CommandStatus.UNKNOWN,
         "connection_lost"),
        (Reply(body="no", status=401), CommandStatus.REFUSED, "unauthenticated"),
        (Reply(body="no", status=403), CommandStatus.REFUSED, "denied"),
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_proves_nothing(
    reply: Reply, status: CommandStatus, code: str, pauses: Pauses
) -> None:
    async with ReplayServer(reply) as server, CommandClient(server.url, "t", patience=0.3, sleep=pauses) as client:
        result = await client.submit(add_entry("a"), ANN)
    assert (result.status, result.code) == (status, code)


@pytest.mark.parametrize("address", ["http://service.example", "http://10.0.0.1:80", "ftp://127.0.0.1"])
def test_a_token_travels_without_tls_on_this_machine_only(address: str) -> None:
    with pytest.raises(CommandError, match="insecure_url"):
        CommandClient(address, "t")


@pytest.mark.parametrize("command_id", ["", "a/b", "a b", "ä", "..", "x" * 201])
async def test_an_id_that_cannot_travel_is_refused_before_anything_is_sent(
    client: CommandClient, proxy: CutProxy, command_id: str
) -> None:
    assert (await client.submit(add_entry("a", command_id), ANN)).status is CommandStatus.REFUSED
    assert (await client.status(command_id)).status is CommandStatus.REFUSED
    assert proxy.requests == []


async def test_work_that_ends_after_the_client_gave_up_is_found(url: str) -> None:
    """FC-04: the client gave up after a tenth of a second; the work took longer."""
    go_on = asyncio.Event()
    service = make_service(url, wait=0.05)
    asked: list[float] = []

    @service.effect("mail.send", schema={"type": "object", "additionalProperties": False}, permission=None)
    async def send(effect: object) -> str:
        await go_on.wait()
        return "sent"

    async def end_meanwhile(seconds: float) -> None:
        asked.append(seconds)
        if len(asked) == 3:
            go_on.set()
        await asyncio.sleep(0.01)

    async with (
        service,
        serving(create_app(service, TOKENS)) as base,
        CommandClient(base, "t-ann", timeout=0.5, sleep=end_meanwhile) as client,
    ):
        result = await client.submit(Command.of("mail.send", {}, command_id="m-1"), ANN)
    assert (result.status, result.data) == (CommandStatus.SUCCEEDED, "sent")
    assert len(asked) >= 3


async def test_a_command_under_way_is_found_by_its_payload(url: str) -> None:
    """A model that calls again because it saw no result."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    service = make_service(url)

    @service.effect("mail.send", schema={"type": "object", "additionalProperties": False}, permission=None)
    async def send(effect: object) -> str:
        begun.set()
        await go_on.wait()
        return "sent"

    async with (
        service,
        serving(create_app(service, TOKENS)) as base,
        CommandClient(base, "t-ann") as client,
        CommandClient(base, "t-bob") as other,
    ):
        first = asyncio.create_task(client.submit(Command.of("mail.send", {}, command_id="m-1"), ANN))
        await asyncio.wait_for(begun.wait(), 10)
        again = Command.of("mail.send", {}, command_id="m-2")
        found = await client.find_open(again, ANN)
        assert found is not None
        assert (found.command.command_id, found.state.value) == ("m-1", "executing")
        assert await other.find_open(again, BOB) is None
        go_on.set()
        assert (await first).ok
