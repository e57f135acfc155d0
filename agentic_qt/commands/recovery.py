"""After a restart: what is offered again, what is known by now, and what is still unknown. Nothing runs by itself."""

import json
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
        interrupted: Calls that may have changed something and whose end is not known, other than those in `unknown`.
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
        for proposal in await self._left_open():
            actor = self._desk.actor_of(proposal.actor)
            if actor is None:
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
        told = {leftover.proposal.command_id for leftover in unknown}
        return Leftovers(
            waiting=tuple(waiting),
            unknown=tuple(unknown),
            settled=tuple(settled),
            interrupted=tuple(found for found in await self._look_into_journal() if found.command_id not in told),
        )

    async def resume(self, proposal_id: str) -> Outcome:
        """Take a waiting proposal through the pipeline again: it is read anew and a person is asked anew.

        What was approved before is closed first by a tombstone under its own id, so that it cannot happen beside the
        new one; when it turns out to have happened, that is the outcome.

        Raises:
            CommandError: There is no such proposal, it waits no longer, or it belongs to another window that is open
                (``other_session``).
        """
        with self._desk.reserve(proposal_id):
            proposal, actor = await self._mine(proposal_id)
            if proposal.state not in _WAITING:
                raise CommandError("bad_transition", f"The proposal is {proposal.state.value} and waits for nobody.")
            proposal = await self._desk.proposals.take(proposal)
            if proposal.decided_by is not None:
                result = await self._desk.ask_status(proposal.command_id, actor)
                if result.status is CommandStatus.NOT_FOUND:
                    result = await self._desk.service.abandon(proposal.command_id, actor)
                if result.code != Code.ABANDONED:  # it happened, or it may have: no reason to do it again
                    await self._desk.conclude(proposal, result)
                    return outcome_of(result)
                # Should the process end right here, the tombstone says that it was not executed: offered again.
                proposal = await self._desk.proposals.reissue(proposal_id)
            return await self._call(proposal, actor)

    async def discard(self, proposal_id: str) -> CommandResult | None:
        """Close a proposal for good; returns what became of its command where one may have been submitted.

        Raises:
            CommandError: There is no such proposal, it was closed meanwhile, or it belongs to another window that is
                open (``other_session``).
        """
        with self._desk.reserve(proposal_id):
            proposal, actor = await self._mine(proposal_id)
            if proposal.decided_by is None:
                await self._desk.proposals.cancel(proposal_id)
                return None
            result = await self._desk.service.abandon(proposal.command_id, actor)
            await self._desk.conclude(proposal, result)
            return result

    async def resolve_interrupted(self, intent_id: int, *, applied: bool, by: str | None = None) -> None:
        """Write down that a person found out, by looking, whether an interrupted call of another handler happened.

        Args:
            intent_id: Of which call; one of `Leftovers.interrupted`.
            applied: Whether it happened.
            by: Who says so; by default the actor of the call, if it had one.

        Raises:
            CommandError: There is no such call for whoever is signed in here, or its end is known (``no_intent``); or
                it submitted a command, which knows better (``has_command``).
        """
        journal = self._desk.registry.journal
        left = await self._interrupted(journal) if isinstance(journal, DurableJournal) else ()
        found = next((each for each in left if each.intent_id == intent_id), None)
        if found is None or not isinstance(journal, DurableJournal):
            raise CommandError("no_intent", "There is no such interrupted call for whoever is signed in here.")
        if found.command_id is not None:
            raise CommandError("has_command", "The status of its command says what happened.")
        outcome = Outcome(
            status=Status.OK if applied else Status.CANCELLED,
            code="" if applied else "not_executed",
            hint="Somebody looked: it had happened." if applied else "Somebody looked: nothing had been changed.",
            retry="not_needed" if applied else "no",
            applied=applied,
        )
        await journal.resolve(intent_id, outcome, by=by or found.intent.actor)

    async def _call(self, proposal: Proposal, actor: Actor) -> Outcome:
        """Take a proposal through the pipeline, by what its call said."""
        name, target_id = self._desk.place_of(proposal)
        call = Call(
            name=name,
            target_id=target_id,
            input=json.loads(proposal.call_input or proposal.input),
            id=f"{proposal.proposal_id}:{secrets.token_hex(4)}",
            actor=proposal.actor,
            client=CLIENT,
            reason=proposal.reason,
        )
        draft, key = _draft(proposal, actor), _key(call)
        self._desk.keep(key, draft)
        try:
            outcome = await self._desk.registry.execute(call)
        finally:
            self._desk.drop(key)
        await self._desk.withdraw_resumed(draft, outcome)
        return outcome

    async def _left_open(self) -> list[Proposal]:
        """Return the open proposals that are nobody's now: not under way here, and of no session that lives."""
        proposals = self._desk.proposals
        await proposals.expire()  # nobody may approve them any more
        ended = await proposals.sessions.ended(each.session for each in await proposals.open())
        own, under_way = proposals.sessions.own, proposals.under_way
        # read once more: what a session that is over has done is done by now
        return [
            each
            for each in await proposals.open()
            if (each.session == own or each.session in ended) and each.proposal_id not in under_way
        ]

    async def _mine(self, proposal_id: str) -> tuple[Proposal, Actor]:
        """Return a proposal that no other living session has."""
        proposals = self._desk.proposals
        proposal = await proposals.get(proposal_id)
        actor = self._desk.actor_of(proposal.actor)
        if actor is None:
            raise CommandError("no_proposal", "There is no such proposal for whoever is signed in here.")
        session = proposal.session
        if session != proposals.sessions.own and session not in await proposals.sessions.ended([session]):
            raise CommandError("other_session", "It belongs to another window that is open; it is decided there.")
        return proposal, actor

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
        for found in await self._interrupted(journal):
            outcome = await self._find_out(found)
            if outcome is None:
                left.append(found)
                continue
            try:
                await journal.resolve(found.intent_id, outcome)
            except CommandError as error:
                if error.code != "no_intent":  # another window has found it out just now
                    raise
        return tuple(left)

    async def _interrupted(self, journal: DurableJournal) -> list[OpenIntent]:
        """Return the interrupted calls of whoever is signed in here, and those that had no actor."""
        return [
            found
            for found in await journal.unresolved()
            if found.intent.actor is None or self._desk.actor_of(found.intent.actor) is not None
        ]

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


def _draft(proposal: Proposal, actor: Actor) -> Draft:
    return Draft(
        command_id=proposal.command_id,
        type=proposal.type,
        call_input=proposal.call_input or proposal.input,
        input=proposal.input,
        target=proposal.target,
        version=proposal.expected_version,
        actor=actor,
        proposal=proposal,
        resumed=True,
    )


def _key(call: Call) -> Key:
    return (call.client, call.run, call.id or "")
