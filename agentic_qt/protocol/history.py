"""History that every provider takes: repaired both ways before each request, the same way every time.

Providers refuse a conversation for ever once one tool call has no answer, or one answer no call. Nothing here
looks at what calls mean; an answer that is missing is said to be missing.
"""

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentic_qt.core.call import RETRY, Outcome, Status
from agentic_qt.protocol.names import to_wire
from agentic_qt.protocol.results import encode

MAX_ID = 40
"""Characters of a tool call's id."""

MAX_CALLS = 128
"""Tool calls in one message."""

_NO_RESULT = Outcome(
    status=Status.CANCELLED,
    code="no_result",
    hint="No result was recorded for this call; whether anything happened is not known.",
    retry=RETRY[Status.CANCELLED],
)


def repair(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Return a history in which every tool call is followed by exactly one answer, contiguous and in order.

    Missing answers are filled in with an honest ``cancelled``, orphans are dropped, of duplicates the first
    counts. Answers that stand too late, behind a person's message say, are moved to their calls. Ids, names
    and arguments become such as every provider takes. Fields that we do not know are kept. The input is not
    changed, and repairing twice changes nothing.
    """
    known = [dict(message) for message in messages if isinstance(message, Mapping)]
    repaired: list[dict[str, Any]] = []
    position = 0
    while position < len(known):
        message = known[position]
        position += 1
        calls = _calls(message)
        if not calls:
            if message.get("role") != "tool":
                repaired.append(_without_calls(message))
            continue
        end = position
        while end < len(known) and not _calls(known[end]):
            end += 1
        segment = known[position:end]
        answers = [entry for entry in segment if entry.get("role") == "tool"]
        repaired.extend(_group(message, calls, answers, number=len(repaired)))
        repaired.extend(_without_calls(entry) for entry in segment if entry.get("role") != "tool")
        position = end
    return repaired


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tool calls of an assistant's message, without those that are none."""
    calls = message.get("tool_calls")
    if message.get("role") != "assistant" or not isinstance(calls, list | tuple):
        return []
    return [call for call in calls if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping)]


def _without_calls(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("role") == "assistant":
        message.pop("tool_calls", None)
        if message.get("content") is None:
            message["content"] = ""
    return message


def _group(
    message: dict[str, Any],
    calls: Sequence[Mapping[str, Any]],
    answers: Sequence[dict[str, Any]],
    *,
    number: int,
) -> list[dict[str, Any]]:
    """Return an assistant's message and the answers to its calls; several such groups for too many calls."""
    waiting: defaultdict[str, deque[dict[str, Any]]] = defaultdict(deque)
    for answer in answers:
        waiting[_key(answer.get("tool_call_id"))].append(answer)
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for call, call_id in zip(calls, _unique_ids(calls, number=number), strict=True):
        queue = waiting[_key(call.get("id"))]
        first = queue.popleft() if queue else None
        pairs.append((_repaired_call(call, call_id), _repaired_answer(first, call_id)))
    group: list[dict[str, Any]] = []
    for start in range(0, len(pairs), MAX_CALLS):
        part = pairs[start : start + MAX_CALLS]
        head = message if start == 0 else {"role": "assistant", "content": ""}
        content = "" if head.get("content") is None else head["content"]
        group.append({**head, "content": content, "tool_calls": [call for call, _ in part]})
        group.extend(answer for _, answer in part)
    return group


def _unique_ids(calls: Sequence[Mapping[str, Any]], *, number: int) -> list[str]:
    """Return an id for each call that is short, and unique in the message; an id that is both stays."""
    wanted = [_short_id(_key(call.get("id"))) or f"call_{number}_{place}" for place, call in enumerate(calls)]
    taken = set(wanted)
    seen: set[str] = set()
    unique: list[str] = []
    for call_id in wanted:
        if call_id in seen:
            call_id = _next_free(call_id, taken)  # noqa: PLW2901 - the id under another name
            taken.add(call_id)
        seen.add(call_id)
        unique.append(call_id)
    return unique


def _next_free(call_id: str, taken: set[str]) -> str:
    count = 2
    while True:
        ending = f"_{count}"
        candidate = f"{call_id[: MAX_ID - len(ending)]}{ending}"
        if candidate not in taken:
            return candidate
        count += 1


def _key(call_id: Any) -> str:
    # Some servers send the word "null", and some validators refuse it: it is no id.
    return call_id if isinstance(call_id, str) and call_id != "null" else ""


def _short_id(call_id: str) -> str:
    if len(call_id) <= MAX_ID:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _repaired_call(call: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    function = call["function"]
    name = function.get("name")
    return {
        **call,
        "id": call_id,
        "type": "function",
        "function": {
            **function,
            "name": to_wire(name if isinstance(name, str) else ""),
            "arguments": _valid_arguments(function.get("arguments")),
        },
    }


def _repaired_answer(answer: dict[str, Any] | None, call_id: str) -> dict[str, Any]:
    if answer is None:
        return {"role": "tool", "tool_call_id": call_id, "content": encode(_NO_RESULT)}
    repaired = {**answer, "tool_call_id": call_id}
    if repaired.get("content") is None:
        repaired["content"] = ""
    if isinstance(repaired.get("name"), str):
        repaired["name"] = to_wire(repaired["name"])
    return repaired


def _valid_arguments(arguments: Any) -> str:
    """Return the arguments if they are a JSON object's text, else ``{}``: llama.cpp answers 500 otherwise."""
    if isinstance(arguments, Mapping):
        return _as_text(arguments)
    if not isinstance(arguments, str):
        return "{}"
    try:
        value = json.loads(arguments, parse_constant=_refuse)
        arguments.encode()
    except (ValueError, RecursionError):
        return "{}"
    return arguments if isinstance(value, dict) else "{}"


def _as_text(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return "{}"


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
