"""What is known of calls: outcomes by id, calls whose end is not known, targets that are still at work."""

import itertools
from collections import OrderedDict
from secrets import token_hex

from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.core.flight import Flight

_LOOSE_LIMIT = 1000  # outcomes kept of calls that belong to no run

_Key = tuple[str | None, str | None, str]


class Ledger:
    """The memory of one registry; runs are forgotten when they end, other calls when many newer ones came."""

    def __init__(self) -> None:
        self._prefix = token_hex(4)
        self._numbers = itertools.count(1)
        self._runs: dict[str, dict[_Key, Flight]] = {}
        self._loose: OrderedDict[_Key, Flight] = OrderedDict()
        self._unknown: dict[str, Flight] = {}
        self.busy: dict[str, Flight] = {}

    def new_id(self) -> str:
        """Return a call id that no other registry makes either."""
        return f"{self._prefix}-{next(self._numbers)}"

    def open(self, flight: Flight) -> Flight | None:
        """Enter a call; returns the earlier call of the same client, run and id, if there is one."""
        call = flight.call
        key: _Key = (call.client, call.run, flight.call_id)
        book = self._book(call.run)
        earlier = book.get(key)
        if earlier is not None:
            return earlier
        book[key] = flight
        if book is self._loose and len(self._loose) > _LOOSE_LIMIT:
            self._forget_oldest()
        return None

    def find(self, call_id: str, client: str | None, run: str | None) -> Flight | None:
        """Return what is known of a call."""
        book = self._loose if run is None else self._runs.get(run, {})
        return book.get((client, run, call_id))

    def end_run(self, run: str) -> None:
        """Forget the calls of a run but those whose end is not known: they can still be asked about."""
        kept = {
            key: flight
            for key, flight in self._runs.pop(run, {}).items()
            if flight.outcome is None or flight.outcome.status is Status.UNKNOWN
        }
        if kept:
            self._runs[run] = kept

    def close(self, flight: Flight, outcome: Outcome) -> None:
        """Record how a call ended, or that its end is not known, or its late end."""
        flight.outcome = outcome
        if outcome.status is Status.UNKNOWN:
            self._unknown.setdefault(flight.digest, flight)
        elif flight.digest and self._unknown.get(flight.digest) is flight:
            del self._unknown[flight.digest]
        if outcome.status is not Status.UNKNOWN:
            # Known calls outlive the widgets that they were for.
            flight.registration = flight.task = None
            flight.input = Flight.input
            if flight.call.id is None and not flight.digest:  # a read that nobody can ask about again
                self._book(flight.call.run).pop((flight.call.client, flight.call.run, flight.call_id), None)
        if flight.waiters is not None and not flight.waiters.done():
            flight.waiters.set_result(outcome)

    def unknown(self, digest: str) -> Flight | None:
        """Return the call of this digest whose end is not known."""
        return self._unknown.get(digest)

    def _book(self, run: str | None) -> "dict[_Key, Flight] | OrderedDict[_Key, Flight]":
        if run is None:
            return self._loose
        book = self._runs.get(run)
        if book is None:
            book = self._runs[run] = {}
        return book

    def _forget_oldest(self) -> None:
        for key, flight in self._loose.items():
            if flight.outcome is not None and flight.outcome.status is not Status.UNKNOWN:
                del self._loose[key]
                return


def same_payload(one: Flight, other: Flight) -> bool:
    """Whether two calls of one id ask for the same thing."""
    first: Call = one.call
    second: Call = other.call
    return first.name == second.name and first.target_id == second.target_id and one.canonical == other.canonical
