"""Commands that wait while the I/O thread is busy are executed together: one transaction, one wait for the disk.

Each of them has a savepoint with its own claim, checks, effect, result and audit, and nothing of any is visible before
the one commit. Whatever is neither a result nor a refusal ends the group: all of it is rolled back, and each command is
executed alone, in a transaction of its own.
"""

import asyncio
import time
from collections import deque
from typing import Final

from agentic_qt.commands.execution import Execution
from agentic_qt.commands.io_thread import Answer, IoThread, deliver
from agentic_qt.commands.judging import Job
from agentic_qt.commands.values import CommandResult

LARGEST: Final = 16
"""How many commands a group may have."""
LONGEST: Final = 0.05
"""Seconds after which a group takes no further command, so that the first of it need not wait for slow ones."""

_Waiting = tuple[Job, "asyncio.Future[CommandResult | None]"]


class Groups:
    """Executes commands in the I/O thread, as many together as are waiting.

    Args:
        io: The thread.
        execution: What executes them there.
    """

    def __init__(self, io: IoThread, execution: Execution) -> None:
        self._io = io
        self._execution = execution
        self._waiting: deque[_Waiting] = deque()
        self._is_called = False

    async def execute(self, job: Job) -> CommandResult | None:
        """As `Execution.execute`.

        Raises:
            CommandError: The thread takes no work; code ``store_closed``.
        """
        self._io.check_open()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[CommandResult | None] = loop.create_future()
        self._waiting.append((job, future))
        self._call(loop)
        return await future

    def _call(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_called:
            self._is_called = True
            self._io.start(lambda: self._run(loop))

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Execute what is waiting, up to a group; in the I/O thread."""
        self._is_called = False  # before looking: who comes later calls again
        taken: list[_Waiting] = []
        while self._waiting and len(taken) < LARGEST:
            taken.append(self._waiting.popleft())
        done = self._together(taken, loop)
        if done is None:
            for each in taken:
                deliver(loop, [self._alone(each)])
        else:
            self._waiting.extendleft(reversed(taken[done:]))
        if self._waiting:
            self._call(loop)

    def _together(self, taken: list[_Waiting], loop: asyncio.AbstractEventLoop) -> int | None:
        """Execute the first of them in one transaction and return how many; None: each is to be executed alone."""
        if len(taken) < 2:
            return None
        answers = self._execution.execute_together([job for job, _ in taken], until=time.monotonic() + LONGEST)
        if answers is None:
            return None
        deliver(loop, [(future, answer, None) for (_, future), answer in zip(taken, answers, strict=False)])
        return len(answers)

    def _alone(self, waiting: _Waiting) -> Answer:
        job, future = waiting
        try:
            return future, self._execution.execute(job), None
        except BaseException as error:
            return future, None, error
