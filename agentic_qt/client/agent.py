"""The door to conversations with a chat model: threads, runs, Stop, and what a person may do meanwhile."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from agentic_qt.client.agent_run import AgentRun, Desk
from agentic_qt.client.budgets import Budgets
from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.compaction import Compaction
from agentic_qt.client.context import Contexts
from agentic_qt.client.events import AgentEvent, RunEnd, RunEnded, RunEndReason, RunStarted
from agentic_qt.client.late_ends import LateEnds
from agentic_qt.client.long_results import LongResults
from agentic_qt.client.offering import TOOL_TOKENS, Mode, Offering
from agentic_qt.client.outbox import Outbox
from agentic_qt.client.threads import Branch, BranchKind, Thread
from agentic_qt.client.tokens import TokenMeter
from agentic_qt.core.events import Observers
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.history import repair
from agentic_qt.protocol.messages import user_message
from agentic_qt.protocol.trimming import is_summary


class _Work(Protocol):
    """What an agent does in one thread: a run or a compaction."""

    id: str
    thread: Thread
    branch: Branch

    def stop(self) -> bool: ...
    def interject(self, text: str) -> bool: ...
    def cancel_call(self, call_id: str) -> bool: ...
    async def work(self) -> RunEnd: ...


class Agent:
    """Lets a chat model use the capabilities of a registry on behalf of a person.

    One run at a time, in the loop's thread. Whatever happens, the history stays such that the next request is
    accepted: each tool call has exactly one answer. A run works in the branch that was current when it began; its
    results land there, whatever the person has switched to meanwhile.

    Args:
        registry: What the chat model may use.
        chat_model: Whom to ask.
        instructions: The system message; not part of `messages`, and may be changed between runs.
        actor: Who acts, from the trusted session.
        client: The name under which calls are made, policy judges and approvals are remembered.
        max_turns: Requests of one run; the calls of the last one still run. In place of ``budgets.turns``.
        budgets: The limits of one run.
        context_window: Tokens of one request and its answer; None: what the chat model's own attribute
            ``context_window`` says, if it has one, or what it finds out when a conversation grows. Where it is not
            known, nothing is trimmed.
        mode: Which tools are offered: a `Mode` or its string.
        tool_tokens: What the tools may take before the mode ``auto`` narrows them.
    """

    def __init__(
        self,
        registry: Registry,
        chat_model: ChatModel,
        *,
        instructions: str = "",
        actor: str | None = None,
        client: str = "assistant",
        max_turns: int | None = None,
        budgets: Budgets | None = None,
        context_window: int | None = None,
        mode: Mode | str = Mode.AUTO,
        tool_tokens: int = TOOL_TOKENS,
    ) -> None:
        if max_turns is not None and max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, not {max_turns}")
        self.instructions = instructions
        self.actor = actor
        self.client = client
        self.max_turns = max_turns
        self.budgets = budgets if budgets is not None else Budgets()
        self.context_window = context_window
        self._registry = registry
        self._chat_model = chat_model
        self._meter = TokenMeter()
        self._contexts = Contexts()
        self._offering = Offering(registry, Mode(mode), tool_tokens=tool_tokens, meter=lambda: self._meter)
        self._thread = Thread()
        self._threads = [self._thread]
        self._run: _Work | None = None
        self._task: asyncio.Task[RunEnd] | None = None
        self._observers: Observers[AgentEvent] = Observers()
        # The loop holds tasks weakly.
        self._tasks: set[asyncio.Task[Any]] = set()
        self._late_ends = LateEnds(registry, self._tell)

    # The conversation

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation as it is sent, without the system message; change it only while nothing runs."""
        return self._thread.messages

    @property
    def thread(self) -> Thread:
        """The conversation that is shown and continued, with its branches."""
        return self._thread

    @property
    def threads(self) -> tuple[Thread, ...]:
        """All conversations, the oldest first."""
        return tuple(self._threads)

    def new_thread(self) -> Thread:
        """Begin another conversation; those before are kept, and a run that is under way goes on in its own."""
        self._thread = Thread()
        self._threads.append(self._thread)
        return self._thread

    def switch(self, thread: Thread | str, branch: Branch | str | None = None) -> Thread:
        """Go to another conversation or branch; a run that is under way goes on in its own.

        Args:
            thread: A thread of this agent, or its id.
            branch: A branch of it, or its id; None: the one that was current there.

        Raises:
            ValueError: There is no such thread or branch.
        """
        wanted = thread if isinstance(thread, str) else thread.id
        found = next((known for known in self._threads if known.id == wanted), None)
        if found is None:
            raise ValueError(f"{wanted!r} is no thread of this agent")
        if branch is not None:
            found.switch(branch)
        self._thread = found
        return found

    def clear(self) -> None:
        """Forget this conversation, with all its branches, and begin an empty one.

        Raises:
            RuntimeError: A run is under way in it; stop it first, or begin a `new_thread`.
        """
        if self._run is not None and self._run.thread is self._thread:
            raise RuntimeError("cannot clear the conversation while a run is under way in it: stop it first")
        forgotten = self._thread
        self._threads.remove(forgotten)
        LongResults.of(self._registry).release(self._registry, forgotten.id)
        self.new_thread()

    def context(self, name: str, function: Callable[[], Any], *, description: str = "") -> Callable[[], None]:
        """Tell the chat model a small fact of the moment with each request, such as what is selected.

        Args:
            name: Of the fact.
            function: Called when a request is sent, in the loop's thread; returns JSON data, at most 2 kB of it are
                sent. May be async and takes 0.2 s at most then. None is left out, and so is what fails. It is marked
                as data and kept in no history.
            description: For the chat model: what the fact means.

        Returns:
            A function that ends it.

        Raises:
            ValueError: The name is empty or taken.
        """
        return self._contexts.add(name, function, description)

    # Whom to ask, and who listens

    @property
    def running(self) -> bool:
        """Whether a run (or a compaction) is under way, in whatever thread."""
        return self._run is not None

    @property
    def chat_model(self) -> ChatModel:
        """Whom to ask; may be changed while nothing runs, and the conversation goes on with the new one.

        Ids of calls are mapped to what every provider takes before each request. Fields of messages that only the
        provider before knew are sent along, since nearly all ignore them and some conversations need them to go on;
        an endpoint that refuses them ends the run with ``bad_request``, and `compact` leaves them behind.

        Raises:
            RuntimeError: It was set while a run is under way.
        """
        return self._chat_model

    @chat_model.setter
    def chat_model(self, chat_model: ChatModel) -> None:
        if self._run is not None:
            raise RuntimeError("cannot change the chat model while a run is under way: stop it first")
        self._chat_model = chat_model
        self._meter = TokenMeter()  # another one counts differently

    def observe(self, callback: Callable[[AgentEvent], None]) -> Callable[[], None]:
        """Tell `callback` of everything that happens; returns a function that ends it."""
        return self._observers.add(callback)

    # Runs

    async def run(self, text: str) -> RunEnd:
        """Send a person's message and work until the chat model is done, or until something ends the run.

        While an approval of a run waits, the message is taken by `interject` and the end of that run is returned. A
        second run while one is under way otherwise is refused: it returns at once with the reason ``busy``, and
        nothing of it is kept or told. Cancelling the task that awaits this stops the run like `stop` and passes the
        CancelledError on.

        Args:
            text: What the person wrote.

        Returns:
            How it ended; provider errors are told there and not raised.
        """
        if self._run is not None:
            if isinstance(self._run, AgentRun) and self._run.waiting and self._task and self.interject(text):
                return await asyncio.shield(self._task)
            return self._refusal(RunEndReason.BUSY)
        self._thread.messages.append(user_message(text))
        return await self._begin(text)

    async def retry(self) -> RunEnd:
        """Send the last request again without a new message of the person.

        The calls that ran before it and their outcomes stay. When it was answered, the new answer goes into a new
        branch and the one before is kept in its own.

        Returns:
            How it ended; ``busy`` while a run is under way, ``empty`` when there is nothing to send.
        """
        if self._run is not None:
            return self._refusal(RunEndReason.BUSY)
        messages = repair(self._thread.messages)
        asked = len(messages)
        while asked and messages[asked - 1].get("role") == "assistant":
            asked -= 1
        if not any(message.get("role") == "user" for message in messages[:asked]):
            return self._refusal(RunEndReason.EMPTY)
        if asked < len(messages):
            self._thread.fork(BranchKind.RETRY, messages[:asked])
        return await self._begin("")

    async def edit(self, message_index: int, text: str) -> RunEnd:
        """Say something else in place of an earlier message of the person, in a new branch; the old one is kept.

        What was done in the application after that message stays done.

        Args:
            message_index: Where the message stands in `messages`.
            text: What the person wants to have said.

        Returns:
            How the run ended; ``busy`` while a run is under way.

        Raises:
            ValueError: There is no message of the person at that place.
        """
        if self._run is not None:
            return self._refusal(RunEndReason.BUSY)
        messages = self._thread.messages
        message = messages[message_index] if 0 <= message_index < len(messages) else {}
        if message.get("role") != "user" or is_summary(message):
            raise ValueError(f"message {message_index} is not one that the person wrote")
        self._thread.fork(BranchKind.EDIT, [*messages[:message_index], user_message(text)])
        return await self._begin(text)

    async def compact(self) -> RunEnd:
        """Let the chat model summarise the older part of the conversation, in a new branch; the old one is kept.

        The newest words of the person stay as they are, so that `retry` goes on from there. To undo it, `switch`
        back to the branch that ``Compacted.before`` names.

        Returns:
            How it ended: ``completed`` with the summary as its text, ``empty`` when there is nothing to summarise.
        """
        if self._run is not None:
            return self._refusal(RunEndReason.BUSY)
        window = self._window()
        work = Compaction(
            self._chat_model, self._thread, window=window, meter=self._meter, tell=self._tell, hold=self._hold
        )
        return await self._do(work, "")

    def interject(self, text: str) -> bool:
        """Take a message of the person while a run is under way; it goes to the chat model with the next request.

        Approvals of the run that wait are withdrawn: their calls are answered ``cancelled``, code ``interrupted``, and
        so are the calls of this turn that have not begun. A call that runs goes on. In the history the message stands
        after the answers to all calls of the turn.

        Returns:
            Whether it was taken; not when nothing runs, and not by a run that was stopped.
        """
        return self._run is not None and self._run.interject(text)

    def cancel_call(self, call_id: str) -> bool:
        """Stop one call of the run; the others and the run go on, and its outcome says what was done of it.

        Returns:
            Whether the call was open.
        """
        return self._run is not None and self._run.cancel_call(call_id)

    def stop(self) -> bool:
        """Stop the run: it ends within 100 ms, and no further call starts.

        Each open call gets an honest outcome. Calls under way are told to stop and pending approvals are
        withdrawn. What has not ended by then is ``unknown``, and its late end is told as
        ``CallFinished(late=True)``.

        Returns:
            Whether there was anything to stop.
        """
        return self._run is not None and self._run.stop()

    def close(self) -> None:
        """Leave nothing behind in the registry: stop what runs, take away the meta-tools and kept results."""
        self.stop()
        self._offering.close()
        for thread in self._threads:
            LongResults.of(self._registry).release(self._registry, thread.id)

    async def _begin(self, text: str) -> RunEnd:
        return await self._do(AgentRun(self._desk(), self._thread), text)

    def _desk(self) -> Desk:
        budgets = self.budgets if self.max_turns is None else replace(self.budgets, turns=self.max_turns)
        return Desk(
            registry=self._registry,
            chat_model=self._chat_model,
            actor=self.actor,
            client=self.client,
            budgets=budgets,
            outbox=Outbox(
                self._chat_model,
                instructions=self.instructions,
                contexts=self._contexts,
                meter=self._meter,
                window=self._window(),
            ),
            offering=self._offering,
            late_ends=self._late_ends,
            tell=self._tell,
            hold=self._hold,
        )

    async def _do(self, work: _Work, text: str) -> RunEnd:
        self._run = work
        # A task of its own: a caller that is cancelled, even twice, cannot leave the run half done.
        task = self._task = asyncio.get_running_loop().create_task(self._work(work, text))
        self._hold(task)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                work.stop()
                await asyncio.wait({task})
            raise

    async def _work(self, work: _Work, text: str) -> RunEnd:
        self._tell(RunStarted(run=work.id, text=text, thread=work.thread.id, branch=work.branch.id))
        end = RunEnd(run=work.id, reason=RunEndReason.STOPPED, thread=work.thread.id)
        try:
            end = await work.work()
        finally:
            self._run = self._task = None
            self._tell(RunEnded(run=work.id, end=end))
            self._late_ends.let_go()
        return end

    def _window(self) -> int | None:
        if self.context_window is not None:
            return self.context_window
        window = getattr(self._chat_model, "context_window", None)
        return window if isinstance(window, int) and window > 0 else None

    def _refusal(self, reason: RunEndReason) -> RunEnd:
        run = "" if self._run is None else self._run.id
        return RunEnd(run=run, reason=reason, thread=self._thread.id)

    def _tell(self, event: AgentEvent) -> None:
        self._observers.tell(event)

    def _hold(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
