"""The only list of what an application can do, and the only way to do it."""

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentic_qt.core.approvals import ApprovalQueue
from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.errors import DeclarationError
from agentic_qt.core.events import AuditEvent, Observers
from agentic_qt.core.flight import CallProgress, Flight, LateEnd
from agentic_qt.core.journal import Journal, MemoryJournal
from agentic_qt.core.pipeline import Pipeline
from agentic_qt.core.policy import Policy
from agentic_qt.core.registration import ChangeKind, Declared, Registration, is_breaking


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogueChange:
    """Told to observers of the catalogue, after the fact."""

    kind: ChangeKind
    registration: Registration
    revision: int


class Registry:
    """The living capabilities of one application window (or of one application), and the path to their handlers.

    A registry belongs to the thread of its event loop; `submit` is for other threads.

    Args:
        approvals: Where a person is asked; one of its own by default, which denies until a view is attached.
        permission: Called with the call and the capability before anything is asked, sync or async; only True
        permits. A
            string is the reason why not.
        policy: Whether calls run, are asked about or are refused.
        journal: Where intents and outcomes of mutating and destructive calls are written.
        redact: Called with each result before it leaves; returns what may be seen.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        *,
        approvals: ApprovalQueue | None = None,
        permission: Callable[[Call, Capability], Any] | None = None,
        policy: Policy | None = None,
        journal: Journal | None = None,
        redact: Callable[[Any], Any] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.revision = 0
        self.approvals = approvals if approvals is not None else ApprovalQueue(clock=clock)
        self.policy = policy if policy is not None else Policy()
        self.journal: Journal = journal if journal is not None else MemoryJournal()
        self.permission = permission
        self.redact = redact
        self.clock = clock
        self._places: dict[str, dict[str | None, Registration]] = {}
        self._listing: tuple[int, tuple[Registration, ...]] = (-1, ())
        self._changes: Observers[CatalogueChange] = Observers()
        self.audits: Observers[AuditEvent] = Observers()
        self.progresses: Observers[CallProgress] = Observers()
        self.lates: Observers[LateEnd] = Observers()
        self._pipeline = Pipeline(self)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._submitted: set[concurrent.futures.Future[Outcome]] = set()
        self._closed = False

    # The catalogue

    def register(self, capability: Capability) -> Registration:
        """Add a capability; from now on it is in the catalogue.

        Raises:
            DeclarationError: It is malformed, or its name and target are taken; the message quotes both sides.
        """
        registration = Registration(self, capability, Declared(capability))
        self._check_free(registration, None)
        self._places.setdefault(capability.name, {})[registration.target_id] = registration
        self._changed(ChangeKind.MOUNTED, registration)
        return registration

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """All living registrations in a stable order, suspended ones included."""
        revision, listing = self._listing
        if revision != self.revision:
            listing = tuple(found for places in self._places.values() for found in places.values())
            self._listing = (self.revision, listing)
        return listing

    @property
    def visible(self) -> tuple[Registration, ...]:
        """What a model is shown: the registrations that are not suspended, in a stable order."""
        return tuple(found for found in self.registrations if not found.suspended)

    def find(self, name: str, target_id: str | None = None) -> Registration | None:
        """Return the registration of exactly that name and target, or None."""
        return self._places.get(name, {}).get(target_id)

    def places(self, name: str) -> dict[str | None, Registration]:
        """Return the living registrations of a name by target id."""
        return self._places.get(name, {})

    def names(self) -> tuple[str, ...]:
        """Return the names in the catalogue."""
        return tuple(self._places)

    # Calls

    async def execute(self, call: Call) -> Outcome:
        """Run a call through every gate; the only path to a handler.

        Returns:
            Always an outcome. Called in another thread's loop, it runs in the registry's and is awaited here.

        Raises:
            asyncio.CancelledError: The caller's own task was cancelled; what is known was journaled before.
        """
        if asyncio.get_running_loop() is not self._loop and not self._bind_running():
            return await asyncio.wrap_future(self.submit(call))
        return await self._pipeline.execute(call)

    def submit(self, call: Call) -> "concurrent.futures.Future[Outcome]":
        """Run a call from any thread; the future holds an outcome, never an exception.

        Cancelling the future cancels the call as long as it has not begun. At `close`, every future settles.
        """
        future: concurrent.futures.Future[Outcome] = concurrent.futures.Future()
        self._submitted.add(future)
        future.add_done_callback(self._submitted.discard)
        loop = self._loop
        try:
            is_running = loop is not None and not self._closed
            if loop is not None and is_running:
                loop.call_soon_threadsafe(self._start_submitted, loop, call, future)
        except RuntimeError:  # the loop was closed meanwhile
            is_running = False
        if not is_running:
            hint = "The application is not running."
            _settle(
                future, Outcome(status=Status.UNAVAILABLE, code="not_running", hint=hint, retry="no", applied=False)
            )
        return future

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Say which loop runs the handlers; to be called in that loop's thread. `execute` does it by itself."""
        if self._loop is not loop:
            self._loop = loop
            self._thread = threading.get_ident()
            self._pipeline.budget.reset()

    def cancel(self, call_id: str, *, client: str | None = None, run: str | None = None) -> bool:
        """Stop a call: set its token, withdraw its approval, cancel its handler; returns whether it was open."""
        return self._pipeline.cancel(call_id, client, run)

    def call_status(self, call_id: str, *, client: str | None = None, run: str | None = None) -> Outcome | None:
        """Return what is known of a call: its outcome, a late one included; None when it is not known or still open."""
        flight = self._pipeline.ledger.find(call_id, client, run)
        return None if flight is None else flight.outcome

    def settle(self, call_id: str, outcome: Outcome, *, client: str | None = None, run: str | None = None) -> bool:
        """Say what became of an ``unknown`` call, as a person or trusted code found out: the way out of it.

        From then on the same call may run again. Returns whether the call was there and unknown.

        Raises:
            ValueError: The outcome is ``unknown`` again.
        """
        if outcome.status is Status.UNKNOWN:
            raise ValueError("settle an unknown call with what is known of it")
        return self._pipeline.settle(call_id, outcome, client, run)

    def end_run(self, run: str) -> None:
        """Forget the call ids of a run and the approvals that were remembered for it."""
        self._pipeline.ledger.end_run(run)
        self.approvals.grants.end_run(run)

    def at_work(self, flight: Flight) -> Flight | None:
        """Return the call that was given up and still keeps this call's target busy."""
        return self._pipeline.ledger.busy.get(flight.busy_key)

    def close(self) -> None:
        """End everything: pending approvals are denied, running calls stopped, futures of other threads settled."""
        self._closed = True
        self.approvals.deny_all(code="window_closed", reason="The application closed.")
        self._pipeline.stop_all()
        for registration in self.registrations:
            registration.dispose()
        for future in tuple(self._submitted):
            hint = "The application closed."
            _settle(future, Outcome(status=Status.CANCELLED, code="shutdown", hint=hint, retry="no"))

    # Observers

    def observe(self, callback: Callable[[CatalogueChange], None]) -> Callable[[], None]:
        """Tell `callback` of each change of the catalogue; returns a function that ends it."""
        return self._changes.add(callback)

    def audit(self, callback: Callable[[AuditEvent], None]) -> Callable[[], None]:
        """Tell `callback` of each step of each call; returns a function that ends it."""
        return self.audits.add(callback)

    def observe_progress(self, callback: Callable[[CallProgress], None]) -> Callable[[], None]:
        """Tell `callback` how far handlers have come; returns a function that ends it."""
        return self.progresses.add(callback)

    def observe_late(self, callback: Callable[[LateEnd], None]) -> Callable[[], None]:
        """Tell `callback` when a call that was given up ends after all; returns a function that ends it."""
        return self.lates.add(callback)

    # For registrations

    def _changed(self, kind: ChangeKind, registration: Registration) -> None:
        self.revision += 1
        if kind is ChangeKind.MOUNTED:
            registration.mounted_revision = registration.breaking_revision = self.revision
        if kind in (ChangeKind.MOUNTED, ChangeKind.RESUMED):
            registration.visible_revision = self.revision
        self._changes.tell(CatalogueChange(kind=kind, registration=registration, revision=self.revision))

    def _remove(self, registration: Registration) -> None:
        places = self._places[registration.name]
        del places[registration.target_id]
        if not places:
            del self._places[registration.name]
        registration.disposed = True
        self.approvals.grants.void(registration)
        self._changed(ChangeKind.DISPOSED, registration)

    def _replace(self, old: Registration, capability: Capability) -> Registration:
        if old.disposed:
            raise DeclarationError(f"{old!r} was disposed and cannot be replaced by {capability.name!r}")
        new = Registration(self, capability, Declared(capability))
        self._check_free(new, old)
        same_place = (old.name, old.target_id) == (new.name, new.target_id)
        if same_place:
            self._places[new.name][new.target_id] = new  # keeps its position: prompt caches
        else:
            del self._places[old.name][old.target_id]
            if not self._places[old.name]:
                del self._places[old.name]
            self._places.setdefault(new.name, {})[new.target_id] = new
        old.disposed = True
        new.suspended, new.reason = old.suspended, old.reason
        self.approvals.grants.void(old)
        next_revision = self.revision + 1
        breaking = is_breaking(old, new)
        new.breaking_revision = next_revision if breaking else old.breaking_revision
        new.mounted_revision = old.mounted_revision if same_place else next_revision
        new.visible_revision = old.visible_revision if same_place else next_revision
        self._changed(ChangeKind.REPLACED, new)
        return new

    def _check_free(self, new: Registration, replaced: Registration | None) -> None:
        places = self._places.get(new.name, {})
        taken = places.get(new.target_id)
        if taken is not None and taken is not replaced:
            raise DeclarationError(f"{_quote(new)} is already declared: {_quote(taken)}")
        others = [found for found in places.values() if found is not replaced]
        if others and (new.target_id is None or others[0].target_id is None):
            raise DeclarationError(
                f"{_quote(new)} and {_quote(others[0])} share a name, so each needs a target of its own"
            )

    def _bind_running(self) -> bool:
        loop = self._loop
        if loop is None or loop.is_closed() or self._thread == threading.get_ident():
            self.bind(asyncio.get_running_loop())
            return True
        return False

    def _start_submitted(
        self, loop: asyncio.AbstractEventLoop, call: Call, future: "concurrent.futures.Future[Outcome]"
    ) -> None:
        if future.done() or not future.set_running_or_notify_cancel():
            return
        task = loop.create_task(self._pipeline.execute(call))
        self._pipeline.hold(task)
        task.add_done_callback(lambda done: _settle(future, _outcome_of(done)))


def _outcome_of(task: "asyncio.Task[Outcome]") -> Outcome:
    if task.cancelled() or task.exception() is not None:
        return Outcome(status=Status.CANCELLED, code="shutdown", hint="The application closed.", retry="no")
    return task.result()


def _settle(future: "concurrent.futures.Future[Outcome]", outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)


def _quote(registration: Registration) -> str:
    capability = registration.capability
    where = getattr(capability.handler, "__qualname__", repr(capability.handler))
    module = getattr(capability.handler, "__module__", "")
    target = "" if registration.target_id is None else f" target={registration.target_id!r}"
    return f"{capability.name!r}{target} (handler {module}.{where}, {capability.description[:60]!r})"
