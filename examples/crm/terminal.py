"""Reads lines from the terminal without stopping the loop, and without a thread."""

import asyncio
import os
import sys
from typing import Protocol


class LineReader(Protocol):
    """Where a person's answers come from."""

    async def read_line(self) -> str | None:
        """Return the next line without its end; None at the end of the input."""


def terminal() -> LineReader | None:
    """Return a reader of this process's terminal, or None when there is none to answer at."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    if sys.platform == "win32":
        return _ConsoleReader()
    return _DescriptorReader(sys.stdin.fileno())


class _DescriptorReader:
    """The loop tells when the descriptor can be read; a terminal then holds a whole line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self._ended = False

    async def read_line(self) -> str | None:
        loop = asyncio.get_running_loop()
        while b"\n" not in self._rest and not self._ended:
            readable: asyncio.Future[None] = loop.create_future()
            loop.add_reader(self._descriptor, _settle, readable)
            try:
                await readable
            finally:
                loop.remove_reader(self._descriptor)
            self._read()
        line, found, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").rstrip("\r") if line or found else None

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 4096)
        except OSError:  # the other side of a pseudo-terminal has gone
            data = b""
        self._ended = not data
        self._rest += data


def _settle(readable: "asyncio.Future[None]") -> None:
    if not readable.done():
        readable.set_result(None)


if sys.platform == "win32":
    import msvcrt

    _POLL_SECONDS = 0.05

    class _ConsoleReader:
        """A console has no handle that says "a line is there": keys are looked for twenty times a second."""

        async def read_line(self) -> str | None:
            typed = ""
            while True:
                while not msvcrt.kbhit():  # noqa: ASYNC110 - nothing tells of a key
                    await asyncio.sleep(_POLL_SECONDS)
                key = msvcrt.getwche()
                if key in "\r\n":
                    return typed
                if key in "\x03\x1a":
                    return None
                typed = typed[:-1] if key == "\b" else typed + key
