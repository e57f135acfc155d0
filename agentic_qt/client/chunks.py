"""One event of a Chat Completions stream becomes one Delta. Tolerant in what it reads; keeps no state."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentic_qt.client.chat_model import ChatModelError, Delta, ToolCallDelta, Usage
from agentic_qt.client.provider_errors import error_from_body
from agentic_qt.client.sse import ServerEvent, SseDecoder

# Fields of a delta that are read here, or that are labels of the transport and mean nothing when sent back
# ("channel" is how one provider marks thoughts, in every chunk).
_KNOWN_FIELDS = frozenset({"role", "content", "tool_calls", "function_call", "refusal", "channel", "audio"})
_KNOWN_CALL_FIELDS = frozenset({"index", "id", "type", "function"})
_REASONING_FIELDS = ("reasoning_content", "reasoning")


def read_event(event: ServerEvent) -> Delta:
    """Read an event of a stream.

    Args:
        event: As the SSE decoder gave it.

    Returns:
        A delta; an empty one for events that say nothing; one with `error` for errors and for data that is
        not JSON (dropping it could change the arguments of a call without a trace).
    """
    data = event.data.strip()
    if data.startswith("[DONE]"):
        return Delta(done=True)
    if not data:
        return Delta()
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        if event.event == "error":
            return Delta(error=error_from_body(None, data))
        return Delta(error=_unreadable(data))
    if not isinstance(value, Mapping):
        return Delta(error=error_from_body(None, value)) if event.event == "error" else Delta()
    delta = _read_chunk(value)
    if value.get("error") or "error" in (event.event, value.get("type"), value.get("object")):
        return replace(delta, error=error_from_body(None, value))
    return delta


def read_whole_body(text: str, content_type: str) -> list[Delta]:
    """Read a successful answer that is no event stream, from a server or proxy that ignores ``stream``.

    Args:
        text: The body.
        content_type: Its media type.

    Returns:
        The deltas of a whole completion, of an event stream under a wrong media type, or an error.
    """
    stripped = text.lstrip()
    if stripped.startswith(("data:", "event:", ":")):
        decoder = SseDecoder()
        return [read_event(event) for event in [*decoder.feed(text.encode()), *decoder.end()]]
    if not stripped.startswith("{"):
        return [Delta(error=_unreadable(text, content_type))]
    delta = read_event(ServerEvent(data=text))
    if delta == Delta():
        return [Delta(error=_unreadable(text, content_type))]
    return [delta] if delta.error else [delta, Delta(done=True)]


def _unreadable(text: str, content_type: str = "") -> ChatModelError:
    seen = error_from_body(None, text).message
    kind = f" ({content_type})" if content_type else ""
    return ChatModelError(
        "provider",
        f"The answer is not one of a Chat Completions endpoint{kind}: {seen}",
        remedy="Check the base URL: it usually ends with /v1.",
    )


def _read_chunk(value: Mapping[str, Any]) -> Delta:
    choice = _first_choice(value.get("choices"))
    message = choice.get("delta") or choice.get("message")
    fields = message if isinstance(message, Mapping) else {}
    text, thoughts = _read_content(fields.get("content"))
    refusal = fields.get("refusal")
    reasoning = next((fields[name] for name in _REASONING_FIELDS if isinstance(fields.get(name), str)), "")
    finish_reason = choice.get("finish_reason")
    return Delta(
        text=text or (refusal if isinstance(refusal, str) else ""),
        reasoning=reasoning or thoughts,
        tool_calls=_read_calls(fields),
        finish_reason=finish_reason if isinstance(finish_reason, str) and finish_reason else None,
        usage=_read_usage(value),
        extra=_unknown(fields, _KNOWN_FIELDS),
    )


def _first_choice(choices: Any) -> Mapping[str, Any]:
    """Return the choice that we asked for; chunks with usage alone have none."""
    if not isinstance(choices, Sequence) or isinstance(choices, str):
        return {}
    return next((one for one in choices if isinstance(one, Mapping) and not one.get("index")), {})


def _read_content(content: Any) -> tuple[str, str]:
    """Return text and thoughts; some providers send content as a list of parts."""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        return "", ""
    text: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            text.append(part["text"])
        elif isinstance(part, Mapping) and part.get("thinking") is not None:
            inner = part["thinking"]
            thoughts.append(inner if isinstance(inner, str) else _read_content(inner)[0])
    return "".join(text), "".join(thoughts)


def _read_calls(fields: Mapping[str, Any]) -> tuple[ToolCallDelta, ...]:
    calls = fields.get("tool_calls")
    if isinstance(calls, list):
        return tuple(_read_call(call) for call in calls if isinstance(call, Mapping))
    legacy = fields.get("function_call")
    return (_read_call({"function": legacy}),) if isinstance(legacy, Mapping) else ()


def _read_call(call: Mapping[str, Any]) -> ToolCallDelta:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)  # an object where JSON text belongs
    index, call_id, name = call.get("index"), call.get("id"), function.get("name")
    return ToolCallDelta(
        index=index if isinstance(index, int) else None,
        id=str(call_id) if call_id not in (None, "") else None,
        name=name if isinstance(name, str) and name else None,
        arguments=arguments,
        extra=_unknown(call, _KNOWN_CALL_FIELDS),
    )


def _unknown(fields: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in known and value is not None}


def _read_usage(value: Mapping[str, Any]) -> Usage | None:
    usage = value.get("usage")
    if not isinstance(usage, Mapping):
        return None
    asked, answered = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Usage(
        input_tokens=asked if isinstance(asked, int) else 0,
        output_tokens=answered if isinstance(answered, int) else 0,
    )
