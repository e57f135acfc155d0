"""The loop between a person, a chat model and the registry: turns, Stop, a typed end. Shows nothing."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentic_qt.client.assembler import Assembled, Assembler
from agentic_qt.client.chat_model import ChatModel, ChatModelError, Delta, Usage
from agentic_qt.client.events import (
    AgentEvent,
    CallFinished,
    CallProgressed,
    CallStarted,
    MessageFinished,
    ReasoningDelta,
    RunEnd,
    RunEnded,
    RunEndReason,
    RunStarted,
    TextDelta,
    TurnStarted,
)
from agentic_qt.client.late_ends import LateEnds
from agentic_qt.client.tool_runner import Planned, ToolRunner
from agentic_qt.core.events import Observers
from agentic_qt.core.flight import CallProgress
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.history import repair
from agentic_qt.protocol.messages import (
    ToolCall,
    assistant_message,
    system_message,
    tool_message,
    user_message,
)
from agentic_qt.protocol.snapshot import Snapshot

_log = logging.getLogger("agentic_qt.client.agent")

MAX_TOOLS = 128
"""Tools that providers take in one request."""

_CLOSING = 0.06
"""Seconds that a stream may take to close after Stop, before nobody waits for it."""

_EARLY_ENDS = {"length": RunEndReason.LENGTH, "content_filter": RunEndReason.CONTENT_FILTER}


@dataclass(kw_only=True, slots=True)
class _Run:
    id: str
    stopping: "asyncio.Future[None]"
    turns: int = 0
    text: str = ""
    usage: Usage | None = None

    def stopped(self) -> bool:
        return self.stopping.done()

    def end(self, reason: RunEndReason, error: ChatModelError | None = None) -> RunEnd:
        return RunEnd(
            run=self.id, reason=reason, text=self.text, turns=self.turns, error=error, usage=self.usage
        )


class Agent:
    """Lets a chat model use the capabilities of a registry on behalf of a person.

    One run at a time, in the loop's thread. Whatever happens, the history stays such that the next request is
    accepted: each tool call has exactly one answer.

    Args:
        registry: What the chat model may use.
        chat_model: Whom to ask.
        instructions: The system message; not part of `messages`, and may be changed between runs.
        actor: Who acts, from the trusted session.
        client: The name under which calls are made, policy judges and approvals are remembered.
        max_turns: Requests of one run; the calls of the last one still run.
    """

    def __init__(
        self,
        registry: Registry,
        chat_model: ChatModel,
        *,
        instructions: str = "",
        actor: str | None = None,
        client: str = "assistant",
        max_turns: int = 8,
    ) -> None:
        if max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, not {max_turns}")
        self.instructions = instructions
        self.actor = actor
        self.client = client
        self.max_turns = max_turns
        self._registry = registry
        self._chat_model = chat_model
        self._messages: list[dict[str, Any]] = []
        self._run: _Run | None = None
        self._observers: Observers[AgentEvent] = Observers()
        # The loop holds tasks weakly.
        self._tasks: set[asyncio.Task[Any]] = set()
        self._late_ends = LateEnds(registry, self._tell)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation as it is sent, without the system message; change it only while nothing runs."""
        return self._messages

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        return self._run is not None

    @property
    def chat_model(self) -> ChatModel:
        """Whom to ask; may be changed while nothing runs.

        Raises:
            RuntimeError: It was set while a run is under way.
        """
        return self._chat_model

    @chat_model.setter
    def chat_model(self, chat_model: ChatModel) -> None:
        self._refuse_while_running("change the chat model")
        self._chat_model = chat_model

    def observe(self, callback: Callable[[AgentEvent], None]) -> Callable[[], None]:
        """Tell `callback` of everything that happens; returns a function that ends it."""
        return self._observers.add(callback)

    def clear(self) -> None:
        """Forget the conversation.

        Raises:
            RuntimeError: A run is under way; stop it first.
        """
        self._refuse_while_running("clear the conversation")
        self._messages.clear()

    async def run(self, text: str) -> RunEnd:
        """Send a person's message and work until the chat model is done, or until something ends the run.

        A second run while one is under way is refused: it returns at once with the reason ``busy``, and
        nothing of it is kept or told. Cancelling the task that awaits this stops the run like `stop` and
        passes the CancelledError on.

        Args:
            text: What the person wrote.

        Returns:
            How it ended; provider errors are told there and not raised.
        """
        if self._run is not None:
            return RunEnd(run=self._run.id, reason=RunEndReason.BUSY)
        self._messages.append(user_message(text))
        return await self._begin(text)

    async def retry(self) -> RunEnd:
        """Send the last request again without a new message of the person.

        What was answered to it is forgotten; the calls that ran before it and their outcomes stay.

        Returns:
            How it ended; ``busy`` while a run is under way, ``empty`` when there is nothing to send.
        """
        if self._run is not None:
            return RunEnd(run=self._run.id, reason=RunEndReason.BUSY)
        self._messages[:] = repair(self._messages)
        while self._messages and self._messages[-1].get("role") == "assistant":
            self._messages.pop()
        if not self._messages:
            return RunEnd(run="", reason=RunEndReason.EMPTY)
        return await self._begin("")

    def stop(self) -> bool:
        """Stop the run: it ends within 100 ms, and no further call starts.

        Each open call gets an honest outcome. Calls under way are told to stop and pending approvals are
        withdrawn. What has not ended by then is ``unknown``, and its late end is told as
        ``CallFinished(late=True)``.

        Returns:
            Whether there was anything to stop.
        """
        if self._run is None or self._run.stopped():
            return False
        self._run.stopping.set_result(None)
        return True

    async def _begin(self, text: str) -> RunEnd:
        loop = asyncio.get_running_loop()
        self._run = _Run(id=f"run-{uuid.uuid4().hex[:16]}", stopping=loop.create_future())
        # A task of its own: a caller that is cancelled, even twice, cannot leave the run half done.
        work = self._hold(loop.create_task(self._work(self._run, text)))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if not work.done():
                self.stop()
                await asyncio.wait({work})
            raise

    async def _work(self, run: _Run, text: str) -> RunEnd:
        self._late_ends.listen()
        ignore_progress = self._registry.observe_progress(self._progressed)
        self._tell(RunStarted(run=run.id, text=text))
        end = run.end(RunEndReason.STOPPED)
        try:
            end = await self._turns(run)
        except ChatModelError as error:
            end = run.end(RunEndReason.ERROR, error)
        except Exception:
            _log.exception("The run %s broke", run.id)
            end = run.end(RunEndReason.ERROR)
        finally:
            ignore_progress()
            self._messages[:] = repair(self._messages)
            self._registry.end_run(run.id)
            self._run = None
            self._tell(RunEnded(run=run.id, end=end))
            self._late_ends.let_go()
        return end

    async def _turns(self, run: _Run) -> RunEnd:
        for _ in range(self.max_turns):
            if run.stopped():  # by an observer
                return run.end(RunEndReason.STOPPED)
            snapshot = Snapshot.of(self._registry)
            answer = await self._ask(run, snapshot)
            if run.stopped():
                self._keep(answer, tool_calls=())
                return run.end(RunEndReason.STOPPED)
            if answer.error is not None:
                raise answer.error
            if answer.cut:
                return run.end(RunEndReason.CUT_STREAM)
            early = _EARLY_ENDS.get(answer.finish_reason or "")
            tool_calls = () if early else answer.tool_calls
            self._keep(answer, tool_calls=tool_calls)
            if early is not None:
                return run.end(early)
            if not tool_calls:
                return run.end(RunEndReason.COMPLETED if answer.text else RunEndReason.EMPTY)
            await self._run_calls(run, snapshot, answer)
        return run.end(RunEndReason.STOPPED if run.stopped() else RunEndReason.TURN_CAP)

    async def _ask(self, run: _Run, snapshot: Snapshot) -> Assembled:
        """Send one request and read its answer, or as much of it as came before Stop."""
        run.turns += 1
        self._tell(TurnStarted(run=run.id, turn=run.turns))
        self._messages[:] = repair(self._messages)
        assembler = Assembler()
        reader = asyncio.get_running_loop().create_task(
            self._read(run, assembler, list(self._messages), _offered(snapshot))
        )
        try:
            await asyncio.wait({reader, run.stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not reader.done():
                reader.cancel()
                await asyncio.wait({self._hold(reader)}, timeout=_CLOSING)
        finally:
            reader.cancel()
        answer = assembler.finish()
        if answer.text:
            run.text = answer.text
            self._tell(MessageFinished(run=run.id, text=answer.text))
        if answer.usage is not None:
            run.usage = _added(run.usage, answer.usage)
        failure = reader.exception() if reader.done() and not reader.cancelled() else None
        if failure is not None and not run.stopped():
            raise failure
        return answer

    async def _read(
        self, run: _Run, assembler: Assembler, messages: list[dict[str, Any]], tools: list[Mapping[str, Any]]
    ) -> None:
        if run.stopped():  # between the task's making and its first step
            return
        if self.instructions:
            messages.insert(0, system_message(self.instructions))
        stream = self._chat_model.stream(messages, tools)
        try:
            async for delta in stream:
                if run.stopped():
                    return
                assembler.feed(delta)
                if delta.reasoning:
                    self._tell(ReasoningDelta(run=run.id, text=delta.reasoning))
                if delta.text:
                    self._tell(TextDelta(run=run.id, text=delta.text))
        except Exception:
            if not run.stopped():
                raise
            _log.debug("A stream failed while it was being closed", exc_info=True)
        finally:
            await _close(stream)

    def _keep(self, answer: Assembled, *, tool_calls: tuple[ToolCall, ...]) -> None:
        if answer.text or tool_calls:
            self._messages.append(assistant_message(answer.text, tool_calls, answer.extra))

    async def _run_calls(self, run: _Run, snapshot: Snapshot, answer: Assembled) -> None:
        planned = []
        for position, tool_call in enumerate(answer.tool_calls, start=1):
            # Ids of our own: providers repeat theirs from turn to turn.
            call_id = f"{run.id}.{run.turns}.{position}"
            decoded = snapshot.decode(
                tool_call,
                run=run.id,
                actor=self.actor,
                client=self.client,
                call_id=call_id,
                reason=answer.text,
            )
            planned.append(Planned(call_id=call_id, tool_call=tool_call, decoded=decoded))
        runner = ToolRunner(
            self._registry,
            run=run.id,
            stopping=run.stopping,
            tell=self._tell_call,
            late=self._late_ends.ended,
        )
        outcomes = await runner.run(planned)
        for entry, outcome in zip(planned, outcomes, strict=True):
            self._messages.append(tool_message(entry.tool_call.id, outcome))

    def _tell(self, event: AgentEvent) -> None:
        self._observers.tell(event)

    def _tell_call(self, event: CallStarted | CallFinished) -> None:
        self._late_ends.note(event)
        self._tell(event)

    def _progressed(self, told: CallProgress) -> None:
        if self._run is not None and told.run == self._run.id:
            self._tell(CallProgressed(run=self._run.id, call_id=told.call_id, progress=told.progress))

    def _hold(self, task: "asyncio.Task[Any]") -> "asyncio.Task[Any]":
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _refuse_while_running(self, what: str) -> None:
        if self._run is not None:
            raise RuntimeError(f"cannot {what} while a run is under way: stop it first")


def _offered(snapshot: Snapshot) -> list[Mapping[str, Any]]:
    tools = snapshot.tools
    if len(tools) > MAX_TOOLS:
        _log.warning("%d tools are visible, the first %d are offered", len(tools), MAX_TOOLS)
    return tools[:MAX_TOOLS]


def _added(sum_so_far: Usage | None, usage: Usage) -> Usage:
    if sum_so_far is None:
        return usage
    return Usage(
        input_tokens=sum_so_far.input_tokens + usage.input_tokens,
        output_tokens=sum_so_far.output_tokens + usage.output_tokens,
    )


async def _close(stream: AsyncIterator[Delta]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
