"""One run: turns between a chat model and the registry, until the chat model is done or something ends it."""

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agentic_qt.client.assembler import Assembled
from agentic_qt.client.budgets import Budgets, WorkClock
from agentic_qt.client.chat_model import ChatModel, ChatModelError, Delta, Usage
from agentic_qt.client.events import (
    AgentEvent,
    CallFinished,
    CallProgressed,
    CallStarted,
    ContextTrimmed,
    Interjected,
    MessageFinished,
    ReasoningDelta,
    RunEnd,
    RunEndReason,
    TextDelta,
    TurnStarted,
)
from agentic_qt.client.exchange import Interrupted, Request, exchange
from agentic_qt.client.guard import Planned, RunGuard
from agentic_qt.client.late_ends import LateEnds
from agentic_qt.client.long_results import LongResults
from agentic_qt.client.offering import Offering
from agentic_qt.client.outbox import Outbox, Parcel
from agentic_qt.client.threads import Branch, Thread
from agentic_qt.client.tool_runner import ToolRunner
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent, ApprovalRequest
from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.core.flight import CallProgress
from agentic_qt.core.forwarding import meant_by
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.history import repair
from agentic_qt.protocol.messages import ToolCall, assistant_message, tool_message, user_message
from agentic_qt.protocol.snapshot import Snapshot

_log = logging.getLogger("agentic_qt.client.agent_run")

_EARLY_ENDS = {"length": RunEndReason.LENGTH, "content_filter": RunEndReason.CONTENT_FILTER}
_SHORTEST_WAIT = 0.02  # seconds between two looks at the clock


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """What a run works with; the same for all runs of an agent as long as nobody changes its settings."""

    registry: Registry
    chat_model: ChatModel
    actor: str | None
    client: str
    budgets: Budgets
    outbox: Outbox
    offering: Offering
    late_ends: LateEnds
    tell: Callable[[AgentEvent], None]
    hold: Callable[["asyncio.Task[Any]"], Any]


class AgentRun:
    """A run in one branch of one thread, whatever the person looks at meanwhile.

    Attributes:
        id: Of the run.
        thread: Where it works; its results land nowhere else.
        branch: The branch that was current when it began.
    """

    def __init__(self, desk: Desk, thread: Thread) -> None:
        self.id = f"run-{uuid.uuid4().hex[:16]}"
        self.thread = thread
        self.branch: Branch = thread.branch
        self._desk = desk
        self._stopping: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._guard = RunGuard(run=self.id, budgets=desk.budgets, tell=desk.tell)
        self._clock = WorkClock()
        self._runner: ToolRunner | None = None
        self._interjected: list[str] = []
        self._used: set[str] = set()
        self._turns_begun = 0
        self._text = ""
        self._usage: Usage | None = None
        self._tokens = 0
        self._left_out = 0

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop."""
        return self._stopping.done()

    @property
    def waiting(self) -> tuple[ApprovalRequest, ...]:
        """The approvals of this run that wait for the person."""
        return tuple(request for request in self._desk.registry.approvals.pending if request.run == self.id)

    def stop(self, budget: str = "") -> bool:
        """End it within 100 ms, for the person or because a budget is used up; returns whether that was news."""
        if self.stopped:
            return False
        self._stopping.set_result(budget)
        return True

    def interject(self, text: str) -> bool:
        """Take a message of the person; what waits for an answer is withdrawn, what has not begun does not begin."""
        if self.stopped:
            return False
        self._interjected.append(text)
        self._guard.interrupted = True
        self._desk.tell(Interjected(run=self.id, text=text, thread=self.thread.id))
        for request in self.waiting:
            self._withdraw(request)
        return True

    def cancel_call(self, call_id: str) -> bool:
        """Stop one call; returns whether it was open."""
        return self._runner is not None and self._runner.cancel(call_id, client=self._desk.client)

    async def work(self) -> RunEnd:
        """Work until something ends the run; whatever it is, the history stays one that providers take."""
        desk = self._desk
        desk.late_ends.listen()
        end = self._end(RunEndReason.STOPPED)
        with self._watched():
            try:
                end = await self._turns()
            except ChatModelError as error:
                end = self._end(RunEndReason.ERROR, error)
            except Exception:
                _log.exception("The run %s broke", self.id)
                end = self._end(RunEndReason.ERROR)
            finally:
                self.branch.messages[:] = repair(self.branch.messages)
                self._take_interjections()
                desk.registry.end_run(self.id)
        return end

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Listen to progress and approvals of this run, and look at the clock, as long as it lasts."""
        registry = self._desk.registry
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def look() -> None:
            nonlocal timer
            left = self._desk.budgets.seconds - self._clock.elapsed
            if left > 0 or self._clock.paused:
                timer = loop.call_later(max(left, _SHORTEST_WAIT), look)
            else:
                self._guard.reach("seconds")
                self.stop("seconds")

        ignore_progress = registry.observe_progress(self._progressed)
        ignore_approvals = registry.approvals.observe(self._asked)
        look()
        try:
            yield
        finally:
            ignore_progress()
            ignore_approvals()
            if timer is not None:
                timer.cancel()

    async def _turns(self) -> RunEnd:
        for _ in range(int(self._desk.budgets.turns)):
            if self.stopped:  # by an observer
                return self._stopped_end()
            snapshot = self._desk.offering.snapshot(self.branch.messages, self._used)
            answer = await self._ask(snapshot)
            if self.stopped:
                self._keep(answer, tool_calls=())
                return self._stopped_end()
            if answer.error is not None:
                raise answer.error
            if answer.cut:
                return self._end(RunEndReason.CUT_STREAM)
            early = _EARLY_ENDS.get(answer.finish_reason or "")
            tool_calls = () if early else answer.tool_calls
            self._keep(answer, tool_calls=tool_calls)
            if early is not None:
                return self._end(early)
            if tool_calls:
                await self._run_calls(snapshot, answer)
            elif not self._interjected:
                return self._end(RunEndReason.COMPLETED if answer.text else RunEndReason.EMPTY)
            self._take_interjections()
            end = self._early_end()
            if end is not None:
                return end
        self._guard.reach("turns")
        return self._end(RunEndReason.TURN_CAP)

    def _early_end(self) -> RunEnd | None:
        """Say why no further request may be sent, if there is a reason."""
        if self.stopped:
            return self._stopped_end()
        if self._guard.went_on:
            return self._end(RunEndReason.BREAKER)
        if self._tokens >= self._desk.budgets.tokens:
            self._guard.reach("tokens")
        return self._end(RunEndReason.BUDGET) if self._guard.reached else None

    async def _ask(self, snapshot: Snapshot) -> Assembled:
        """Send one request and read its answer, or as much of it as came before Stop."""
        desk = self._desk
        self._turns_begun += 1
        self._guard.turn = self._turns_begun
        desk.tell(TurnStarted(run=self.id, turn=self._turns_begun))
        self.branch.messages[:] = repair(self.branch.messages)
        sent: list[Parcel] = []

        async def prepare() -> Request:
            parcel = await desk.outbox.pack(self.branch.messages, snapshot.tools)
            sent.append(parcel)
            self._tell_trimmed(parcel)
            return parcel.messages, parcel.tools

        try:
            answer = await exchange(desk.chat_model, prepare, stopping=self._stopping, hold=desk.hold, told=self._delta)
        except Interrupted as broken:
            self._said(broken.answer)
            raise broken.failure from None
        self._said(answer)
        if sent:
            self._tokens += desk.outbox.spent(sent[0], answer)
        return answer

    def _said(self, answer: Assembled) -> None:
        if answer.text:
            self._text = answer.text
            self._desk.tell(MessageFinished(run=self.id, text=answer.text))
        if answer.usage is not None:
            self._usage = _added(self._usage, answer.usage)

    def _keep(self, answer: Assembled, *, tool_calls: Sequence[ToolCall]) -> None:
        if answer.text or tool_calls:
            self.branch.messages.append(assistant_message(answer.text, tool_calls, answer.extra))

    async def _run_calls(self, snapshot: Snapshot, answer: Assembled) -> None:
        desk = self._desk
        planned = [
            self._plan(snapshot, tool_call, position, answer.text)
            for position, tool_call in enumerate(answer.tool_calls, start=1)
        ]
        self._runner = ToolRunner(
            desk.registry,
            run=self.id,
            thread=self.thread.id,
            guard=self._guard,
            stopping=self._stopping,
            tell=self._tell_call,
            late=desk.late_ends.ended,
        )
        try:
            outcomes = await self._runner.run(planned)
        finally:
            self._runner = None
        for entry, outcome in zip(planned, outcomes, strict=True):
            self.branch.messages.append(self._answer(entry, outcome))

    def _plan(self, snapshot: Snapshot, tool_call: ToolCall, position: int, reason: str) -> Planned:
        # Ids of our own: providers repeat theirs from turn to turn.
        call_id = f"{self.id}.{self._turns_begun}.{position}"
        decoded = snapshot.decode(
            tool_call,
            run=self.id,
            actor=self._desk.actor,
            client=self._desk.client,
            call_id=call_id,
            reason=reason,
        )
        meant = meant_by(self._desk.registry, decoded) if isinstance(decoded, Call) else None
        if meant is not None:
            self._used.add(meant.name)
        return Planned(call_id=call_id, tool_call=tool_call, decoded=decoded, meant=meant)

    def _answer(self, entry: Planned, outcome: Outcome) -> dict[str, Any]:
        registry = self._desk.registry
        if outcome.status is Status.UNKNOWN:
            self._desk.offering.need_meta()

        def keep(text: str) -> str:
            results = LongResults.of(registry)
            return results.keep(registry, text, client=self._desk.client, owner=self.thread.id)

        origin = "" if entry.meant is None else entry.meant.name
        return tool_message(entry.tool_call.id, outcome, origin=origin, keep=keep)

    def _take_interjections(self) -> None:
        texts, self._interjected = self._interjected, []
        if texts:
            self._guard.renew()
            self.branch.messages.extend(map(user_message, texts))

    def _withdraw(self, request: ApprovalRequest) -> None:
        self._guard.interrupt(request.call_id)
        self._desk.registry.cancel(request.call_id, client=request.client, run=self.id)

    # What is told

    def _asked(self, event: ApprovalEvent) -> None:
        if event.request.run != self.id:
            return
        if event.change is ApprovalChange.ADDED:
            self._clock.pause()
            if self._interjected:  # asked for only after the person had written
                self._withdraw(event.request)
        elif event.change is ApprovalChange.SETTLED:
            self._clock.resume()

    def _delta(self, delta: Delta) -> None:
        if delta.reasoning:
            self._desk.tell(ReasoningDelta(run=self.id, text=delta.reasoning))
        if delta.text:
            self._desk.tell(TextDelta(run=self.id, text=delta.text))

    def _tell_call(self, event: CallStarted | CallFinished) -> None:
        self._desk.late_ends.note(event)
        self._desk.tell(event)

    def _progressed(self, told: CallProgress) -> None:
        if told.run == self.id:
            self._desk.tell(CallProgressed(run=self.id, call_id=told.call_id, progress=told.progress))

    def _tell_trimmed(self, parcel: Parcel) -> None:
        if parcel.left_out == self._left_out:
            return
        self._left_out = parcel.left_out
        self._desk.tell(
            ContextTrimmed(
                run=self.id,
                left_out=parcel.left_out,
                kept=len(self.branch.messages) - parcel.left_out,
                tokens=parcel.tokens,
                budget=parcel.budget,
                thread=self.thread.id,
            )
        )

    def _stopped_end(self) -> RunEnd:
        by_budget = self._stopping.done() and self._stopping.result()
        return self._end(RunEndReason.BUDGET if by_budget else RunEndReason.STOPPED)

    def _end(self, reason: RunEndReason, error: ChatModelError | None = None) -> RunEnd:
        return RunEnd(
            run=self.id,
            reason=reason,
            text=self._text,
            turns=self._turns_begun,
            error=error,
            usage=self._usage,
            thread=self.thread.id,
            budget=self._guard.reached,
        )


def _added(sum_so_far: Usage | None, usage: Usage) -> Usage:
    if sum_so_far is None:
        return usage
    return Usage(
        input_tokens=sum_so_far.input_tokens + usage.input_tokens,
        output_tokens=sum_so_far.output_tokens + usage.output_tokens,
    )
