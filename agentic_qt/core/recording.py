"""What goes into the journal: an intent before a handler starts, and its outcomes in their order, each written once."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from agentic_qt.core.budget import Budget
from agentic_qt.core.call import Outcome
from agentic_qt.core.flight import Flight
from agentic_qt.core.journal import Intent
from agentic_qt.core.registration import Declared, Registration
from agentic_qt.core.starting import Hold, wait_within
from agentic_qt.schema.canonical import canonical

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.core.recording")
MASK: Final = "[secret]"
"""What stands in the journal in place of a secret property."""


class Recorder:
    """Writes the journal of one registry.

    Args:
        registry: Whose journal it is.
        hold: Keeps a task alive.
        budget: Ends the wait for a journal that does not answer.
    """

    def __init__(self, registry: "Registry", hold: Hold, budget: Budget) -> None:
        self._registry = registry
        self._hold = hold
        self._budget = budget

    def intend(self, flight: Flight, registration: Registration) -> Awaitable[Any] | None:
        """Write down that a handler is about to run; returns what has to be waited for, if anything.

        Raises:
            Exception: It could not be written, so the handler must not run.
        """
        call = flight.call
        intent = Intent(
            call_id=flight.call_id,
            name=call.name,
            target_id=registration.target_id,
            payload=_written(flight, registration.declared),
            digest=flight.digest,
            actor=call.actor,
            client=call.client,
            run=call.run,
            at=self._registry.clock(),
        )
        written = self._registry.journal.intent(intent)
        # From here on it may stand in the journal, whatever becomes of the wait: it gets an outcome.
        flight.intent = intent
        if written is None or not inspect.isawaitable(written):
            return None
        return wait_within(written, flight, self._hold, self._budget)

    def conclude(self, flight: Flight, outcome: Outcome) -> "asyncio.Task[None] | None":
        """Write down how it ended, after what is still being written of the same call.

        Returns:
            The task that writes, or None when it is written (or never had an intent).
        """
        intent = flight.intent
        if intent is None:
            return None
        earlier = flight.writing
        if earlier is None:
            try:
                written = self._registry.journal.outcome(intent, outcome)
            except Exception:  # what happened has happened: the outcome is told all the same
                _log.exception("The outcome of %s could not be written down", intent.name)
                return None
            if written is None or not inspect.isawaitable(written):
                return None
            work = self._finish(intent, written)
        else:
            work = self._follow(earlier, intent, outcome)
        task = asyncio.get_running_loop().create_task(work)
        flight.writing = task
        self._hold(task)
        return task

    async def _follow(self, earlier: "asyncio.Task[None]", intent: Intent, outcome: Outcome) -> None:
        await asyncio.wait({earlier})
        try:
            written = self._registry.journal.outcome(intent, outcome)
        except Exception:
            _log.exception("The outcome of %s could not be written down", intent.name)
        else:
            if written is not None and inspect.isawaitable(written):
                await self._finish(intent, written)

    async def _finish(self, intent: Intent, written: Awaitable[None]) -> None:
        try:
            await written
        except Exception:
            _log.exception("The outcome of %s could not be written down", intent.name)


def _written(flight: Flight, declared: Declared) -> str:
    """Return the payload as it may be kept: a journal outlives the call, and others read it."""
    if not declared.secrets and not declared.secret_elsewhere:
        return flight.payload.decode()
    given = flight.outside_input()
    hidden = given.keys() if declared.secret_elsewhere else declared.secrets & given.keys()
    masked = canonical({**given, **dict.fromkeys(hidden, MASK)}, max_bytes=None)
    return (b'{"input":' + masked + declared.payload_tail).decode()
