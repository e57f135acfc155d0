"""Messages on the wire: OpenAI Chat Completions messages as plain dicts. The door to results and history too."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_qt.core.call import Outcome
from agentic_qt.protocol.history import repair
from agentic_qt.protocol.results import MAX_RESULT, encode, sendable

__all__ = [
    "MAX_RESULT",
    "ToolCall",
    "assistant_message",
    "encode",
    "repair",
    "sendable",
    "system_message",
    "tool_message",
    "user_message",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A complete tool call as the model made it: wire name, and arguments as text that may not be JSON.

    Args:
        id: The provider's id; may repeat across turns, so nothing is keyed by it alone.
        name: The name on the wire.
        arguments: JSON text, unchecked.
        extra: Fields of the call that we do not know; kept and sent back.
    """

    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any] = field(default_factory=dict)


def system_message(text: str) -> dict[str, Any]:
    """Return the message that instructs the model."""
    return {"role": "system", "content": sendable(text)}


def user_message(text: str) -> dict[str, Any]:
    """Return a person's message."""
    return {"role": "user", "content": sendable(text)}


def assistant_message(
    text: str, tool_calls: Sequence[ToolCall] = (), extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the model's message; fields that we do not know are sent back as they came."""
    message: dict[str, Any] = {**(extra or {}), "role": "assistant", "content": sendable(text)}
    message.pop("tool_calls", None)
    if tool_calls:
        message["tool_calls"] = [
            {
                **call.extra,
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in tool_calls
        ]
    return message


def tool_message(
    tool_call_id: str, outcome: Outcome, *, origin: str = "", keep: Callable[[str], str] | None = None
) -> dict[str, Any]:
    """Return the one answer to a tool call; `origin` and `keep` as `encode` takes them."""
    return {"role": "tool", "tool_call_id": tool_call_id, "content": encode(outcome, origin=origin, keep=keep)}
