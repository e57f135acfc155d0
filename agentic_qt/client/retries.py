"""Whether and when a request is sent again. Waits for nothing itself; knows no transport.

A request is sent again only when nothing of its answer has come, so nothing that it asks for can have run.
"""

from dataclasses import dataclass

from agentic_qt.client.chat_model import ChatModelError

LONGEST_WAIT = 10.0
"""Seconds: a person waits, so a longer pause that a provider asks for is told and not slept through."""

_FIRST_WAIT = 0.5
_MAY_HELP = ("server", "rate_limit", "offline")


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPlanned:
    """A request failed and will be sent again; Stop during the wait ends it at once.

    Args:
        attempt: 1 for the first repetition.
        of: How many repetitions there may be.
        wait: Seconds until then.
        code: Why, as in `ChatModelError`.
        message: What the provider said, shortened; for a person.
    """

    attempt: int
    of: int
    wait: float
    code: str
    message: str = ""


def wait_before(attempt: int, failure: ChatModelError) -> float | None:
    """Return seconds to wait before a request is sent again; None when that would not help soon.

    Args:
        attempt: 1 for the first repetition; the wait doubles with each.
        failure: Why the request failed; what the provider asks for (``retry-after``) decides where it is told.
    """
    if failure.code not in _MAY_HELP:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= LONGEST_WAIT else None
    if failure.code == "offline" and attempt == 1:
        return 0.0  # a server may have dropped an idle connection
    wait: float = _FIRST_WAIT * 2 ** (attempt - 1)
    return min(wait, LONGEST_WAIT)
