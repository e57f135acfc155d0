"""Words for people: what statuses, amounts and properties are called."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QCoreApplication

from agentic_qt.core.call import Outcome, Status

translate = QCoreApplication.translate
"""Called as ``translate("agentic_qt", "...")``, the form that lupdate finds."""


def status_word(outcome: Outcome) -> str:
    """Return one or two words for how a call ended."""
    if outcome.status is Status.DENIED:
        return {
            "person": translate("agentic_qt", "Denied by you"),
            "expired": translate("agentic_qt", "Expired: nobody answered"),
            "window_closed": translate("agentic_qt", "Denied: window closed"),
            "policy": translate("agentic_qt", "Denied by policy"),
        }.get(outcome.code, translate("agentic_qt", "Denied"))
    return {
        Status.OK: translate("agentic_qt", "Done"),
        Status.INVALID: translate("agentic_qt", "Not valid"),
        Status.UNAVAILABLE: translate("agentic_qt", "Not available"),
        Status.STALE: translate("agentic_qt", "Out of date"),
        Status.FORBIDDEN: translate("agentic_qt", "Not allowed"),
        Status.CANCELLED: translate("agentic_qt", "Stopped"),
        Status.BUSY: translate("agentic_qt", "Busy"),
        Status.FAILED: translate("agentic_qt", "Failed"),
        Status.UNKNOWN: translate("agentic_qt", "Outcome not known"),
    }[outcome.status]


def duration_words(seconds: float) -> str:
    """Return a duration, short: "< 0.1 s", "0.3 s", "42 s", "2 min"."""
    if seconds < 0.1:
        return translate("agentic_qt", "< 0.1 s")
    if seconds < 10:
        return translate("agentic_qt", "{seconds} s").format(seconds=f"{seconds:.1f}")
    if seconds < 100:
        return translate("agentic_qt", "{seconds} s").format(seconds=f"{seconds:.0f}")
    return translate("agentic_qt", "{minutes} min").format(minutes=f"{seconds / 60:.0f}")


def size_words(count: int) -> str:
    """Return a count of tokens, short: "950", "1.2k"."""
    return str(count) if count < 1000 else f"{count / 1000:.1f}k"


def label_of(name: str, schema: Mapping[str, Any]) -> str:
    """Return what people call a property: its title in the schema, or its name in words."""
    prop = schema.get("properties", {}).get(name)
    title = prop.get("title") if isinstance(prop, Mapping) else None
    return title if isinstance(title, str) and title else name.replace("_", " ").strip().capitalize() or name
