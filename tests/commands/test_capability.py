"""From a call to a fact: preview, approval, command, outcome, and what is left in the store of each."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentic_qt.commands.capability import command_capability
from agentic_qt.commands.client import CommandClient
from agentic_qt.commands.http import create_app
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.serving import serving
from agentic_qt.commands.tokens import Tokens, hash_token
from agentic_qt.commands.values import Actor, Command
from agentic_qt.core.call import Status
from agentic_qt.core.flight import LateEnd
from agentic_qt.core.policy import Decision, Policy
from agentic_qt.core.registry import Registry
from tests.support.command_kit import ANN, Inspector, make_service
from tests.support.cut_proxy import CutProxy
from tests.support.desk_kit import Window, open_window

pytestmark = pytest.mark.anyio


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
async def window(service: CommandService) -> AsyncIterator[Window]:
    await service.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
    window = open_window(service)
    yield window
    await window.desk.close()


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.005)


def states(inspector: Inspector) -> list[str]:
    return [state for (state,) in inspector.rows("SELECT state FROM agentic_proposal ORDER BY created_at")]


async def test_an_approved_delete_is_a_command_with_its_approver_version_and_proposal(
    window: Window, service: CommandService, inspector: Inspector
) -> None:
    outcome = await window.delete(reason="The user asked for it.")
    assert (outcome.status, outcome.data, outcome.applied) == (Status.OK, {"id": 1}, True)
    assert outcome.command_id is not None
    record = await service.find(outcome.command_id)
    assert record is not None
    command = record.command
    assert (command.expected_version, command.target, command.approved_by) == (1, "customer:1", "ann")
    proposal = await service.proposals.get(command.proposal_id or "")
    assert (proposal.state, proposal.reason, proposal.digest) == ("succeeded", "The user asked for it.", command.digest)
    assert proposal.facts == window.asked[0].facts == {"id": 1, "name": "Ada", "version": 1}
    assert inspector.entries() == {"delete 1": 1}


async def test_the_command_id_stands_in_the_store_before_anybody_is_asked(window: Window, inspector: Inspector) -> None:
    ids: list[Any] = []

    def look(request: Any) -> None:
        ids.extend(inspector.rows("SELECT command_id, state, decided_by FROM agentic_proposal"))
        window.registry.approvals.approve(request)

    window.answer = look
    outcome = await window.delete()
    assert ids == [(outcome.command_id, "awaiting_approval", None)]
    assert inspector.rows("SELECT command_id, status FROM agentic_intent") == [(outcome.command_id, "ok")]


async def test_a_double_click_deletes_once(window: Window, inspector: Inspector) -> None:
    """FC-24"""
    first, second = await asyncio.gather(*(window.delete(id="x", client="c", run="r") for _ in range(2)))
    assert first.command_id == second.command_id
    assert (len(window.asked), inspector.entries()) == (1, {"delete 1": 1})


async def test_the_same_call_planned_twice_deletes_once(window: Window, inspector: Inspector) -> None:
    """FC-24"""
    outcomes = await asyncio.gather(*(window.delete(id=str(n), client="c", run="r") for n in range(2)))
    assert sorted(outcome.status for outcome in outcomes) == ["ok", "stale"]
    assert inspector.entries() == {"delete 1": 1}


async def test_a_row_that_changed_while_the_person_read_is_stale_and_nothing_is_written(
    window: Window, service: CommandService, inspector: Inspector
) -> None:
    """FC-22, FC-25"""
    window.answer = lambda request: None
    pending = asyncio.create_task(window.delete())
    await until(lambda: window.asked)
    rename = Command.of("customer.rename", {"id": 1, "name": "Bea"}, command_id="r", expected_version=1)
    assert (await service.submit(rename, ANN)).ok
    window.registry.approvals.approve(window.asked[0])
    outcome = await pending
    assert (outcome.status, outcome.code, outcome.applied) == (Status.STALE, "changed_since_approval", False)
    await window.desk.close()
    assert (inspector.entries(), states(inspector)) == ({}, ["cancelled"])


async def test_two_windows_on_one_database_see_a_conflict_as_one(url: str, inspector: Inspector) -> None:
    """G30, FC-25: the version is checked in the command's own transaction, so no gap is left after the last preview."""
    async with make_service(url) as one, make_service(url) as two:
        await one.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        first, second = open_window(one), open_window(two)
        original = two.submit

        async def overtaken(command: Command, actor: Actor) -> Any:
            assert (await first.rename("Bea")).ok
            return await original(command, actor)

        two.submit = overtaken  # type: ignore[method-assign]
        outcome = await second.delete()
        assert (outcome.status, outcome.code, outcome.applied) == (Status.STALE, "version_conflict", False)
        assert "Read it again" in outcome.hint
        assert (inspector.rows("SELECT name FROM customer"), states(inspector)) == ([("Bea",)], ["failed", "succeeded"])


async def test_a_person_who_says_no_leaves_a_rejected_proposal(window: Window, inspector: Inspector) -> None:
    window.answer = lambda request: window.registry.approvals.deny(request, "keep her")
    outcome = await window.delete()
    assert (outcome.status, outcome.code, outcome.command_id) == (Status.DENIED, "person", None)
    assert (inspector.entries(), states(inspector)) == ({}, ["rejected"])


async def test_an_edit_is_approved_as_what_it_became(
    window: Window, service: CommandService, inspector: Inspector
) -> None:
    approvals = window.registry.approvals

    def edit_first(request: Any) -> None:
        window.answer = approvals.approve
        approvals.edit(request, {"id": 1, "name": "Cleo"})

    window.answer = edit_first
    outcome = await window.rename("Bea")
    assert (outcome.status, outcome.data) == (Status.OK, {"id": 1, "name": "Cleo"})
    assert inspector.rows("SELECT name, version FROM customer") == [("Cleo", 2)]
    assert states(inspector) == ["succeeded"]


@pytest.mark.parametrize("field", ["approved", "actor", "permission", "command_id", "approvedBy"])
async def test_no_field_of_an_input_stands_for_an_approval(window: Window, inspector: Inspector, field: str) -> None:
    """FC-18, G17"""
    outcome = await window.call("customer.delete", {"id": 1, field: True})
    assert (outcome.status, window.asked, inspector.entries()) == (Status.INVALID, [], {})


async def test_who_may_not_is_refused_before_anybody_is_asked(window: Window, inspector: Inspector) -> None:
    for actor in ("bob", "mallory", None):
        outcome = await window.delete(actor=actor)
        assert (outcome.status, outcome.code) == (Status.FORBIDDEN, "denied")
    assert (window.asked, states(inspector)) == ([], [])


async def test_a_permission_lost_while_the_person_read_is_forbidden(
    service: CommandService, window: Window, inspector: Inspector
) -> None:
    """FC-35"""
    allowed = {"ann": ANN}
    other = open_window(service, actor_of=lambda name: allowed.get(name or ""))
    approve = other.answer

    def revoke(request: Any) -> None:
        allowed["ann"] = Actor(name="ann")
        assert approve is not None
        approve(request)

    other.answer = revoke
    assert (await other.delete()).status is Status.FORBIDDEN
    await other.desk.close()
    assert (inspector.entries(), states(inspector)) == ({}, ["cancelled"])


async def test_what_a_rule_refuses_is_failed_with_the_rules_own_words(window: Window) -> None:
    outcome = await window.rename("")
    assert (outcome.status, outcome.code, outcome.hint) == (Status.FAILED, "no_name", "A customer needs a name.")
    assert (outcome.applied, outcome.command_id is not None) == (False, True)


async def test_what_policy_allows_is_a_command_all_the_same(service: CommandService, inspector: Inspector) -> None:
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=service.journal)
    window = open_window(service, registry=registry)
    outcome = await window.call("ledger.add", {"entry": "e"}, id="1")
    assert (outcome.status, window.asked, inspector.entries()) == (Status.OK, [], {"e": 1})
    assert inspector.rows("SELECT approved_by FROM agentic_command") == [(None,)]


async def test_an_audit_that_cannot_be_written_leaves_nothing(url: str, inspector: Inspector) -> None:
    def fail(label: str) -> None:
        if label == "audit":
            raise OSError("disk full")

    async with make_service(url) as setup:
        await setup.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
    async with make_service(url, faults=fail) as service:
        window = open_window(service)
        outcome = await window.delete()
        assert (outcome.status, outcome.code, outcome.retry) == (Status.FAILED, "store_error", "later")
    assert (inspector.entries(), len(inspector.rows("SELECT * FROM customer"))) == ({}, 1)


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ("approve", ["proposed", "approved", "intent", "command", "outcome"]),
        ("deny", ["proposed", "rejected"]),
    ],
)
async def test_a_call_takes_one_transaction_for_each_thing_that_must_outlive_a_crash(
    url: str, answer: str, written: list[str]
) -> None:
    passed: list[str] = []
    async with make_service(url, faults=passed.append) as service:
        await service.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        window = open_window(service)
        window.answer = getattr(window.registry.approvals, answer)
        passed.clear()
        await window.delete()
        await window.desk.close()
    assert passed.count("committed") == len(written)


async def test_a_journal_that_cannot_be_written_means_not_done(
    window: Window, service: CommandService, tmp_path: Any, inspector: Inspector
) -> None:
    """G24"""
    closed = make_service(f"sqlite:///{tmp_path / 'closed.sqlite3'}")
    other = open_window(service, registry=Registry(journal=closed.journal))
    outcome = await other.delete()
    assert (outcome.status, outcome.code, outcome.applied) == (Status.FAILED, "journal_error", False)
    await other.desk.close()
    assert (inspector.entries(), states(inspector)) == ({}, ["cancelled"])


async def test_a_service_that_cannot_be_reached_is_failed_and_nothing_is_left_open(
    url: str, inspector: Inspector
) -> None:
    async with make_service(url) as own:
        await own.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        async with serving(create_app(own, Tokens({hash_token("t"): ANN}))) as base:
            client = CommandClient(base, "t")
        async with client:
            window = open_window(client, store=own)
            outcome = await window.delete()
        assert (outcome.status, outcome.code, outcome.retry) == (Status.FAILED, "unreachable", "later")
        assert (outcome.applied, window.asked) == (False, [])
    assert (inspector.entries(), states(inspector)) == ({}, [])


class Slow:
    """An embedded service whose external effect takes until it is told to end."""

    def __init__(self, url: str) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.service = make_service(url, wait=0.05)
        self.sent: list[str] = []

        @self.service.effect("mail.send", schema={"type": "object", "additionalProperties": False}, permission=None)
        async def send(effect: Any) -> str:
            self.sent.append(effect.command_id)
            self.begun.set()
            await self.go_on.wait()
            return "sent"

    def open(self, **settings: Any) -> Window:
        window = open_window(self.service, first_pause=0.01, longest_pause=0.05, **settings)
        window.registry.register(
            command_capability(
                window.desk, "mail.send", description="Send the mail", input_schema={"type": "object"}, egress=True
            )
        )
        return window


async def test_the_same_command_while_one_is_executing_gets_its_id_and_makes_nothing_new(
    url: str, inspector: Inspector
) -> None:
    """G23: a model that calls again because it saw no result; also from another window."""
    slow = Slow(url)
    async with slow.service:
        one, two = slow.open(), slow.open()
        late: list[LateEnd] = []
        two.registry.observe_late(late.append)
        first = asyncio.create_task(one.call("mail.send", {}))
        await asyncio.wait_for(slow.begun.wait(), 10)
        second = await two.call("mail.send", {}, id="again")
        assert (second.status, second.code, second.retry) == (Status.UNKNOWN, "in_progress", "never")
        assert (second.command_id, two.asked) == (slow.sent[0], [])
        slow.go_on.set()
        done = await first
        await until(lambda: late)
        assert (done.data, done.command_id) == ("sent", second.command_id)
        assert (late[0].call_id, late[0].outcome.data) == ("again", "sent")
        assert len(slow.sent) == 1
        await one.desk.close()
        await two.desk.close()


async def test_stop_while_executing_is_unknown_and_its_late_end_is_told(url: str) -> None:
    """FC-04, FC-42"""
    slow = Slow(url)
    async with slow.service:
        window = slow.open()
        late: list[LateEnd] = []
        window.registry.observe_late(late.append)
        pending = asyncio.create_task(window.call("mail.send", {}, id="m"))
        await asyncio.wait_for(slow.begun.wait(), 10)
        assert window.registry.cancel("m")
        outcome = await asyncio.wait_for(pending, 10)
        assert (outcome.status, outcome.code, outcome.applied) == (Status.UNKNOWN, "stopped", None)
        assert outcome.command_id == slow.sent[0]
        slow.go_on.set()
        await until(lambda: late)
        assert (late[0].outcome.status, late[0].outcome.data) == (Status.OK, "sent")
        again = window.registry.call_status("m")
        assert again is not None
        assert (again.status, again.command_id) == (Status.OK, slow.sent[0])
        await window.desk.close()


async def test_a_window_closed_while_executing_loses_no_fact(url: str) -> None:
    """FC-09"""
    slow = Slow(url)
    async with slow.service:
        window = slow.open()
        pending = asyncio.create_task(window.call("mail.send", {}, id="m"))
        await asyncio.wait_for(slow.begun.wait(), 10)
        window.registry.close()
        outcome = await asyncio.wait_for(pending, 10)
        assert outcome.status is Status.UNKNOWN
        await window.desk.close()
        slow.go_on.set()
        await until(lambda: slow.service._running == {})
        assert (await slow.service.status(slow.sent[0])).data == "sent"


async def test_a_lost_answer_is_found_and_a_longer_loss_is_unknown_until_it_is_known(
    url: str, tmp_path: Any, inspector: Inspector
) -> None:
    """FC-04, FC-39: the connection is cut after the commit."""
    tokens = Tokens({hash_token("t"): ANN})

    async def at_once(_seconds: float) -> None:
        await asyncio.sleep(0)

    async with (
        make_service(url) as remote,
        make_service(f"sqlite:///{tmp_path / 'own.sqlite3'}") as own,
        serving(create_app(remote, tokens)) as base,
        CutProxy(base) as proxy,
        CommandClient(proxy.url, "t", sleep=at_once) as client,
    ):
        await remote.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        window = open_window(client, store=own, first_pause=0.01, longest_pause=0.02)
        original = client.submit

        async def cut(command: Command, actor: Actor) -> Any:
            proxy.cuts = cuts
            return await original(command, actor)

        client.submit = cut  # type: ignore[method-assign]
        cuts = 1
        found = await window.rename("Bea")
        assert (found.status, found.data) == (Status.OK, {"id": 1, "name": "Bea"})
        late: list[LateEnd] = []
        window.registry.observe_late(late.append)
        cuts = 10_000
        lost = await window.delete(id="d")
        assert (lost.status, lost.code, lost.retry) == (Status.UNKNOWN, "connection_lost", "never")
        again = await window.delete(id="d2")
        assert again.status in (Status.UNKNOWN, Status.FAILED)
        proxy.cuts = 0
        await until(lambda: late)
        assert (late[0].call_id, late[0].outcome.status, late[0].outcome.command_id) == ("d", "ok", lost.command_id)
        await window.desk.close()
        assert [p.state.value for p in await own.proposals.open()] == []
    assert inspector.entries() == {"delete 1": 1}


async def test_it_works_on_the_loop_of_the_gui(qapp: Any, url: str, tmp_path: Any, inspector: Inspector) -> None:
    """The embedded service, its HTTP server and the client, all on Qt's own loop."""
    async with (
        make_service(url) as remote,
        make_service(f"sqlite:///{tmp_path / 'own.sqlite3'}") as own,
        serving(create_app(remote, Tokens({hash_token("t"): ANN}))) as base,
        CommandClient(base, "t") as client,
    ):
        assert type(asyncio.get_running_loop()).__name__ == "QtEventLoop"
        await client.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        window = open_window(client, store=own)
        assert (await window.delete()).status is Status.OK
        await window.desk.close()
    assert inspector.entries() == {"delete 1": 1}
