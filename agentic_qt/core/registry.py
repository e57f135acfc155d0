"""The only list of what an application can do, and the only way to do it."""

import asyncio
import concurrent.futures
import contextlib
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
            permits. A string is the reason why not.
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
        self.busy = self._pipeline.ledger.busy  # calls that were given up and still keep their target busy
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._submitted: dict[concurrent.futures.Future[Outcome], asyncio.Task[Outcome] | None] = {}
        self._closed = False
        self._lost: dict[str, int] = {}  # by name: the revision at which one of its targets last went away

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

    def lost_target_since(self, name: str, revision: int) -> bool:
        """Return whether a target of that name went away after a revision."""
        return self._lost.get(name, 0) > revision

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
        if asyncio.get_running_loop() is not self._loop:
            if not self._is_ours():
                return await self._execute_elsewhere(call)
            if not self._may_bind():
                return _not_running("Calls of another event loop are still under way.")
            self.bind(asyncio.get_running_loop())
        if self._closed:
            return _not_running("The application closed.")
        return await self._pipeline.execute(call)

    def submit(self, call: Call) -> "concurrent.futures.Future[Outcome]":
        """Run a call from any thread; the future holds an outcome, never an exception.

        Cancelling the future cancels the call as long as it has not begun. At `close`, every future settles.
        """
        future: concurrent.futures.Future[Outcome] = concurrent.futures.Future()
        self._submitted[future] = None
        future.add_done_callback(lambda done: self._submitted.pop(done, None))
        loop = self._loop
        try:
            is_running = loop is not None and not self._closed
            if loop is not None and is_running:
                loop.call_soon_threadsafe(self._start_submitted, loop, call, future)
        except RuntimeError:  # the loop was closed meanwhile
            is_running = False
        if not is_running:
            _settle(future, _not_running("The application is not running."))
        return future

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Say which loop runs the handlers; to be called in that loop's thread. `execute` does it by itself.

        What was under way in a loop before is closed: as ``unknown`` when it may have happened.
        """
        if self._loop is not loop:
            self._loop = loop
            self._thread = threading.get_ident()
            self._pipeline.abandon()

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop that runs the handlers, once it is known."""
        return self._loop

    def cancel(self, call_id: str, *, client: str | None = None, run: str | None = None) -> bool:
        """Stop a call: set its token, withdraw its approval, cancel its handler; returns whether it was open."""
        return self._pipeline.cancel(call_id, client, run)

    def call_status(self, call_id: str, *, client: str | None = None, run: str | None = None) -> Outcome | None:
        """Return what is known of a call: its outcome, a late one included; None when it is not known or still open."""
        flight = self._pipeline.ledger.find(call_id, client, run)
        return None if flight is None else flight.outcome

    def known(self, call_id: str, *, client: str | None = None, run: str | None = None) -> Flight | None:
        """Return the call of that id as long as it is remembered; of another run of the client if not of this one."""
        return self._pipeline.ledger.known(call_id, client, run)

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

    def repeats(self, flight: Flight, at_work: Flight) -> Outcome | None:
        """Return the outcome of the call at work when it is not known and this call is the same one again."""
        outcome = at_work.outcome
        if outcome is None or outcome.status is not Status.UNKNOWN or at_work.registration is not flight.registration:
            return None
        if at_work.canonical != flight.canonical:
            return None
        self._pipeline.ledger.repeat(flight, at_work)
        return outcome

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
        elif kind is ChangeKind.SUSPENDED:
            registration.hidden_revision = self.revision
        elif kind is ChangeKind.DISPOSED and registration.target_id is not None:
            self._lost[registration.name] = self.revision
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
        new.suspended, new.reason, new.hidden_revision = old.suspended, old.reason, old.hidden_revision
        self.approvals.grants.void(old)
        next_revision = self.revision + 1
        breaking = is_breaking(old, new)
        new.breaking_revision = next_revision if breaking else old.breaking_revision
        new.mounted_revision = old.mounted_revision if same_place else next_revision
        new.visible_revision = old.visible_revision if same_place else next_revision
        if not same_place and old.target_id is not None:
            self._lost[old.name] = next_revision
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

    def _is_ours(self) -> bool:
        """Whether the running loop may be, or become, the one that runs the handlers: not in another thread."""
        return self._loop is None or self._loop.is_closed() or self._thread == threading.get_ident()

    def _may_bind(self) -> bool:
        """Whether nothing is under way in a loop that could still go on with it."""
        return self._loop is None or self._loop.is_closed() or self._pipeline.is_idle

    async def _execute_elsewhere(self, call: Call) -> Outcome:
        future = self.submit(call)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if self._loop is not None:
                with contextlib.suppress(RuntimeError):  # that loop was closed meanwhile
                    self._loop.call_soon_threadsafe(self._stop_submitted, future)
            raise

    def _stop_submitted(self, future: "concurrent.futures.Future[Outcome]") -> None:
        task = self._submitted.get(future)
        if task is not None:
            task.cancel()

    def _start_submitted(
        self, loop: asyncio.AbstractEventLoop, call: Call, future: "concurrent.futures.Future[Outcome]"
    ) -> None:
        if future.done() or not future.set_running_or_notify_cancel():
            return
        task = loop.create_task(self._pipeline.execute(call))
        self._pipeline.hold(task)
        self._submitted[future] = task
        task.add_done_callback(lambda done: _settle(future, _outcome_of(done)))


def _outcome_of(task: "asyncio.Task[Outcome]") -> Outcome:
    if task.cancelled() or task.exception() is not None:
        return Outcome(status=Status.CANCELLED, code="shutdown", hint="The application closed.", retry="no")
    return task.result()


def _settle(future: "concurrent.futures.Future[Outcome]", outcome: Outcome) -> None:
    # It may be cancelled in its own thread at any moment; then nobody waits for it.
    with contextlib.suppress(concurrent.futures.InvalidStateError):
        future.set_result(outcome)


def _not_running(hint: str) -> Outcome:
    return Outcome(status=Status.UNAVAILABLE, code="not_running", hint=hint, retry="no", applied=False)


def _quote(registration: Registration) -> str:
    capability = registration.capability
    where = getattr(capability.handler, "__qualname__", repr(capability.handler))
    module = getattr(capability.handler, "__module__", "")
    target = "" if registration.target_id is None else f" target={registration.target_id!r}"
    return f"{capability.name!r}{target} (handler {module}.{where}, {capability.description[:60]!r})"
