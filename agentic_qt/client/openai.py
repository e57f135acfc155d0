"""The chat model behind an OpenAI-compatible endpoint: the one file that imports openai.

It owns the connection: what is sent, retries, time-outs, closing. What comes back is read by `chunks`, put
together by `assembler`, explained by `provider_errors`. It connects to the endpoint and to nothing else: no
redirects are followed, and nothing about the machine is told.

The body of the answer is read from the raw response: the package's stream swallows ``[DONE]``, which tells
a complete answer from a cut one, and raises on an error event with the rest of that chunk lost;
``chat.completions.stream()`` fails on or corrupts streams of real providers.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from agentic_qt.client import real_requests
from agentic_qt.client.chat_model import ChatModelError, Delta
from agentic_qt.client.chunks import read_event, read_whole_body
from agentic_qt.client.endpoint import host_label, is_loopback, whole_url
from agentic_qt.client.provider_errors import REMEDIES, error_from_body
from agentic_qt.client.sse import SseDecoder

_DEFAULT_URL = "https://api.openai.com/v1"
_PLACEHOLDER_KEY = "no-key"  # the package refuses to start without one; servers without keys ignore it
_CONNECT_SECONDS = 5.0
_LONGEST_PAUSE = 2.0  # a person waits: a longer pause is told, not slept through
_DRAIN_SECONDS = 0.1
_BREATH_SECONDS = 0.008  # half a frame: a burst of chunks must not hold up painting
_ONLY_WITH_TOOLS = ("tool_choice", "parallel_tool_calls")
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
        api_key: White space in it is dropped; ``OPENAI_API_KEY`` when None; servers without keys need none.
        timeout: Seconds between two pieces of an answer; connecting takes at most 5.
        max_retries: How often a request that failed before its answer began is sent again, when that may help
            soon.
        options: Further fields of the request, such as ``temperature``.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        max_retries: int = 1,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        key = api_key if api_key is not None else os.environ.get("OPENAI_API_KEY", "")
        self._model = model.strip()
        self._base_url = whole_url(base_url or "") or whole_url(os.environ.get("OPENAI_BASE_URL", "")) or _DEFAULT_URL
        self._api_key = "".join(key.split())
        self._timeout = timeout
        self._max_retries = max_retries
        self._options = dict(options or {})
        self._asks_for_usage = True
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

    def request_body(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return exactly what `stream` sends.

        Args:
            messages: OpenAI Chat Completions messages.
            tools: OpenAI function tools; when empty, no field about tools is sent, which some servers refuse.
        """
        options = {name: value for name, value in self._options.items() if tools or name not in _ONLY_WITH_TOOLS}
        body: dict[str, Any] = {**options, "model": self._model, "messages": list(messages), "stream": True}
        if tools:
            body["tools"] = list(tools)
        if self._asks_for_usage:
            body["stream_options"] = {"include_usage": True}
        return body

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
        try:
            whole = await self._whole_body(answer.response)
            if whole is not None:
                for delta in whole:
                    yield delta
                return
            decoder = SseDecoder()
            breathed = time.monotonic()
            ended = False
            while not ended:
                piece = await self._next_piece(pieces)
                ended = piece is None
                for event in decoder.end() if piece is None else decoder.feed(piece):
                    delta = read_event(event)
                    if ended and delta.error and event.event != "error":
                        return  # half an event at the end of a cut body
                    yield delta
                    if delta.done or delta.error:
                        await _drain(pieces)
                        return
                    if time.monotonic() - breathed >= _BREATH_SECONDS:
                        await asyncio.sleep(0)
                        breathed = time.monotonic()
        finally:
            # By hand: left to the garbage collector, the connection closes outside any task.
            await answer.close()
            await pieces.aclose()

    async def aclose(self) -> None:
        """Close the connections; may be called twice, and the model used again afterwards."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _connected(self) -> Any:
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
        real_requests.check()
        client = await self._connected()
        unsent = {name: self._sdk.Omit() for name in _UNSENT_HEADERS}
        failures = 0
        while True:
            body = self.request_body(messages, tools)
            try:
                # All of it as the extra body: the package would walk the messages and tools value by value.
                return await client.chat.completions.create(
                    model=self._model, messages=[], stream=True, extra_body=body, extra_headers=unsent
                )
            except self._sdk.APIError as error:
                failure = self._explain(error)
                if self._asks_for_usage and _refuses_usage(failure):
                    self._asks_for_usage = False
                    continue
                pause = _pause_before_retry(failure)
                if pause is None or failures >= self._max_retries:
                    raise failure from error
            except (TypeError, ValueError) as error:  # no JSON, or text that is no Unicode
                raise ChatModelError(
                    "bad_request", type(error).__name__, remedy="The conversation cannot be written as JSON."
                ) from error
            failures += 1
            await asyncio.sleep(pause)

    def _explain(self, error: Any) -> ChatModelError:
        response = getattr(error, "response", None)
        if response is not None:
            failure = error_from_body(response.status_code, response.text, headers=response.headers)
            if 300 <= response.status_code < 400:
                target = response.headers.get("location", "another address")
                failure.remedy = f"The endpoint redirects to {target}: if you trust it, make it the base URL."
            return self._without_key(failure)
        cause = error.__cause__ or error
        code = "timeout" if _is_timeout(error) and not _is_named(cause, "ConnectTimeout") else "offline"
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

    async def _whole_body(self, response: Any) -> list[Delta] | None:
        """Return what a body says that is no event stream; None for a stream."""
        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type not in ("application/json", "text/html"):
            return None
        try:
            await response.aread()
        except Exception as error:  # only the transport runs here; its classes differ by version
            if _is_timeout(error):
                raise ChatModelError("timeout", remedy=REMEDIES["timeout"]) from error
            return []
        return read_whole_body(response.text, content_type)

    async def _next_piece(self, pieces: Any) -> bytes | None:
        """Return the next bytes of a body; None when it has ended or was cut off."""
        try:
            piece: bytes = await anext(pieces)
        except StopAsyncIteration:
            return None
        except Exception as error:  # only the transport runs here; its classes differ by version
            if _is_timeout(error):
                message = f"Nothing came for {self._timeout:g} s."
                raise ChatModelError("timeout", message, remedy=REMEDIES["timeout"]) from error
            return None
        return piece


async def _drain(pieces: Any) -> None:
    """Read the few bytes that end a body, so that its connection can be used again."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in pieces:
                pass
    except Exception:  # the answer is complete: whatever happens to its connection now is no news
        return


def _refuses_usage(failure: ChatModelError) -> bool:
    words = failure.message.lower()
    return failure.code == "bad_request" and ("stream_options" in words or "include_usage" in words)


def _pause_before_retry(failure: ChatModelError) -> float | None:
    """Return seconds to wait before the request is sent again; None when that would not help soon."""
    if failure.code == "offline":
        return 0.0  # a server may have dropped an idle connection
    if failure.code not in ("server", "rate_limit"):
        return None
    pause = 0.5 if failure.retry_after is None else failure.retry_after
    return pause if pause <= _LONGEST_PAUSE else None


def _is_timeout(error: BaseException) -> bool:
    return _is_named(error, "TimeoutException") or _is_named(error, "APITimeoutError")


def _is_named(error: BaseException, name: str) -> bool:
    """Tell by name, because the transport is httpx or httpx2, by the version of the package."""
    return any(kind.__name__ == name for kind in type(error).__mro__)
