"""What waits for a person: durable, bound to what was shown, and never running by itself."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.proposals import to_command
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Command, Proposal
from tests.support.command_kit import ANN, Inspector, make_service

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def service(url: str, clock: Clock) -> AsyncIterator[CommandService]:
    async with make_service(url, clock=clock) as started:
        yield started


async def offered(service: CommandService, **fields: Any) -> Proposal:
    proposal = await service.proposals.propose("ledger.add", {"entry": "a"}, ANN, reason="because", **fields)
    return await service.proposals.offer(proposal.proposal_id)


async def test_an_approved_proposal_becomes_the_command_that_was_shown(
    service: CommandService, inspector: Inspector
) -> None:
    proposal = await offered(service, facts={"rows": 1})
    command = await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    assert (command.digest, command.command_id) == (proposal.digest, proposal.command_id)
    assert (command.approved_by, command.approved_at) == ("ann", 1000.0)
    assert (await service.submit(command, ANN)).ok
    assert (await service.proposals.get(proposal.proposal_id)).state.value == "succeeded"
    assert await service.proposals.waiting() == ()


async def test_a_proposal_and_its_approval_survive_a_restart_and_do_not_run_by_themselves(
    url: str, inspector: Inspector
) -> None:
    """G31, FC-38"""
    async with make_service(url) as service:
        proposal = await offered(service, facts=[1.0, "x"], expected_version=3)
        await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    async with make_service(url) as service:
        (again,) = await service.proposals.waiting()
        assert (again.digest, again.reason, again.facts, again.expected_version) == (
            proposal.digest, "because", [1, "x"], 3,
        )  # fmt: skip
        assert again.decided_by == "ann"
        assert inspector.entries() == {}
        assert (await service.status(again.command_id)).status.value == "not_found"


async def test_a_command_whose_proposal_nobody_approved_is_refused(
    service: CommandService, inspector: Inspector
) -> None:
    """FC-22"""
    proposal = await offered(service)
    forged = Command(
        command_id=proposal.command_id, type=proposal.type, input=proposal.input,
        proposal_id=proposal.proposal_id, approved_by="ann", approved_at=1.0,
    )  # fmt: skip
    assert (await service.submit(forged, ANN)).code == "not_approved"
    await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="bob")
    assert (await service.submit(forged, ANN)).code == "not_approved"
    assert inspector.entries() == {}
    assert inspector.events(proposal.command_id) == ["refused not_approved"] * 2


async def test_an_edit_voids_the_approval_and_the_old_command(service: CommandService, inspector: Inspector) -> None:
    """FC-22"""
    proposal = await offered(service)
    command = await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    edited = await service.proposals.edit(proposal.proposal_id, {"entry": "b"})
    assert (edited.decided_by, edited.data()) == (None, {"entry": "b"})
    assert (await service.submit(command, ANN)).code == "not_approved"
    with pytest.raises(CommandError, match="changed"):
        await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    approved = await service.proposals.approve(proposal.proposal_id, digest=edited.digest, by="ann")
    assert (await service.submit(command, ANN)).code == "not_approved"  # the same person approved something else
    assert (await service.submit(approved, ANN)).ok
    assert inspector.entries() == {"b": 1}


async def test_an_edit_may_be_about_another_thing(service: CommandService, inspector: Inspector) -> None:
    proposal = await offered(service, target="entry:a")
    edited = await service.proposals.edit(proposal.proposal_id, {"entry": "b"}, target="entry:b")
    command = await service.proposals.approve(proposal.proposal_id, digest=edited.digest, by="ann")
    assert (command.target, command.digest) == ("entry:b", edited.digest)
    assert (await service.submit(command, ANN)).ok


@pytest.mark.parametrize("end", ["reject", "cancel", "expire"])
async def test_a_proposal_that_ended_can_no_longer_be_approved_or_run(
    service: CommandService, clock: Clock, inspector: Inspector, end: str
) -> None:
    proposal = await offered(service, expires_at=1060.0)
    command = to_command(proposal)
    if end != "expire":
        command = await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    if end == "reject":
        await service.proposals.reject(proposal.proposal_id, by="ann")
    elif end == "cancel":
        await service.proposals.cancel(proposal.proposal_id)
    else:
        assert await service.proposals.expire() == 0
        clock.now = 1060.0
        assert await service.proposals.expire() == 1
    assert (await service.submit(command, ANN)).code == "not_approved"
    with pytest.raises(CommandError, match="bad_transition"):
        await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    with pytest.raises(CommandError, match="bad_transition"):
        await service.proposals.edit(proposal.proposal_id, {"entry": "b"})
    assert await service.proposals.waiting() == ()
    assert inspector.entries() == {}


async def test_an_approval_after_its_time_is_refused_though_nobody_expired_it(
    service: CommandService, clock: Clock
) -> None:
    proposal = await offered(service, expires_at=1060.0)
    clock.now = 1060.5
    with pytest.raises(CommandError, match="bad_transition"):
        await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")


async def test_what_was_approved_in_time_does_not_expire(
    service: CommandService, clock: Clock, inspector: Inspector
) -> None:
    """Its command may be on its way to another store, where only this proposal knows of it."""
    proposal = await offered(service, expires_at=1060.0)
    command = await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    clock.now = 1061.0
    assert await service.proposals.expire() == 0
    assert [each.proposal_id for each in await service.proposals.open()] == [proposal.proposal_id]
    assert (await service.submit(command, ANN)).ok
    assert inspector.entries() == {"a": 1}


async def test_what_was_executed_is_not_cancelled(service: CommandService) -> None:
    """FC-42"""
    proposal = await offered(service)
    command = await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    assert (await service.submit(command, ANN)).ok
    with pytest.raises(CommandError, match="bad_transition"):
        await service.proposals.cancel(proposal.proposal_id)
    assert (await service.proposals.get(proposal.proposal_id)).state.value == "succeeded"


async def test_exactly_one_of_cancelling_and_executing_wins(service: CommandService, inspector: Inspector) -> None:
    proposal = await offered(service)
    command = await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    executed, cancelled = await asyncio.gather(
        service.submit(command, ANN), service.proposals.cancel(proposal.proposal_id), return_exceptions=True
    )
    assert not isinstance(executed, BaseException)
    assert executed.ok == isinstance(cancelled, CommandError)
    assert inspector.entries() == ({"a": 1} if executed.ok else {})


async def test_a_failed_command_is_seen_at_its_proposal(service: CommandService) -> None:
    proposal = await service.proposals.propose("customer.delete", {"id": 5}, ANN, expected_version=1)
    await service.proposals.offer(proposal.proposal_id)
    command = await service.proposals.approve(proposal.proposal_id, digest=proposal.digest, by="ann")
    assert (await service.submit(command, ANN)).code == "version_conflict"
    assert (await service.proposals.get(proposal.proposal_id)).state.value == "failed"


async def test_a_model_cannot_say_who_approved(service: CommandService) -> None:
    """FC-18"""
    with pytest.raises(CommandError, match="forged_field"):
        await service.proposals.propose("ledger.add", {"entry": "a", "approvedBy": "ann"}, ANN)
    proposal = await offered(service)
    with pytest.raises(CommandError, match="forged_field"):
        await service.proposals.edit(proposal.proposal_id, {"entry": "a", "approved": True})


async def test_a_proposal_kept_elsewhere_is_a_reference_only(service: CommandService) -> None:
    command = Command.of(
        "ledger.add", {"entry": "a"}, command_id="a", proposal_id="elsewhere", approved_by="ann", approved_at=1.0
    )
    assert (await service.submit(command, ANN)).ok
    assert to_command(await offered(service)).approved_by is None


async def test_a_missing_proposal_is_said_to_be_missing(service: CommandService) -> None:
    with pytest.raises(CommandError, match="no_proposal"):
        await service.proposals.get("none")
