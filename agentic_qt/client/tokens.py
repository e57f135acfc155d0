"""How many tokens a request takes: what the provider reported, what it can count, or an estimate from the bytes."""

import inspect
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from agentic_qt.protocol.tool_list import ToolList

_log = logging.getLogger("agentic_qt.client.tokens")

TOKENS_PER_BYTE = 0.21
"""Tokens for one byte of JSON in a Latin script."""

_TOKENS_PER_FOREIGN_BYTE = 0.5  # other scripts: two or three bytes a character, and one or two tokens
_LOWEST, _HIGHEST = 0.05, 1.5  # tokens a byte; a provider that reports anything else is not believed
_MARGIN = 1.05  # what is added to a measured rate: the next text is another one
_OVERHEAD = 4  # tokens of the frame of a message

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=repr)


@runtime_checkable
class CountsTokens(Protocol):
    """A chat model that can count by itself, such as by llama.cpp's ``/tokenize``, sync or async; optional."""

    async def count_tokens(self, text: str) -> int | None:
        """Return how many tokens a text takes; None when it cannot be said, and the estimate counts.

        Raises:
            Exception: It cannot be said now; the estimate counts.
        """
        ...


@runtime_checkable
class FindsWindow(Protocol):
    """A chat model that can find out its window, such as by asking its endpoint; optional."""

    async def find_context_window(self) -> int | None:
        """Return the tokens of one request and its answer; None when it cannot be said.

        Raises:
            Exception: It cannot be said now.
        """
        ...


async def find_window(chat_model: Any) -> int | None:
    """Let a chat model find out its window, where it can; what fails is as good as not known."""
    if not isinstance(chat_model, FindsWindow):
        return None
    try:
        return await chat_model.find_context_window()
    except Exception:
        _log.warning("The chat model could not say its window; nothing is trimmed", exc_info=True)
        return None


class TokenMeter:
    """Counts for one chat model: its rate is measured where possible, and kept from then on.

    The rate says how much more (or less) a text takes than the plain estimate, which knows of scripts.
    """

    def __init__(self) -> None:
        self._rate: float | None = None
        self._tools: tuple[ToolList, float] = (ToolList(), 0.0)

    @property
    def measured(self) -> bool:
        """Whether anything was measured yet."""
        return self._rate is not None

    def count(self, message: Mapping[str, Any]) -> int:
        """Return the tokens of one message."""
        return self.tokens(estimate(_encoder.encode(message))) + _OVERHEAD

    def tokens(self, estimated: float) -> int:
        """Return tokens for an estimate, by the measured rate."""
        return round(estimated if self._rate is None else estimated * self._rate * _MARGIN)

    def estimate_request(self, messages: Iterable[Mapping[str, Any]], tools: ToolList) -> float:
        """Return the estimate for a whole request; the tools are the same for a long time and are looked at once."""
        if tools is not self._tools[0]:
            self._tools = (tools, estimate(tools.json.decode()) if tools else 0.0)
        return estimate_messages(messages) + self._tools[1]

    def learn(self, estimated: float, tokens: int) -> None:
        """Take over what was reported (or counted) for something of that estimate."""
        if estimated <= 0 or tokens <= 0:
            return
        rate = tokens / estimated
        if _LOWEST <= rate * TOKENS_PER_BYTE <= _HIGHEST:
            self._rate = rate

    async def measure(self, chat_model: Any, messages: Iterable[Mapping[str, Any]]) -> None:
        """Let the chat model count, when nothing was measured yet and it can; what fails is left out."""
        if self._rate is not None or not isinstance(chat_model, CountsTokens):
            return
        text = "\n".join(map(_encoder.encode, messages))
        try:
            counted: Any = chat_model.count_tokens(text)
            if inspect.isawaitable(counted):
                counted = await counted
            if counted is not None:
                self.learn(estimate(text), int(counted))
        except Exception:
            _log.warning("The chat model could not count tokens; the size is estimated", exc_info=True)


def estimate(text: str) -> float:
    """Return a careful estimate of the tokens of a text."""
    size = len(text)
    if text.isascii():
        return size * TOKENS_PER_BYTE
    # An accented Latin letter is two bytes too: it costs as much as it does.
    foreign = len(text.encode("utf-8", "surrogatepass")) - size
    wide = sum(1 for character in text if character > "\x7f")
    return (size - wide) * TOKENS_PER_BYTE + (foreign + wide) * _TOKENS_PER_FOREIGN_BYTE


def estimate_messages(messages: Iterable[Mapping[str, Any]]) -> float:
    """Return the estimate for messages, their frames included."""
    return sum(estimate(_encoder.encode(message)) + _OVERHEAD for message in messages)
