"""Runs the HTTP application on the running loop, with no thread and no signal handlers of its own."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from fastapi import FastAPI


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever runs the loop."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextlib.asynccontextmanager
async def serving(app: FastAPI, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve an application and yield its URL; at the end, open requests are let finish for a moment.

    Args:
        app: Of `http.create_app`.
        host: An address to listen on. Whatever is not loopback needs a proxy with TLS before it: tokens travel here.
        port: 0 takes a free one.

    Raises:
        OSError: The address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        config = uvicorn.Config(
            app, lifespan="off", log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=5
        )
        server = _Server(config)
        running = asyncio.create_task(server.serve([listener]))
        ready = asyncio.create_task(server.ready.wait())
        try:
            await asyncio.wait({running, ready}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
            shown = f"[{host}]" if family == socket.AF_INET6 else host
            yield f"http://{shown}:{listener.getsockname()[1]}"
        finally:
            ready.cancel()
            server.should_exit = True
            await running
    finally:
        listener.close()
