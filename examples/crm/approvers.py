"""Who answers approvals where there is no window to click in: through the queue, like every view.

``all`` says yes to everything, ``none`` says no, ``ask`` puts each request to the person at the terminal.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable

from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent, ApprovalQueue, ApprovalRequest
from agentic_qt.qt.loop import spawn
from agentic_qt.ui.approval.text import exact
from examples.crm.terminal import LineReader

Say = Callable[[str], None]
Before = Callable[[ApprovalRequest], Awaitable[None]]


def attach_approver(
    queue: ApprovalQueue, mode: str, say: Say, reader: LineReader | None, *, before: Before
) -> Callable[[], None]:
    """Attach the approver that `mode` names; returns a function that detaches it.

    Args:
        queue: Where requests arrive.
        mode: ``"all"``, ``"none"`` or ``"ask"``.
        say: Prints a line.
        reader: The person's terminal; without one, ``ask`` denies.
        before: Awaited before each answer.
    """
    if mode == "ask" and reader is not None:
        return _Asker(queue, say, reader, before).attach()

    def decide(event: ApprovalEvent) -> None:
        if event.change is not ApprovalChange.ADDED:
            return
        describe(event.request, say)
        # Not inside the call that announces it: the other views have to see it come before it goes.
        spawn(answer(event.request), name="answer an approval")

    async def answer(request: ApprovalRequest) -> None:
        await before(request)
        if mode == "all":
            queue.approve(request)
        elif mode == "none":
            queue.deny(request, "Nothing is approved in this run.", code="policy")
        else:
            queue.deny(request, "There is no terminal to ask at.", code="no_approver")

    return queue.attach(decide)


class _Asker:
    """Puts one request after the other to the person at the terminal."""

    def __init__(self, queue: ApprovalQueue, say: Say, reader: LineReader, before: Before) -> None:
        self._queue, self._say, self._reader, self._before = queue, say, reader, before
        self._waiting: dict[str, ApprovalRequest] = {}
        self._turn = asyncio.Lock()

    def attach(self) -> Callable[[], None]:
        return self._queue.attach(self._told)

    def _told(self, event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            self._waiting[event.request.id] = event.request
            spawn(self._ask(event.request), name="ask at the terminal")
        elif event.change is ApprovalChange.SETTLED:
            self._waiting.pop(event.request.id, None)

    async def _ask(self, request: ApprovalRequest) -> None:
        async with self._turn:
            if request.id not in self._waiting:
                return
            await self._before(request)
            describe(request, self._say)
            self._say("Approve? Type yes, or anything else to deny; what you type then is the reason.")
            line = await self._reader.read_line()
            if request.id not in self._waiting:
                self._say("It was settled meanwhile; the answer counts for nothing.")
            elif line is None:
                self._queue.deny(request, "The terminal was closed.", code="no_approver")
            elif line.strip().casefold() in ("yes", "y"):
                self._queue.approve(request)
            else:
                self._queue.deny(request, "" if line.strip().casefold() in ("", "no", "n") else line.strip())


def describe(request: ApprovalRequest, say: Say) -> None:
    """Print what is to be approved: all of it, with nothing in it that a terminal would obey or hide."""
    say(f"approval {request.id}: {exact(request.title)} ({request.risk.value}, {_undo_word(request)})")
    for field, value in request.input.items():
        say(f"  {exact(field)} = {exact(json.dumps(value, ensure_ascii=False))}")
    if request.facts is not None:
        say(f"  facts: {exact(json.dumps(request.facts, ensure_ascii=False))}")
    say(f"  digest {request.digest[:12]}")


def _undo_word(request: ApprovalRequest) -> str:
    return {True: "can be undone", False: "cannot be undone", None: "undo not known"}[request.undoable]
