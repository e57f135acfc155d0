"""Words for people: what errors of a chat model and ends of runs are called, and what to do about them."""

from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.events import BreakerTripped, ContextTrimmed, RunEndReason
from agentic_qt.client.retries import RetryPlanned
from agentic_qt.ui.words import translate


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
        "key_unavailable": (
            translate("agentic_qt", "The key could not be read from the system keyring"),
            translate("agentic_qt", "Unlock the keyring and try again, or write the key in the settings."),
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
            translate("agentic_qt", "Compact it, start a new chat, or choose a model with a larger context."),
        ),
        "model_not_found": (
            translate("agentic_qt", "There is no such model"),
            translate("agentic_qt", "Check the model's name."),
        ),
        "no_tool_support": (
            translate("agentic_qt", "This model cannot use tools"),
            translate("agentic_qt", "Chat without tools, or choose a model that supports tool calls."),
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
        RunEndReason.BUDGET: translate("agentic_qt", "Ended: this run has used up what it may use."),
        RunEndReason.BREAKER: translate(
            "agentic_qt", "Ended: the model went round in circles. Say what you want in other words."
        ),
        RunEndReason.BUSY: translate("agentic_qt", "Not begun: another run is under way."),
        RunEndReason.LENGTH: translate(
            "agentic_qt", "The answer reached the model's length limit. A cut-off step was not run."
        ),
        RunEndReason.CONTENT_FILTER: translate("agentic_qt", "The provider's content filter ended the answer."),
        RunEndReason.CUT_STREAM: translate("agentic_qt", "The answer broke off. Nothing of the broken part was run."),
        RunEndReason.EMPTY: translate("agentic_qt", "The model gave no answer."),
        RunEndReason.ERROR: translate("agentic_qt", "Something went wrong."),
    }.get(reason, "")


def budget_words(budget: str, limit: float) -> str:
    """Return a note for a budget that was used up; `limit` is in its unit."""
    words = {
        "calls": translate("agentic_qt", "The limit of {limit} steps was reached."),
        "writes": translate("agentic_qt", "The limit of {limit} changes was reached."),
        "tokens": translate("agentic_qt", "The limit of {limit} tokens was reached."),
        "seconds": translate("agentic_qt", "The limit of {limit} seconds was reached."),
    }.get(budget, translate("agentic_qt", "A limit was reached."))
    return words.format(limit=f"{limit:g}" if limit < 10**6 else f"{limit:.0f}")


def breaker_words(event: BreakerTripped, title: str) -> str:
    """Return a note for a call that was answered without being run."""
    if event.breaker == "denials":
        words = translate("agentic_qt", "You said no to “{title}” several times: it is not asked again in this run.")
    else:
        words = translate("agentic_qt", "“{title}” was asked for again with the same words and was not run again.")
    return words.format(title=title)


def trimmed_words(event: ContextTrimmed) -> str:
    """Return a note for messages that do not fit and are not sent."""
    if not event.left_out:
        return translate("agentic_qt", "All of the conversation is sent again.")
    words = translate(
        "agentic_qt", "The conversation no longer fits: its {count} oldest messages are kept here but not sent."
    )
    return words.format(count=event.left_out)


def retry_words(retry: RetryPlanned, seconds: int) -> str:
    """Return what is going on while a request waits to be sent again, in `seconds`."""
    why = {
        "rate_limit": translate("agentic_qt", "Too many requests"),
        "offline": translate("agentic_qt", "The server cannot be reached"),
    }.get(retry.code, translate("agentic_qt", "The server is busy"))
    if seconds < 1:
        words = translate("agentic_qt", "{why}; trying again ({attempt} of {of})")
    else:
        words = translate("agentic_qt", "{why}; trying again in {seconds} s ({attempt} of {of})")
    return words.format(why=why, seconds=seconds, attempt=retry.attempt, of=retry.of)
