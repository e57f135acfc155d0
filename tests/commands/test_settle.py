"""An operator's word: what is said of an unknown effect by somebody who found out elsewhere."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from agentic_qt.cli import main
from agentic_qt.commands.client import CommandClient
from agentic_qt.commands.errors import EffectUnknown
from agentic_qt.commands.http import create_app
from agentic_qt.commands.serving import serving
from agentic_qt.commands.values import Command, CommandResult, CommandStatus
from tests.support.bank import Bank, Clock, pay, paying
from tests.support.command_kit import ANN, CHIEF, TOKENS, Inspector, add_entry

pytestmark = pytest.mark.anyio
NOTE = "The statement of 3 May shows it."


@pytest.fixture
def bank() -> Bank:
    silent = Bank()
    silent.raising = EffectUnknown()
    return silent


async def test_an_operator_says_that_it_happened(url: str, bank: Bank) -> None:
    inspector, ends = Inspector(url), []
    async with paying(url, bank, outbox=True) as service:
        service.observe(lambda command, result: ends.append((command, result)))
        await service.submit(pay(), ANN)
        said = await service.settle("p", CHIEF, happened=True, note=NOTE, data={"receipt": "17"})
        assert (said.status, said.data, said.actor) == (CommandStatus.SUCCEEDED, {"receipt": "17"}, "ann")
        assert (await service.submit(pay(), ANN)).encode() == said.encode() == inspector.results()["p"].encode()  # type: ignore[union-attr]
        assert ends[:1] == [(pay(), said)]
        ended, settled, *_ = await service.history(command_id="p")
        assert (settled.event, settled.actor, settled.detail["note"]) == ("settled", "chief", NOTE)
        assert (ended.event, ended.actor) == ("succeeded", "chief")
        assert [each.body["result"]["status"] for each in await service.outbox.waiting()] == ["unknown", "succeeded"]
    assert NOTE not in said.encode().decode()
    assert inspector.events("p") == ["executing", "unknown effect_unknown", "settled", "succeeded"]


async def test_an_operator_says_that_it_did_not_happen(url: str, bank: Bank) -> None:
    async with paying(url, bank) as service:
        await service.submit(pay(), ANN)
        said = await service.settle("p", CHIEF, happened=False, note=NOTE)
        assert (said.status, said.code) == (CommandStatus.FAILED, "not_happened")
        assert (await service.settle("p", CHIEF, happened=True, note=NOTE)).encode() == said.encode()
        assert (await service.abandon("p", CHIEF)).encode() == said.encode()
    assert Inspector(url).events("p")[-2:] == ["settled not_happened", "failed not_happened"]


async def test_who_is_no_operator_says_nothing(url: str, bank: Bank) -> None:
    inspector = Inspector(url)
    async with paying(url, bank) as service:
        await service.submit(pay(), ANN)
        denied = await service.settle("p", ANN, happened=True, note=NOTE)
        assert (denied.status, denied.code) == (CommandStatus.REFUSED, "denied")
        assert (await service.status("p")).status is CommandStatus.UNKNOWN
    assert inspector.events("p")[-1] == "refused denied"


@pytest.mark.parametrize("state", ["succeeded", "executing", "not_found"])
async def test_what_is_not_unknown_stays_as_it_is(url: str, bank: Bank, state: str) -> None:
    inspector = Inspector(url)
    async with paying(url, bank) as service:
        if state == "succeeded":
            await service.submit(add_entry("p"), ANN)
        if state == "executing":
            await service.submit(pay(), ANN)
            inspector.change("UPDATE agentic_command SET state = 'executing', result = NULL")
        before = inspector.results(), inspector.events("p")
        assert (await service.settle("p", CHIEF, happened=False, note=NOTE)).status == state
        assert (inspector.results(), inspector.events("p")) == before


async def test_an_effect_whose_process_died_can_be_settled_when_its_time_is_over(url: str, bank: Bank) -> None:
    clock, inspector = Clock(), Inspector(url)
    async with paying(url, bank, clock=clock) as service:
        await service.submit(pay(), ANN)
        inspector.change("UPDATE agentic_command SET state = 'executing', result = NULL")
        clock.now += 36
        assert (await service.settle("p", CHIEF, happened=True, note=NOTE)).ok
    assert inspector.events("p")[-3:] == ["unknown effect_unknown", "settled", "succeeded"]


@pytest.mark.parametrize(
    "said", [{"note": " "}, {"note": "x" * 2001}, {"data": object()}, {"data": float("nan")}], ids=str
)
async def test_a_word_without_a_reason_or_with_no_json_is_refused(url: str, bank: Bank, said: dict[str, Any]) -> None:
    async with paying(url, bank) as service:
        await service.submit(pay(), ANN)
        refused = await service.settle("p", CHIEF, **{"happened": True, "note": NOTE} | said)
        assert (refused.status, refused.code) == (CommandStatus.REFUSED, "invalid")
        assert (await service.settle("", CHIEF, happened=True, note=NOTE)).code == "missing_id"
        assert (await service.status("p")).status is CommandStatus.UNKNOWN


async def test_over_http_the_token_says_who_is_an_operator(sqlite_url: str, bank: Bank) -> None:
    ends: list[tuple[Command, CommandResult]] = []
    async with (
        paying(sqlite_url, bank) as service,
        serving(create_app(service, TOKENS)) as base,
        CommandClient(base, "t-ann") as ann,
        CommandClient(base, "t-chief") as chief,
    ):
        ann.observe(lambda command, result: ends.append((command, result)))
        await ann.submit(pay(), ANN)
        assert (await ann.settle("p", CHIEF, happened=True, note=NOTE)).code == "denied"
        said = await chief.settle("p", ANN, happened=True, note=NOTE, data={"receipt": 1})
        assert said.encode() == (await ann.status("p")).encode()
        assert (said.status, said.data) == (CommandStatus.SUCCEEDED, {"receipt": 1})
        assert ends == [(pay(), said)]
        assert (await chief.settle("never", CHIEF, happened=True, note=NOTE)).status is CommandStatus.NOT_FOUND


@pytest.mark.parametrize(
    "body", [{}, {"happened": "yes", "note": "n"}, {"happened": True}, {"happened": True, "note": "n", "actor": "x"}]
)
async def test_a_malformed_word_over_http_is_400(sqlite_url: str, bank: Bank, body: dict[str, Any]) -> None:
    headers = {"Authorization": "Bearer t-chief"}
    async with (
        paying(sqlite_url, bank) as service,
        serving(create_app(service, TOKENS)) as base,
        httpx.AsyncClient(base_url=base, headers=headers, trust_env=False) as web,
    ):
        await service.submit(pay(), ANN)
        assert (await web.post("/commands/p/settle", json=body)).status_code == 400
        assert (await service.status("p")).status is CommandStatus.UNKNOWN


@pytest.mark.parametrize(("word", "code"), [("--happened", ""), ("--not-happened", "not_happened")])
async def test_the_command_line_settles_under_the_operators_name(
    sqlite_url: str, bank: Bank, capsys: pytest.CaptureFixture[str], word: str, code: str
) -> None:
    inspector = Inspector(sqlite_url)
    async with paying(sqlite_url, bank) as service:
        await service.submit(pay(), ANN)
    store = sqlite_url.removeprefix("sqlite:///")
    arguments = ["commands", "resolve", "p", "--actor", "ops", "--store", store, "--json"]
    assert await asyncio.to_thread(main, [*arguments, word, "--note", NOTE]) == 0
    assert json.loads(capsys.readouterr().out)["code"] == code
    assert inspector.rows("SELECT actor FROM agentic_audit WHERE event = 'settled'") == [("ops",)]


@pytest.mark.parametrize("wrong", [["--happened"], ["--note", "n"], ["--happened", "--abandon", "--note", "n"]])
def test_a_word_needs_a_note_and_one_meaning(sqlite_url: str, wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["commands", "resolve", "p", "--actor", "ops", "--store", "x", *wrong])
    assert ended.value.code == 2
