"""Starts, watches and ends the process of the embedded chat model, from the event loop and without blocking it."""

import asyncio
import json
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from agentic_qt.client.chat_model import ChatModelError

_PATIENCE = 60.0
_FAREWELL = 2.0


class StartUp(StrEnum):
    """How far the process of an embedded chat model is."""

    STARTING = "starting"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalServer:
    """What the process serves.

    Args:
        model: The weights, a GGUF file.
        template: The chat template, a Jinja file.
        alias: The model's name on the wire.
        threads: Threads that compute.
        context: Tokens of a conversation.
    """

    model: Path
    template: Path
    alias: str
    threads: int
    context: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """Where a process that is ready can be reached, and the key that it wants."""

    base_url: str
    key: str


class LocalProcess:
    """One process at a time, started when it is needed.

    Args:
        server: What it serves.
        tell: Called with each step of its life.
    """

    def __init__(self, server: LocalServer, tell: Callable[[StartUp], None]) -> None:
        self._server = server
        self._tell = tell
        self._process: asyncio.subprocess.Process | None = None
        self._endpoint: Endpoint | None = None

    @property
    def pid(self) -> int | None:
        """The living process, if there is one."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def endpoint(self) -> Endpoint:
        """Return where the process can be reached; start it, or start it again if it has died.

        Raises:
            ChatModelError: It could not be started.
        """
        if self._endpoint is not None and self.pid is not None:
            return self._endpoint
        await self.end()
        try:
            self._endpoint = await self._start()
        except BaseException:  # a caller that stops waiting must not leave a half started process either
            await self.end(StartUp.FAILED)
            raise
        self._tell(StartUp.READY)
        return self._endpoint

    async def end(self, state: StartUp = StartUp.STOPPED) -> None:
        """End the process, and wait until it is gone; nothing happens when there is none."""
        process, self._process, self._endpoint = self._process, None, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        if process.returncode is None:
            try:
                await asyncio.wait_for(process.wait(), _FAREWELL)
            except TimeoutError:
                process.kill()
                await process.wait()
        self._tell(state)

    async def _start(self) -> Endpoint:
        self._tell(StartUp.STARTING)
        key = secrets.token_urlsafe(24)
        settings = {
            "model": str(self._server.model),
            "template": str(self._server.template),
            "alias": self._server.alias,
            "threads": self._server.threads,
            "context": self._server.context,
            "key": key,
        }
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "agentic_qt.client.local_server",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError as error:
            raise _failure(str(error)) from error
        assert self._process.stdin is not None  # noqa: S101 - for the type checker
        self._process.stdin.write(json.dumps(settings).encode() + b"\n")
        try:
            async with asyncio.timeout(_PATIENCE):
                return Endpoint(base_url=f"{await self._until_ready(self._process)}/v1", key=key)
        except TimeoutError as error:
            raise _failure(f"It was not ready within {_PATIENCE:g} s.") from error

    async def _until_ready(self, process: asyncio.subprocess.Process) -> str:
        assert process.stdout is not None  # noqa: S101 - for the type checker
        while line := await process.stdout.readline():
            told: dict[str, Any] = json.loads(line)
            if told["event"] == "ready":
                return str(told["address"])
            if told["event"] == "failed":
                raise _failure(str(told["reason"]))
            self._tell(StartUp.LOADING)
        raise _failure(f"Its process ended with code {await process.wait()}.")


def _failure(reason: str) -> ChatModelError:
    return ChatModelError(
        "server",
        f"The embedded model did not start. {reason}",
        remedy="Send the message again to start it again, or name another endpoint.",
    )
