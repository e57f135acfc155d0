"""The service over HTTP, by a real server on loopback: what each status means, and who may ask."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentic_qt.commands import wire
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.http import create_app
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.serving import serving
from agentic_qt.commands.tokens import Tokens, token_entry
from agentic_qt.commands.values import Command, CommandResult
from tests.support.command_kit import ANN, TOKENS, Inspector, add_entry, make_service

pytestmark = pytest.mark.anyio
KEY = {"Idempotency-Key": '"c-1"'}


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
async def ann(base: str) -> AsyncIterator[httpx.AsyncClient]:
    async with web(base, "t-ann") as client:
        yield client


def web(base: str, token: str | None) -> httpx.AsyncClient:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(base_url=base, headers=headers, trust_env=False)


def body(entry: str = "a", **fields: Any) -> dict[str, Any]:
    return {"type": "ledger.add", "input": {"entry": entry}, **fields}


async def test_a_command_is_executed_once_and_replayed_byte_for_byte(
    ann: httpx.AsyncClient, inspector: Inspector
) -> None:
    """FC-24"""
    first = await ann.post("/commands", json=body(), headers=KEY)
    again = await ann.post("/commands", json=body(), headers=KEY)
    asked = await ann.get("/commands/c-1")
    assert (first.status_code, first.json()["status"], first.json()["actor"]) == (200, "succeeded", "ann")
    assert first.content == again.content == asked.content == inspector.results()["c-1"].encode()
    assert inspector.entries() == {"a": 1}


@pytest.mark.parametrize("header", [None, '""', "c-1", "'c-1'", '"c-1', '"c/1"', '"a" "b"', '"ä"'])
async def test_a_missing_or_malformed_key_is_400(
    ann: httpx.AsyncClient, inspector: Inspector, header: str | None
) -> None:
    headers = [] if header is None else [(b"Idempotency-Key", header.encode())]
    answer = await ann.post("/commands", json=body(), headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (400, wire.PROBLEM_TYPE)
    assert answer.json()["title"] == ("missing_id" if header in (None, '""') else "invalid")
    assert inspector.entries() == {}


async def test_two_keys_are_none(ann: httpx.AsyncClient, inspector: Inspector) -> None:
    headers = [("Idempotency-Key", '"a"'), ("Idempotency-Key", '"b"')]
    assert (await ann.post("/commands", json=body(), headers=headers)).status_code == 400
    assert inspector.entries() == {}


@pytest.mark.parametrize("other", [body("b"), body(target="x"), body(expectedVersion=1)])
async def test_the_same_key_with_another_payload_is_422(
    ann: httpx.AsyncClient, inspector: Inspector, other: dict[str, Any]
) -> None:
    """FC-22"""
    await ann.post("/commands", json=body(), headers=KEY)
    answer = await ann.post("/commands", json=other, headers=KEY)
    assert (answer.status_code, answer.json()["title"]) == (422, "payload_mismatch")
    assert answer.json()["result"]["data"] is None
    assert inspector.entries() == {"a": 1}


async def test_another_actor_gets_nothing_of_a_used_key(base: str, ann: httpx.AsyncClient) -> None:
    await ann.post("/commands", json=body(), headers=KEY)
    async with web(base, "t-bob") as bob, web(base, "t-chief") as chief:
        assert (await bob.post("/commands", json=body(), headers=KEY)).status_code == 422
        assert (await bob.get("/commands/c-1")).status_code == 404
        assert (await bob.post("/commands/c-1/abandon")).status_code == 403
        assert (await chief.get("/commands/c-1")).status_code == 200


async def test_a_duplicate_in_flight_is_409_with_a_time_to_come_back(url: str) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    service = make_service(url, wait=0.05)

    @service.effect("mail.send", schema={"type": "object", "additionalProperties": False}, permission=None)
    async def send(effect: Any) -> str:
        begun.set()
        await go_on.wait()
        return "sent"

    mail = {"type": "mail.send", "input": {}}
    async with service, serving(create_app(service, TOKENS)) as base, web(base, "t-ann") as ann:
        first = asyncio.create_task(ann.post("/commands", json=mail, headers=KEY))
        await asyncio.wait_for(begun.wait(), 10)
        second = await ann.post("/commands", json=mail, headers=KEY)
        asked = await ann.get("/commands/c-1")
        go_on.set()
        assert (second.status_code, second.json()["title"], second.headers["Retry-After"]) == (409, "in_progress", "1")
        assert (asked.status_code, asked.json()["status"]) == (200, "executing")
        assert (await first).json()["data"] == "sent"


@pytest.mark.parametrize("field", ["actor", "permissions", "result"])
async def test_who_acts_comes_from_the_token_alone(ann: httpx.AsyncClient, inspector: Inspector, field: str) -> None:
    """FC-18"""
    answer = await ann.post("/commands", json=body() | {field: "chief"}, headers=KEY)
    assert (answer.status_code, answer.json()["title"]) == (400, "forged_field")
    forged = {"type": "ledger.add", "input": {"entry": "a", "approved": True}}
    assert (await ann.post("/commands", json=forged, headers=KEY)).json()["title"] == "forged_field"
    assert inspector.entries() == {}


async def test_a_denied_actor_is_403_and_leaves_the_id_to_the_rightful_one(base: str, inspector: Inspector) -> None:
    create = {"type": "customer.create", "input": {"id": 1, "name": "Ada"}}
    async with web(base, "t-chief") as chief, web(base, "t-ann") as ann:
        denied = await chief.post("/commands", json=create, headers=KEY)
        assert (denied.status_code, denied.json()["title"]) == (403, "denied")
        assert (await ann.post("/commands", json=create, headers=KEY)).json()["status"] == "succeeded"
    assert inspector.events("c-1") == ["refused denied", "succeeded"]


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"type":"ledger.add"}', b'{"type":1,"input":{}}', b'{"type":"ledger.add","input":[]}',
     b'{"type":"ledger.add","input":{"entry":"a"},"expectedVersion":true}',
     b'{"type":"ledger.add","input":{"entry":"a"},"more":1}', b'{"type":"x","type":"y","input":{}}',
     b'{"type":"ledger.add","input":{"entry":NaN}}', b'{"type":"none.such","input":{}}', b"[" * 5000],
)  # fmt: skip
async def test_a_body_that_is_no_command_is_400(ann: httpx.AsyncClient, inspector: Inspector, content: bytes) -> None:
    assert (await ann.post("/commands", content=content, headers=KEY)).status_code == 400
    assert inspector.entries() == {}


async def test_a_body_without_end_is_cut_off(ann: httpx.AsyncClient) -> None:
    answer = await ann.post("/commands", content=b" " * (wire.MAX_BODY + 1), headers=KEY)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer"}, {"Authorization": "Basic t-ann"},
     {"Authorization": "t-ann"}],
)  # fmt: skip
async def test_nothing_is_answered_without_a_valid_token(base: str, headers: dict[str, str]) -> None:
    posts = ["/commands", "/commands/c-1/abandon", "/commands/c-1/settle", "/previews", "/open-commands"]
    async with web(base, None) as client:
        for method, path in [*(("POST", path) for path in posts), ("GET", "/commands/c-1"), ("GET", "/history")]:
            answer = await client.request(method, path, headers=headers | KEY)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://127.0.0.1"}, {"Origin": "null"}])
async def test_a_browser_or_a_foreign_host_is_refused(ann: httpx.AsyncClient, headers: dict[str, str]) -> None:
    assert (await ann.post("/commands", json=body(), headers=KEY | headers)).status_code == 403
    assert (await ann.get("/health", headers=headers)).status_code == 403


async def test_an_abandoned_id_can_no_longer_execute(ann: httpx.AsyncClient, inspector: Inspector) -> None:
    closed = await ann.post("/commands/c-1/abandon")
    late = await ann.post("/commands", json=body(), headers=KEY)
    assert closed.json()["code"] == late.json()["code"] == "abandoned"
    assert inspector.entries() == {}


async def test_a_version_conflict_is_a_stored_result(ann: httpx.AsyncClient, inspector: Inspector) -> None:
    """FC-25"""
    await ann.post("/commands", json={"type": "customer.create", "input": {"id": 1, "name": "Ada"}}, headers=KEY)
    rename = {"type": "customer.rename", "input": {"id": 1, "name": "Bea"}, "expectedVersion": 7}
    first = await ann.post("/commands", json=rename, headers={"Idempotency-Key": '"c-2"'})
    again = await ann.post("/commands", json=rename, headers={"Idempotency-Key": '"c-2"'})
    assert (first.status_code, first.json()["code"], first.json()["version"]) == (200, "version_conflict", 1)
    assert first.content == again.content
    assert inspector.rows("SELECT name FROM customer") == [("Ada",)]


async def test_history_shows_others_to_operators_only(base: str, ann: httpx.AsyncClient) -> None:
    await ann.post("/commands", json=body(), headers=KEY)
    async with web(base, "t-bob") as bob, web(base, "t-chief") as chief:
        assert (await bob.get("/history")).json() == {"entries": []}
        assert (await bob.get("/history", params={"actor": "ann"})).status_code == 403
        assert [entry["actor"] for entry in (await chief.get("/history")).json()["entries"]] == ["ann"]
        assert (await ann.get("/history", params={"limit": "x"})).status_code == 400


async def test_health_needs_no_token_and_tells_nothing_else(base: str, service: CommandService) -> None:
    async with web(base, None) as client:
        healthy = await client.get("/health")
        assert (healthy.status_code, healthy.json()) == (200, {"status": "ok"})
        await service.close()
        assert (await client.get("/health")).status_code == 503


async def test_a_closed_store_is_503_and_leaks_nothing(ann: httpx.AsyncClient, service: CommandService) -> None:
    await service.close()
    answer = await ann.post("/commands", json=body(), headers=KEY)
    assert answer.status_code == 503
    assert "sqlite" not in answer.text.lower()


async def test_an_authenticator_may_be_async(service: CommandService) -> None:
    async def authenticate(token: str) -> Any:
        return ANN if token == "async" else None

    async with serving(create_app(service, authenticate)) as base, web(base, "async") as client:
        assert (await client.post("/commands", json=body(), headers=KEY)).status_code == 200


def test_a_file_of_tokens_keeps_hashes_only(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"tokens": [token_entry("secret", "ann", ["customer.write"])]}))
    tokens = Tokens.load(file)
    assert "secret" not in file.read_text()
    actor = tokens("secret")
    assert actor is not None
    assert (actor.name, actor.permissions) == ("ann", frozenset({"customer.write"}))
    assert tokens("Secret") is None


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"tokens":[{}]}', '{"tokens":[{"sha256":"00","actor":"a"}]}',
     json.dumps({"tokens": [{"sha256": "0" * 64, "actor": ""}]}),
     json.dumps({"tokens": [{"sha256": "0" * 64, "actor": "a", "permissions": "all"}]})],
)  # fmt: skip
def test_a_broken_file_of_tokens_lets_nobody_in(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(text)
    with pytest.raises(CommandError, match="bad_tokens"):
        Tokens.load(file)


def test_a_command_and_its_answer_survive_the_wire() -> None:
    command = Command.of(
        "a.b", {"x": [1, "ü", None]}, command_id="c", target="t", expected_version="3", proposal_id="p",
        approved_by="ann", approved_at=1.5,
    )  # fmt: skip
    assert wire.decode_command(wire.encode_command(command), "c") == command
    result = CommandResult.decode(b'{"command_id":"c","status":"refused","code":"busy","retryable":true}')
    assert wire.decode_answer(wire.encode_answer(result), "c") == result
    with pytest.raises(wire.WireError):
        wire.decode_answer(wire.encode_answer(result), "d")
    assert add_entry("a").command_id == "a"
