"""Step 7 of the route: the handler runs, within its budget, and what it did becomes an outcome."""

import asyncio
import contextvars
import inspect
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from agentic_qt.core.admission import cut, is_text
from agentic_qt.core.budget import Budget
from agentic_qt.core.call import RETRY, CallCancelled, Outcome, Status
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.events import AuditKind
from agentic_qt.core.flight import CallContext, Flight
from agentic_qt.core.gates import check, check_again, ending, revoked
from agentic_qt.core.registration import Registration
from agentic_qt.core.sealing import SealError, seal
from agentic_qt.core.starting import GIVEN_UP, Refused, absorb, call_swapped_out, finish, start_nested

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.core.running")
_MAX_CODE = 64
_MAX_HINT = 2000
_SAYS = frozenset({Status.FAILED, Status.BUSY, Status.STALE, Status.FORBIDDEN, Status.UNKNOWN})
_current: contextvars.ContextVar["tuple[Registry, Flight] | None"] = contextvars.ContextVar(
    "agentic_qt_call", default=None
)


class Running:
    """Starts handlers and judges their ends.

    Args:
        registry: Whose calls run.
        note: Tells the audit of a step.
        hold: Keeps a task alive.
        late: Told of a handler that ended after its call was given up.
    """

    def __init__(
        self,
        registry: "Registry",
        note: Callable[..., None],
        hold: Callable[["asyncio.Task[Any]"], None],
        late: Callable[[Flight, Outcome], None],
    ) -> None:
        self._registry = registry
        self._note = note
        self._hold = hold
        self._late = late
        self.budget = Budget()

    def inside(self) -> Flight | None:
        """Return the call of this registry whose handler is running in this very context."""
        current = _current.get()
        if current is None or current[0] is not self._registry or not current[1].running:
            return None
        return current[1]

    async def run(self, flight: Flight, registration: Registration) -> Outcome:
        """Run the handler; there is no await between the caller's last gate and its start.

        Raises:
            asyncio.CancelledError: The caller's own task was cancelled.
        """
        capability = registration.capability
        kwargs = flight.input
        if registration.declared.handler.context:
            kwargs = {**kwargs, "ctx": CallContext(flight, self._registry.progresses.tell)}
        flight.running = True
        token = _current.set((self._registry, flight))
        try:
            if capability.nested:
                result = await self._start_nested(flight, registration, kwargs)
            else:
                self._begin(flight, registration)
                result = call_swapped_out(asyncio.get_running_loop(), flight.task, capability.handler, kwargs)
            if result is not None and inspect.isawaitable(result):
                self.budget.start(asyncio.get_running_loop(), flight, capability.timeout)
                result = await finish(result, flight, self._late_end(flight), self._hold)
            if flight.cancels:  # it turned a loop of its own meanwhile
                await absorb(flight)
        except Refused as refused:
            return refused.outcome
        except asyncio.CancelledError as error:
            if flight.caller_cancelled:
                raise
            return self.interrupted(flight) if flight.given_up else self._ended(flight, None, error)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            return self._ended(flight, None, error)
        finally:
            _current.reset(token)
            flight.running = flight.detached
            self.budget.end(flight)
        return self.interrupted(flight) if result is GIVEN_UP else self._ended(flight, result, None)

    def interrupted(self, flight: Flight) -> Outcome:
        """The outcome of a handler that was given up: by its budget, by Stop, or with the caller's task."""
        overdue = flight.given_up == "overdue"
        is_read = flight.is_read
        if flight.started_at == 0.0:
            return ending(self._registry, flight, Status.CANCELLED, "stopped", "It was stopped before it began.")
        applied: Any = self._facts(flight) or (False if is_read else None)
        if is_read and overdue:
            hint = "It took too long and was stopped."
            return ending(self._registry, flight, Status.FAILED, "timeout", hint, retry="later")
        if overdue or (flight.detached and not is_read):
            code = "timeout" if overdue else "stopped"
            hint = (
                "It did not end in time and may have happened. Do not call it again; "
                f"ask for the status of call {flight.call_id}."
            )
            return ending(self._registry, flight, Status.UNKNOWN, code, hint, applied=applied)
        hint = "It was stopped while it ran; `applied` lists what had been done." if applied else "It was stopped."
        return ending(self._registry, flight, Status.CANCELLED, "stopped", hint, applied=applied)

    async def _start_nested(self, flight: Flight, registration: Registration, kwargs: Mapping[str, Any]) -> Any:
        capability = registration.capability

        def begin() -> Any:
            self._begin(flight, registration)
            return capability.handler(**kwargs)

        loop = asyncio.get_running_loop()
        self.budget.start(loop, flight, capability.timeout)
        gates = partial(check_again, self._registry)
        return await start_nested(loop, flight, gates, begin, self._late_end(flight))

    def _begin(self, flight: Flight, registration: Registration) -> None:
        self._note(AuditKind.EXECUTING, flight)
        if flight.grant is not None and not self._registry.approvals.grants.use(flight.grant):
            raise Refused(revoked(self._registry, flight))
        # Hooks and observers run code of the application, and that may have taken the capability away.
        if registration.disposed or registration.suspended or flight.stopped:
            refusal = check(self._registry, flight) or self.interrupted(flight)
            raise Refused(refusal)
        flight.started_at = time.perf_counter()

    def _late_end(self, flight: Flight) -> Callable[[Any, BaseException | None], None]:
        def late(result: Any, error: BaseException | None) -> None:
            flight.running = flight.detached = False
            self._late(flight, self._ended(flight, result, error))

        return late

    def _ended(self, flight: Flight, result: Any, error: BaseException | None) -> Outcome:
        registry = self._registry
        if error is None:
            return self._sealed(flight, result)
        facts = self._facts(flight)
        if isinstance(error, CapabilityError):
            return failure(registry, flight, error, facts or self._shown(error.applied))
        if isinstance(error, CallCancelled):
            return ending(registry, flight, Status.CANCELLED, "stopped", "It was stopped.", applied=facts or False)
        _log.error("The handler of %s failed", flight.call.name, exc_info=error)
        hint = "It failed inside the application; the details are in the application's log."
        applied = facts or (False if flight.is_read else None)
        return ending(registry, flight, Status.FAILED, "handler_error", hint, applied=applied)

    def _sealed(self, flight: Flight, result: Any) -> Outcome:
        """Step 8: the result as plain data. It happened, so a result that cannot be shown is no reason to repeat it."""
        registry, registration = self._registry, flight.registration
        is_read = flight.is_read
        code = hint = ""
        try:
            data = result if result is None else seal(result)
            if registry.redact is not None:
                data = seal(registry.redact(data))
            if registration is not None:
                _check_output(registration, data)
        except Exception as error:
            _log.exception("The result of %s cannot be shown", flight.call.name)
            data = None
            code = error.code if isinstance(error, SealError) else "redaction_error"
            if inspect.isgenerator(result) or inspect.isasyncgen(result):  # its body never ran
                return ending(registry, flight, Status.FAILED, code, "It gave no result.", applied=None)
            if is_read:
                return ending(registry, flight, Status.FAILED, code, "The result cannot be shown.")
            hint = "It was done; only the result cannot be shown. Do not call it again."
        if not code and registration is not None:
            code, hint = _overran(flight, registration.capability.timeout)
        return Outcome(
            status=Status.OK,
            data=data,
            code=code,
            hint=hint,
            retry=RETRY[Status.OK],
            applied=not is_read,
            call_id=flight.call_id,
            command_id=flight.command_id,
            revision=registry.revision,
        )

    def _facts(self, flight: Flight) -> list[Any] | None:
        """Return what the handler reported as applied; as much of it as can be shown."""
        return [self._shown(fact) for fact in flight.applied] or None

    def _shown(self, fact: Any) -> Any:
        redact = self._registry.redact
        try:
            sealed = seal(fact)
            return sealed if redact is None or isinstance(sealed, bool) else seal(redact(sealed))
        except Exception:
            _log.exception("What was applied cannot be shown")
            return "(not shown)"


def failure(registry: "Registry", flight: Flight, error: CapabilityError, applied: Any) -> Outcome:
    """The outcome of what a handler or a preview raised for the model: its own code and words, in bounds."""
    code = error.code if is_text(error.code, _MAX_CODE) and error.code else "handler_error"
    hint = error.hint if is_text(error.hint, _MAX_HINT) else cut(str(error.hint), _MAX_HINT) or ""
    says = Status(error.status) if error.status in _SAYS else Status.FAILED
    if says is Status.UNKNOWN and flight.is_read:
        says = Status.FAILED  # a read changed nothing, whatever became of it
    retry = "later" if error.retryable is True and says is Status.FAILED else ""
    if says is Status.UNKNOWN and applied is False:
        applied = None  # not known is not nothing
    return ending(registry, flight, says, code, hint, applied=applied, retry=retry)


def _check_output(registration: Registration, data: Any) -> None:
    output = registration.declared.output
    if output is not None and not output.is_valid(data):
        raise SealError("output_schema", "the result breaks the declared output schema")


def _overran(flight: Flight, timeout: float) -> tuple[str, str]:
    took = time.perf_counter() - flight.started_at
    return ("overran", f"It took {took:.1f} s; {timeout:g} s were planned.") if took > timeout else ("", "")
