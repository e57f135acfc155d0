"""Runs tasks: each in a fresh window, through the application's own assistant, agent, registry and pipeline.

In place of a person sits an approver that says yes to the digests that the task expects, each once, and no to all
others.
"""

import asyncio
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QWidget

from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.events import AgentEvent, CallStarted, RunEnd, RunEndReason
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent, ApprovalQueue, ApprovalRequest
from agentic_qt.core.registry import Registry
from agentic_qt.devtools.evaluation.chat_models import Source
from agentic_qt.devtools.evaluation.judging import Change, Verdict, differences, is_expected, judge
from agentic_qt.devtools.evaluation.stage import Stage, find
from agentic_qt.devtools.evaluation.tasks import Task, TaskFileError
from agentic_qt.devtools.evaluation.watching import MakeRegistry, SeenCall, Watch
from agentic_qt.schema.canonical import canonical
from agentic_qt.ui.assistant import Assistant

_CLOSING_SECONDS = 5.0
_FAILURES = (RunEndReason.ERROR, RunEndReason.CUT_STREAM)
_HOPELESS = ("authentication", "permission", "offline", "model_not_found")


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What became of one task.

    Args:
        task: What was asked.
        attempt: From 1, when tasks are repeated.
        verdict: What became of it.
        problems: What is missing from its first right end.
        calls: The calls that were seen.
        changes: How the records differ.
        text: The assistant's last words; judged by nobody.
        end: Why the run ended.
        tokens: Of input and output, as the provider counts them; None where it does not.
        seconds: From the request to the end of the run.
        gated: Writes that reached a handler.
        violations: Those of them that had no approval for their digest, and changes from nowhere.
    """

    task: Task
    attempt: int
    verdict: Verdict
    problems: tuple[str, ...]
    calls: tuple[SeenCall, ...]
    changes: dict[str, Change]
    text: str
    end: str
    tokens: int | None
    seconds: float
    gated: int
    violations: tuple[str, ...]

    @property
    def proposed_writes(self) -> tuple[SeenCall, ...]:
        """All calls of the chat model that would change something, whatever became of them."""
        return tuple(call for call in self.calls if call.is_write)

    @property
    def stray_writes(self) -> tuple[SeenCall, ...]:
        """Those of them that no right end has."""
        return tuple(call for call in self.proposed_writes if not is_expected(self.task, call))


async def evaluate(
    tasks: Iterable[Task],
    source: Source,
    *,
    repeat: int = 1,
    seconds: float = 120.0,
    tell: Callable[[Result], None] = lambda _result: None,
    make_registry: MakeRegistry = Registry,
) -> list[Result]:
    """Run tasks one after the other on the Qt loop.

    Args:
        tasks: What is asked.
        source: The chat model, the same for all.
        repeat: How often each is run.
        seconds: After which a run is stopped.
        tell: Told of each result.
        make_registry: Makes the registry of each task.

    Raises:
        TaskFileError: An application or a set-up cannot be used.
        ChatModelError: The chat model cannot be reached at all: no task would say anything about it.
    """
    results: list[Result] = []
    for task in tasks:
        for attempt in range(1, repeat + 1):
            result = await _run(task, attempt, source, seconds, make_registry)
            results.append(result)
            tell(result)
    return results


async def _run(task: Task, attempt: int, source: Source, seconds: float, make_registry: MakeRegistry) -> Result:
    with tempfile.TemporaryDirectory(prefix="agentic-qt-eval-") as folder:
        watch = Watch(make_registry)
        stage = await _open(task, Path(folder), watch.registry)
        chat_model = source.chat_model(watch.registry, task)
        try:
            assistant = Assistant.attach(
                stage.window, registry=watch.registry, chat_model=chat_model, instructions=stage.instructions
            )
            stage.window.show()
            try:
                return await _ask(task, attempt, stage, assistant, watch, seconds)
            finally:
                assistant.detach()
        finally:
            await close_window(stage.window)
            watch.registry.close()
            await stage.close()


async def _ask(task: Task, attempt: int, stage: Stage, assistant: Assistant, watch: Watch, seconds: float) -> Result:
    agent = assistant.agent
    assert agent is not None  # noqa: S101 - it was attached with a chat model

    def follow(event: AgentEvent) -> None:
        if isinstance(event, CallStarted) and event.call is not None:
            watch.note_input(event.call_id, event.call.input)

    before = stage.records()
    with ExitStack() as taps:
        taps.callback(agent.observe(follow))
        taps.callback(_attach_approver(watch.registry, _expected_digests(task, watch.registry)))
        started = time.perf_counter()
        end = await _bounded(agent.run(task.request), agent.stop, seconds)
        took = time.perf_counter() - started
    if end.error is not None and end.error.code in _HOPELESS:
        raise end.error
    changes = differences(before, stage.records())
    watch.check_records(differ=bool(changes))
    calls = watch.calls
    verdict, problems = judge(task, calls, changes, stage.view(), failed=end.reason in _FAILURES)
    return Result(
        task=task,
        attempt=attempt,
        verdict=verdict,
        problems=problems,
        calls=calls,
        changes=changes,
        text=end.text,
        end=end.reason.value if end.error is None else f"{end.reason.value}: {end.error.code}",
        tokens=None if end.usage is None else end.usage.input_tokens + end.usage.output_tokens,
        seconds=took,
        gated=watch.gated,
        violations=tuple(watch.violations),
    )


async def _open(task: Task, folder: Path, registry: Registry) -> Stage:
    try:
        return await find(task.app)(folder, task.setup, registry)
    except ValueError as error:
        raise TaskFileError(f"the set-up of task {task.id!r} cannot be used: {error}") from error


def _expected_digests(task: Task, registry: Registry) -> set[str]:
    """Return the digests that the task wants approved, computed from the task alone."""
    return {
        hashlib.sha256(canonical({"name": call.name, "targetId": target_id, "input": dict(given)})).hexdigest()
        for end in task.ends
        for call in end.calls
        if call.status == "ok"
        for target_id in registry.places(call.name)
        for given in call.inputs
    }


def _attach_approver(registry: Registry, expected: set[str]) -> Callable[[], None]:
    queue: ApprovalQueue = registry.approvals

    def told(event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            # Not inside the call that announces it: the other views have to see it come before it goes.
            asyncio.get_running_loop().call_soon(answer, event.request)

    def answer(request: ApprovalRequest) -> None:
        if request.digest in expected:
            expected.discard(request.digest)
            queue.approve(request)
        else:
            queue.deny(request, "That is not what was asked for.")

    return queue.attach(told)


async def _bounded(run: Any, stop: Callable[[], Any], seconds: float) -> RunEnd:
    task: asyncio.Task[RunEnd] = asyncio.ensure_future(run)
    done, _pending = await asyncio.wait([task], timeout=seconds)
    if not done:
        stop()
    return await task


async def close_window(window: QWidget) -> None:
    """Close a window and wait until it is gone; what it uses may be closed then."""
    gone = asyncio.get_running_loop().create_future()

    def tell() -> None:
        if not gone.done():
            gone.set_result(None)

    window.destroyed.connect(tell)
    window.close()
    window.deleteLater()
    await asyncio.wait_for(gone, _CLOSING_SECONDS)


def unreachable(error: ChatModelError) -> str:
    """Return what to tell of a chat model that cannot be reached."""
    return " ".join(part for part in (f"{error.code}:", error.message, error.remedy) if part)
