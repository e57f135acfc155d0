"""Whether a provider would take a request: OpenAI's published schema, our overlay, Mistral's own validator, our words.

The four overlap on purpose. The published schema knows shapes and no names; the overlay adds what that document says
in prose; Mistral's validator adds pairs and names; `_own_rules` adds what none of them says and servers refuse all
the same. The published schema may not be copied: it is read from the folder in ``AGENTIC_QT_VECTORS`` and left out
where there is none (`PUBLISHED` says which).
"""

import functools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema_rs
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV13, ValidationMode

DATA = Path(__file__).parents[1] / "data"
PUBLISHED: Path | None = Path(os.environ.get("AGENTIC_QT_VECTORS", ""), "wire", "openai_chat_schema.json")
if not os.environ.get("AGENTIC_QT_VECTORS") or not PUBLISHED.exists():
    PUBLISHED = None
WIRE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
MAX_TOOLS = MAX_CALLS = 128
MAX_CALL_ID = 40


class RequestRefusedError(AssertionError):
    """A provider would answer 400; the message has one line for each objection."""


def check_request(body: Mapping[str, Any]) -> None:
    """Check the body of a Chat Completions request, as it is sent.

    Raises:
        RequestRefusedError: A provider would refuse it.
    """
    problems = list(problems_of(body))
    if problems:
        raise RequestRefusedError("\n".join(problems))


def problems_of(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield what providers would object to, each line with the name of the judge."""
    try:
        # What is sent is JSON: tuples, enums and mappings of ours must have become plain values by then.
        sent = json.loads(json.dumps(body, allow_nan=False))
    except (TypeError, ValueError) as error:
        yield f"json: {error}"
        return
    for judge, validator in _schemas().items():
        for error in validator.iter_errors(sent):
            yield f"{judge}: {'/'.join(map(str, error.instance_path))}: {error.message[:200]}"
    try:
        yield from [f"rules: {problem}" for problem in _own_rules(sent)]
    except (AttributeError, KeyError, TypeError) as error:
        yield f"rules: the shape is not that of a request: {type(error).__name__}: {error}"
    try:
        _mistral(sent)
    except Exception as error:  # each part of that package has exceptions of its own
        yield f"mistral-common: {type(error).__name__}: {str(error)[:300]}"


@functools.cache
def _schemas() -> Mapping[str, Any]:
    overlay = json.loads((DATA / "openai_chat_overlay.json").read_text())
    found = {"overlay": jsonschema_rs.Draft202012Validator(overlay)}
    if PUBLISHED is not None:
        published = json.loads(PUBLISHED.read_text())
        request = {"$ref": "#/$defs/CreateChatCompletionRequest", "$defs": published["$defs"]}
        found["published schema"] = jsonschema_rs.Draft202012Validator(request)
    return found


def _mistral(body: Mapping[str, Any]) -> None:
    messages = [_known_to_mistral(message) for message in body["messages"]]
    request = ChatCompletionRequest.from_openai(messages, body.get("tools"), model=body["model"])
    # A run that is being continued may end with a tool message or a person's; the serving mode says which.
    MistralRequestValidatorV13(mode=ValidationMode.serving).validate_request(request)


def _known_to_mistral(message: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out fields of other providers that are sent back to them alone; that package refuses unknown ones."""
    known = ("role", "content", "tool_calls", "tool_call_id", "name")
    found = {name: message[name] for name in known if name in message}
    if "tool_calls" in found:
        found["tool_calls"] = [
            {name: call[name] for name in ("id", "type", "function") if name in call} for call in found["tool_calls"]
        ]
    return found


def _own_rules(body: Mapping[str, Any]) -> Iterator[str]:
    tools = body.get("tools", [])
    names = [tool["function"]["name"] for tool in tools]
    if len(names) > MAX_TOOLS:
        yield f"{len(names)} tools"
    if len(set(names)) != len(names):
        yield "two tools of one name"
    yield from (f"the tool name {name!r}" for name in names if not WIRE_NAME.fullmatch(name))
    yield from _message_rules(body.get("messages", []))


def _message_rules(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    awaited: list[str] = []
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            expected = awaited.pop(0) if awaited else None
            if message.get("tool_call_id") != expected:
                yield f"message {place} answers {message.get('tool_call_id')!r}, expected {expected!r}"
            continue
        if awaited:
            yield f"message {place} stands before the answers to {awaited}"
        awaited = []
        if message.get("role") == "assistant":
            calls = message.get("tool_calls", [])
            awaited = [call["id"] for call in calls]
            yield from (f"message {place}: {problem}" for problem in _call_rules(message, calls))
    if awaited:
        yield f"no answer to {awaited}"


def _call_rules(message: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not isinstance(message.get("content"), str):
        yield "the content of an assistant is no text"
    if len(calls) > MAX_CALLS:
        yield f"{len(calls)} calls"
    ids = [call["id"] for call in calls]
    if len(set(ids)) != len(ids):
        yield "two calls of one id"
    yield from (f"the call id {one!r}" for one in ids if not 1 <= len(one) <= MAX_CALL_ID)
    for call in calls:
        if not WIRE_NAME.fullmatch(call["function"]["name"]):
            yield f"the name {call['function']['name']!r}"
        try:
            whole = isinstance(json.loads(call["function"]["arguments"]), dict)
        except (TypeError, ValueError):
            whole = False
        if not whole:
            yield "arguments that are no JSON object"
