"""What a provider says when it fails becomes one ChatModelError: a stable code, its words, and a remedy.

Providers agree on nothing: `error` is an object or a string, its `code` a number, a word or null, a full
context a 400, a 413 or a 429, and a proxy in between answers HTML. So the words decide first, the HTTP status
after them.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from agentic_qt.client.chat_model import ChatModelError

_MESSAGE_LIMIT = 300  # characters that a card shows
_READ_LIMIT = 4_000  # characters that are searched for words

REMEDIES: Mapping[str, str] = {
    "authentication": "Check the API key and that it belongs to this endpoint.",
    "permission": "Check that the account and the key may use this model.",
    "rate_limit": "Wait, then try again; or choose another model.",
    "offline": "Check the network, the base URL and that the server is running.",
    "timeout": "Try again; a slow server may need a longer time-out.",
    "context_length": "Shorten the conversation, then try again.",
    "model_not_found": "Check the name of the model at this endpoint.",
    "no_tool_support": "Choose a model that supports tools, or chat without tools.",
    "content_filter": "Word the request differently.",
    "bad_request": "Check the base URL and the model; the endpoint refused the request.",
    "cut_stream": "Try again.",
    "server": "Try again in a moment; the provider has a problem.",
    "provider": "Try again, or choose another model.",
}
"""What would mend each code: English, for a person; a view may have words of its own for the code."""

# Tried in this order on everything the provider said, in lower case.
_BY_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "no_tool_support",
        (
            r"(does not|doesn't|do not) support (the )?(use of )?(tools?|function)",
            r"support tool use",
            r"(tools?|tool use|tool calling|function calling)[`'\"]? (is|are) not (supported|enabled|available)",
            r"(unrecognized|unknown|unsupported).{0,40}\b(arguments?|fields?|parameters?)\b.{0,20}\btools\b",
            r"\"body\", \"tools\"\].{0,80}(extra|not permitted)",
            r"tools? param requires",
            r"requires --jinja",
            r"--enable-auto-tool-choice",
        ),
    ),
    ("rate_limit", (r"insufficient_quota", r"exceeded your current quota")),
    (
        "context_length",
        (
            r"context_length",
            r"exceed_context",
            r"context (length|window|size)",
            r"max(imum)? (context|prompt length)",
            r"(prompt|input)( is)? too long",
            r"too many (input )?tokens(?! processed)",
            r"request[_ ]too[_ ]large",
            r"(exceeded|over) (the )?model token limit",
            r"exceeds? max(imum)? length",
            r"range of input length",
            r"\btokens?\b.{0,80}must be <=",
            r"must have (less|fewer) than \d+ tokens",
            r"\b(prompt|input|messages?)\b.{0,60}\btokens?\b.{0,60}\bexceeds?\b",
            r"exceeds? (the )?(max\w* )?(number of )?(input )?tokens?\b",
            r"reduce (the|your) (length|prompt|message)",
        ),
    ),
    ("provider", (r"tool_use_failed",)),
    # llama.cpp answers 500 to a request that it cannot read: sending it again would not help.
    ("bad_request", (r"failed to parse (tools|messages|tool call arguments)",)),
    (
        "content_filter",
        (
            r"content_filter",
            r"content (management )?policy",
            r"responsibleaipolicy",
            r"\bflagged\b",
            r"requires moderation",
        ),
    ),
    (
        "authentication",
        (
            r"invalid_api_key",
            r"api_key_invalid",
            r"(incorrect|invalid|missing) (x-)?api[ -]key",
            r"api key (is )?(not valid|invalid|missing|required)",
            r"authentication_error",
            r"no auth credentials",
            r"\bunauthorized\b",
        ),
    ),
    ("rate_limit", (r"rate[_ -]limit", r"too many requests", r"resource_exhausted")),
    (
        "model_not_found",
        (
            r"model_not_found",
            r"not a valid model",
            r"(unknown|no such) model",
            r"invalid[_ ]model\b",
            r"no models? loaded",
            r"no endpoints found for",
            r"deploymentnotfound",
            r"not_found_error.{0,20}$",
            r"\bmodel\b.{0,80}\b(not found|not exist|does not exist)\b",
        ),
    ),
    ("permission", (r"permission[_ ](error|denied)", r"insufficient (balance|credits)")),
    ("server", (r"overloaded", r"server_error", r"service unavailable", r"loading model", r"internal error")),
)
_COMPILED = tuple((code, re.compile("|".join(patterns), re.DOTALL)) for code, patterns in _BY_WORDS)

_BY_STATUS = {
    401: "authentication",
    402: "permission",
    403: "permission",
    404: "bad_request",
    408: "timeout",
    413: "context_length",
    429: "rate_limit",
    504: "timeout",
    524: "timeout",
}
_BILLING = re.compile(r"quota|billing|balance|credits")
_TAG = re.compile(r"<[^>]*>")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TRY_AGAIN_IN = re.compile(
    r"(?:(?:try again|retry) (?:in|after) |retrydelay: )(?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s|seconds?)\b", re.IGNORECASE
)


def error_from_body(status: int | None, body: Any, *, headers: Mapping[str, str] | None = None) -> ChatModelError:
    """Explain what a provider answered.

    Args:
        status: The HTTP status; None for an error told inside a stream, where the body's own number counts.
        body: The body: its text, or JSON already parsed.
        headers: Of the answer, with lower-case names or case-insensitive; read for ``retry-after``.

    Returns:
        The error, not raised. Its message is what the provider said, at most 300 characters.
    """
    error = _error_of(_parsed(body))
    message = _message_of(error)
    words = _words_of(error, message)[:_READ_LIMIT].lower()
    known = status or _status_of(error)
    code = _code(known, words)
    remedy = REMEDIES[code]
    if code in ("rate_limit", "permission") and _BILLING.search(words):
        remedy = "Check the plan and the credit of the account."
    return ChatModelError(
        code,
        _shortened(message) or (f"HTTP {known}" if known else ""),
        remedy=remedy,
        retry_after=_retry_after(headers or {}, f"{message} {_delay_of(error)}"),
    )


def refuses_usage(failure: ChatModelError) -> bool:
    """Whether a request was refused only because it asked for a count of tokens."""
    words = failure.message.lower()
    return failure.code == "bad_request" and ("stream_options" in words or "include_usage" in words)


def _code(status: int | None, words: str) -> str:
    code = next((code for code, pattern in _COMPILED if pattern.search(words)), None)
    if code is not None and not (status == 401 and code != "no_tool_support"):
        return code
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is None:
        return "provider"
    if status >= 500:
        return "server"
    return "bad_request" if status >= 400 else "provider"


def _parsed(body: Any) -> Any:
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


def _error_of(body: Any) -> Any:
    """Return the part of a body that tells the error: an object or text."""
    if isinstance(body, list) and body:
        return _error_of(body[0])
    if isinstance(body, Mapping):
        return body.get("error") or body
    return body


def _message_of(error: Any) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, Mapping):
        return ""
    said = next((error[name] for name in ("message", "detail", "msg") if error.get(name)), None)
    if isinstance(said, Mapping):
        return _message_of(said)
    message = said if isinstance(said, str) else json.dumps(said) if said else ""
    raw = _raw_of(error)
    return f"{message}: {raw}" if raw and message else message or raw


def _raw_of(error: Mapping[str, Any]) -> str:
    """Return what the provider behind an aggregator said; the aggregator's own words tell nothing."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return raw if isinstance(raw, str) else ""


def _words_of(error: Any, message: str) -> str:
    if not isinstance(error, Mapping):
        return message
    words = [message, *(error.get(name) for name in ("code", "type", "status"))]
    words += [detail.get("reason") for detail in _details_of(error)]
    inner = error.get("innererror")
    if isinstance(inner, Mapping):
        words.append(inner.get("code"))
    return " ".join(word for word in words if isinstance(word, str))


def _details_of(error: Any) -> list[Mapping[str, Any]]:
    """Return Google's details of an error (google.rpc)."""
    details = error.get("details") if isinstance(error, Mapping) else None
    return [detail for detail in details if isinstance(detail, Mapping)] if isinstance(details, list) else []


def _status_of(error: Any) -> int | None:
    if not isinstance(error, Mapping):
        return None
    for name in ("status_code", "code", "status"):
        value = error.get(name)
        if isinstance(value, str) and value.isdecimal() and len(value) == 3:
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return 400 if error.get("type") == "invalid_request_error" else None


def _shortened(message: str) -> str:
    if message.lstrip()[:1] == "<":
        title = _TITLE.search(message)
        message = title.group(1) if title else _TAG.sub(" ", message)
    text = " ".join(message.split())
    return text if len(text) <= _MESSAGE_LIMIT else text[: _MESSAGE_LIMIT - 1] + "\u2026"


def _delay_of(error: Any) -> str:
    delays = (detail.get("retryDelay") for detail in _details_of(error))
    return next((f"retryDelay: {delay}" for delay in delays if isinstance(delay, str)), "")


def _retry_after(headers: Mapping[str, str], message: str) -> float | None:
    """Return seconds to wait, by RFC 9110 section 10.2.3, a provider's milliseconds, or its words."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(float(value) * scale, 0.0)
        except ValueError:
            pass
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            continue
        return max((when.astimezone(UTC) - datetime.now(UTC)).total_seconds(), 0.0)
    said = _TRY_AGAIN_IN.search(message)
    if said is None:
        return None
    minutes, amount, unit = said.groups()
    return int(minutes or 0) * 60 + float(amount) * (0.001 if unit == "ms" else 1.0)
