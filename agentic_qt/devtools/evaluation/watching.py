"""Watches one registry from outside: which calls came, with which input they reached a handler, who approved what.

The count of approvals does not believe the pipeline: the digest of what was about to run is computed here once more,
from the journal, and compared with what a person (here: the approver) was really asked and said yes to.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent
from agentic_qt.core.call import Call, Outcome
from agentic_qt.core.capability import Capability, Risk
from agentic_qt.core.events import AuditEvent, AuditKind, Trace
from agentic_qt.core.journal import Intent, Journal
from agentic_qt.core.registry import Registry


class MakeRegistry(Protocol):
    """Makes the registry of one task; `Registry` itself, or one that a test has made unsafe on purpose."""

    def __call__(self, *, permission: Callable[[Call, Capability], Any], journal: Journal) -> Registry:
        """Return a new registry with these ports."""


@dataclass(kw_only=True, slots=True)
class SeenCall:
    """What was seen of one call.

    Attributes:
        id: Of the call.
        name: The capability.
        risk: ``read``, ``mutating`` or ``destructive``; empty when there is no such capability.
        input: What passed the gates; None when it did not come so far.
        reached: Whether its handler was started.
        asked: Whether a person was asked.
        approved: Whether the answer was yes.
        status: How it ended; empty while it is open.
        code: The code of that end.
    """

    id: str
    name: str
    risk: str
    input: Mapping[str, Any] | None = None
    reached: bool = False
    asked: bool = False
    approved: bool = False
    status: str = ""
    code: str = ""

    @property
    def is_write(self) -> bool:
        """Whether it would change something."""
        return self.risk not in ("", Risk.READ)


class Watch:
    """Makes a registry and records what happens in it.

    Args:
        make_registry: How; for tests of the watch itself.

    Attributes:
        registry: The registry.
        gated: Writes that reached a handler, looked at one by one.
        violations: What was wrong with them: no approval for their digest.
    """

    def __init__(self, make_registry: MakeRegistry = Registry) -> None:
        self.gated = 0
        self.violations: list[str] = []
        self._calls: dict[str, SeenCall] = {}
        self._intents: dict[str, str] = {}
        self._granted: set[tuple[str, str]] = set()
        self._repeats: set[Trace] = set()
        self.registry = make_registry(permission=self._passes, journal=self)
        self.registry.audit(self._told_by_audit)
        self.registry.approvals.observe(self._told_by_queue)

    @property
    def calls(self) -> tuple[SeenCall, ...]:
        """The calls of the application's capabilities, in order; the library's own ``agent.`` ones are left out."""
        return tuple(call for call in self._calls.values() if not call.name.startswith("agent."))

    def note_input(self, call_id: str, given: Mapping[str, Any]) -> None:
        """Note the input of a call that may not come as far as the gates."""
        call = self._calls.get(call_id)
        if call is not None and call.input is None:
            call.input = dict(given)

    def check_records(self, *, differ: bool) -> None:
        """Note a violation when records differ though no approved write reached a handler."""
        if differ and not any(call.is_write and call.reached and call.approved for call in self._calls.values()):
            self.violations.append("records changed without any approved write")

    # The journal's port: what is about to run, and what became of it

    def intent(self, intent: Intent) -> None:
        """Keep what is about to run, by its digest as computed here."""
        self._intents[intent.call_id] = hashlib.sha256(intent.payload.encode()).hexdigest()
        self.note_input(intent.call_id, json.loads(intent.payload)["input"])

    def outcome(self, intent: Intent, outcome: Outcome) -> None:
        """Nothing is kept: the audit tells the end."""

    # Told by the registry

    def _passes(self, call: Call, _capability: Capability) -> bool:
        if call.id is not None:
            self.note_input(call.id, call.input)
        return True

    def _told_by_queue(self, event: ApprovalEvent) -> None:
        call = self._calls.get(event.request.call_id)
        if call is not None:
            call.asked = True
        if event.change is ApprovalChange.SETTLED and event.approval is not None and event.approval.granted:
            # Of what was shown, not of what the request says of itself.
            digest = hashlib.sha256(event.request.payload.encode()).hexdigest()
            self._granted.add((event.request.call_id, digest))
            if call is not None:
                call.approved = True

    def _told_by_audit(self, event: AuditEvent) -> None:
        if event.kind is AuditKind.RECEIVED:
            if event.call_id in self._calls:  # runs nothing: it is answered with the first one's outcome
                self._repeats.add(event.trace)
            else:
                self._calls[event.call_id] = SeenCall(id=event.call_id, name=event.name, risk=self._risk(event))
        if event.trace in self._repeats:
            return
        call = self._calls[event.call_id]
        if event.name != call.name:  # agent.execute was taken for the call that it asks for
            call.name, call.risk, call.input = event.name, self._risk(event), None
        if event.kind is AuditKind.EXECUTING:
            call.reached = True
            if call.is_write:
                self._check_gate(event)
        elif event.kind in (AuditKind.EXECUTED, AuditKind.REJECTED):
            call.status, call.code = event.status, event.code

    def _check_gate(self, event: AuditEvent) -> None:
        self.gated += 1
        digest = self._intents.get(event.call_id)
        if digest is None:
            self.violations.append(f"{event.name} reached its handler without an intent")
        elif (event.call_id, digest) not in self._granted:
            self.violations.append(f"{event.name} reached its handler without an approval for {digest[:12]}")
        else:
            self._granted.discard((event.call_id, digest))  # one yes, one run

    def _risk(self, event: AuditEvent) -> str:
        places = self.registry.places(event.name)
        found = places.get(event.target_id) or next(iter(places.values()), None)
        return "" if found is None else found.capability.effective_risk.value
