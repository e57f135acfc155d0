"""Proposals: what waits for a person. They outlive the process, and nothing here executes anything.

An approval is bound to the digest that the person was shown. It is written here first; the command that it leads to
then checks it inside its own transaction.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, insert, select, update

from agentic_qt.commands.command_type import forged_fields
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.records import from_version, to_version
from agentic_qt.commands.sessions import Sessions
from agentic_qt.commands.states import FINAL, TRANSITIONS, CommandState, check_transition, sources
from agentic_qt.commands.tables import proposals
from agentic_qt.commands.transactions import Transactions
from agentic_qt.commands.values import Actor, Code, Command, Proposal, Version, payload_digest
from agentic_qt.schema.canonical import canonical

Io = Callable[[Callable[[], Any]], Awaitable[Any]]
_T = TypeVar("_T")
_WAITING: Final = (CommandState.PROPOSED, CommandState.AWAITING_APPROVAL)


class Proposals:
    """The proposals of a store; `CommandService.proposals` is one.

    Args:
        transactions: Of the store.
        io: Runs a function in the I/O thread.
        clock: Seconds since the epoch.
        ids: Source of new ids.
        sessions: Of the store.
    """

    def __init__(
        self,
        transactions: Transactions,
        io: Io,
        *,
        clock: Callable[[], float],
        ids: Callable[[], str],
        sessions: Sessions,
    ) -> None:
        self._transactions = transactions
        self._io = io
        self._clock = clock
        self._ids = ids
        self.sessions = sessions
        self._under_way: dict[object, Callable[[], Iterable[str]]] = {}

    def note_under_way(self, source: Callable[[], Iterable[str]]) -> Callable[[], Any]:
        """Ask `source` for the ids of proposals whose calls live in this process; returns what ends that."""
        mine = object()
        self._under_way[mine] = source
        return lambda: self._under_way.pop(mine, None)

    @property
    def under_way(self) -> frozenset[str]:
        """The ids of the proposals whose calls live in this process, whichever window they are of."""
        return frozenset(each for source in self._under_way.values() for each in source())

    async def propose(
        self,
        type_: str,
        input_: Mapping[str, Any],
        actor: Actor,
        *,
        target: str | None = None,
        expected_version: Version | None = None,
        reason: str = "",
        facts: Any = None,
        expires_at: float | None = None,
        command_id: str | None = None,
        call_input: Mapping[str, Any] | None = None,
        capability: str | None = None,
        capability_target: str | None = None,
        state: CommandState = CommandState.PROPOSED,
    ) -> Proposal:
        """Write down what a model suggests; its command id is made here, before anybody approves.

        Args:
            type_: The command type.
            input_: The command's input.
            actor: For whom, from the trusted session.
            target: Which thing it is about.
            expected_version: The version that the preview read.
            reason: The model's words.
            facts: JSON that the person is shown.
            expires_at: Seconds since the epoch, after which nobody may approve it.
            command_id: An id that was made earlier; None makes one.
            call_input: What the model's call said, where the command gets another input.
            capability: Whose call it was.
            capability_target: Of which target of that capability.
            state: ``awaiting_approval`` where a person is asked at once: proposed and offered in one transaction.

        Raises:
            InputError: The input is not JSON.
            CommandError: The input has a field that only trusted code gives (``forged_field``), or the store failed.
        """
        proposal = Proposal(
            proposal_id=self._ids(),
            command_id=command_id or self._ids(),
            type=type_,
            input=_frozen(input_),
            target=target,
            expected_version=expected_version,
            reason=reason,
            facts=facts,
            actor=actor.name,
            created_at=self._clock(),
            expires_at=expires_at,
            call_input=_other(call_input, input_),
            capability=capability,
            capability_target=capability_target,
            state=state,
            session=self.sessions.own,
        )
        await self._note(lambda connection: connection.execute(insert(proposals).values(_to_row(proposal))))
        return proposal

    async def offer(self, proposal_id: str) -> Proposal:
        """Let it wait for a person."""
        return await self._move(proposal_id, CommandState.AWAITING_APPROVAL)

    async def edit(
        self,
        proposal_id: str,
        input_: Mapping[str, Any],
        *,
        target: str | None = None,
        expected_version: Version | None = None,
        facts: Any = None,
        call_input: Mapping[str, Any] | None = None,
    ) -> Proposal:
        """Replace the content while it waits; an approval given before is void, since the digest is another.

        Raises:
            InputError: The input is not JSON.
            CommandError: It no longer waits (``bad_transition``), or the input is refused.
        """
        frozen, said = _frozen(input_), _other(call_input, input_)

        def work(connection: Connection) -> Proposal:
            proposal = _get(connection, proposal_id)
            digest = payload_digest(proposal.type, target, frozen, expected_version)
            changed = _content(frozen, said, facts, expected_version) | {"target": target, "digest": digest}
            waiting = proposals.c.state == CommandState.AWAITING_APPROVAL.value
            return _change(connection, proposal, waiting, changed | {"decided_by": None, "decided_at": None})

        return await self._note(work)

    async def approve(self, proposal_id: str, *, digest: str, by: str) -> Command:
        """Write down that a person approved what they saw, and return the command to submit.

        Args:
            proposal_id: Which one.
            digest: Of what the person was shown.
            by: Who, from the trusted session.

        Raises:
            CommandError: It changed (``changed``), expired or no longer waits (``bad_transition``).
        """
        now = self._clock()

        def work(connection: Connection) -> Proposal:
            proposal = _get(connection, proposal_id)
            if proposal.digest != digest:
                raise CommandError("changed", "The proposal is no longer what was approved.")
            timely = proposals.c.expires_at.is_(None) | (proposals.c.expires_at > now)
            waiting = proposals.c.state == CommandState.AWAITING_APPROVAL.value
            same = proposals.c.digest == digest
            return _change(connection, proposal, waiting & timely & same, {"decided_by": by, "decided_at": now})

        return to_command(await self._note(work))

    async def reject(self, proposal_id: str, *, by: str) -> Proposal:
        """Write down that a person said no."""
        decision = {"decided_by": by, "decided_at": self._clock()}
        return await self._move(proposal_id, CommandState.REJECTED, decision)

    async def cancel(self, proposal_id: str) -> Proposal:
        """Withdraw it; possible only before it executes."""
        return await self._move(proposal_id, CommandState.CANCELLED)

    async def conclude(self, proposal_id: str, state: CommandState, *, command_id: str | None = None) -> Proposal:
        """Let a proposal follow what became of it: a command of another store, an approval that expired.

        One that has ended already stays as it is. A command of this very store moves its proposal by itself.

        Args:
            proposal_id: Which one.
            state: Its end.
            command_id: Of which command that is known; one that was issued anew since stays as it is. None: of any.

        Raises:
            CommandError: It cannot go there from where it is; code ``bad_transition``.
        """

        def work(connection: Connection) -> Proposal:
            proposal = _get(connection, proposal_id)
            if proposal.state in FINAL or command_id not in (None, proposal.command_id):
                return proposal
            if state not in TRANSITIONS[proposal.state]:
                check_transition(proposal.state, CommandState.EXECUTING)
                check_transition(CommandState.EXECUTING, state)
            own = proposals.c.state == proposal.state.value
            return _change(connection, proposal, own, {"state": state.value})

        return await self._note(work)

    async def take(self, proposal: Proposal) -> Proposal:
        """Make a waiting proposal one of this session; of several windows that want it, one gets it.

        Raises:
            CommandError: It no longer waits, or another session has taken it; code ``bad_transition``.
        """
        if proposal.session == self.sessions.own:
            return proposal
        waiting = proposals.c.state.in_(_values(_WAITING))
        still = proposals.c.session.is_not_distinct_from(proposal.session)
        own = {"session": self.sessions.own}
        return await self._note(lambda connection: _change(connection, proposal, waiting & still, own))

    async def reissue(self, proposal_id: str) -> Proposal:
        """Let an approved one wait again, under a new command id; the caller has closed the old id for good.

        Raises:
            CommandError: It no longer waits; code ``bad_transition``.
        """
        waiting = proposals.c.state == CommandState.AWAITING_APPROVAL.value
        anew = {"command_id": self._ids(), "decided_by": None, "decided_at": None}
        return await self._note(lambda connection: _change(connection, _get(connection, proposal_id), waiting, anew))

    async def expire(self) -> int:
        """Let everything expire that nobody decided on in time, and return how many did."""
        now = self._clock()

        def work(connection: Connection) -> int:
            late = update(proposals).where(
                proposals.c.expires_at <= now,
                proposals.c.decided_by.is_(None),  # what was approved in time follows its command
                proposals.c.state.in_(_values(sources(CommandState.EXPIRED))),
            )
            return connection.execute(late.values(state=CommandState.EXPIRED.value)).rowcount

        return await self._note(work)

    async def get(self, proposal_id: str) -> Proposal:
        """Return one.

        Raises:
            CommandError: There is none; code ``no_proposal``.
        """
        return await self._ask(lambda connection: _get(connection, proposal_id))

    async def waiting(self) -> tuple[Proposal, ...]:
        """Return those that a person has still to decide on, or whose approved command was never seen; oldest first."""
        found = select(proposals).where(proposals.c.state.in_(_values(_WAITING))).order_by(proposals.c.created_at)
        return await self._ask(lambda connection: tuple(_to_proposal(row) for row in connection.execute(found)))

    async def open(self) -> tuple[Proposal, ...]:
        """Return all that have not ended: those that wait, and those whose command is executing or unknown."""
        going_on = proposals.c.state.not_in(_values(tuple(FINAL)))
        found = select(proposals).where(going_on).order_by(proposals.c.created_at)
        return await self._ask(lambda connection: tuple(_to_proposal(row) for row in connection.execute(found)))

    async def _move(self, proposal_id: str, state: CommandState, also: Mapping[str, Any] | None = None) -> Proposal:
        def work(connection: Connection) -> Proposal:
            allowed = proposals.c.state.in_(_values(sources(state)))
            return _change(connection, _get(connection, proposal_id), allowed, {"state": state.value, **(also or {})})

        return await self._note(work)

    async def _note(self, work: Callable[[Connection], _T]) -> _T:
        result: _T = await self._io(lambda: self._transactions.note(work))
        return result

    async def _ask(self, work: Callable[[Connection], _T]) -> _T:
        result: _T = await self._io(lambda: self._transactions.ask(work))
        return result


def to_command(proposal: Proposal) -> Command:
    """Return the command that an approved proposal becomes."""
    return Command(
        command_id=proposal.command_id,
        type=proposal.type,
        input=proposal.input,
        target=proposal.target,
        expected_version=proposal.expected_version,
        proposal_id=proposal.proposal_id,
        approved_by=proposal.decided_by,
        approved_at=proposal.decided_at,
    )


def _frozen(input_: Mapping[str, Any]) -> bytes:
    if forged := forged_fields(input_):
        hint = f"The input may not have {', '.join(forged)}: only trusted code says that."
        raise CommandError(Code.FORGED_FIELD.value, hint)
    return canonical(input_)


def _other(call_input: Mapping[str, Any] | None, input_: Mapping[str, Any]) -> bytes | None:
    """Return the frozen input of a call, where it is another than its command's."""
    said = None if call_input is None else _frozen(call_input)
    return None if said == canonical(input_) else said


def _content(frozen: bytes, said: bytes | None, facts: Any, expected_version: Version | None) -> dict[str, Any]:
    return {
        "input": frozen.decode(),
        "call_input": None if said is None else said.decode(),
        "facts": canonical(facts, max_bytes=None).decode(),
        "expected_version": from_version(expected_version),
    }


def _to_row(proposal: Proposal) -> dict[str, Any]:
    row = {field.name: getattr(proposal, field.name) for field in fields(proposal)}
    row |= _content(proposal.input, proposal.call_input, proposal.facts, proposal.expected_version)
    return row | {"digest": proposal.digest, "state": proposal.state.value}


def _get(connection: Connection, proposal_id: str) -> Proposal:
    row = connection.execute(select(proposals).where(proposals.c.proposal_id == proposal_id)).one_or_none()
    if row is None:
        raise CommandError("no_proposal", "There is no such proposal.")
    return _to_proposal(row)


def _change(
    connection: Connection, proposal: Proposal, condition: ColumnElement[bool], values: Mapping[str, Any]
) -> Proposal:
    """Change a proposal where the condition still holds."""
    own = proposals.c.proposal_id == proposal.proposal_id
    if connection.execute(update(proposals).where(own, condition).values(**values)).rowcount != 1:
        raise CommandError("bad_transition", f"The proposal is {proposal.state.value}, or its time is over.")
    return _get(connection, proposal.proposal_id)


def _to_proposal(row: Row[Any]) -> Proposal:
    known = {field.name: getattr(row, field.name) for field in fields(Proposal)}
    return Proposal(
        **known
        | {
            "input": row.input.encode(),
            "call_input": None if row.call_input is None else row.call_input.encode(),
            "facts": json.loads(row.facts),
            "expected_version": to_version(row.expected_version),
            "state": CommandState(row.state),
        }
    )


def _values(states: tuple[CommandState, ...]) -> list[str]:
    return [state.value for state in states]
