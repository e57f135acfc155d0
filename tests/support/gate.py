"""A provider that refuses what Mistral's own validator refuses, and passes the rest to a real server: on loopback,
in the test's event loop."""

import asyncio
import json
from typing import Any, Self
from urllib.parse import urlsplit

from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV13, ValidationMode
from pydantic import ValidationError

# What llama.cpp knows and the validator does not speak of.
_BESIDE_THE_POINT = ("stream_options", "cache_prompt")


class Gate:
    """`async with Gate(base_url, key) as gate`: `gate.url` is the base URL; `gate.refused` keeps what was refused."""

    def __init__(self, base_url: str, key: str) -> None:
        self._upstream = urlsplit(base_url)
        self._key = key
        self._validator = MistralRequestValidatorV13(mode=ValidationMode.serving)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.passed: list[Any] = []
        self.refused: list[str] = []

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            body = await reader.readexactly(length)
            if complaint := self._complaint(json.loads(body)):
                self.refused.append(complaint)
                error = json.dumps({"error": {"message": complaint, "type": "invalid_request_error"}}).encode()
                writer.write(_head("400 Bad Request", error) + error)
            else:
                self.passed.append(json.loads(body))
                await self._forward(body, writer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    def _complaint(self, body: dict[str, Any]) -> str:
        known = {name: value for name, value in body.items() if name not in _BESIDE_THE_POINT}
        try:
            self._validator.validate_request(ChatCompletionRequest.from_openai(**known))
        except (MistralCommonException, ValidationError, ValueError) as error:
            return str(error)
        return ""

    async def _forward(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        head = (
            f"POST {self._upstream.path}/chat/completions HTTP/1.1\r\nHost: {self._upstream.netloc}\r\n"
            f"Authorization: Bearer {self._key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        answer, upstream = await asyncio.open_connection(self._upstream.hostname, self._upstream.port)
        try:
            upstream.write(head.encode() + body)
            while piece := await answer.read(65536):
                writer.write(piece)
                await writer.drain()
        finally:
            upstream.close()


def _head(status: str, body: bytes) -> bytes:
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    ).encode()
