"""A chat model that plays a script: no network, no chance, the same deltas every time."""

import asyncio
import copy
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentic_qt.client.chat_model import ChatModelError, Delta, ToolCallDelta
from agentic_qt.protocol.messages import ToolCall
from agentic_qt.protocol.names import to_wire

Piece = str | ToolCall | Delta | ChatModelError
"""Part of a turn: words, a tool call, a raw delta, or an error that is raised there."""

Turn = Piece | Sequence[Piece] | Callable[[list[dict[str, Any]]], Any]
"""What answers one request: a piece, several pieces, or a callable of the messages that returns either."""

_call_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedRequest:
    """One request as it was sent, copied: what happens later does not change it."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def tool(name: str, arguments: Mapping[str, Any] | str = "", *, id: str = "") -> ToolCall:  # noqa: A002 - the wire's word
    """Return a tool call as a model would make it.

    Args:
        name: The capability's name or its name on the wire.
        arguments: As an object, or as the text that a model would write, which need not be JSON.
        id: Of the call; a new one by default.
    """
    text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
    return ToolCall(id=id or f"call_{next(_call_numbers)}", name=to_wire(name), arguments=text)


class ScriptedModel:
    """Plays one turn for each request and records what it was asked.

    A turn of words and tool calls is streamed in chunks and ended with the finish reason of a well-behaved
    provider. One that holds raw deltas or an error is played as it stands and nothing is added, so that cut
    streams can be played too.

    Args:
        turns: What answers the requests, in order.
        chunk_size: Characters of one delta, of words and of arguments.
        label: As shown in the status line.

    Attributes:
        requests: What was sent, in order.
    """

    host = "local"

    def __init__(self, turns: Iterable[Turn], *, chunk_size: int = 8, label: str = "scripted") -> None:
        if chunk_size < 1:
            raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
        self.label = label
        self.requests: list[ScriptedRequest] = []
        self._turns = list(turns)
        self._chunk_size = chunk_size

    @property
    def remaining(self) -> int:
        """How many turns were not asked for yet."""
        return max(0, len(self._turns) - len(self.requests))

    async def stream(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> AsyncIterator[Delta]:
        """Play the next turn.

        Raises:
            AssertionError: There is none.
            ChatModelError: The script says so.
        """
        number = len(self.requests)
        self.requests.append(
            ScriptedRequest(messages=copy.deepcopy(list(messages)), tools=copy.deepcopy(list(tools)))  # type: ignore[arg-type]
        )
        if number >= len(self._turns):
            last = json.dumps(messages[-1], ensure_ascii=False, default=repr)[:200] if messages else "nothing"
            raise AssertionError(
                f"the script has {len(self._turns)} turns and this is request {number + 1}; its last message: {last}"
            )
        for step in self._steps(_pieces(self._turns[number], self.requests[number].messages)):
            await asyncio.sleep(0)  # as a network would: others run between two chunks
            if isinstance(step, ChatModelError):
                raise step
            yield step

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _steps(self, pieces: Sequence[Piece]) -> Iterator[Delta | ChatModelError]:
        calls = 0
        raw = False
        for piece in pieces:
            if isinstance(piece, str):
                for text in self._chunks(piece):
                    yield Delta(text=text)
            elif isinstance(piece, ToolCall):
                yield from self._call(piece, calls)
                calls += 1
            else:
                raw = True
                yield piece
        if not raw:
            yield Delta(finish_reason="tool_calls" if calls else "stop")
            yield Delta(done=True)

    def _call(self, call: ToolCall, index: int) -> Iterator[Delta]:
        head = ToolCallDelta(index=index, id=call.id, name=call.name, arguments="", extra=call.extra)
        yield Delta(tool_calls=(head,))
        for text in self._chunks(call.arguments):
            yield Delta(tool_calls=(ToolCallDelta(index=index, arguments=text),))

    def _chunks(self, text: str) -> Iterator[str]:
        for start in range(0, len(text), self._chunk_size):
            yield text[start : start + self._chunk_size]


def _pieces(turn: Turn, messages: list[dict[str, Any]]) -> Sequence[Piece]:
    if callable(turn):
        return _pieces(turn(copy.deepcopy(messages)), messages)
    if isinstance(turn, str | ToolCall | Delta | ChatModelError):
        return [turn]
    return turn
