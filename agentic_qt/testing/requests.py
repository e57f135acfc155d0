"""The switch that keeps tests off the network."""

from collections.abc import Iterator
from contextlib import contextmanager

from agentic_qt.client import real_requests


@contextmanager
def forbid_real_requests() -> Iterator[None]:
    """Make every chat model that would connect to a provider raise instead, until the block ends."""
    before = real_requests.set_allowed(allowed=False)
    try:
        yield
    finally:
        real_requests.set_allowed(allowed=before)
