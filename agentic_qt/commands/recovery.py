"""After a restart: what is offered again, what is known by now, and what is still unknown. Nothing runs by itself."""

import logging
import secrets
from dataclasses import dataclass

from agentic_qt.commands.desk import CommandDesk, Draft, Key
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.journal import DurableJournal, OpenIntent
from agentic_qt.commands.projection import is_final, outcome_of
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.values import Actor, Code, CommandResult, CommandStatus, Proposal
from agentic_qt.core.call import Call, Outcome, Status

_log = logging.getLogger("agentic_qt.commands.recovery")
_WAITING = (CommandState.PROPOSED, CommandState.AWAITING_APPROVAL)
CLIENT = "resumed"
"""The client of the calls that `Recovery.resume` makes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftover:
    """A proposal whose command was under way, and what is known of that."""

    proposal: Proposal
    result: CommandResult


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftovers:
    """What earlier sessions left.

    Args:
        waiting: Offered again: resume or discard. Nobody decided, or what was approved was surely not executed.
        unknown: Submitted, and nobody can say yet what became of it: ask again later, or discard.
        settled: Under way when the process ended; known by now.
        interrupted: Calls that may have changed something and whose end is not known.
    """

    waiting: tuple[Proposal, ...] = ()
    unknown: tuple[Leftover, ...] = ()
    settled: tuple[Leftover, ...] = ()
    interrupted: tuple[OpenIntent, ...] = ()


class Recovery:
    """Finds and closes what earlier sessions left.

    Args:
        desk: Of this window; only what its `actor_of` knows is shown.
    """

    def __init__(self, desk: CommandDesk) -> None:
        self._desk = desk
        self._is_embedded = isinstance(desk.service, CommandService)

    async def look(self) -> Leftovers:
        """Return what is left, after asking for the status of everything that was submitted; may be called again.

        Raises:
            CommandError: The store of proposals cannot be read.
        """
        waiting: list[Proposal] = []
        unknown: list[Leftover] = []
        settled: list[Leftover] = []
        under_way = self._desk.under_way
        for proposal in await self._desk.proposals.open():
            actor = self._desk.actor_of(proposal.actor)
            if actor is None or proposal.proposal_id in under_way:
                continue
            if proposal.decided_by is None and proposal.state in _WAITING:
                waiting.append(proposal)
                continue
            result = await self._desk.ask_status(proposal.command_id, actor)
            leftover = Leftover(proposal=proposal, result=result)
            if self._was_surely_not_executed(result):
                waiting.append(proposal)
            elif is_final(result):
                await self._desk.conclude(proposal, result)
                settled.append(leftover)
            else:
                unknown.append(leftover)
        return Leftovers(
            waiting=tuple(waiting),
            unknown=tuple(unknown),
            settled=tuple(settled),
            interrupted=await self._look_into_journal(),
        )

    async def resume(self, proposal_id: str) -> Outcome:
        """Take a waiting proposal through the pipeline again: it is read anew and a person is asked anew.

        What was approved before is closed first by a tombstone under its own id, so that it cannot happen beside the
        new one; when it turns out to have happened, that is the outcome.

        Raises:
            CommandError: There is no such proposal, or it waits no longer.
        """
        proposal, actor = await self._waiting(proposal_id)
        if proposal.decided_by is not None:
            result = await self._desk.ask_status(proposal.command_id, actor)
            if result.status is CommandStatus.NOT_FOUND:
                result = await self._desk.service.abandon(proposal.command_id, actor)
            if result.code != Code.ABANDONED:  # it happened, or it may have: no reason to do it again
                await self._desk.conclude(proposal, result)
                return outcome_of(result)
            # Should the process end right here, the tombstone says that it was not executed: offered again.
            proposal = await self._desk.proposals.reissue(proposal_id)
        call = Call(
            name=self._desk.capability_of(proposal.type),
            input=proposal.data(),
            id=f"{proposal_id}:{secrets.token_hex(4)}",
            actor=proposal.actor,
            client=CLIENT,
            reason=proposal.reason,
        )
        self._desk.keep(_key(call), _draft(proposal, actor))
        try:
            return await self._desk.registry.execute(call)
        finally:
            self._desk.drop(_key(call))

    async def discard(self, proposal_id: str) -> CommandResult | None:
        """Close a proposal for good; returns what became of its command where one may have been submitted.

        Raises:
            CommandError: There is no such proposal, or it was closed meanwhile.
        """
        proposal = await self._desk.proposals.get(proposal_id)
        actor = self._actor(proposal)
        if proposal.decided_by is None:
            await self._desk.proposals.cancel(proposal_id)
            return None
        result = await self._desk.service.abandon(proposal.command_id, actor)
        await self._desk.conclude(proposal, result)
        return result

    def _was_surely_not_executed(self, result: CommandResult) -> bool:
        """Whether nothing happened: in a store of one's own, when there is no such id after a restart, or a tombstone.

        A tombstone in a remote store may also close an external effect of which nobody knows.
        """
        absent = result.status is CommandStatus.NOT_FOUND or result.code == Code.ABANDONED
        return self._is_embedded and absent

    async def _look_into_journal(self) -> tuple[OpenIntent, ...]:
        journal = self._desk.registry.journal
        if not isinstance(journal, DurableJournal):
            return ()
        left = []
        for found in await journal.unresolved():
            outcome = await self._find_out(found)
            if outcome is None:
                left.append(found)
            else:
                await journal.resolve(found.intent_id, outcome)
        return tuple(left)

    async def _find_out(self, found: OpenIntent) -> Outcome | None:
        """Return how an interrupted call ended, by the status of its command."""
        actor = self._desk.actor_of(found.intent.actor)
        if found.command_id is None or actor is None:
            return None
        result = await self._desk.ask_status(found.command_id, actor)
        if is_final(result):
            return outcome_of(result)
        if self._was_surely_not_executed(result):
            hint = "The application ended before it was done; nothing was changed."
            return Outcome(status=Status.CANCELLED, code="not_executed", hint=hint, retry="no", applied=False)
        return None

    async def _waiting(self, proposal_id: str) -> tuple[Proposal, Actor]:
        proposal = await self._desk.proposals.get(proposal_id)
        if proposal.state not in _WAITING or proposal_id in self._desk.under_way:
            raise CommandError("bad_transition", f"The proposal is {proposal.state.value} and waits for nobody here.")
        return proposal, self._actor(proposal)

    def _actor(self, proposal: Proposal) -> Actor:
        actor = self._desk.actor_of(proposal.actor)
        if actor is None:
            raise CommandError("no_proposal", "There is no such proposal for whoever is signed in here.")
        return actor


def _draft(proposal: Proposal, actor: Actor) -> Draft:
    return Draft(
        command_id=proposal.command_id,
        type=proposal.type,
        input=proposal.input,
        target=proposal.target,
        version=proposal.expected_version,
        actor=actor,
        proposal=proposal,
    )


def _key(call: Call) -> Key:
    return (call.client, call.run, call.id or "")
