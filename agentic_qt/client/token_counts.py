"""What a server says of tokens: how many a text takes, and how long a request may be. Sends nothing itself.

Nobody is asked at import or construction: an agent asks when a conversation grows so long that it matters. Only below
the endpoint's own base URL, without its ``/v1``, where llama.cpp has ``/tokenize`` and ``/props``.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agentic_qt.client.model_list import MAX_BYTES
from agentic_qt.protocol.tool_list import encode_json

SECONDS = 1.0
"""How long a person waits for one answer at most."""

MAX_TEXT = 1_000_000
"""Bytes of a text, as JSON, that a server is asked to count."""

_ATTEMPTS = 3  # of questions that nobody answered: the server may be starting
_LEAST, _MOST = 512, 100_000_000  # tokens; what lies outside is no window
# What lists of models call it: vLLM; OpenRouter and Together; Groq; Mistral.
_WINDOW_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length")
_NOT_FINAL = frozenset({401, 403, 408, 425, 429})  # says nothing of what the server has

Ask = Callable[[str, bytes | None, int], Awaitable[tuple[int, bytes]]]
"""``ask(address, body, most)``: POST the body, GET without one. Returns the status, 0 when nobody was reached, and the
body of a success, empty when it is longer than `most` bytes."""

_log = logging.getLogger("agentic_qt.client.token_counts")


class TokenCounts:
    """What one endpoint says of one model; what it said is remembered, also that it has nothing to say.

    Args:
        ask: The way to the endpoint.
        base_url: Of the API.
        model: The model's name at the endpoint.
    """

    def __init__(self, ask: Ask, *, base_url: str, model: str) -> None:
        self._ask = ask
        self._root = base_url.rstrip("/").removesuffix("/v1")
        self._model = model
        self._window: int | None = None
        self._window_attempts = self._count_attempts = _ATTEMPTS

    @property
    def window(self) -> int | None:
        """Tokens of one request and its answer, as far as the endpoint has said."""
        return self._window

    async def find_window(self) -> int | None:
        """Ask for the window, at most until it was answered; by the list of models, then by llama.cpp's ``/props``."""
        if self._window is not None or not self._window_attempts:
            return self._window
        listed, body = await self._within("/models", None, MAX_BYTES)
        found, told = window_in_models(body, self._model), listed
        if found is None:
            told, body = await self._within(f"{self._root}/props", None, MAX_BYTES)
            found = window_in_props(body)
        self._window = found
        self._window_attempts = 0 if _is_final(listed) and _is_final(told) else self._window_attempts - 1
        return found

    async def count(self, text: str) -> int | None:
        """Ask llama.cpp's ``/tokenize`` how many tokens a text takes; None when that cannot be said."""
        data = encode_json({"content": text})
        if not self._count_attempts or len(data) > MAX_TEXT:
            return None
        # A token is a number of few digits: no honest answer is longer than this.
        status, body = await self._within(f"{self._root}/tokenize", data, 10 * len(data) + 1000)
        count = count_in(body)
        if count is not None:
            self._count_attempts = _ATTEMPTS
        else:
            self._count_attempts = 0 if _is_final(status) else self._count_attempts - 1
        return count

    async def _within(self, address: str, body: bytes | None, most: int) -> tuple[int, bytes]:
        try:
            async with asyncio.timeout(SECONDS):
                return await self._ask(address, body, most)
        except TimeoutError:
            _log.debug("%s did not answer in %g s", address, SECONDS)
        return 0, b""


def window_in_models(body: bytes, model: str) -> int | None:
    """Return what the answer to ``GET /models`` says of a model's window; the smallest where it says several.

    A server that lists one model answers with that one, whatever it is called in a request.
    """
    value = _read(body)
    listed = value.get("data") if isinstance(value, Mapping) else value
    entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    named = [entry for entry in entries if model and model in (entry.get("id"), entry.get("name"))]
    entry = named[0] if named else entries[0] if len(entries) == 1 else {}
    said = [entry.get(field) for field in _WINDOW_FIELDS]
    said.append(_inside(entry, "meta").get("n_ctx"))  # llama.cpp; its n_ctx_train is what it could be, not what it is
    said.append(_inside(entry, "top_provider").get("context_length"))  # OpenRouter
    return min((window for window in map(_window, said) if window is not None), default=None)


def window_in_props(body: bytes) -> int | None:
    """Return what llama.cpp's answer to ``GET /props`` says of the window of one request."""
    return _window(_inside(_inside(_read(body)), "default_generation_settings").get("n_ctx"))


def count_in(body: bytes) -> int | None:
    """Return how many tokens the answer to ``POST /tokenize`` has; None when it is no such answer."""
    tokens = _inside(_read(body)).get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def _is_final(status: int) -> bool:
    """Whether asking again would bring the same."""
    return (200 <= status < 500 and status not in _NOT_FINAL) or status in (501, 505)


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _inside(value: Any, name: str | None = None) -> Mapping[str, Any]:
    inner = value.get(name) if name is not None else value
    return inner if isinstance(inner, Mapping) else {}


def _window(said: Any) -> int | None:
    return said if isinstance(said, int) and _LEAST <= said <= _MOST else None
