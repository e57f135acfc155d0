"""One request to a chat model and its answer, or as much of it as came before Stop. Keeps no history."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from agentic_qt.client.assembler import Assembled, Assembler
from agentic_qt.client.chat_model import ChatModel, Delta

_log = logging.getLogger("agentic_qt.client.exchange")

CLOSING = 0.06
"""Seconds that a stream may take to close after Stop, before nobody waits for it."""

Request = tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]
"""The messages and the tools of one request."""


async def exchange(
    chat_model: ChatModel,
    prepare: Callable[[], Awaitable[Request]],
    *,
    stopping: "asyncio.Future[str]",
    hold: Callable[["asyncio.Task[Any]"], Any],
    told: Callable[[Delta], None],
) -> Assembled:
    """Send one request and read its answer.

    Args:
        chat_model: Whom to ask.
        prepare: Returns what to send; stopped like the stream.
        stopping: Done as soon as nobody wants the answer any more.
        hold: Keeps a task alive that is not waited for.
        told: Called with each delta, in order.

    Raises:
        Interrupted: The chat model failed, and nobody has stopped it; holds the failure and what came before it.
    """
    assembler = Assembler()

    async def read() -> None:
        if stopping.done():  # between the task's making and its first step
            return
        messages, tools = await prepare()
        stream = chat_model.stream(messages, tools)
        try:
            async for delta in stream:
                if stopping.done():
                    return
                assembler.feed(delta)
                told(delta)
        except Exception:
            if not stopping.done():
                raise
            _log.debug("A stream failed while it was being closed", exc_info=True)
        finally:
            await _close(stream)

    reader = asyncio.get_running_loop().create_task(read())
    try:
        awaited: set[asyncio.Future[Any]] = {reader, stopping}
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        if not reader.done():
            reader.cancel()
            hold(reader)
            await asyncio.wait({reader}, timeout=CLOSING)
    finally:
        reader.cancel()
    failure = reader.exception() if reader.done() and not reader.cancelled() else None
    if failure is not None and not stopping.done():
        # What came before the failure was shown, and is part of how it ended.
        raise Interrupted(assembler.finish(), failure)
    return assembler.finish()


class Interrupted(Exception):  # noqa: N818 - it carries an answer as well as an error
    """An answer broke off.

    Attributes:
        answer: What had come.
        failure: Why it broke off.
    """

    def __init__(self, answer: Assembled, failure: BaseException) -> None:
        super().__init__(str(failure))
        self.answer = answer
        self.failure = failure


async def _close(stream: AsyncIterator[Delta]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
