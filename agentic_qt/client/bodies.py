"""Reads the bodies of raw HTTP answers: in pieces, whole, or up to a size. Knows no provider and sends nothing.

The transport is httpx or httpx2, by the version of the package above it, so its errors are told by their names.
"""

import asyncio
from typing import Any

from agentic_qt.client.chat_model import ChatModelError, Delta
from agentic_qt.client.chunks import read_whole_body
from agentic_qt.client.provider_errors import REMEDIES

_DRAIN_SECONDS = 0.1


async def whole_body(response: Any) -> list[Delta] | None:
    """Return what a body says that is no event stream; None for a stream.

    Raises:
        ChatModelError: Nothing more came within the time-out.
    """
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in ("application/json", "text/html"):
        return None
    try:
        await response.aread()
    except Exception as error:  # only the transport runs here; its classes differ by version
        if is_timeout(error):
            raise ChatModelError("timeout", remedy=REMEDIES["timeout"]) from error
        return []
    return read_whole_body(response.text, content_type)


async def next_piece(pieces: Any, seconds: float) -> bytes | None:
    """Return the next bytes of a body; None when it has ended or was cut off.

    Args:
        pieces: The bytes that come.
        seconds: The connection's time-out, for the message.

    Raises:
        ChatModelError: Nothing more came within the time-out.
    """
    try:
        piece: bytes = await anext(pieces)
    except StopAsyncIteration:
        return None
    except Exception as error:  # only the transport runs here; its classes differ by version
        if is_timeout(error):
            message = f"Nothing came for {seconds:g} s."
            raise ChatModelError("timeout", message, remedy=REMEDIES["timeout"]) from error
        return None
    return piece


async def bounded_body(answer: Any, most: int) -> bytes | None:
    """Read a body and close its answer; None when it is longer than `most` bytes, which are then not read further.

    Raises:
        ChatModelError: It was cut off, or nothing more came within the time-out.
    """
    body = bytearray()
    try:
        async for piece in answer.response.aiter_bytes():
            body += piece
            if len(body) > most:
                return None
    except Exception as error:  # only the transport runs here; its classes differ by version
        code = "timeout" if is_timeout(error) else "cut_stream"
        raise ChatModelError(code, str(error), remedy=REMEDIES[code]) from error
    finally:
        await answer.close()
    return bytes(body)


async def drain(pieces: Any) -> None:
    """Read the few bytes that end a body, so that its connection can be used again."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                pass
    except Exception:  # the answer is complete: whatever happens to its connection now is no news
        return


def is_timeout(error: BaseException) -> bool:
    """Tell whether the transport or the package waited too long."""
    return is_named(error, "TimeoutException") or is_named(error, "APITimeoutError")


def is_named(error: BaseException, name: str) -> bool:
    """Tell by the name of its class or of one of its bases."""
    return any(kind.__name__ == name for kind in type(error).__mro__)
