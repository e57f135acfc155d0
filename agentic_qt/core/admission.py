"""The fields of a call, before anything is looked up: strings where strings belong, and none without bounds.

A call comes from code of the application, from a model or over a wire, so its annotations promise nothing.
"""

from collections.abc import Mapping
from typing import Any

from agentic_qt.core.call import Call
from agentic_qt.core.registration import MAX_NAME

MAX_ID = 8192
"""Characters of an id, a target, a run, a client or an actor; ids of some providers are kilobytes long."""
MAX_REASON = 64 * 1024
"""Characters of the model's own words on a call."""


def malformed(call: Any) -> str:
    """Return what is wrong with the fields of a call, or an empty string."""
    if not isinstance(call, Call):
        return "A call must be a Call."
    name = call.name
    is_easy = type(name) is str and len(name) <= MAX_NAME and name.isascii()
    if not (is_easy or is_text(name, MAX_NAME)) or not (type(call.input) is dict or isinstance(call.input, Mapping)):
        return f"A call needs a name (a string of at most {MAX_NAME} characters) and an input (an object)."
    for value in (call.target_id, call.id, call.run, call.client, call.actor):
        if value is not None and not is_text(value, MAX_ID):
            return f"The ids, run, client and actor of a call must be strings of at most {MAX_ID} characters."
    revision = call.revision
    if revision is not None and (type(revision) is not int or revision < 0):
        return "The revision of a call must be a whole number that a listing returned."
    if call.reason and not is_text(call.reason, MAX_REASON):
        return f"The reason of a call must be a string of at most {MAX_REASON} characters."
    return ""


def presentable(call: Any) -> Call:
    """Return what the audit can tell of a malformed call."""
    name = getattr(call, "name", "")
    return Call(name=name if is_text(name, MAX_NAME) else "")


def is_text(value: Any, limit: int) -> bool:
    """Return whether a value is a string of Unicode text (no half of a surrogate pair) of bounded length."""
    if not isinstance(value, str) or len(value) > limit:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def cut(text: str | None, limit: int = 80) -> str | None:
    """Return the head of a text that a stranger wrote, short enough for a hint."""
    return text if text is None or len(text) <= limit else text[:limit] + "..."
