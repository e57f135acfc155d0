"""The one thread that waits for the disk: it is given work and gives answers, and controls nothing."""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, TypeVar

from agentic_qt.commands.errors import CommandError

_T = TypeVar("_T")

Answer = tuple["asyncio.Future[Any]", Any, BaseException | None]
"""Whoever waits, and a value or what was raised."""


class IoThread:
    """Runs functions one after the other, in the order in which they came."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None

    @property
    def is_open(self) -> bool:
        """Whether it takes work."""
        return self._executor is not None

    def open(self) -> None:
        """Take work from now on."""
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agentic-qt-commands")

    async def close(self, last: Callable[[], object]) -> None:
        """Take no more work, and end with this function after all that was given."""
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.wrap_future(executor.submit(last))
            executor.shutdown(wait=False)

    async def run(self, work: Callable[[], _T]) -> _T:
        """Run a function there and return what it returns, or raise what it raises.

        Raises:
            CommandError: The thread takes no work; code ``store_closed``.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()

        def job() -> None:
            try:
                answer: Answer = (future, work(), None)
            except BaseException as error:
                answer = (future, None, error)
            deliver(loop, [answer])

        self.start(job)
        return await future

    def start(self, job: Callable[[], object]) -> None:
        """Run a function there that tells its end by other means.

        Raises:
            CommandError: The thread takes no work; code ``store_closed``.
        """
        self.check_open().submit(job)

    def check_open(self) -> Executor:
        """Return what runs the work.

        Raises:
            CommandError: The thread takes no work; code ``store_closed``.
        """
        if self._executor is None:
            raise CommandError("store_closed", "The service was not started, or is closed.")
        return self._executor


def deliver(loop: asyncio.AbstractEventLoop, answers: list[Answer]) -> None:
    """Give answers to those who wait for them on a loop; waking it up once costs as much as a statement."""
    if not loop.is_closed():  # nobody is left to be told
        loop.call_soon_threadsafe(_settle, answers)


def _settle(answers: Iterable[Answer]) -> None:
    for future, value, error in answers:
        if future.done():  # whoever waited was cancelled
            continue
        if error is None:
            future.set_result(value)
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            future.set_exception(error)
        else:  # a future does not take it, or it would end the loop or look like a cancelled wait
            ended = RuntimeError(f"The work in the thread was ended by {type(error).__name__}.")
            ended.__cause__ = error
            future.set_exception(ended)
