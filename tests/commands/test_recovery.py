"""After a crash: what is offered again, what is known by now, what stays unknown; and nothing runs by itself."""

import asyncio
import sys
from contextlib import closing
from typing import Any

import pytest

from agentic_qt.commands.capability import command_capability
from agentic_qt.commands.client import CommandClient
from agentic_qt.commands.errors import CommandError, EffectUnknown
from agentic_qt.commands.http import create_app
from agentic_qt.commands.library import choose_library
from agentic_qt.commands.recovery import Leftovers, Recovery
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.serving import serving
from agentic_qt.commands.tokens import Tokens, hash_token
from agentic_qt.commands.values import Actor, Command
from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.journal import Intent
from tests.soak.commands_windows import run
from tests.support.command_kit import ANN, Inspector, lose_lock, make_service
from tests.support.crashing_window import CRASH
from tests.support.cut_proxy import CutProxy
from tests.support.desk_kit import Window, open_window

pytestmark = pytest.mark.anyio


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


async def crash(url: str, point: str) -> None:
    """Let another process end at a point."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.crashing_window", url, point, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == CRASH, errors.decode()


async def test_a_waiting_approval_is_offered_again_and_never_runs_by_itself(url: str, inspector: Inspector) -> None:
    """G31, FC-38"""
    await crash(url, "asked")
    async with make_service(url) as service:
        window = open_window(service)
        left = await window.recovery.look()
        assert [(p.type, p.data(), p.reason) for p in left.waiting] == [("customer.delete", {"id": 1}, "asked for")]
        assert (left.unknown, left.settled, left.interrupted) == ((), (), ())
        assert (window.asked, inspector.entries()) == ([], {})
        outcome = await window.recovery.resume(left.waiting[0].proposal_id)
        assert (outcome.status, outcome.command_id) == (Status.OK, left.waiting[0].command_id)
        assert (len(window.asked), window.asked[0].reason) == (1, "asked for")
        assert inspector.entries() == {"delete 1": 1}
        assert await window.recovery.look() == Leftovers()
        with pytest.raises(CommandError, match="bad_transition"):
            await window.recovery.resume(left.waiting[0].proposal_id)


async def test_a_waiting_approval_can_be_discarded(url: str, inspector: Inspector) -> None:
    """FC-38"""
    await crash(url, "asked")
    async with make_service(url) as service:
        window = open_window(service)
        (waiting,) = (await window.recovery.look()).waiting
        assert await window.recovery.discard(waiting.proposal_id) is None
        assert (await service.proposals.get(waiting.proposal_id)).state.value == "cancelled"
        assert (await window.recovery.look()).waiting == ()
    assert inspector.entries() == {}


@pytest.mark.parametrize("why", ["store", "suspended", "nobody", "journal"])
async def test_a_resumed_question_that_only_came_at_a_bad_moment_waits_on(
    url: str, inspector: Inspector, why: str
) -> None:
    """FC-38: whoever resumed it loses it to nothing that passes."""
    await crash(url, "asked")
    async with make_service(url) as service:
        window = open_window(service)
        (waiting,) = (await window.recovery.look()).waiting
        registration = window.registry.find("customer.delete")
        assert registration is not None
        preview, intent = service.preview, service.journal.intent

        async def fails(*_: Any) -> Any:
            raise CommandError("store_error", "The store of commands could not do it; see the log.")

        if why == "store":
            service.preview = fails  # type: ignore[method-assign]
        elif why == "journal":
            service.journal.intent = fails  # type: ignore[method-assign]
        elif why == "suspended":
            registration.suspend()
        else:
            window.detach()
        outcome = await window.recovery.resume(waiting.proposal_id)
        assert outcome.status in (Status.FAILED, Status.UNAVAILABLE, Status.DENIED)
        service.preview, service.journal.intent = preview, intent  # type: ignore[method-assign]
        registration.resume()
        window.detach = window.registry.approvals.attach(window._show)
        (again,) = (await window.recovery.look()).waiting
        assert again.proposal_id == waiting.proposal_id
        assert (await window.recovery.resume(again.proposal_id)).status is Status.OK
        assert await window.recovery.look() == Leftovers()
    assert inspector.entries() == {"delete 1": 1}


async def test_a_no_to_what_was_resumed_is_the_end_of_it(url: str, inspector: Inspector) -> None:
    await crash(url, "asked")
    async with make_service(url) as service:
        window = open_window(service)
        window.answer = window.registry.approvals.deny
        (waiting,) = (await window.recovery.look()).waiting
        assert (await window.recovery.resume(waiting.proposal_id)).code == "person"
        assert await window.recovery.look() == Leftovers()
    assert inspector.rows("SELECT state FROM agentic_proposal") == [("rejected",)]


async def test_an_offer_is_read_anew_when_the_row_changed_meanwhile(url: str, inspector: Inspector) -> None:
    """FC-22"""
    await crash(url, "asked")
    async with make_service(url) as service:
        rename = Command.of("customer.rename", {"id": 1, "name": "Bea"}, command_id="r", expected_version=1)
        assert (await service.submit(rename, ANN)).ok
        window = open_window(service)
        (waiting,) = (await window.recovery.look()).waiting
        assert (await window.recovery.resume(waiting.proposal_id)).status is Status.OK
        assert window.asked[0].facts == {"id": 1, "name": "Bea", "version": 2}
    assert inspector.entries() == {"delete 1": 1}


@pytest.mark.parametrize("point", ["approved", "claimed", "effect", "audit", "before_commit"])
async def test_what_was_approved_and_not_executed_is_offered_again_and_asked_anew(
    url: str, inspector: Inspector, point: str
) -> None:
    """G31, FC-39: in a store of one's own an absent id after a restart means that nothing happened."""
    await crash(url, point)
    async with make_service(url) as service:
        window = open_window(service)
        left = await window.recovery.look()
        assert (len(left.waiting), left.unknown, left.settled, left.interrupted) == (1, (), (), ())
        assert inspector.entries() == {}
        old = left.waiting[0].command_id
        outcome = await window.recovery.resume(left.waiting[0].proposal_id)
        assert (outcome.status, len(window.asked)) == (Status.OK, 1)
        assert (await service.status(old)).code == "abandoned"
        assert inspector.entries() == {"delete 1": 1}
        assert await window.recovery.look() == Leftovers()


async def test_what_was_committed_and_not_answered_is_known_after_the_restart(url: str, inspector: Inspector) -> None:
    """FC-39"""
    await crash(url, "committed")
    async with make_service(url) as service:
        window = open_window(service)
        assert inspector.rows("SELECT status FROM agentic_intent") == [(None,)]
        left = await window.recovery.look()
        assert (left.waiting, left.unknown, left.interrupted) == ((), (), ())
        assert inspector.rows("SELECT status FROM agentic_intent") == [("ok",)]
        assert inspector.rows("SELECT state FROM agentic_proposal") == [("succeeded",)]
        assert (window.asked, inspector.entries()) == ([], {"delete 1": 1})


async def test_a_closed_window_leaves_its_question_for_the_next_start(url: str, inspector: Inspector) -> None:
    """FC-38, FC-09"""
    async with make_service(url) as service:
        await service.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        window = open_window(service)
        window.answer = lambda request: None
        pending = asyncio.create_task(window.delete())
        async with asyncio.timeout(10):
            while not window.asked:  # noqa: ASYNC110 - what is waited for tells nobody
                await asyncio.sleep(0.005)
        assert (await window.recovery.look()).waiting == ()  # it is being asked right here
        window.registry.close()
        assert (await pending).status in (Status.DENIED, Status.CANCELLED)
        await window.desk.close()
    async with make_service(url) as service:
        assert len((await open_window(service).recovery.look()).waiting) == 1
    assert inspector.entries() == {}


async def test_a_stopped_or_expired_question_is_not_offered_again(url: str, inspector: Inspector) -> None:
    async with make_service(url) as service:
        await service.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        for end in ("stopped", "expired"):
            window = open_window(service)
            approvals = window.registry.approvals
            window.answer = {
                "stopped": lambda request, window=window: window.registry.cancel("d"),
                "expired": lambda request, approvals=approvals: approvals.deny(request, code="expired"),
            }[end]
            assert not (await window.delete(id="d")).ok
            await window.desk.close()
            assert (await window.recovery.look()).waiting == ()
    assert inspector.rows("SELECT state FROM agentic_proposal ORDER BY created_at") == [("cancelled",), ("expired",)]


async def test_a_question_whose_time_is_over_is_not_offered_again(url: str, inspector: Inspector) -> None:
    """Nobody could approve it: Resume would ask, and then refuse the answer."""
    async with make_service(url) as service:
        window = open_window(service)
        proposal = await service.proposals.propose("customer.delete", {"id": 1}, ANN, expires_at=1.0)
        await service.proposals.offer(proposal.proposal_id)
        assert await window.recovery.look() == Leftovers()
    assert inspector.rows("SELECT state FROM agentic_proposal") == [("expired",)]


async def test_nobody_is_offered_what_was_proposed_for_somebody_else(url: str) -> None:
    await crash(url, "asked")
    async with make_service(url) as service:
        window = open_window(service, actor_of=lambda name: Actor(name="bob") if name == "bob" else None)
        assert await window.recovery.look() == Leftovers()
        (proposal,) = await service.proposals.waiting()
        for act in (window.recovery.resume, window.recovery.discard):
            with pytest.raises(CommandError, match="no_proposal"):
                await act(proposal.proposal_id)


async def test_with_a_remote_service_an_absent_id_stays_unknown_until_it_is_discarded(
    url: str, tmp_path: Any, inspector: Inspector
) -> None:
    """FC-39: the command may still be on its way; a tombstone under its id decides."""

    async def at_once(_seconds: float) -> None:
        await asyncio.sleep(0)

    own_url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
    async with (
        make_service(url) as remote,
        serving(create_app(remote, Tokens({hash_token("t"): ANN}))) as base,
        CutProxy(base) as proxy,
        CommandClient(proxy.url, "t", sleep=at_once) as client,
    ):
        await remote.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        async with make_service(own_url) as own:
            window = open_window(client, store=own)
            sent: list[Command] = []

            async def lose(command: Command, actor: Actor) -> Any:
                sent.append(command)
                proxy.refuse = True
                return await CommandClient.submit(client, command, actor)

            client.submit = lose  # type: ignore[method-assign]
            assert (await window.delete()).status is Status.UNKNOWN
            await window.desk.close()
        proxy.refuse = False
        async with make_service(own_url) as own:
            window = open_window(client, store=own)
            left = await window.recovery.look()
            assert (left.waiting, len(left.unknown), left.interrupted) == ((), 1, ())
            result = await window.recovery.discard(left.unknown[0].proposal.proposal_id)
            assert result is not None
            assert result.code == "abandoned"
            assert (await remote.submit(sent[0], ANN)).code == "abandoned"  # it arrives after all, too late
            assert await window.recovery.look() == Leftovers()
    assert inspector.entries() == {}


async def test_an_interrupted_call_without_a_command_stays_unknown_until_somebody_says(url: str) -> None:
    async with make_service(url) as service:
        window = open_window(service)
        intent = Intent(
            call_id="1", name="form.save", target_id=None, payload="{}", digest="0" * 64, actor="ann",
            client=None, run=None, at=1.0,
        )  # fmt: skip
        await service.journal.intent(intent)
        assert (await window.recovery.look()).interrupted == ()  # of this very session
    async with make_service(url) as service:
        recovery: Recovery = open_window(service).recovery
        (found,) = (await recovery.look()).interrupted
        assert (found.intent.name, found.command_id, found.outcome) == ("form.save", None, None)
        with pytest.raises(ValueError, match="known"):
            await service.journal.resolve(found.intent_id, Outcome(status=Status.UNKNOWN))
        await service.journal.resolve(found.intent_id, Outcome(status=Status.OK))
        assert (await recovery.look()).interrupted == ()
        assert await service.journal.prune(before=1e12) == 1


async def test_a_refused_tombstone_leaves_the_proposal_where_it_was(url: str, inspector: Inspector) -> None:
    """A store that is busy at the wrong moment says nothing of what happened."""
    await crash(url, "approved")
    async with make_service(url, busy_timeout=0.1) as service:
        window = open_window(service)
        (waiting,) = (await window.recovery.look()).waiting
        with closing(choose_library().module.connect(url.removeprefix("sqlite:///"))) as other:
            other.execute("BEGIN IMMEDIATE")
            result = await window.recovery.discard(waiting.proposal_id)
        assert result is not None
        assert (result.status.value, result.code) == ("refused", "busy")
        assert len((await window.recovery.look()).waiting) == 1


async def test_an_effect_of_which_nobody_knows_is_not_offered_again(url: str, tmp_path: Any) -> None:
    """A remote effect that may have happened is never done again by resuming it."""
    own_url = f"sqlite:///{tmp_path / 'own.sqlite3'}"
    remote = make_service(url)
    sent: list[str] = []

    @remote.effect("mail.send", schema={"type": "object", "additionalProperties": False}, permission=None)
    async def send(effect: Any) -> None:
        sent.append(effect.command_id)
        raise EffectUnknown

    def open_mail(client: CommandClient, own: CommandService) -> Window:
        window = open_window(client, store=own)
        window.registry.register(
            command_capability(
                window.desk, "mail.send", description="Send the mail", input_schema={"type": "object"}, egress=True
            )
        )
        return window

    tokens = Tokens({hash_token("t"): ANN})
    async with remote, serving(create_app(remote, tokens)) as base, CommandClient(base, "t") as client:
        async with make_service(own_url) as own:
            window = open_mail(client, own)
            assert (await window.call("mail.send", {})).status is Status.UNKNOWN
            await window.desk.close()
        async with make_service(own_url) as own:
            window = open_mail(client, own)
            left = await window.recovery.look()
            (unknown,) = left.unknown
            assert (left.waiting, unknown.result.code) == ((), "effect_unknown")
            outcome = await window.recovery.resume(unknown.proposal.proposal_id)
            assert (outcome.status, outcome.command_id, window.asked) == (Status.UNKNOWN, sent[0], [])
            await window.recovery.discard(unknown.proposal.proposal_id)
            assert (await window.recovery.look()).unknown == ()
    assert len(sent) == 1


def test_windows_that_are_killed_anywhere_lose_and_double_nothing() -> None:
    """FC-24, FC-38, FC-39; by ``python -m tests.soak.commands_windows`` as often as is asked for."""
    counted = run(8, seed=2026)
    assert (counted["lost"], counted["doubled"], counted["kills"]) == (0, 0, 8)


async def test_a_question_that_two_windows_show_is_carried_out_once(url: str, inspector: Inspector) -> None:
    """FC-24: a lock that was lost makes nothing unsafe."""
    async with make_service(url) as one, make_service(url) as two:
        first, second = open_window(one), open_window(two)
        first.answer = lambda request: None
        pending = asyncio.create_task(first.call("ledger.add", {"entry": "e"}))
        async with asyncio.timeout(10):
            while not first.asked:  # noqa: ASYNC110 - what is waited for tells nobody
                await asyncio.sleep(0.005)
        await lose_lock(one)
        (waiting,) = (await second.recovery.look()).waiting
        assert (await second.recovery.resume(waiting.proposal_id)).status is Status.OK
        first.registry.approvals.approve(first.asked[0])
        outcome = await pending
        assert (outcome.status, outcome.code, outcome.applied) == (Status.DENIED, "approval_error", False)
        await first.desk.close()
    assert inspector.entries() == {"e": 1}
    assert inspector.rows("SELECT state FROM agentic_proposal") == [("succeeded",)]


async def test_a_tombstone_of_another_window_stops_an_approved_command(url: str, inspector: Inspector) -> None:
    """G32: Exactly one of executing and giving up wins, whoever comes first."""
    async with make_service(url) as one, make_service(url) as two:
        first, second = open_window(one), open_window(two)
        submit = one.submit

        async def overtaken(command: Command, actor: Actor) -> Any:
            await lose_lock(one)
            (waiting,) = (await second.recovery.look()).waiting
            assert (await second.recovery.resume(waiting.proposal_id)).status is Status.OK
            return await submit(command, actor)

        one.submit = overtaken  # type: ignore[method-assign]
        outcome = await first.call("ledger.add", {"entry": "e"})
        assert (outcome.status, outcome.code) == (Status.FAILED, "abandoned")
        await first.desk.close()
    assert inspector.entries() == {"e": 1}
