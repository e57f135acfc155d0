"""The durable journal and the ends of proposals, on each kind of store."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.states import FINAL, CommandState
from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.journal import Intent
from tests.support.command_kit import ANN, lose_lock, make_service, schema
from tests.support.desk_kit import STRING, open_window

pytestmark = pytest.mark.anyio
UNKNOWN = Outcome(status=Status.UNKNOWN, code="timeout", hint="x", applied=["one"], call_id="1", command_id="c")


def intent(**fields: Any) -> Intent:
    known = {"call_id": "1", "name": "a.b", "target_id": None, "payload": '{"input":{}}', "digest": "0" * 64}
    return Intent(**{**known, "actor": "ann", "client": None, "run": "r", "at": 1.25, **fields})


async def test_an_intent_without_an_outcome_is_open_in_the_next_session(service: CommandService, url: str) -> None:
    service.journal.name_commands(lambda each: f"command-of-{each.call_id}")
    await service.journal.intent(intent())
    await service.journal.intent(intent(call_id="2"))
    await service.journal.outcome(intent(call_id="2"), Outcome(status=Status.OK))
    assert await service.journal.unresolved() == ()
    async with make_service(url) as later:
        assert await later.journal.unresolved() == ()  # whoever wrote it lives
        await service.close()
        (found,) = await later.journal.unresolved()
    assert (found.command_id, found.outcome) == ("command-of-1", None)
    assert {name: getattr(found.intent, name) for name in Intent.__slots__} == {
        name: getattr(intent(), name) for name in Intent.__slots__
    }


async def test_unknown_stays_open_and_a_late_end_replaces_it(service: CommandService, url: str) -> None:
    """FC-04"""
    await service.journal.intent(intent())
    await service.journal.outcome(intent(), UNKNOWN)
    await lose_lock(service)
    async with make_service(url) as later:
        (found,) = await later.journal.unresolved()
        assert (found.outcome, found.command_id) == (UNKNOWN, "c")
        await service.journal.outcome(intent(), replace(UNKNOWN, status=Status.OK))
        assert await later.journal.unresolved() == ()


@pytest.mark.parametrize("other", [{"client": "c"}, {"run": None}, {"at": 1.5}, {"call_id": "2"}])
async def test_a_call_id_alone_names_nothing(service: CommandService, url: str, other: dict[str, Any]) -> None:
    await service.journal.intent(intent())
    await service.journal.outcome(intent(**other), Outcome(status=Status.OK))
    await service.close()
    async with make_service(url) as later:
        assert len(await later.journal.unresolved()) == 1


async def test_pruning_forgets_what_ended_and_nothing_else(url: str) -> None:
    now = 100.0
    async with make_service(url, clock=lambda: now) as service:
        for number, outcome in enumerate([Outcome(status=Status.OK), UNKNOWN, None]):
            await service.journal.intent(intent(call_id=str(number)))
            if outcome is not None:
                await service.journal.outcome(intent(call_id=str(number)), outcome)
        assert await service.journal.prune(before=100.0) == 0
        assert await service.journal.prune(before=100.5) == 1
    async with make_service(url) as later:
        assert [found.intent.call_id for found in await later.journal.unresolved()] == ["1", "2"]


async def test_what_cannot_be_written_is_said(service: CommandService) -> None:
    await service.close()
    with pytest.raises(CommandError, match="store_closed"):
        await service.journal.intent(intent())


@pytest.mark.parametrize("state", sorted(FINAL))
async def test_a_proposal_follows_to_an_end_once(service: CommandService, state: CommandState) -> None:
    proposal = await service.proposals.propose("a.b", {}, ANN)
    await service.proposals.offer(proposal.proposal_id)
    assert [each.proposal_id for each in await service.proposals.open()] == [proposal.proposal_id]
    assert (await service.proposals.conclude(proposal.proposal_id, state)).state is state
    assert (await service.proposals.conclude(proposal.proposal_id, CommandState.SUCCEEDED)).state is state
    assert await service.proposals.open() == ()
    with pytest.raises(CommandError, match="bad_transition"):
        await service.proposals.reissue(proposal.proposal_id)


async def test_a_reissued_proposal_waits_under_a_new_command_id(service: CommandService) -> None:
    proposal = await service.proposals.propose("a.b", {}, ANN)
    await service.proposals.offer(proposal.proposal_id)
    await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    anew = await service.proposals.reissue(proposal.proposal_id)
    assert (anew.decided_by, anew.decided_at, anew.digest) == (None, None, proposal.digest)
    assert anew.command_id != proposal.command_id
    with pytest.raises(CommandError, match="bad_transition"):
        await service.proposals.conclude(
            (await service.proposals.propose("a.b", {}, ANN)).proposal_id, CommandState.FAILED
        )


def read_all(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


async def test_no_secret_is_left_in_the_file_of_the_journal(sqlite_url: str, tmp_path: Path) -> None:
    """Threat 18: what a handler without a command was given, wherever it stood; 3 canaries in 4 files at most."""
    ran: list[dict[str, Any]] = []
    secret = {"type": "string", "format": "password"}
    async with make_service(sqlite_url) as service:
        registry = open_window(service).registry
        registry.register(
            Capability(
                name="account.open",
                description="Open an account",
                input_schema=schema(
                    name=STRING, password=secret, more={"type": "object", "properties": {"pin": secret}}
                ),
                risk="mutating",
                handler=lambda **given: ran.append(given),
            )
        )
        given = {"name": "shown-name", "password": "canary-1", "more": {"pin": "canary-2"}}
        assert (await registry.execute(Call(name="account.open", input=given, actor="ann"))).ok
        refused = await registry.execute(Call(name="account.open", input={"name": 1, "password": "canary-3"}))
        assert not refused.ok
        stored = read_all(tmp_path)
    assert ran == [given]
    assert b"shown-name" in stored
    assert b"canary" not in stored
