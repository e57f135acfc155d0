"""What the embedded chat model says: sentences of ours, since a model of that size invents ("Max Liskov is added")."""

import json
from collections.abc import Sequence

NOT_UNDERSTOOD = "I did not understand that."
NO_TOOLS = "There is nothing here that I can do."
_BY_STATUS = {
    "ok": "Done.",
    "denied": "Not done: it was not approved.",
    "cancelled": "Stopped.",
    "unknown": "It may or may not have been done: please check.",
}


def outcome_of(content: str) -> tuple[str, str]:
    """Return the status of an outcome as the model reads it, and why it is not ``ok``; without one it is ``ok``."""
    try:
        told = json.loads(content)
    except ValueError:
        return "ok", ""
    if not isinstance(told, dict):
        return "ok", ""
    status = str(told.get("status", "ok"))
    return status, str(told.get("hint") or told.get("code") or status)


def closing(content: str, *, step: int = 1, of: int = 1) -> str:
    """Return the words that close a run.

    Args:
        content: The last outcome, as the model reads it.
        step: Which step of the request it ended.
        of: How many steps there are.
    """
    status, reason = outcome_of(content)
    words = _BY_STATUS.get(status) or f"That did not work: {reason}"
    return words if status == "ok" or step >= of else f"{words} Step {step} of {of}; the rest was not begun."


def not_understood(clause: str, *, missing: Sequence[str] = (), step: int = 1, of: int = 1) -> str:
    """Return the words for a clause that nothing is done about.

    Args:
        clause: The person's words.
        missing: What would have to be said.
        step: Which step of the request it is.
        of: How many steps there are.
    """
    words = f"Please say also: {', '.join(missing)}." if missing else NOT_UNDERSTOOD
    if of == 1:
        return words
    done = f" Done so far: {step - 1} of {of} steps." if step > 1 else " Nothing was done."
    return f'{words} This was about: "{clause}".{done}'
