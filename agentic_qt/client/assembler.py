"""Deltas become one complete message at the end of a stream, or nothing. Keeps no state beyond one stream.

Providers disagree about everything in a fragment of a tool call: the index may be null, missing, always 0,
sparse or counted from 1; the id empty, late or repeated; the name repeated; the arguments null. The rule, in
this order:

1. an id that was seen in this stream names its call;
2. a new id is a new call (unless the call at that index is still waiting for its id: then the id is late);
3. no id: the newest call with that index;
4. neither: the call that was last written to.

Where rules 3 and 4 would make nonsense of two whole calls that have no ids (both named in one chunk, or a
named fragment after arguments that are already a complete object), the second is a call of its own.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_qt.client.chat_model import ChatModelError, Delta, ToolCallDelta, Usage
from agentic_qt.protocol.messages import ToolCall

_LIMITING = ("length", "content_filter")


@dataclass(frozen=True, kw_only=True, slots=True)
class Assembled:
    """What a whole stream said.

    Args:
        text: All content.
        reasoning: The chat model's thoughts, where sent.
        tool_calls: In the order in which they began; what may run is for the agent to say.
        finish_reason: The last one sent; ``length`` and ``content_filter`` are kept once said. None when
            never sent.
        usage: The last count that the provider gave.
        extra: Fields of the message that we do not know, merged by `merge_field`; to be sent back.
        cut: The stream ended without a finish reason and without ``[DONE]``: nothing of it may be trusted as
            whole.
        error: The first error told inside the stream.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    cut: bool = False
    error: ChatModelError | None = None


@dataclass(kw_only=True, slots=True)
class _Building:
    """A tool call of which more may come."""

    id: str
    index: int | None
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    touched: int = 0

    def has_whole_object(self) -> bool:
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False


class Assembler:
    """Feed it each delta of one stream; take the message at the end."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Building] = []
        self._by_id: dict[str, _Building] = {}
        self._newest_at: dict[int, _Building] = {}
        self._current: _Building | None = None
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self._extra: dict[str, Any] = {}
        self._done = False
        self._error: ChatModelError | None = None
        self._fed = 0

    def feed(self, delta: Delta) -> None:
        """Take the next delta of the stream."""
        self._fed += 1
        self._text.append(delta.text)
        self._reasoning.append(delta.reasoning)
        for fragment in delta.tool_calls:
            self._feed_call(fragment)
        if delta.finish_reason and self._finish_reason not in _LIMITING:
            self._finish_reason = delta.finish_reason
        self._usage = delta.usage or self._usage
        for name, value in delta.extra.items():
            merge_field(self._extra, name, value)
        self._done = self._done or delta.done
        self._error = self._error or delta.error

    def finish(self) -> Assembled:
        """Return the message; to be asked once, when the stream has ended in whatever way."""
        return Assembled(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            tool_calls=tuple(_complete(call) for call in self._calls if call.name or any(call.arguments)),
            finish_reason=self._finish_reason,
            usage=self._usage,
            extra=self._extra,
            cut=self._finish_reason is None and not self._done,
            error=self._error,
        )

    def _feed_call(self, fragment: ToolCallDelta) -> None:
        call = self._by_id.get(fragment.id) if fragment.id else None
        if call is None:
            call = self._waiting_for_id(fragment) if fragment.id else self._continued(fragment)
        if call is None:
            call = _Building(id="", index=fragment.index)
            self._calls.append(call)
            if fragment.index is not None:
                self._newest_at[fragment.index] = call
        if fragment.id and not call.id:
            call.id = fragment.id
            self._by_id[fragment.id] = call
        if fragment.index is not None:
            self._newest_at.setdefault(fragment.index, call)
        call.name = call.name or fragment.name or ""
        if fragment.arguments:
            call.arguments.append(fragment.arguments)
        for name, value in fragment.extra.items():
            merge_field(call.extra, name, value)
        call.touched = self._fed
        self._current = call

    def _waiting_for_id(self, fragment: ToolCallDelta) -> _Building | None:
        """Return the call whose late id this fragment brings, if there is one."""
        call = self._at(fragment.index)
        if call is None or call.id or (call.name and fragment.name):
            return None
        return call

    def _continued(self, fragment: ToolCallDelta) -> _Building | None:
        """Return the call that a fragment without id goes on with, if any."""
        call = self._at(fragment.index)
        if call is None or not (fragment.name and call.name):
            return call
        in_one_chunk = call.touched == self._fed
        after_a_whole = bool(fragment.arguments and fragment.arguments.strip()) and call.has_whole_object()
        return None if in_one_chunk or after_a_whole else call

    def _at(self, index: int | None) -> _Building | None:
        if index is None:
            return self._current
        found = self._newest_at.get(index)
        if found is None and self._current is not None and self._current.index is None:
            return self._current  # it began without an index, which comes late
        return found


def merge_field(target: dict[str, Any], name: str, value: Any) -> None:
    """Merge a piece of a field that we do not know into what came before it.

    Text is streamed in pieces: strings concatenate and lists extend. Mappings merge, and inside them a later
    value replaces an earlier one (a signature comes whole). Of anything else the last wins; null is nothing.

    Args:
        target: The fields so far; changed in place.
        name: The field.
        value: The piece, JSON.
    """
    if value is None:
        return
    before = target.get(name)
    if isinstance(before, str) and isinstance(value, str):
        target[name] = before + value
    elif isinstance(before, list) and isinstance(value, list):
        target[name] = [*before, *value]
    elif isinstance(before, dict) and isinstance(value, dict):
        target[name] = _merged(before, value)
    else:
        target[name] = value


def _merged(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    result = dict(before)
    for name, value in after.items():
        inner = result.get(name)
        if isinstance(inner, dict) and isinstance(value, dict):
            result[name] = _merged(inner, value)
        else:
            result[name] = value
    return result


def _complete(call: _Building) -> ToolCall:
    return ToolCall(
        # An empty id cannot be answered; at most 40 characters are accepted everywhere.
        id=call.id or f"call_{uuid.uuid4().hex[:24]}",
        name=call.name,
        arguments="".join(call.arguments),
        extra=call.extra,
    )
