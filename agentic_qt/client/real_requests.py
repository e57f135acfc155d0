"""A switch that forbids real requests: a test that would reach a provider sends nothing and fails."""

_allowed = True


class RealRequestError(AssertionError):
    """A chat model was about to connect while `agentic_qt.testing.forbid_real_requests` is in force."""


def set_allowed(*, allowed: bool) -> bool:
    """Allow or forbid real requests in this process; returns what held before."""
    global _allowed  # one process, one network
    before, _allowed = _allowed, allowed
    return before


def check() -> None:
    """To be called by a chat model before it connects to anything.

    Raises:
        RealRequestError: Real requests are forbidden.
    """
    if not _allowed:
        raise RealRequestError("real requests are forbidden here: use agentic_qt.testing.ScriptedModel")
