"""Words for people: what statuses, errors and ends are called, and what to do about them."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QCoreApplication

from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.events import RunEndReason
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


def error_words(error: ChatModelError, label: str) -> tuple[str, str]:
    """Return a headline and a remedy for what the provider of the chat model did; `label` is the model's name."""
    headline, remedy = _errors().get(
        error.code, (translate("agentic_qt", "The chat model failed"), translate("agentic_qt", "Try again."))
    )
    if label and error.code in ("model_not_found", "no_tool_support", "offline"):
        headline = f"{headline}: {label}"
    if error.retry_after:
        remedy = translate("agentic_qt", "Try again in {seconds} seconds.").format(seconds=round(error.retry_after))
    return headline, remedy


def _errors() -> dict[str, tuple[str, str]]:
    return {
        "authentication": (
            translate("agentic_qt", "The key was not accepted"),
            translate("agentic_qt", "Check the API key, then try again."),
        ),
        "permission": (
            translate("agentic_qt", "This key may not use the model"),
            translate("agentic_qt", "Choose another model or another key."),
        ),
        "rate_limit": (
            translate("agentic_qt", "Too many requests"),
            translate("agentic_qt", "Wait a little, then try again."),
        ),
        "offline": (
            translate("agentic_qt", "The chat model cannot be reached"),
            translate("agentic_qt", "Check the address and the connection, or start the server."),
        ),
        "timeout": (
            translate("agentic_qt", "The chat model did not answer in time"),
            translate("agentic_qt", "Try again; a local model may still be loading."),
        ),
        "context_length": (
            translate("agentic_qt", "The conversation is too long for the model"),
            translate("agentic_qt", "Start a new chat, or choose a model with a larger context."),
        ),
        "model_not_found": (
            translate("agentic_qt", "There is no such model"),
            translate("agentic_qt", "Check the model's name."),
        ),
        "no_tool_support": (
            translate("agentic_qt", "This model cannot use tools"),
            translate("agentic_qt", "Choose a model that supports tool calls."),
        ),
        "content_filter": (
            translate("agentic_qt", "The provider refused this request"),
            translate("agentic_qt", "Put it in other words."),
        ),
        "bad_request": (
            translate("agentic_qt", "The provider did not understand the request"),
            translate("agentic_qt", "Start a new chat and try again."),
        ),
        "cut_stream": (
            translate("agentic_qt", "The answer broke off"),
            translate("agentic_qt", "Nothing of the broken part was run. Try again."),
        ),
        "server": (
            translate("agentic_qt", "The provider has a problem"),
            translate("agentic_qt", "Try again in a moment."),
        ),
    }


def end_words(reason: RunEndReason) -> str:
    """Return a note for the end of a run that did not simply complete; empty for one that did."""
    return {
        RunEndReason.COMPLETED: "",
        RunEndReason.STOPPED: translate("agentic_qt", "Stopped."),
        RunEndReason.TURN_CAP: translate(
            "agentic_qt", "Ended after the largest number of steps. Say “go on” to continue."
        ),
        RunEndReason.LENGTH: translate(
            "agentic_qt", "The answer reached the model's length limit. A cut-off step was not run."
        ),
        RunEndReason.CONTENT_FILTER: translate("agentic_qt", "The provider's content filter ended the answer."),
        RunEndReason.CUT_STREAM: translate("agentic_qt", "The answer broke off. Nothing of the broken part was run."),
        RunEndReason.EMPTY: translate("agentic_qt", "The model gave no answer."),
        RunEndReason.ERROR: translate("agentic_qt", "Something went wrong."),
    }.get(reason, "")


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
