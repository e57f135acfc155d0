"""The chat model behind an OpenAI-compatible endpoint: the one file that imports openai.

It owns the connection: what is sent, retries, time-outs, closing. What comes back is read by `chunks`, put
together by `assembler`, explained by `provider_errors`. It connects to the endpoint and to nothing else: no
redirects are followed, and nothing about the machine is told.

The body of the answer is read from the raw response: the package's stream swallows ``[DONE]``, which tells
a complete answer from a cut one, and raises on an error event with the rest of that chunk lost;
``chat.completions.stream()`` fails on or corrupts streams of real providers. The request goes out by the package's
documented way for requests of one's own (``client.post``), as bytes: ``create`` walks every tool value by value.
"""

import asyncio
import inspect
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from agentic_qt.client import real_requests
from agentic_qt.client.assembler import Assembler
from agentic_qt.client.bodies import bounded_body, drain, is_named, is_timeout, next_piece, whole_body
from agentic_qt.client.chat_model import ChatModelError, Delta
from agentic_qt.client.chunks import read_event
from agentic_qt.client.endpoint import Abilities, host_label, is_loopback, whole_url
from agentic_qt.client.model_list import MAX_BYTES, names_in, no_list
from agentic_qt.client.plain_history import without_tools
from agentic_qt.client.provider_errors import REMEDIES, error_from_body, refuses_usage
from agentic_qt.client.retries import RetryPlanned, wait_before
from agentic_qt.client.sse import SseDecoder
from agentic_qt.client.token_counts import TokenCounts
from agentic_qt.core.events import Observers
from agentic_qt.protocol.tool_list import encode_json, encode_tools

_DEFAULT_URL = "https://api.openai.com/v1"
_PLACEHOLDER_KEY = "no-key"  # the package refuses to start without one; servers without keys ignore it
_CONNECT_SECONDS = 5.0
_BREATH_SECONDS = 0.008  # half a frame: a burst of chunks must not hold up painting
_ONLY_WITH_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
# What the package tells about the machine, in every request, unless it is told not to.
_UNSENT_HEADERS = tuple(
    f"X-Stainless-{name}"
    for name in (
        *("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version"),
        *("Async", "Retry-Count", "Read-Timeout"),
    )
)


class OpenAIChatModel:
    """A `ChatModel` that speaks Chat Completions to one endpoint.

    Args:
        model: The model's name at the endpoint.
        base_url: Of the API, usually ending with ``/v1``; ``OPENAI_BASE_URL`` when None, else OpenAI's own.
        api_key: White space in it is dropped; ``OPENAI_API_KEY`` when None; servers without keys need none. An async
            function that returns it is called before the first request, and not again once it has returned.
        timeout: Seconds between two pieces of an answer; connecting takes at most 5.
        max_retries: How often a request that failed before its answer began is sent again, when that may help
            soon; told to `observe_retries`.
        options: Further fields of the request, such as ``temperature``.
        tools: False for a model without tool support: none are sent, and earlier calls are told in words.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | Callable[[], Awaitable[str]] | None = None,
        timeout: float = 120.0,
        max_retries: int = 2,
        options: Mapping[str, Any] | None = None,
        tools: bool = True,
    ) -> None:
        key = api_key if api_key is not None else os.environ.get("OPENAI_API_KEY", "")
        self._model = model.strip()
        self._base_url = whole_url(base_url or "") or whole_url(os.environ.get("OPENAI_BASE_URL", "")) or _DEFAULT_URL
        self._key_source = None if isinstance(key, str) else key
        self._api_key = "".join(key.split()) if isinstance(key, str) else ""
        self._timeout = timeout
        self._max_retries = max_retries
        self._options = dict(options or {})
        self._tools = tools
        self._abilities = Abilities()
        self._token_counts = TokenCounts(self._ask, base_url=self._base_url, model=self._model)
        self._retries: Observers[RetryPlanned] = Observers()
        self._client: Any = None
        self._sdk: Any = None

    @property
    def label(self) -> str:
        """The model's name."""
        return self._model

    @property
    def base_url(self) -> str:
        """Of the endpoint; the only address that is ever connected to."""
        return self._base_url

    @property
    def host(self) -> str:
        """The endpoint's host; ``local (host:port)`` for one on this machine."""
        return host_label(self._base_url)

    @property
    def abilities(self) -> Abilities:
        """What the endpoint and the model have shown so far."""
        return self._abilities

    @property
    def tools(self) -> bool:
        """Whether tools are sent."""
        return self._tools

    @property
    def context_window(self) -> int | None:
        """Tokens of one request and its answer; None as long as the endpoint has not said so."""
        return self._token_counts.window

    def observe_retries(self, callback: Callable[[RetryPlanned], None]) -> Callable[[], None]:
        """Tell `callback` before each wait for a request that is sent again; returns a function that ends it."""
        return self._retries.add(callback)

    def without_tools(self) -> "OpenAIChatModel":
        """Return the same chat model for chatting only, for one that has no tool support."""
        return OpenAIChatModel(
            model=self._model,
            base_url=self._base_url,
            api_key=self._key_source or self._api_key,
            timeout=self._timeout,
            max_retries=self._max_retries,
            options=self._options,
            tools=False,
        )

    def request_body(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return exactly what `stream` sends.

        Args:
            messages: OpenAI Chat Completions messages.
            tools: OpenAI function tools; when empty, no field about tools is sent, which some servers refuse.
        """
        body = self._body_without_tools(messages, tools)
        return {**body, "tools": list(tools)} if tools and self._tools else body

    def _body_without_tools(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        left_out = ("tools",) if tools and self._tools else _ONLY_WITH_TOOLS
        options = {name: value for name, value in self._options.items() if name not in left_out}
        said = list(messages) if self._tools else without_tools(messages)
        body: dict[str, Any] = {**options, "model": self._model, "messages": said, "stream": True}
        if self._abilities.usage is not False:
            body["stream_options"] = {"include_usage": True}
        return body

    def _request(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> bytes:
        """Return `request_body` as it is sent; the tools were written out before, once for each revision."""
        body = encode_json(self._body_without_tools(messages, tools))
        return b'%b,"tools":%b}' % (body[:-1], encode_tools(tools)) if tools and self._tools else body

    async def stream(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> AsyncIterator[Delta]:
        """Send the conversation and yield what comes back; close it with ``aclosing`` when leaving early.

        A connection that is lost after the answer began ends the stream without an error: that something is
        missing shows in the assembler's `cut`.

        Args:
            messages: OpenAI Chat Completions messages.
            tools: OpenAI function tools; may be empty.

        Raises:
            ChatModelError: The request failed, or nothing more came within the time-out.
        """
        answer = await self._open(messages, tools)
        pieces = answer.response.aiter_bytes()
        calls = Assembler()
        try:
            whole = await whole_body(answer.response)
            if whole is not None:
                for delta in whole:
                    self._learn(delta, calls)
                    yield delta
                return
            decoder = SseDecoder()
            breathed = time.monotonic()
            ended = False
            while not ended:
                piece = await next_piece(pieces, self._timeout)
                ended = piece is None
                for event in decoder.end() if piece is None else decoder.feed(piece):
                    delta = read_event(event)
                    if ended and delta.error and event.event != "error":
                        return  # half an event at the end of a cut body
                    self._learn(delta, calls)
                    yield delta
                    if delta.done or delta.error:
                        await drain(pieces)
                        return
                    if time.monotonic() - breathed >= _BREATH_SECONDS:
                        await asyncio.sleep(0)
                        breathed = time.monotonic()
        finally:
            # By hand: left to the garbage collector, the connection closes outside any task.
            await answer.close()
            await pieces.aclose()

    async def list_models(self, *, within: float = 10.0) -> tuple[str, ...]:
        """Ask the endpoint for the names of its models.

        Args:
            within: Seconds for all of it, but for loading the package before its first use.

        Raises:
            ChatModelError: It could not be asked, or answered something else.
        """
        client = await self._connected()
        try:
            async with asyncio.timeout(within):
                body = await bounded_body(await self._get(client, "/models"), MAX_BYTES)
        except TimeoutError as error:
            raise ChatModelError("timeout", f"No answer within {within:g} s.", remedy=REMEDIES["timeout"]) from error
        except self._sdk.APIError as error:
            raise self._explain(error) from error
        if body is None:
            raise no_list("it is too long")
        return names_in(body)

    async def find_context_window(self) -> int | None:
        """Ask the endpoint for the `context_window`, unless it was asked before; None when it cannot be said."""
        await self._connected()  # loading the package is not in the time that the endpoint gets
        return await self._token_counts.find_window()

    async def count_tokens(self, text: str) -> int | None:
        """Let the server count the tokens of a text, where it can as llama.cpp does; None when it cannot be said.

        A server that cannot is not asked again.
        """
        await self._connected()
        return await self._token_counts.count(text)

    async def aclose(self) -> None:
        """Close the connections; may be called twice, and the model used again afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _learn(self, delta: Delta, calls: Assembler) -> None:
        """Note what an answer shows that the endpoint can do."""
        if delta.usage is not None:
            self._abilities = replace(self._abilities, usage=True)
        if delta.tool_calls:
            calls.feed(delta)
        if delta.tool_calls and not self._abilities.parallel_calls:
            several = len(calls.finish().tool_calls) > 1 or None
            self._abilities = replace(self._abilities, tools=True, parallel_calls=several)
        if delta.error is not None and delta.error.code == "no_tool_support":
            self._abilities = replace(self._abilities, tools=False)

    async def _connected(self) -> Any:
        real_requests.check()
        if self._key_source is not None:
            self._api_key = "".join((await self._key_source()).split())
            self._key_source = None
        if not self._api_key.isascii():
            raise ChatModelError(
                "authentication",
                "The API key holds characters that no key has.",
                remedy=REMEDIES["authentication"],
            )
        if self._client is None:
            # In a thread because import and certificates take half a second while a window is on the screen.
            self._keep(*await asyncio.to_thread(self._load))
        return self._client

    def _keep(self, sdk: Any, client: Any) -> None:
        if self._client is None:  # another stream may have been first
            self._sdk, self._client = sdk, client

    def _load(self) -> tuple[Any, Any]:
        import openai  # the lazy door: it costs half a second, and an application may never ask

        host = urlsplit(self._base_url).hostname or ""
        http_client = openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            trust_env=not is_loopback(host),  # a proxy has no business between this machine and itself
        )
        client = openai.AsyncOpenAI(
            api_key=self._api_key or _PLACEHOLDER_KEY,
            base_url=self._base_url,
            timeout=openai.Timeout(self._timeout, connect=_CONNECT_SECONDS),
            max_retries=0,  # ours know a full context from a rate limit, and do not sleep for a minute
            http_client=http_client,
            default_headers={"User-Agent": "agentic-qt"},
        )
        _ = client.chat.completions  # imports more, better here than on the loop
        return openai, client

    async def _open(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Any:
        """Send the request until an answer begins; raise when it cannot."""
        client = await self._connected()
        failures = 0
        while True:
            try:
                return await self._post(client, "/chat/completions", self._request(messages, tools))
            except self._sdk.APIError as error:
                failure = self._explain(error)
                if self._abilities.usage is not False and refuses_usage(failure):
                    self._abilities = replace(self._abilities, usage=False)
                    continue
                failures += 1
                is_slow = is_timeout(error)  # to reach as well: a person has waited long enough
                wait = None if is_slow or failures > self._max_retries else wait_before(failures, failure)
                if wait is None:
                    raise failure from error
            except (TypeError, ValueError) as error:  # no JSON, or text that is no Unicode
                raise ChatModelError(
                    "bad_request", type(error).__name__, remedy="The conversation cannot be written as JSON."
                ) from error
            self._retries.tell(
                RetryPlanned(
                    attempt=failures, of=self._max_retries, wait=wait, code=failure.code, message=failure.message
                )
            )
            await asyncio.sleep(wait)

    async def _post(self, client: Any, path: str, body: bytes) -> Any:
        # Versions 1 and 2 of the package take the bytes as `body`, version 3 as `content` and warns of the other.
        parameter = "content" if "content" in inspect.signature(client.post).parameters else "body"
        return await client.post(path, cast_to=object, **{parameter: body}, **self._as_stream())

    async def _ask(self, address: str, body: bytes | None, most: int) -> tuple[int, bytes]:
        """Ask the endpoint beside a conversation; returns the status, 0 when it was not reached, and what it said."""
        client = await self._connected()
        try:
            answer = await (self._get(client, address) if body is None else self._post(client, address, body))
        except self._sdk.APIError as error:
            return getattr(error, "status_code", 0), b""
        try:
            return answer.response.status_code, await bounded_body(answer, most) or b""
        except ChatModelError:
            return 0, b""

    async def _get(self, client: Any, path: str) -> Any:
        return await client.get(path, cast_to=object, **self._as_stream())

    def _as_stream(self) -> dict[str, Any]:
        unsent = {name: self._sdk.Omit() for name in _UNSENT_HEADERS}
        return {"stream": True, "stream_cls": self._sdk.AsyncStream[object], "options": {"headers": unsent}}

    def _explain(self, error: Any) -> ChatModelError:
        response = getattr(error, "response", None)
        if response is not None:
            failure = error_from_body(response.status_code, response.text, headers=response.headers)
            if failure.code == "no_tool_support":
                self._abilities = replace(self._abilities, tools=False)
                failure.remedy = (
                    f"{self._model} at {self.host} has no tool support: choose another model, or chat without tools."
                )
            if 300 <= response.status_code < 400:
                target = response.headers.get("location", "another address")
                failure.remedy = f"The endpoint redirects to {target}: if you trust it, make it the base URL."
            return self._without_key(failure)
        cause = error.__cause__ or error
        code = "timeout" if is_timeout(error) and not is_named(cause, "ConnectTimeout") else "offline"
        return self._without_key(ChatModelError(code, str(cause) or str(error), remedy=REMEDIES[code]))

    def _without_key(self, failure: ChatModelError) -> ChatModelError:
        if not self._api_key or self._api_key not in failure.message:
            return failure
        return ChatModelError(
            failure.code,
            failure.message.replace(self._api_key, "***"),
            remedy=failure.remedy,
            retry_after=failure.retry_after,
        )
