"""The route of one call: gates, approval, gates again, run, seal. Nothing else calls a handler.

What the pipeline promises: every call gets exactly one outcome; nothing runs that is not living, valid, permitted
and, where the risk demands it, approved for exactly these bytes; no lock is held while a person reads.
"""

import asyncio
import inspect
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentic_qt.core.asking import Asking, Edited, preview_failed
from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.events import AuditEvent, AuditKind
from agentic_qt.core.flight import Flight, LateEnd
from agentic_qt.core.gates import check, ending
from agentic_qt.core.journal import Intent
from agentic_qt.core.lane import Lane
from agentic_qt.core.ledger import Ledger, same_payload
from agentic_qt.core.policy import Decision
from agentic_qt.core.registration import Registration
from agentic_qt.core.running import Running
from agentic_qt.core.starting import consult
from agentic_qt.schema.canonical import InputError, digest, freeze

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.core.pipeline")

_GRACE = 0.05
"""Seconds that a handler which sees the cancel token gets before it is cancelled; Stop answers within 100 ms."""


class Pipeline:
    """Runs the calls of one registry."""

    def __init__(self, registry: "Registry") -> None:
        self._registry = registry
        self.ledger = Ledger()
        self._lane = Lane()
        self._asking = Asking(registry, self._note, self.hold)
        self._running = Running(registry, self._note, self.hold, self._ended_late)
        self.budget = self._running.budget
        self._events = itertools.count(1)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open: set[Flight] = set()

    async def execute(self, call: Call) -> Outcome:
        """Take a call to its outcome; raises nothing but the caller's own CancelledError."""
        flight = Flight(call, call.id or self.ledger.new_id())
        self._open.add(flight)
        self._note(AuditKind.RECEIVED, flight)
        try:
            outcome = await self._route(flight)
        except asyncio.CancelledError:
            outcome = self._running.interrupted(flight)
            if flight.caller_cancelled:
                self._close(flight, outcome)
                if flight.journaled:
                    await self._write_outcome(flight, outcome)
                raise
        except Exception:
            _log.exception("The pipeline failed on %s", call.name)
            outcome = ending(
                self._registry,
                flight,
                Status.FAILED,
                "internal_error",
                "It could not be carried out.",
                applied=None if flight.started_at else False,
            )
        except BaseException:
            self._open.discard(flight)
            raise
        self._close(flight, outcome)
        if flight.journaled:
            await self._write_outcome(flight, outcome)
        return outcome

    def cancel(self, call_id: str, client: str | None, run: str | None) -> bool:
        """Stop an open call; returns whether it was open."""
        flight = self.ledger.find(call_id, client, run)
        if flight is None or flight.outcome is not None:
            return False
        self._stop(flight)
        return True

    def settle(self, call_id: str, outcome: Outcome, client: str | None, run: str | None) -> bool:
        """Close an unknown call with what somebody found out; a handler that still runs keeps its target busy."""
        flight = self.ledger.find(call_id, client, run)
        if flight is None or flight.outcome is None or flight.outcome.status is not Status.UNKNOWN:
            return False
        self._conclude(flight, replace(outcome, call_id=call_id, revision=self._registry.revision))
        return True

    def stop_all(self) -> None:
        """Stop every open call."""
        for flight in tuple(self._open):
            self._stop(flight)

    def hold(self, task: "asyncio.Task[Any]") -> None:
        """Keep a task alive until it ends."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The route

    async def _route(self, flight: Flight) -> Outcome:
        refusal = self._admit(flight)
        if refusal is not None:
            return refusal
        earlier = self.ledger.open(flight)
        if earlier is not None:
            return await self._again(flight, earlier)
        refusal = check(self._registry, flight)
        if refusal is not None:
            return refusal
        registration = flight.registration
        assert registration is not None  # noqa: S101 - the first gate binds it or refuses
        self._note(AuditKind.VALIDATED, flight)
        hook = self._registry.permission
        if hook is not None:
            refusal = await self._permit(flight, registration, hook)
            if refusal is not None:
                return refusal
        self._note(AuditKind.PERMITTED, flight)
        if registration.declared.is_read and flight.decision is Decision.ALLOW:
            if hook is not None:  # it may have awaited: the world may have moved
                refusal = check(self._registry, flight)
            return refusal or await self._running.run(flight, registration)
        return await self._write(flight, registration)

    def _admit(self, flight: Flight) -> Outcome | None:
        """Check the call's own fields and freeze its input: what is checked, shown and run is the parsed bytes."""
        call = flight.call
        if not isinstance(call.name, str) or not isinstance(call.input, Mapping):
            hint = "A call needs a name (a string) and an input (an object)."
            return ending(self._registry, flight, Status.INVALID, "bad_call", hint)
        try:
            flight.canonical, flight.input = freeze(call.input)
        except InputError as error:
            where = f" at {error.pointer}" if error.pointer else ""
            return ending(self._registry, flight, Status.INVALID, error.code, f"{error}{where}")
        return None

    async def _again(self, flight: Flight, earlier: Flight) -> Outcome:
        """The same call id came before: its outcome, once there is one; nothing runs twice."""
        self._open.discard(flight)
        if not same_payload(flight, earlier):
            hint = f"The call id {flight.call_id!r} was used for another call."
            return ending(self._registry, flight, Status.INVALID, "call_id_reused", hint)
        if earlier.outcome is not None:
            return earlier.outcome
        if earlier.waiters is None:
            earlier.waiters = asyncio.get_running_loop().create_future()
        return await asyncio.shield(earlier.waiters)

    async def _permit(
        self, flight: Flight, registration: Registration, hook: Callable[[Call, Capability], Any]
    ) -> Outcome | None:
        try:
            verdict = await consult(flight, lambda: hook(flight.call, registration.capability), {}, self.hold)
        except Exception:
            _log.exception("The permission hook failed on %s", flight.call.name)
            hint = "It could not be established that this is permitted."
            return ending(self._registry, flight, Status.FORBIDDEN, "permission_error", hint)
        if verdict is True:
            return None
        reason = f" {verdict}" if isinstance(verdict, str) else ""
        hint = f"This user may not do that.{reason} Tell the user; do not try again."
        return ending(self._registry, flight, Status.FORBIDDEN, "not_permitted", hint)

    async def _write(self, flight: Flight, registration: Registration) -> Outcome:
        outer = self._running.inside()
        if outer is not None:
            hint = f"{outer.call.name!r} is running and may not start another change inside itself."
            return ending(self._registry, flight, Status.INVALID, "nested_write", hint)
        refusal = self._sign(flight, registration)
        if refusal is None and not self._asking.is_agreed(flight, registration):
            refusal = await self._agree(flight, registration)
        if refusal is not None:
            return refusal
        lane = self._lane
        if not lane.take(flight) and not await lane.wait(flight):
            if flight.stopped:
                return self._running.interrupted(flight)
            hint = f"{lane.describe()} is running. Wait, then try again."
            return ending(self._registry, flight, Status.BUSY, "lane_busy", hint)
        try:
            refusal = await self._recheck(flight, registration)
            return refusal or await self._running.run(flight, registration)
        finally:
            lane.release(flight)

    def _sign(self, flight: Flight, registration: Registration) -> Outcome | None:
        """Compute the digest; refuse when a call of the same digest may have happened already."""
        flight.payload = b'{"input":' + flight.canonical + registration.declared.payload_tail
        flight.digest = flight.trace.digest = digest(flight.payload)
        return self._unresolved(flight)

    def _unresolved(self, flight: Flight) -> Outcome | None:
        earlier = self.ledger.unknown(flight.digest)
        return None if earlier is None else earlier.outcome

    async def _agree(self, flight: Flight, registration: Registration) -> Outcome | None:
        while True:
            try:
                return await self._asking.agree(flight, registration)
            except Edited as edited:
                try:
                    flight.canonical, flight.input = freeze(edited.new_input)
                except InputError as error:
                    return ending(self._registry, flight, Status.INVALID, error.code, str(error))
                refusal = check(self._registry, flight) or self._sign(flight, registration)
                if refusal is not None:
                    return refusal

    async def _recheck(self, flight: Flight, registration: Registration) -> Outcome | None:
        """The world moved while a person read: what may await comes first, the synchronous gates last."""
        hook = self._registry.permission
        refusal = None if hook is None else await self._permit(flight, registration, hook)
        if refusal is None and flight.facts_digest:
            refusal = await self._compare_facts(flight, registration)
        if refusal is None:
            refusal = check(self._registry, flight) or self._unresolved(flight)
        if refusal is None:
            refusal = await self._write_intent(flight, registration)
        if refusal is None and flight.stopped:
            refusal = self._running.interrupted(flight)
        return refusal

    async def _compare_facts(self, flight: Flight, registration: Registration) -> Outcome | None:
        try:
            _facts, facts_digest = await self._asking.facts(flight, registration)
        except CapabilityError as error:
            return preview_failed(self._registry, flight, error)
        except Exception:
            _log.exception("The preview of %s failed after the approval", flight.call.name)
            facts_digest = ""
        if facts_digest == flight.facts_digest:
            return None
        hint = "What the person saw has changed since. Read it again and plan again."
        return ending(self._registry, flight, Status.STALE, "changed_since_approval", hint)

    async def _write_intent(self, flight: Flight, registration: Registration) -> Outcome | None:
        call = flight.call
        try:
            written = self._registry.journal.intent(
                Intent(
                    call_id=flight.call_id,
                    name=call.name,
                    target_id=registration.target_id,
                    payload=flight.payload.decode(),
                    digest=flight.digest,
                    actor=call.actor,
                    client=call.client,
                    run=call.run,
                    at=self._registry.clock(),
                )
            )
            flight.journaled = True
            if written is not None and inspect.isawaitable(written):
                await written
                return check(self._registry, flight)
        except Exception:
            _log.exception("The intent of %s could not be written down", call.name)
            hint = "It could not be written down, so it was not done."
            return ending(self._registry, flight, Status.FAILED, "journal_error", hint, retry="later")
        return None

    # The end

    def _close(self, flight: Flight, outcome: Outcome) -> None:
        self._open.discard(flight)
        kind = AuditKind.EXECUTED if flight.started_at else AuditKind.REJECTED
        self._note(kind, flight, outcome.status, outcome.code)
        self.ledger.close(flight, outcome)
        if flight.detached:
            self.ledger.busy[flight.busy_key] = flight

    async def _write_outcome(self, flight: Flight, outcome: Outcome) -> None:
        try:
            written = self._registry.journal.outcome(flight.call_id, outcome)
            if written is not None and inspect.isawaitable(written):
                await written
        except Exception:  # what happened has happened: the outcome is told all the same
            _log.exception("The outcome of %s could not be written down", flight.call.name)

    def _ended_late(self, flight: Flight, outcome: Outcome) -> None:
        """The handler of a call that was given up has ended: its target is free, and its call id knows the truth."""
        self.ledger.busy.pop(flight.busy_key, None)
        self._conclude(flight, outcome)

    def _conclude(self, flight: Flight, outcome: Outcome) -> None:
        self.ledger.close(flight, outcome)
        self._note(AuditKind.EXECUTED, flight, outcome.status, outcome.code)
        if flight.journaled:
            self.hold(asyncio.get_running_loop().create_task(self._write_outcome(flight, outcome)))
        call = flight.call
        self._registry.lates.tell(LateEnd(call_id=flight.call_id, client=call.client, run=call.run, outcome=outcome))

    def _stop(self, flight: Flight) -> None:
        flight.token().cancel()
        for request in self._registry.approvals.pending:
            if request.call_id == flight.call_id and request.run == flight.call.run:
                self._registry.approvals.deny(request, code="cancelled")
        self._lane.withdraw(flight)
        registration = flight.registration
        if flight.started_at and registration is not None and registration.declared.handler.context:
            # It can see the token: a moment to end by itself, with what it knows of its own work.
            asyncio.get_running_loop().call_later(_GRACE, flight.interrupt, "stopped")
        else:
            flight.interrupt("stopped")

    def _note(self, kind: AuditKind, flight: Flight, status: str = "", code: str = "") -> None:
        """Tell the audit of a step."""
        registry = self._registry
        if not registry.audits:
            return
        registry.audits.tell(
            AuditEvent(
                kind,
                next(self._events),
                registry.clock(),
                flight.trace,
                status,
                code,
                time.perf_counter() - flight.started,
            )
        )
