"""Runs the tool calls of one turn: reads side by side, writes in order, one honest outcome for each."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agentic_qt.client.events import CallFinished, CallStarted
from agentic_qt.client.guard import Planned, RunGuard
from agentic_qt.core.call import RETRY, Call, Outcome, Status
from agentic_qt.core.capability import Risk
from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.client.tool_runner")

GRACE = 0.06
"""Seconds that calls under way may take to end after Stop, before they are given up."""


class ToolRunner:
    """Runs tool calls for one agent run.

    Args:
        registry: Where they run.
        run: The run's id.
        thread: The id of the thread that the run works in.
        guard: Says what may begin, and is told what became of it.
        stopping: Done as soon as the run is to stop; its result says who stopped it.
        tell: Called with the events of each call.
        late: Called with the id and the outcome of a call that ended after it was given up.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        run: str,
        thread: str,
        guard: RunGuard,
        stopping: "asyncio.Future[str]",
        tell: Callable[[CallStarted | CallFinished], None],
        late: Callable[[str, Outcome], None],
    ) -> None:
        self._registry = registry
        self._run = run
        self._thread = thread
        self._guard = guard
        self._open: set[str] = set()
        self._stopping = stopping
        self._tell = tell
        self._late = late
        # The loop holds tasks weakly: those that were given up live here until they end.
        self._given_up: set[asyncio.Task[Outcome]] = set()

    async def run(self, planned: Sequence[Planned]) -> list[Outcome]:
        """Run the calls and return their outcomes in the same order; each has one, whatever happens."""
        outcomes: dict[str, Outcome] = {}
        self._open = {entry.call_id for entry in planned}
        for batch in self._batches(planned):
            await self._run_batch(batch, outcomes)
        for entry in planned:
            if entry.call_id not in outcomes:
                self._start(entry)
                self._finish(entry, _never_started(entry.call_id, self._stopper()), outcomes)
        return [outcomes[entry.call_id] for entry in planned]

    def cancel(self, call_id: str, *, client: str | None) -> bool:
        """Stop one call, begun or not; the others go on. Returns whether it was open."""
        if call_id not in self._open:
            return False
        self._guard.cancel(call_id)
        self._registry.cancel(call_id, client=client, run=self._run)
        return True

    def _stopper(self) -> str:
        return self._stopping.result() if self._stopping.done() else ""

    def _batches(self, planned: Sequence[Planned]) -> Iterator[list[Planned]]:
        """Yield what may run at the same time, judged when its turn comes: a write may change much."""
        position = 0
        while position < len(planned) and not self._stopping.done():
            batch = [planned[position]]
            if self._is_harmless(batch[0]):
                for entry in planned[position + 1 :]:
                    if not self._is_harmless(entry):
                        break
                    batch.append(entry)
            position += len(batch)
            yield batch

    def _is_harmless(self, entry: Planned) -> bool:
        """Whether nothing outlives the call; what is not found now may be mounted by the call before it."""
        call = entry.meant
        if call is None:
            return True
        places = self._registry.places(call.name)
        meant = list(places.values()) if call.target_id is None else [places.get(call.target_id)]
        return bool(meant) and all(
            found is not None and found.capability.effective_risk is Risk.READ for found in meant
        )

    async def _run_batch(self, batch: Sequence[Planned], outcomes: dict[str, Outcome]) -> None:
        loop = asyncio.get_running_loop()
        tasks: dict[asyncio.Task[Outcome], Planned] = {}
        harmless = {entry.call_id for entry in batch if self._is_harmless(entry)}
        for entry in batch:
            if self._stopping.done():  # an observer stopped the run
                break
            is_write = entry.call_id not in harmless
            self._start(entry)
            refusal = self._guard.admit(entry, is_write=is_write)
            if refusal is not None:
                self._finish(entry, refusal, outcomes)
            elif isinstance(entry.decoded, Outcome):
                self._finish(entry, self._guard.settle(entry, entry.decoded, is_write=is_write), outcomes)
            else:
                tasks[loop.create_task(self._execute(entry.decoded, entry.call_id))] = entry
        pending = set(tasks)
        while pending and not self._stopping.done():
            awaited: set[asyncio.Future[Any]] = {*pending, self._stopping}
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            pending = self._collect(tasks, pending, outcomes, harmless)
        if not pending:
            return
        for task in pending:
            self._registry.cancel(tasks[task].call_id, client=_client(tasks[task]), run=self._run)
        await asyncio.wait(pending, timeout=GRACE)
        for task in self._collect(tasks, pending, outcomes, harmless):
            entry = tasks[task]
            self._give_up(task, entry)
            is_harmless = entry.call_id in harmless
            self._finish(entry, _given_up(entry.call_id, self._stopper(), harmless=is_harmless), outcomes)

    async def _execute(self, call: Call, call_id: str) -> Outcome:
        if self._stopping.done():  # stopped between the task's making and its first step
            return _never_started(call_id, self._stopper())
        try:
            return await self._registry.execute(call)
        except Exception:
            _log.exception("The registry broke its promise: execute raised")
            return Outcome(
                status=Status.UNKNOWN,
                code="internal_error",
                hint="The application failed around this call; whether it happened is not known.",
                retry=RETRY[Status.UNKNOWN],
                call_id=call_id,
            )

    def _collect(
        self,
        tasks: dict["asyncio.Task[Outcome]", Planned],
        pending: set["asyncio.Task[Outcome]"],
        outcomes: dict[str, Outcome],
        harmless: set[str],
    ) -> set["asyncio.Task[Outcome]"]:
        """Take the outcomes of the tasks that ended; returns those that have not."""
        for task, entry in tasks.items():
            if task in pending and task.done():
                outcome = self._outcome(task, entry)
                is_write = entry.call_id not in harmless
                self._finish(entry, self._guard.settle(entry, outcome, is_write=is_write), outcomes)
        return {task for task in pending if not task.done()}

    def _outcome(self, task: "asyncio.Task[Outcome]", entry: Planned) -> Outcome:
        if not task.cancelled():
            return task.result()
        # Somebody else cancelled the call's task; the registry may know what became of it.
        known = self._registry.call_status(entry.call_id, client=_client(entry), run=self._run)
        return known if known is not None else _given_up(entry.call_id, "", harmless=False)

    def _give_up(self, task: "asyncio.Task[Outcome]", entry: Planned) -> None:
        self._given_up.add(task)

        def ended(task: "asyncio.Task[Outcome]") -> None:
            self._given_up.discard(task)
            if not task.cancelled():
                self._late(entry.call_id, task.result())

        task.add_done_callback(ended)

    def _start(self, entry: Planned) -> None:
        self._tell(
            CallStarted(
                run=self._run,
                call_id=entry.call_id,
                tool_call=entry.tool_call,
                call=entry.meant,
                thread=self._thread,
            )
        )

    def _finish(self, entry: Planned, outcome: Outcome, outcomes: dict[str, Outcome]) -> None:
        self._open.discard(entry.call_id)
        outcomes[entry.call_id] = outcome
        self._tell(
            CallFinished(
                run=self._run,
                call_id=entry.call_id,
                tool_call=entry.tool_call,
                outcome=outcome,
                thread=self._thread,
            )
        )


def _client(entry: Planned) -> str | None:
    return entry.decoded.client if isinstance(entry.decoded, Call) else None


def _who(stopper: str) -> tuple[str, str]:
    """Return who ended the run as a code and in words."""
    if stopper:
        return "budget", f"The run had used up its budget of {stopper}"
    return "stopped", "The person stopped the run"


def _never_started(call_id: str, stopper: str) -> Outcome:
    code, who = _who(stopper)
    return Outcome(
        status=Status.CANCELLED,
        code=code,
        hint=f"{who} before this call began; nothing of it happened.",
        retry=RETRY[Status.CANCELLED],
        applied=False,
        call_id=call_id,
    )


def _given_up(call_id: str, stopper: str, *, harmless: bool) -> Outcome:
    code, who = _who(stopper)
    if harmless:
        return Outcome(
            status=Status.CANCELLED,
            code=code,
            hint=f"{who} while this was being read; there is no result.",
            retry=RETRY[Status.CANCELLED],
            applied=False,
            call_id=call_id,
        )
    return Outcome(
        status=Status.UNKNOWN,
        code=code,
        hint=f"{who} while this was under way and it has not ended: it may still happen.",
        retry=RETRY[Status.UNKNOWN],
        call_id=call_id,
    )
