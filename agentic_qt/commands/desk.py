"""Where calls become commands: proposals that outlive the process, the decisions on them, and what is still open.

A desk belongs to one registry. It writes a proposal before a person is asked and the decision before anything runs;
after a restart it offers again what nobody decided and finds out what was under way. It never runs anything by itself.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.journal import DurableJournal
from agentic_qt.commands.port import CommandPort
from agentic_qt.commands.projection import is_final, outcome_of
from agentic_qt.commands.proposals import Proposals
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.values import (
    Actor,
    Code,
    Command,
    CommandResult,
    CommandStatus,
    Proposal,
    Version,
    payload_digest,
)
from agentic_qt.core.approvals import Approval, ApprovalChange, ApprovalEvent, ApprovalRequest
from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.events import AuditEvent, AuditKind
from agentic_qt.core.journal import Intent
from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.commands.desk")
_ENDS: Final = frozenset({AuditKind.REJECTED, AuditKind.EXECUTED})
_NOBODY_DECIDED: Final = frozenset({"no_approver", "approval_error", "window_closed", "target_required"})
Key = tuple[str | None, str | None, str]
"""Client, run and call id: what a call is known by."""


@dataclass(kw_only=True, slots=True)
class Draft:
    """What is known of one call before its command is submitted; it changes as the call goes along.

    Args:
        command_id: Made before anybody is asked.
        type: The command type.
        call_input: The canonical input of the call, as it was previewed last.
        input: The canonical input that the command gets for it.
        target: Which thing it is about.
        version: The row's version that was previewed last.
        actor: For whom.
        proposal: As it was written down; None before a person is asked.
        command: As it was approved; None before that, and where no person had to be asked.
        decision: The code of the decision, once there is one; ``approved`` for a yes.
        submitted: Whether the command is on its way: from then on its result says what becomes of the proposal.
        resumed: Whether it was left by an earlier session: whoever resumed it says what becomes of the proposal.
    """

    command_id: str
    type: str
    call_input: bytes
    input: bytes
    target: str | None
    version: Version | None
    actor: Actor
    proposal: Proposal | None = None
    command: Command | None = None
    decision: str = ""
    submitted: bool = False
    resumed: bool = False

    @property
    def digest(self) -> str:
        """The digest of the command that it becomes."""
        return payload_digest(self.type, self.target, self.input, self.version)

    def data(self) -> dict[str, Any]:
        """Return the input as a fresh JSON object."""
        parsed: dict[str, Any] = json.loads(self.input)
        return parsed

    def to_command(self) -> Command:
        """Return the command to submit: the approved one, if these are still its bytes and version."""
        if self.command is not None and self.command.digest == self.digest:
            return self.command
        if self.command is not None:
            raise CommandError("changed", "What was approved is not what would be done.")
        return Command(
            command_id=self.command_id,
            type=self.type,
            input=self.input,
            target=self.target,
            expected_version=self.version,
        )


class CommandDesk:
    """Turns calls of a registry into commands of a service; see `agentic_qt.commands.capability.command_capability`.

    Args:
        registry: Whose calls.
        service: Embedded, or a client of a remote one.
        proposals: Where proposals are written; those of an embedded service unless given.
        actor_of: The actor of a call by its name, from the trusted session; None for a name that may not act here.
        approver: Who decides at this window, for the record; by default the actor of the call.
        first_pause: Seconds before the status of an unknown command is asked for; doubled each time.
        longest_pause: Seconds between two questions at most.
        sleep: Waits; for tests.

    Raises:
        CommandError: The service is a remote one and no proposals were given; code ``no_proposals``.
    """

    def __init__(
        self,
        registry: Registry,
        service: CommandPort,
        *,
        actor_of: Callable[[str | None], Actor | None],
        proposals: Proposals | None = None,
        approver: Callable[[ApprovalRequest], str] | None = None,
        first_pause: float = 1.0,
        longest_pause: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if proposals is None:
            if not isinstance(service, CommandService):
                raise CommandError("no_proposals", "A remote service needs a store of its own for proposals.")
            proposals = service.proposals
        self.registry = registry
        self.service = service
        self.proposals = proposals
        self.actor_of = actor_of
        self._approver = approver
        self._pauses = (first_pause, longest_pause)
        self._sleep = sleep
        self._drafts: dict[Key, Draft] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watches: set[asyncio.Task[Any]] = set()
        self._names: dict[str, str] = {}
        self._reserved: set[str] = set()
        self._removers = (
            registry.approvals.observe(self._note_decision),
            registry.audit(self._note_end),
            proposals.note_under_way(self._under_way),
        )
        if isinstance(registry.journal, DurableJournal):
            registry.journal.name_commands(self._command_of)

    async def close(self) -> None:
        """Finish what is being written down, and ask no further; what is open is found out at the next start."""
        for remove in self._removers:
            remove()
        for task in tuple(self._watches):
            task.cancel()
        await asyncio.gather(*self._watches, *self._tasks, return_exceptions=True)

    def enter(self, command_type: str, capability_name: str) -> None:
        """Note by which capability commands of a type are submitted, for proposals that name none."""
        self._names[command_type] = capability_name

    def capability_of(self, command_type: str) -> str:
        """Return the name of the capability that submits a type: of several, the last that was entered."""
        return self._names.get(command_type, command_type)

    def place_of(self, proposal: Proposal) -> tuple[str, str | None]:
        """Return the name and, if it lives, the target of the capability by which a proposal is taken up again."""
        name = proposal.capability or self.capability_of(proposal.type)
        lives = self.registry.find(name, proposal.capability_target) is not None
        return name, proposal.capability_target if lives else None

    # ---- the calls under way

    def draft(self, key: Key) -> Draft | None:
        """Return what is known of a call that was previewed."""
        return self._drafts.get(key)

    def keep(self, key: Key, draft: Draft) -> None:
        """Remember a call until it ends."""
        self._drafts[key] = draft

    def drop(self, key: Key) -> None:
        """Forget a call."""
        self._drafts.pop(key, None)

    @contextmanager
    def reserve(self, proposal_id: str) -> Iterator[None]:
        """Keep a proposal to one caller of this process while it is taken up or closed.

        Raises:
            CommandError: Its call lives, or somebody else has it; code ``bad_transition``.
        """
        if proposal_id in self.proposals.under_way:
            raise CommandError("bad_transition", "The proposal is under way right here.")
        self._reserved.add(proposal_id)
        try:
            yield
        finally:
            self._reserved.discard(proposal_id)

    def _under_way(self) -> set[str]:
        """Return the ids of the proposals whose calls this desk knows."""
        return self._reserved | {
            draft.proposal.proposal_id for draft in self._drafts.values() if draft.proposal is not None
        }

    async def ask(self, request: ApprovalRequest) -> Approval:
        """Be the approver of a command: write the proposal, ask the person, write the decision, in this order.

        Raises:
            CommandError: It could not be written down; the call is denied then.
        """
        key: Key = (request.client, request.run, request.call_id)
        draft = self._drafts.get(key)
        if draft is None:
            raise CommandError("no_proposal", "This call was never previewed.")
        draft.proposal = proposal = await self._write(draft, request)
        draft.decision = ""
        approval = await self.registry.approvals.ask(request)
        if approval.granted:
            by = self._approver(request) if self._approver is not None else draft.actor.name
            draft.command = await self.proposals.approve(proposal.proposal_id, digest=draft.digest, by=by)
        elif approval.code == "person":
            await self.proposals.reject(proposal.proposal_id, by=draft.actor.name)
            draft.proposal = None  # it has ended: there is nothing to withdraw
        return approval

    async def follow(self, draft: Draft, result: CommandResult) -> None:
        """Let a call's proposal follow its command; what cannot be written now is found out at the next start."""
        if draft.proposal is None or self._has_followed(draft, result):
            return
        if result.status is CommandStatus.REFUSED:  # nothing was stored under the id, and the caller was told so
            await self._end(draft.proposal, CommandState.CANCELLED)
        else:
            await self.conclude(draft.proposal, result)

    def _has_followed(self, draft: Draft, result: CommandResult) -> bool:
        """Whether the command's own transaction moved its proposal: in the same store, unless a tombstone was there."""
        is_same_store = isinstance(self.service, CommandService) and self.service.proposals is self.proposals
        return is_same_store and draft.command is not None and is_final(result) and result.code != Code.ABANDONED

    async def conclude(self, proposal: Proposal, result: CommandResult) -> None:
        """Let a proposal follow a result, if that is an end."""
        if is_final(result):
            await self._end(proposal, CommandState(result.status.value))

    def watch(self, key: Key, command_id: str, draft: Draft) -> None:
        """Ask for an unknown command until it is known, then close the call that submitted it."""
        task = asyncio.get_running_loop().create_task(self._watch(key, command_id, draft))
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    async def ask_status(self, command_id: str, actor: Actor) -> CommandResult:
        """Ask what became of a command; for an external effect of an embedded service, the other side too."""
        if isinstance(self.service, CommandService):
            return await self.service.resolve(command_id, actor)
        return await self.service.status(command_id, actor)

    async def _write(self, draft: Draft, request: ApprovalRequest) -> Proposal:
        written = draft.proposal
        if written is not None and written.digest == draft.digest:
            return await self._offered(written)
        if written is not None:
            offered = await self._offered(written)
            return await self.proposals.edit(
                offered.proposal_id,
                draft.data(),
                target=draft.target,
                expected_version=draft.version,
                facts=request.facts,
                call_input=json.loads(draft.call_input),
            )
        return await self.proposals.propose(
            draft.type,
            draft.data(),
            draft.actor,
            target=draft.target,
            expected_version=draft.version,
            reason=request.reason,
            facts=request.facts,
            command_id=draft.command_id,
            call_input=json.loads(draft.call_input),
            capability=request.name,
            capability_target=None if request.target is None else request.target.id,
            state=CommandState.AWAITING_APPROVAL,
        )

    async def _offered(self, proposal: Proposal) -> Proposal:
        if proposal.state is CommandState.PROPOSED:
            return await self.proposals.offer(proposal.proposal_id)
        return proposal

    def _note_end(self, event: AuditEvent) -> None:
        """Withdraw the proposal of a call that ended without a command: refused, stopped, expired.

        When the window went away nobody decided: it stays, and is offered at the next start.
        """
        if event.kind not in _ENDS or not event.digest:  # a repeated call id has no digest: the first goes on
            return
        key = (event.client, event.run, event.call_id)
        draft = self._drafts.get(key)
        if draft is None or draft.submitted:
            return
        self.drop(key)
        if not draft.resumed:
            self._hold(self._withdraw(draft))

    async def withdraw_resumed(self, draft: Draft, outcome: Outcome) -> None:
        """Close the proposal of a resumed call that ended without a command, unless it is worth another try.

        The person who resumed it loses it to nothing that passes: a busy store, a form that is not open, no approver.
        """
        passes = outcome.retry == "later" or outcome.status is Status.UNAVAILABLE or outcome.code in _NOBODY_DECIDED
        if not draft.submitted and not passes:
            await self._withdraw(draft)

    async def _withdraw(self, draft: Draft) -> None:
        """Close the proposal of a call that ended without a command, unless its window went away."""
        if draft.proposal is not None and draft.decision != "window_closed":
            state = CommandState.EXPIRED if draft.decision == "expired" else CommandState.CANCELLED
            await self._end(draft.proposal, state)

    async def _end(self, proposal: Proposal, state: CommandState) -> None:
        try:
            await self.proposals.conclude(proposal.proposal_id, state, command_id=proposal.command_id)
        except CommandError:  # it stays where it was and is offered once more at the next start
            _log.warning("Proposal %s could not be closed as %s", proposal.proposal_id, state.value, exc_info=True)

    async def _watch(self, key: Key, command_id: str, draft: Draft) -> None:
        pause, longest = self._pauses
        client, run, call_id = key
        while True:
            await self._sleep(pause)
            pause = min(pause * 2, longest)
            try:
                result = await self.ask_status(command_id, draft.actor)
            except CommandError:
                _log.warning("The status of %s could not be read", command_id, exc_info=True)
                continue
            if is_final(result):
                await self.follow(draft, result)
                self.registry.settle(call_id, outcome_of(result), client=client, run=run)
                return

    def _note_decision(self, event: ApprovalEvent) -> None:
        """Keep why a request ended: a wait that is cancelled as the window closes is told of nothing else."""
        if event.change is not ApprovalChange.SETTLED or event.approval is None:
            return
        request = event.request
        draft = self._drafts.get((request.client, request.run, request.call_id))
        if draft is not None:
            draft.decision = "approved" if event.approval.granted else event.approval.code

    def _command_of(self, intent: Intent) -> str | None:
        draft = self._drafts.get((intent.client, intent.run, intent.call_id))
        return None if draft is None else draft.command_id

    def _hold(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
