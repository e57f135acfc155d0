"""What is known of calls: outcomes by id, calls whose end is not known, targets that are still at work."""

import itertools
import os
from collections import OrderedDict
from hashlib import sha256

from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.core.flight import BusyKey, Flight

_LOOSE_LIMIT = 1000  # outcomes kept of calls that belong to no run
_LONG = 256  # bytes of an input above which its hash is kept instead

_Key = tuple[str | None, str | None, str]


class Ledger:
    """The memory of one registry; runs are forgotten when they end, other calls when many newer ones came."""

    def __init__(self) -> None:
        self._prefix = os.urandom(4).hex()
        self._numbers = itertools.count(1)
        self._runs: dict[str, dict[_Key, Flight]] = {}
        self._loose: OrderedDict[_Key, Flight] = OrderedDict()
        self._resolved: OrderedDict[_Key, Flight] = OrderedDict()
        self.unknown: dict[str, Flight] = {}  # by digest: the call whose end is not known
        self._late: OrderedDict[tuple[str | None, str], Flight] = OrderedDict()
        self.busy: dict[BusyKey, Flight] = {}

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
        """Return what is known of a call; for one that repeats a call whose end is not known, that call."""
        book = self._loose if run is None else self._runs.get(run, {})
        key: _Key = (client, run, call_id)
        flight = book.get(key) or self._resolved.get(key)
        return flight if flight is None or flight.first is None else flight.first

    def known(self, call_id: str, client: str | None, run: str | None) -> Flight | None:
        """Return what is known of a client's call: of this run, or else of another one that is remembered."""
        for place in (run, None, *self._runs):
            flight = self.find(call_id, client, place)
            if flight is not None:
                return flight
        return self._late.get((client, call_id))

    def end_run(self, run: str) -> None:
        """Forget the calls of a run but those whose end is not known: they can still be asked about."""
        kept = {}
        for key, flight in self._runs.pop(run, {}).items():
            flight.forgotten = True
            if flight.outcome is None or _is_unknown(flight):
                kept[key] = flight
        if kept:
            self._runs[run] = kept

    def repeat(self, flight: Flight, first: Flight) -> None:
        """Note that a call repeats one whose end is not known: it, and its client and run, can ask for that one."""
        flight.first = first
        call = flight.call
        self._book(call.run).setdefault((call.client, call.run, first.call_id), first)

    def close(self, flight: Flight, outcome: Outcome) -> None:
        """Record how a call ended, or that its end is not known, or its late end."""
        if flight.forgotten and _is_unknown(flight):  # who was told "unknown" may ask after the run has ended
            self._resolved[flight.call.client, flight.call.run, flight.call_id] = flight
            if len(self._resolved) > _LOOSE_LIMIT:
                self._resolved.popitem(last=False)
        flight.outcome = outcome
        if flight.first is not None or outcome.status is not Status.UNKNOWN:
            if flight.digest and self.unknown.get(flight.digest) is flight:
                del self.unknown[flight.digest]
            self._let_go(flight)
        else:
            self.unknown.setdefault(flight.digest, flight)
        if flight.waiters is not None and not flight.waiters.done():
            flight.waiters.set_result(outcome)

    def _let_go(self, flight: Flight) -> None:
        """Known calls outlive the widgets that they were for, and keep no more than it takes to tell of them."""
        flight.registration = flight.task = None
        flight.input, flight.canonical, flight.payload = Flight.input, b"", b""
        flight.valid_input = None
        if flight.grant is not None or flight.facts is not None:
            flight.grant = flight.facts = None
        if len(flight.received) > _LONG:
            flight.received = sha256(flight.received).digest()
        call = flight.call
        if flight.forgotten or (call.id is None and not flight.digest):  # a read that nobody can ask about again
            book = self._loose if call.run is None else self._runs.get(call.run)
            if book is not None and book.get((call.client, call.run, flight.call_id)) is flight:
                del book[call.client, call.run, flight.call_id]
                if not book and call.run is not None and flight.forgotten:
                    del self._runs[call.run]
        if flight.forgotten and flight.digest:  # somebody was told "unknown", and may ask after the run
            self._late[call.client, flight.call_id] = flight
            if len(self._late) > _LOOSE_LIMIT:
                self._late.popitem(last=False)

    def _book(self, run: str | None) -> "dict[_Key, Flight] | OrderedDict[_Key, Flight]":
        if run is None:
            return self._loose
        book = self._runs.get(run)
        if book is None:
            book = self._runs[run] = {}
        return book

    def _forget_oldest(self) -> None:
        for key, flight in self._loose.items():
            if flight.outcome is not None and not _is_unknown(flight):
                del self._loose[key]
                return


def same_payload(one: Flight, other: Flight) -> bool:
    """Whether a call asks for the same thing as an earlier one of its id, as both came."""
    first: Call = one.call
    second: Call = other.asked or other.call
    if first.name != second.name or first.target_id != second.target_id:
        return False
    return other.received in (one.received, sha256(one.received).digest())


def _is_unknown(flight: Flight) -> bool:
    return flight.outcome is not None and flight.outcome.status is Status.UNKNOWN and flight.first is None
