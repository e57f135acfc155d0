"""A TCP relay on loopback that can lose what the server answers: the request arrives, the reply does not."""

import asyncio
from typing import Self
from urllib.parse import urlsplit


class CutProxy:
    """`async with CutProxy(url) as proxy`: use `proxy.url` instead.

    Args:
        upstream: URL of the real server.

    Attributes:
        cuts: How many connections still lose their answer.
        refuse: Hang up instead of sending anything on.
        requests: The first line of each request, in order.
    """

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname, parts.port)
        self.cuts = 0
        self.refuse = False
        self.requests: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while await self._relay(reader, writer):
                pass
        finally:
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Relay one request on a connection of its own; returns whether the client's goes on."""
        request = await _message(reader)
        if not request or self.refuse:
            return False
        self.requests.append(request.partition(b"\r\n")[0].decode())
        up_reader, up_writer = await asyncio.open_connection(*self._upstream)
        try:
            up_writer.write(request)
            answer = await _message(up_reader)
        finally:
            up_writer.close()
        if self.cuts:
            self.cuts -= 1
            return False
        writer.write(answer)
        await writer.drain()
        return True


async def _message(reader: asyncio.StreamReader) -> bytes:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)
