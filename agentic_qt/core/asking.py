"""Step 6 of the route: whether a person agrees to exactly this call, seen with the facts of its preview."""

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from agentic_qt.core.approvals import Approval, ApprovalRequest
from agentic_qt.core.budget import Budget
from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.capability import Risk
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.events import AuditKind
from agentic_qt.core.flight import CallContext, Flight
from agentic_qt.core.gates import check, ending
from agentic_qt.core.grants import Scope
from agentic_qt.core.policy import Decision
from agentic_qt.core.registration import Registration
from agentic_qt.core.running import failure
from agentic_qt.core.sealing import seal
from agentic_qt.core.starting import Hold, consult
from agentic_qt.schema.canonical import InputError, canonical, digest, freeze

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.core.asking")
_Number = TypeVar("_Number", int, float)
_NO_CODES = frozenset({"person", "expired", "window_closed", "no_approver", "approval_error", "policy"})
_NO_HINTS = {
    "person": "A person said no. Do not try the same again; ask or stop.",
    "expired": "Nobody answered in time. Ask the user whether it is still wanted.",
    "window_closed": "The window that asks was closed.",
    "no_approver": "Nobody is there who could approve this.",
    "approval_error": "The approval could not be obtained, so nothing was done.",
    "policy": "The application's policy does not allow this.",
}


class Edited(Exception):  # noqa: N818 - an answer, not an error
    """The person answered with another input; the route begins anew with it."""

    def __init__(self, new_input: Any) -> None:
        super().__init__()
        self.new_input = new_input


class Asking:
    """Gets the agreement of a person, a grant or policy; anything doubtful on the way denies."""

    def __init__(
        self,
        registry: "Registry",
        note: Callable[..., None],
        hold: Hold,
        budget: Budget,
    ) -> None:
        self._registry = registry
        self._note = note
        self._hold = hold
        self._budget = budget

    def is_agreed(self, flight: Flight, registration: Registration) -> bool:
        """Whether nobody needs to be asked: policy, the handler's own question, or a grant that needs no facts."""
        capability = registration.capability
        if flight.decision is Decision.ALLOW:
            self._agreed(flight, "policy")
        elif capability.confirms_itself:
            self._agreed(flight, "confirms_itself")
        else:
            return capability.preview is None and self._is_granted(flight, registration)
        return True

    async def agree(self, flight: Flight, registration: Registration) -> Outcome | None:
        """Return None when a person agrees to the call, or the outcome that ends it.

        Raises:
            Edited: The person wants another input.
            asyncio.CancelledError: The call was stopped while it waited.
        """
        try:
            if registration.capability.preview is not None:
                flight.facts, flight.facts_digest = await self.facts(flight, registration)
            if self._is_granted(flight, registration):
                return None
            return await self._ask(flight, registration)
        except Edited:
            raise
        except asyncio.CancelledError:
            if flight.caller_cancelled or flight.stopped:
                raise
            return self._denied(flight, "approval_error", "")  # an approver whose own work was cancelled
        except CapabilityError as error:  # the preview found that it cannot be done: no reason to ask anybody
            return preview_failed(self._registry, flight, error)
        except Exception:
            _log.exception("Asking for approval of %s failed", flight.call.name)
            return self._denied(flight, "approval_error", "")

    def _is_granted(self, flight: Flight, registration: Registration) -> bool:
        grants = self._registry.approvals.grants
        if not grants:
            return False
        call = flight.call
        grant = grants.covering(registration, call, flight.digest, flight.facts_digest)
        if grant is not None:
            flight.agreed, flight.agreed_digest, flight.grant = f"grant:{grant.id}", flight.digest, grant
            flight.agreed_until = math.inf
            self._note(AuditKind.CONFIRMED, flight, "", flight.agreed)
        return grant is not None

    async def facts(self, flight: Flight, registration: Registration) -> tuple[Any, str]:
        """Compute the facts of the preview and their digest.

        Raises:
            CapabilityError: The preview says that it cannot be done.
            Exception: Anything else that it raises.
        """
        signature = registration.declared.preview
        kwargs = flight.outside_input()
        if signature is not None and signature.accepts is not None:
            kwargs = {key: value for key, value in kwargs.items() if key in signature.accepts}
        if signature is not None and signature.context:
            kwargs["ctx"] = CallContext(flight, self._registry.progresses.tell)
        preview = registration.capability.preview or dict
        facts = seal(await consult(flight, preview, kwargs, self._hold, self._budget))
        flight.applied = ()  # a preview applies nothing, whatever it says
        return facts, digest(canonical(facts, max_bytes=None))

    async def _ask(self, flight: Flight, registration: Registration) -> Outcome | None:
        queue = self._registry.approvals
        request = self._request(flight, registration)
        self._note(AuditKind.CONFIRMATION_REQUESTED, flight, "", request.id)
        flight.request_id = request.id
        approver = registration.capability.approver
        try:
            if approver is None:
                approval = await queue.ask(request)
            else:
                approval = await consult(flight, lambda: approver(request), {}, self._hold)
        finally:
            flight.request_id = ""
        refusal = self._judge(flight, registration, request, approval)
        if refusal is None and approval.input is not None:
            refusal = await self._face_edit(flight, registration, approval)
        return refusal

    def _request(self, flight: Flight, registration: Registration) -> ApprovalRequest:
        capability, call = registration.capability, flight.call
        risk = registration.declared.risk
        return ApprovalRequest(
            id=self._registry.approvals.next_id(),
            call_id=flight.call_id,
            name=capability.name,
            title=capability.display_title,
            description=capability.description,
            target=capability.target,
            risk=risk if risk is not Risk.READ else Risk.MUTATING,
            input=flight.outside_input(),
            payload=flight.payload.decode(),
            digest=flight.digest,
            facts=flight.facts,
            facts_digest=flight.facts_digest,
            undoable=capability.undoable,
            reason=call.reason,
            scopes=scopes_for(risk, call.run),
            client=call.client,
            actor=call.actor,
            run=call.run,
            input_schema=registration.input_schema,
            requested_at=self._registry.clock(),
            remember_for=self._registry.policy.remember_for,
            max_uses=self._registry.policy.max_uses,
        )

    def _judge(
        self, flight: Flight, registration: Registration, request: ApprovalRequest, approval: Any
    ) -> Outcome | None:
        if type(approval) is not Approval or approval.request_id != request.id:
            _log.error("The approver of %s answered with something else than its approval", flight.call.name)
            return self._denied(flight, "approval_error", "")
        if approval.granted is not True:
            if approval.code == "edited" and approval.input is not None:
                raise Edited(approval.input)
            if approval.code == "cancelled":
                self._note(AuditKind.DENIED, flight, Status.CANCELLED.value, "withdrawn")
                hint = "It was stopped while it waited for approval; nothing was done."
                return ending(self._registry, flight, Status.CANCELLED, "withdrawn", hint)
            return self._denied(flight, approval.code, approval.reason)
        if not self._registry.clock() < approval.expires_at:  # a NaN is no time either
            return self._denied(flight, "expired", "")
        if approval.input is not None:
            return None
        scope = Scope(approval.scope)
        if approval.digest != flight.digest or scope not in request.scopes:
            return self._denied(flight, "approval_error", "")
        if scope is not Scope.ONCE:
            self._remember(flight, registration, scope, approval)
        self._agreed(flight, scope.value, approval.expires_at)
        return None

    async def _face_edit(self, flight: Flight, registration: Registration, approval: Approval) -> Outcome | None:
        """An approver let the person edit and agree in one act (a form's Submit): the yes is for the new digest.

        The facts that the person saw were those of the input before: they must still hold, and from now on those of the
        new input must.
        """
        if registration.capability.preview is not None:
            _facts, facts_digest = await self.facts(flight, registration)
            if facts_digest != flight.facts_digest:
                return changed_since(self._registry, flight)
        set_input(flight, registration, approval.input)
        if approval.digest != flight.digest:
            return self._denied(flight, "approval_error", "")
        refusal = check(self._registry, flight)
        if refusal is None and registration.capability.preview is not None:
            flight.facts, flight.facts_digest = await self.facts(flight, registration)
        if refusal is None:
            self._agreed(flight, "edited", approval.expires_at)
        return refusal

    def _remember(self, flight: Flight, registration: Registration, scope: Scope, approval: Approval) -> None:
        if registration.disposed or (scope is Scope.RUN and flight.forgotten):
            return  # it came too late to cover anything
        policy, grants = self._registry.policy, self._registry.approvals.grants
        now = grants.clock()
        seconds = _least(approval.remember_for, policy.remember_for)
        grants.add(
            scope=scope,
            client=flight.call.client,
            name=registration.name,
            target_id=registration.target_id,
            registration=registration,
            run=flight.call.run,
            digest=flight.digest,
            facts_digest=flight.facts_digest,
            granted_at=now,
            actor=flight.call.actor,
            expires_at=math.inf if seconds is None else now + seconds,
            max_uses=_least(approval.max_uses, policy.max_uses),
        )

    def _agreed(self, flight: Flight, how: str, until: float = math.inf) -> None:
        # In one go with the digest: an agreement is to exactly these bytes.
        flight.agreed, flight.agreed_digest, flight.agreed_until, flight.grant = how, flight.digest, until, None
        self._note(AuditKind.CONFIRMED, flight, "", how)

    def _denied(self, flight: Flight, code: str, reason: str) -> Outcome:
        code = code if code in _NO_CODES else "approval_error"
        self._note(AuditKind.DENIED, flight, Status.DENIED.value, code)
        hint = _NO_HINTS[code]
        if reason and code == "person":
            hint = f"{hint} The person's reason: {reason}"
        return ending(self._registry, flight, Status.DENIED, code, hint)


def _least(*limits: _Number | None) -> _Number | None:
    """Return the strictest of some limits, of which None is no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


def preview_failed(registry: "Registry", flight: Flight, error: CapabilityError) -> Outcome:
    """The preview found that the call cannot be done; nothing was."""
    return failure(registry, flight, error, applied=False)


def changed_since(registry: "Registry", flight: Flight) -> Outcome:
    """The facts that the person saw do not hold any more."""
    hint = "What the person saw has changed since. Read it again and plan again."
    return ending(registry, flight, Status.STALE, "changed_since_approval", hint)


def set_input(flight: Flight, registration: Registration, new_input: Any) -> None:
    """Give a call the input that a person made of it: new bytes, a new digest, and what was agreed to is void.

    Raises:
        InputError: It is not JSON, or beyond a limit.
    """
    if not isinstance(new_input, Mapping):
        raise InputError("not_json", "The edited input is not an object.")
    flight.canonical, flight.input = freeze(new_input)
    flight.call = replace(flight.call, input=flight.outside_input())
    sign(flight, registration)


def sign(flight: Flight, registration: Registration) -> None:
    """Compute the payload of a call, the canonical JSON of ``{name, targetId, input}``, and its digest."""
    flight.payload = b'{"input":' + flight.canonical + registration.declared.payload_tail
    flight.digest = flight.trace.digest = digest(flight.payload)


def scopes_for(risk: Risk, run: str | None) -> tuple[Scope, ...]:
    """What a person may choose: a destructive call is approved once and never remembered."""
    if risk is Risk.DESTRUCTIVE:
        return (Scope.ONCE,)
    scopes = (Scope.ONCE, Scope.DIGEST, Scope.RUN, Scope.SESSION)
    return scopes if run is not None else (Scope.ONCE, Scope.DIGEST, Scope.SESSION)
