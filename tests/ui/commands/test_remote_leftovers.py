"""What was submitted to a service that did not answer: looked for again, given up, or known by now."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from agentic_qt.commands.client import CommandClient
from agentic_qt.commands.http import create_app
from agentic_qt.commands.serving import serving
from agentic_qt.commands.tokens import Tokens, hash_token
from agentic_qt.commands.values import Command
from agentic_qt.core.journal import Intent
from tests.support.assistant_stage import until
from tests.support.command_kit import ANN, make_service
from tests.support.cut_proxy import CutProxy
from tests.support.desk_kit import open_window
from tests.support.leftover_stage import LeftoverStage

pytestmark = pytest.mark.anyio


async def at_once(_seconds):
    await asyncio.sleep(0)


class Lost:
    """A delete that was sent to a service, which has not answered; the window is closed."""

    def __init__(self, remote, proxy, client, own_url):
        self.remote, self.proxy, self.client, self.own_url = remote, proxy, client, own_url
        self.command = None

    async def lose(self):
        async with make_service(self.own_url) as own:
            window = open_window(self.client, store=own)
            submit = self.client.submit

            async def lose(command, actor):
                self.command = command
                self.proxy.refuse = True
                return await submit(command, actor)

            self.client.submit = lose
            assert (await window.delete()).status == "unknown"
            await window.desk.close()
            self.client.submit = submit

    @asynccontextmanager
    async def opened(self):
        async with make_service(self.own_url) as own:
            stage = LeftoverStage(self.client, store=own)
            try:
                yield await stage.open()
            finally:
                await stage.close()


@pytest.fixture
async def lost(qapp, url, tmp_path):
    async with (
        make_service(url) as remote,
        serving(create_app(remote, Tokens({hash_token("t"): ANN}))) as base,
        CutProxy(base) as proxy,
        CommandClient(proxy.url, "t", sleep=at_once) as client,
    ):
        await remote.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        made = Lost(remote, proxy, client, f"sqlite:///{tmp_path / 'own.sqlite3'}")
        await made.lose()
        yield made


async def test_it_stays_unknown_while_the_service_does_not_answer(lost, inspector):
    """FC-39: nothing is sent again, and nothing is given up by itself."""
    async with lost.opened() as stage:
        assert [card.left.kind for card in stage.cards] == ["unknown"]
        assert stage.card.left.command_id == lost.command.command_id
        await stage.press(stage.card, "look")
        await until(lambda: "Still not known" in stage.card.status.text())
        await stage.press(stage.card, "give_up")
        await until(lambda: not stage.card.busy)
        await stage.looked()
        assert stage.card.left.kind == "unknown"
        assert not stage.card.ended
    assert inspector.entries() == {}


async def test_giving_up_is_final_and_the_command_can_arrive_no_more(lost, inspector):
    """FC-39, FC-42: a tombstone under the same id decides."""
    lost.proxy.refuse = False
    async with lost.opened() as stage:
        await stage.press(stage.card, "give_up")
        await until(lambda: stage.card.ended)
        assert stage.card.state.word == "Given up"
        assert (await lost.remote.submit(lost.command, ANN)).code == "abandoned"
        await stage.reload()
        assert stage.card.ended
    assert inspector.entries() == {}


async def test_giving_up_what_had_happened_tells_that_it_happened(lost, inspector):
    """FC-39, FC-42"""
    lost.proxy.refuse = False
    async with lost.opened() as stage:
        assert (await lost.remote.submit(lost.command, ANN)).ok
        await stage.press(stage.card, "give_up")
        await until(lambda: stage.card.ended)
        assert stage.card.state.word == "Done"
    assert inspector.entries() == {"delete 1": 1}


async def test_looking_again_tells_what_became_of_it(lost):
    """FC-04, FC-39"""
    async with lost.opened() as stage:
        card = stage.card
        lost.proxy.refuse = False
        assert (await lost.remote.submit(lost.command, ANN)).ok
        await stage.press(card, "look")
        await until(lambda: stage.card.left.kind == "settled")
        assert stage.card.state.word == "Done"
        await stage.press(stage.card, "close")
        await stage.reload()
        assert stage.cards == []


async def test_what_was_found_out_at_the_start_is_told(lost):
    """FC-39"""
    lost.proxy.refuse = False
    assert (await lost.remote.submit(lost.command, ANN)).ok
    async with lost.opened() as stage:
        assert (stage.card.left.kind, stage.card.state.word) == ("settled", "Done")
        assert stage.strip.toggle.text() == "From last time: nothing waits any more"
        assert stage.strip.close_button.isVisible()
        stage.strip.close_button.click()
        assert not stage.strip.isVisible()


async def test_a_call_that_nobody_was_asked_about_is_given_up_as_well(lost, inspector):
    """FC-39: the journal knows the command, and there is no proposal."""
    async with make_service(lost.own_url) as own:
        own.journal.name_commands(lambda _intent: "m-1")
        payload = '{"input":{"entry":"paid"},"name":"ledger.add","targetId":null}'
        await own.journal.intent(
            Intent(
                call_id="x",
                name="ledger.add",
                target_id=None,
                payload=payload,
                digest="a" * 64,
                actor="ann",
                client="assistant",
                run="r",
                at=1.0,
            )
        )
    lost.proxy.refuse = False
    async with lost.opened() as stage:
        card = next(card for card in stage.cards if card.left.title == "Add ledger entry")
        assert (card.left.kind, card.left.command_id) == ("unknown", "m-1")
        await stage.press(card, "give_up")
        await until(lambda: card.ended)
        assert card.state.word == "Given up"
        assert (await lost.remote.status("m-1")).code == "abandoned"
        await stage.reload()
        assert [each.left.title for each in stage.strip.open_cards] == ["Delete customer"]


async def test_the_audit_says_that_the_service_does_not_answer_and_looks_again(lost):
    async with lost.opened() as stage:
        await stage.press(stage.card, "audit")
        view = stage.views.audit_view
        await until(lambda: not view.busy)
        assert view.problem.isVisible()
        assert "cannot be reached" in view.problem.words.text()
        lost.proxy.refuse = False
        assert (await lost.remote.submit(lost.command, ANN)).ok
        view.problem.retry_button.click()
        await until(lambda: not view.busy)
        assert not view.problem.isVisible()
        assert view.word.text() == "Done"
