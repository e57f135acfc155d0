"""The route of one call: gates, approval, gates again, run, seal. Nothing else calls a handler.

What the pipeline promises: every call gets exactly one outcome; nothing runs that is not living, valid, permitted
and, where the risk demands it, approved for exactly these bytes; no lock is held while a person reads.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agentic_qt.core.admission import cut, malformed, presentable
from agentic_qt.core.asking import Asking, Edited, changed_since, preview_failed, set_input, sign
from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.events import AuditEvent, AuditKind
from agentic_qt.core.flight import Flight, LateEnd
from agentic_qt.core.forwarding import Forward, turn_into_meant
from agentic_qt.core.gates import check, check_again, ending
from agentic_qt.core.lane import Lane
from agentic_qt.core.ledger import Ledger, same_payload
from agentic_qt.core.policy import Decision
from agentic_qt.core.recording import Recorder
from agentic_qt.core.registration import Registration
from agentic_qt.core.running import Running
from agentic_qt.core.starting import GRACE, consult
from agentic_qt.schema.canonical import InputError, freeze

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.core.pipeline")

_MAX_EDITS = 20
"""How often one call may come back edited: an approver that always edits would turn for ever."""


class Pipeline:
    """Runs the calls of one registry."""

    def __init__(self, registry: "Registry") -> None:
        self._registry = registry
        self.ledger = Ledger()
        self._lane = Lane()
        self._running = Running(registry, self._note, self.hold, self._ended_late)
        self.budget = self._running.budget
        self._asking = Asking(registry, self._note, self.hold, self.budget)
        self._recorder = Recorder(registry, self.hold, self.budget)
        self._events = itertools.count(1)
        self._audits = registry.audits
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open: set[Flight] = set()

    async def execute(self, call: Call) -> Outcome:
        """Take a call to its outcome; raises nothing but the caller's own CancelledError."""
        problem = malformed(call)
        if problem:
            return self._refuse_malformed(call, problem)
        flight = Flight(call, call.id or self.ledger.new_id())
        flight.trace.at = self._registry.clock()
        self._open.add(flight)
        self._note(AuditKind.RECEIVED, flight)
        try:
            outcome = await self._route(flight)
        except asyncio.CancelledError:
            outcome = self._running.interrupted(flight)
            if flight.caller_cancelled:
                self._close(flight, outcome)
                writing = self._recorder.conclude(flight, outcome)
                if writing is not None:
                    await asyncio.shield(writing)
                raise
        except Exception:
            _log.exception("The pipeline failed on %r", call.name)
            outcome = self._broken(flight)
        except BaseException:  # the interpreter is going down, or this coroutine: no time to wait for anything
            outcome = self._broken(flight)
            self._close(flight, outcome)
            self._recorder.conclude(flight, outcome)
            raise
        is_owed = flight.swallowed and flight.caller_cancelled
        self._close(flight, outcome)
        if flight.intent is not None:
            writing = self._recorder.conclude(flight, outcome)
            if writing is not None:
                await asyncio.shield(writing)  # it is written to its end, whatever becomes of the caller
        if is_owed:
            raise asyncio.CancelledError  # the handler kept it to itself
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

    @property
    def is_idle(self) -> bool:
        """Whether no call is under way."""
        return not self._open

    def abandon(self) -> None:
        """Close what was under way in a loop that is gone: nothing can bring it to its own end."""
        self._lane = Lane(patience=self._lane.patience)
        self.budget.reset()
        for flight in tuple(self._open):
            flight.waiters = None  # they were of that loop too
            flight.detached = bool(flight.started_at)
            outcome = self._running.interrupted(flight)
            flight.detached = False
            self._withdraw_request(flight)
            self._close(flight, outcome)
            self._recorder.conclude(flight, outcome)

    def hold(self, task: "asyncio.Task[Any]") -> None:
        """Keep a task alive until it ends."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The route

    async def _route(self, flight: Flight) -> Outcome:
        if flight.asked is None:  # a call that stood for this one was entered under its id already
            try:
                flight.canonical, flight.input = freeze(flight.call.input)
            except InputError as error:
                where = f" at {cut(error.pointer)}" if error.pointer else ""
                return ending(self._registry, flight, Status.INVALID, error.code, f"{error}{where}")
            flight.received = flight.canonical
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
        handler = registration.capability.handler
        if type(handler) is Forward:
            return await self._forward(flight, handler)
        if registration.declared.is_read and flight.decision is Decision.ALLOW:
            if hook is not None:  # it may have awaited: the world may have moved
                refusal = check_again(self._registry, flight)
            return refusal or await self._running.run(flight, registration)
        return await self._write(flight, registration)

    async def _forward(self, flight: Flight, forward: Forward) -> Outcome:
        """Go on as the call that is meant, from the first gate on; there is nothing of the outer one to run."""
        refusal = turn_into_meant(self._registry, flight, forward)
        if refusal is not None:
            return refusal
        self._note(AuditKind.RECEIVED, flight)
        return await self._route(flight)

    async def _again(self, flight: Flight, earlier: Flight) -> Outcome:
        """The same call id came before: its outcome, once there is one; nothing runs twice."""
        self._open.discard(flight)
        flight.first = earlier
        if not same_payload(flight, earlier) or earlier is self._running.inside():
            hint = f"The call id {cut(flight.call_id)!r} was used for another call."
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
            asked = flight.outside_call()
            ask = partial(hook, asked, registration.capability)
            verdict = await consult(flight, ask, {}, self.hold, self.budget)
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
        sign(flight, registration)
        refusal = self._unresolved(flight)
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
            if self._registry.permission is None and not flight.facts_digest:
                refusal = None  # nothing that may await: spared a coroutine
            else:
                refusal = await self._ask_again(flight, registration)
            if refusal is None:
                refusal = check_again(self._registry, flight) or self._unresolved(flight)
            if refusal is None:
                writing = self._intend(flight, registration)
                refusal = writing if writing is None or isinstance(writing, Outcome) else await writing
            if refusal is None and flight.stopped:
                refusal = self._running.interrupted(flight)
            return refusal or await self._running.run(flight, registration)
        finally:
            lane.release(flight)

    def _unresolved(self, flight: Flight) -> Outcome | None:
        """Refuse when a call of the same digest may have happened already."""
        earlier = self.ledger.unknown.get(flight.digest)
        if earlier is None:
            return None
        self.ledger.repeat(flight, earlier)
        return earlier.outcome

    async def _agree(self, flight: Flight, registration: Registration) -> Outcome | None:
        for _ in range(_MAX_EDITS):
            try:
                return await self._asking.agree(flight, registration)
            except Edited as edited:
                try:
                    set_input(flight, registration, edited.new_input)
                except InputError as error:
                    return ending(self._registry, flight, Status.INVALID, error.code, str(error))
                refusal = check(self._registry, flight) or self._unresolved(flight)
                hook = self._registry.permission
                if refusal is None and hook is not None:
                    refusal = await self._permit(flight, registration, hook)
                if refusal is not None:
                    return refusal
        hint = "It was edited again and again; nothing was done."
        return ending(self._registry, flight, Status.DENIED, "approval_error", hint)

    async def _ask_again(self, flight: Flight, registration: Registration) -> Outcome | None:
        """The world moved while a person read: what may await comes first, the synchronous gates last."""
        hook = self._registry.permission
        refusal = None if hook is None else await self._permit(flight, registration, hook)
        if refusal is None and flight.facts_digest:
            refusal = await self._compare_facts(flight, registration)
        return refusal

    async def _compare_facts(self, flight: Flight, registration: Registration) -> Outcome | None:
        try:
            _facts, facts_digest = await self._asking.facts(flight, registration)
        except CapabilityError as error:
            return preview_failed(self._registry, flight, error)
        except Exception:
            _log.exception("The preview of %s failed after the approval", flight.call.name)
            hint = "It could not be established that what was approved still holds, so nothing was done."
            return ending(self._registry, flight, Status.DENIED, "approval_error", hint)
        return None if facts_digest == flight.facts_digest else changed_since(self._registry, flight)

    def _intend(
        self, flight: Flight, registration: Registration
    ) -> "Outcome | Coroutine[Any, Any, Outcome | None] | None":
        """Write down what is about to run; returns what has to be awaited for it, if anything, or a refusal."""
        try:
            writing = self._recorder.intend(flight, registration)
        except Exception:
            return self._not_written(flight)
        return None if writing is None else self._intended(flight, registration, writing)

    async def _intended(self, flight: Flight, registration: Registration, writing: Awaitable[Any]) -> Outcome | None:
        try:
            await writing
        except Exception:
            return self._not_written(flight)
        refusal = await self._compare_facts(flight, registration) if flight.facts_digest else None
        return refusal or check_again(self._registry, flight)

    def _not_written(self, flight: Flight) -> Outcome:
        _log.exception("The intent of %s could not be written down", flight.call.name)
        hint = "It could not be written down, so it was not done."
        return ending(self._registry, flight, Status.FAILED, "journal_error", hint, retry="later")

    # The end

    def _close(self, flight: Flight, outcome: Outcome) -> None:
        self._open.discard(flight)
        kind = AuditKind.EXECUTED if flight.started_at else AuditKind.REJECTED
        self._note(kind, flight, outcome.status, outcome.code)
        self.ledger.close(flight, outcome)
        if flight.late is not None:
            self._conclude(flight, flight.late)
        elif flight.detached and not flight.is_read:
            self.ledger.busy[flight.busy_key] = flight

    def _refuse_malformed(self, call: Any, problem: str) -> Outcome:
        flight = Flight(presentable(call), self.ledger.new_id())
        flight.trace.at = self._registry.clock()
        self._note(AuditKind.RECEIVED, flight)
        outcome = ending(self._registry, flight, Status.INVALID, "bad_call", problem)
        self._note(AuditKind.REJECTED, flight, outcome.status, outcome.code)
        return outcome

    def _broken(self, flight: Flight) -> Outcome:
        hint = "It could not be carried out."
        applied = None if flight.started_at and not flight.is_read else False
        return ending(self._registry, flight, Status.FAILED, "internal_error", hint, applied=applied)

    def _ended_late(self, flight: Flight, outcome: Outcome) -> None:
        """The handler of a call that was given up has ended: its target is free, and its call id knows the truth."""
        if flight.outcome is None:  # it ended in the very turn in which it was given up
            flight.late = outcome
            return
        if self.ledger.busy.get(flight.busy_key) is flight:
            del self.ledger.busy[flight.busy_key]
        self._conclude(flight, outcome)

    def _conclude(self, flight: Flight, outcome: Outcome) -> None:
        self.ledger.close(flight, outcome)
        self._note(AuditKind.EXECUTED, flight, outcome.status, outcome.code)
        self._recorder.conclude(flight, outcome)
        call = flight.call
        self._registry.lates.tell(LateEnd(call_id=flight.call_id, client=call.client, run=call.run, outcome=outcome))

    def _stop(self, flight: Flight) -> None:
        flight.token().cancel()
        self._withdraw_request(flight)
        self._lane.withdraw(flight)
        registration, loop = flight.registration, self._registry.loop
        sees_token = registration is not None and registration.declared.handler.context
        if flight.started_at and loop is not None and sees_token:
            # It can see the token: a moment to end by itself, with what it knows of its own work.
            loop.call_later(GRACE, flight.interrupt, "stopped")
        else:
            flight.interrupt("stopped")

    def _withdraw_request(self, flight: Flight) -> None:
        if flight.request_id:
            self._registry.approvals.deny(flight.request_id, code="cancelled")

    def _note(self, kind: AuditKind, flight: Flight, status: str = "", code: str = "") -> None:
        """Tell the audit of a step."""
        audits = self._audits
        if audits.entries:
            took = time.perf_counter() - flight.started
            audits.tell(AuditEvent(kind, next(self._events), flight.trace, status, code, took))
