"""A real HTTP server on loopback, in the test's own event loop: plays answers and keeps what it was asked."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

PAUSE = object()
"""In the pieces of a reply: wait here until the test calls `ReplayServer.go_on` or the client leaves."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer.

    Args:
        body: All of it, or pieces of which each is sent alone; `PAUSE` between them waits.
        status: HTTP status.
        content_type: Media type.
        headers: More headers.
        piece: Send the body in pieces of this many bytes.
        cut: Drop the connection where the body should end.
        hang_up: Drop the connection before answering anything.
    """

    body: bytes | str | tuple[Any, ...] = b""
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    piece: int | None = None
    cut: bool = False
    hang_up: bool = False

    def pieces(self) -> list[Any]:
        body = self.body if isinstance(self.body, tuple) else (self.body,)
        parts = [part.encode() if isinstance(part, str) else part for part in body]
        if self.piece is None:
            return [part for part in parts if part]
        whole = b"".join(parts)
        return [whole[at : at + self.piece] for at in range(0, len(whole), self.piece)]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the server was asked."""

    method: str
    path: str
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


class ReplayServer:
    """`async with ReplayServer(Reply(...), ...) as server`: answers in order, the last one again and again.

    Args:
        replies: The answers.
        chat_only: Everything but a chat completion is answered 404 and neither counted nor given a reply: the
            client also looks for a model's window and the like.

    Attributes:
        requests: What was asked, in order.
        connections: How many connections were opened.
        asked: Set when the first request has been read.
        left: Set when a client closed its connection while an answer was being sent.
    """

    def __init__(self, *replies: Reply, chat_only: bool = False) -> None:
        self._chat_only = chat_only
        self.requests: list[Request] = []
        self.connections = 0
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        self._replies = list(replies)
        self._go = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}/v1"

    def go_on(self) -> None:
        """Let a paused reply go on, and do not pause again."""
        self._go.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.wait_for(self._server.wait_closed(), 5)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has left, or the test is over: asyncio's own callback would log a cancellation
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        lines = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in lines}
        text = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
        if self._chat_only and not path.endswith("/chat/completions"):
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            return True
        self.requests.append(Request(method=method, path=path, headers=headers, text=text))
        self.asked.set()
        reply = self._replies[0] if len(self._replies) == 1 else self._replies.pop(0)
        if reply.hang_up:
            return False
        more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        writer.write(
            f"HTTP/1.1 {reply.status} Recorded\r\ncontent-type: {reply.content_type}\r\n{more}"
            "transfer-encoding: chunked\r\n\r\n".encode()
        )
        for piece in reply.pieces():
            if piece is PAUSE:
                await writer.drain()
                if not await self._pause(reader):
                    return False
                continue
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        if not reply.cut:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return not reply.cut

    async def _pause(self, reader: asyncio.StreamReader) -> bool:
        """Wait for the test or for the client to leave; return whether to go on."""
        leaving = asyncio.ensure_future(reader.read(1))
        going = asyncio.ensure_future(self._go.wait())
        try:
            await asyncio.wait({leaving, going}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            going.cancel()
            left = leaving.done() and not leaving.cancelled()
            leaving.cancel()
            await asyncio.gather(leaving, going, return_exceptions=True)  # one reader at a time
        if left:
            self.left.set()
        return not left
