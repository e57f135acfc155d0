"""What stops a chat model that goes round in circles: the same call with the same result, the same refused wish."""

import hashlib
import json
from typing import Any

from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.protocol.messages import ToolCall

SAME_CALLS = 3
"""How often the same call may have the same outcome in a run."""

DENIALS = 2
"""How often a person may say no to one capability in a run before it is not asked about any more."""


class Breakers:
    """The memory of one run."""

    def __init__(self) -> None:
        self._same: dict[str, tuple[bytes, int]] = {}
        self._denied: dict[str, int] = {}

    def tripped(self, tool_call: ToolCall, call: Call | None) -> str:
        """Return which breaker a call would trip: ``identical_calls``, ``denials``, or an empty string."""
        if call is not None and self._denied.get(call.name, 0) >= DENIALS:
            return "denials"
        if self._same.get(_key(tool_call, call), (b"", 0))[1] >= SAME_CALLS:
            return "identical_calls"
        return ""

    def note(self, tool_call: ToolCall, call: Call | None, outcome: Outcome) -> None:
        """Remember an outcome; another outcome than before of the same call begins the count anew."""
        if call is not None and outcome.status is Status.DENIED and outcome.code == "person":
            self._denied[call.name] = self._denied.get(call.name, 0) + 1
        key = _key(tool_call, call)
        # Not the hint: it may tell how long something has been running.
        result = hashlib.sha256(_text([outcome.status, outcome.code, outcome.data]).encode()).digest()
        before, count = self._same.get(key, (b"", 0))
        self._same[key] = (result, count + 1 if result == before else 1)


def _key(tool_call: ToolCall, call: Call | None) -> str:
    if call is None:  # it could not be decoded: what the model wrote is what is repeated
        return f"{tool_call.name}\n{tool_call.arguments}"
    return _text([call.name, call.target_id, call.input])


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
