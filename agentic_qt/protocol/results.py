"""Outcomes as text for a model: compact, valid JSON, and never more than a model can bear."""

import json
from collections.abc import Callable
from typing import Any

from agentic_qt.core.call import Outcome, Status
from agentic_qt.protocol.names import to_wire

MAX_RESULT = 16384
"""UTF-8 bytes of a tool message."""

READ_MORE = "agent.read_more"
"""The capability that reads on in a result that was cut."""

_MIN_RESULT = 1024
_CHANGES_MATTER = (Status.CANCELLED, Status.FAILED, Status.UNKNOWN)
_HEAD_SHARE = 2 / 3
# What each field may take of a message that is too long; the rest is for the data.
_WORD_SHARES = {"from": 1 / 16, "code": 1 / 32, "call_id": 1 / 32, "command_id": 1 / 32, "hint": 1 / 8}
_APPLIED_SHARE = 1 / 4


def encode(
    outcome: Outcome, *, limit: int = MAX_RESULT, origin: str = "", keep: Callable[[str], str] | None = None
) -> str:
    """Write an outcome as compact JSON for the model.

    What is too long becomes an object with its head, its tail and how much is missing between them; no
    character is ever cut in two.

    Args:
        outcome: What became of a call.
        limit: UTF-8 bytes of the text; at least 1,024.
        origin: The capability that the data comes from; stands before the data, so that a model never takes it for
            words of the person or of the application.
        keep: Called with the whole text of data that is cut; returns the handle under which the rest can be read.

    Raises:
        ValueError: The limit is below 1,024 bytes.
    """
    if limit < _MIN_RESULT:
        raise ValueError(f"a tool message needs at least {_MIN_RESULT} bytes, not {limit}")
    fields, texts = _written(outcome, origin)
    text = _joined(texts)
    if _size(text) <= limit:
        return text
    for key, share in _WORD_SHARES.items():
        if key in texts:
            texts[key] = _cut(fields[key], texts[key], int(limit * share))
    if "applied" in texts:
        texts["applied"] = _fitting(fields["applied"], texts["applied"], int(limit * _APPLIED_SHARE))
    if "data" in texts:
        rest = limit - _size(_joined({**texts, "data": ""}))
        texts["data"] = _fitting(fields["data"], texts["data"], rest, keep)
    return _joined(texts)


def page(text: str, offset: int, *, limit: int) -> str:
    """Return the piece of a text that begins at `offset` and takes at most `limit` bytes as JSON."""
    rest = text[offset : offset + limit]
    return rest[: _most(len(rest), lambda kept: _size(_dump(rest[:kept])) <= limit)]


def sendable(text: str) -> str:
    """Return text that UTF-8 can carry: halves of a character that a stream tore apart are joined."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _written(outcome: Outcome, origin: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields that matter, and the JSON of each: large data is written once only."""
    fields = _fields(outcome, origin)
    texts: dict[str, str] = {}
    for key, value in fields.items():
        try:
            texts[key] = _dump(value)
        except (TypeError, ValueError, RecursionError):
            texts[key] = ""
    for key in [key for key, text in texts.items() if not text]:
        texts[key] = "null"  # what happened has happened, and is told all the same
        fields["hint"] = f"{fields.get('hint', '')} The {key} could not be written as JSON.".strip()
        texts["hint"] = _dump(fields["hint"])
    return fields, texts


def _fields(outcome: Outcome, origin: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"status": outcome.status.value}
    if origin and outcome.data is not None:
        fields["from"] = origin
    if outcome.ok or outcome.data is not None:
        fields["data"] = outcome.data
    if outcome.code:
        fields["code"] = outcome.code
    if outcome.hint:
        fields["hint"] = outcome.hint
    if outcome.retry and not outcome.ok:
        fields["retry"] = outcome.retry
    if outcome.status in _CHANGES_MATTER:
        fields["applied"] = outcome.applied
    if outcome.status is Status.UNKNOWN and outcome.call_id:
        fields["call_id"] = outcome.call_id
    if outcome.command_id:
        fields["command_id"] = outcome.command_id
    return fields


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _dump(value: Any) -> str:
    return sendable(_encoder.encode(value))


def _joined(texts: dict[str, str]) -> str:
    return "{" + ",".join(f'"{key}":{text}' for key, text in texts.items()) + "}"


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _cut(word: str, written: str, budget: int) -> str:
    """Return the JSON of a text, or of its beginning, within `budget` bytes."""
    if _size(written) <= budget:
        return written
    kept = _most(min(len(word), budget), lambda count: _size(_dump(f"{word[:count]}…")) <= budget)
    return _dump(f"{word[:kept]}…")


def _fitting(value: Any, written: str, budget: int, keep: Callable[[str], str] | None = None) -> str:
    """Return the JSON of a value, or of its head and tail, within `budget` bytes."""
    if _size(written) <= budget:
        return written
    # Text is cut as text, anything else as the JSON that the model would have read.
    text = sendable(value) if isinstance(value, str) else written
    handle = "" if keep is None else keep(text)
    most = _most(min(len(text), budget), lambda kept: _size(_dump(_elided(text, kept, handle))) <= budget)
    return _dump(_elided(text, most, handle))


def _elided(text: str, kept: int, handle: str) -> dict[str, Any]:
    head = round(kept * _HEAD_SHARE)
    tail = kept - head
    missing = len(text) - kept
    advice = "ask for less, or for a part"
    if handle:
        advice = f"{to_wire(READ_MORE)} with this handle and offset {head} reads on, or ask for less"
    return {
        "elided": True,
        "total_characters": len(text),
        "missing_characters": missing,
        **({"handle": handle} if handle else {}),
        "head": text[:head],
        "marker": f"… {missing} characters are missing here: {advice} …",
        "tail": text[len(text) - tail :],
    }


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest count up to `limit` that fits; 0 when none does."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
