"""Step 6 of the route: whether a person agrees to exactly this call, seen with the facts of its preview."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentic_qt.core.approvals import Approval, ApprovalRequest
from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.capability import Risk
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.events import AuditKind
from agentic_qt.core.flight import CallContext, Flight
from agentic_qt.core.gates import ending
from agentic_qt.core.grants import Scope
from agentic_qt.core.policy import Decision
from agentic_qt.core.registration import Registration
from agentic_qt.core.sealing import seal
from agentic_qt.core.starting import consult
from agentic_qt.schema.canonical import canonical, digest, freeze

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.core.asking")
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
        hold: Callable[["asyncio.Task[Any]"], None],
    ) -> None:
        self._registry = registry
        self._note = note
        self._hold = hold

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
        grant = grants.covering(registration, call.client, call.run, flight.digest, flight.facts_digest)
        if grant is not None:
            self._agreed(flight, f"grant:{grant.id}")
        return grant is not None

    async def facts(self, flight: Flight, registration: Registration) -> tuple[Any, str]:
        """Compute the facts of the preview and their digest.

        Raises:
            CapabilityError: The preview says that it cannot be done.
            Exception: Anything else that it raises.
        """
        signature = registration.declared.preview
        kwargs = dict(flight.input)
        if signature is not None and signature.accepts is not None:
            kwargs = {key: value for key, value in kwargs.items() if key in signature.accepts}
        if signature is not None and signature.context:
            kwargs["ctx"] = CallContext(flight, self._registry.progresses.tell)
        facts = seal(await consult(flight, registration.capability.preview or dict, kwargs, self._hold))
        return facts, digest(canonical(facts, max_bytes=None))

    async def _ask(self, flight: Flight, registration: Registration) -> Outcome | None:
        queue = self._registry.approvals
        request = self._request(flight, registration)
        self._note(AuditKind.CONFIRMATION_REQUESTED, flight, "", request.id)
        approver = registration.capability.approver
        if approver is None:
            approval = await queue.ask(request)
        else:
            approval = await consult(flight, lambda: approver(request), {}, self._hold)
        return self._judge(flight, registration, request, approval)

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
            input=flight.input,
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
        if approval.input is not None:
            return self._agreed_to_edit(flight, registration, approval)
        if approval.digest != flight.digest or approval.scope not in request.scopes:
            return self._denied(flight, "approval_error", "")
        if self._registry.clock() >= approval.expires_at:
            return self._denied(flight, "expired", "")
        if approval.scope is not Scope.ONCE:
            self._remember(flight, registration, approval.scope)
        self._agreed(flight, approval.scope.value)
        return None

    def _agreed_to_edit(self, flight: Flight, registration: Registration, approval: Approval) -> Outcome | None:
        """An approver let the person edit and agree in one act (a form's Submit): the yes is for the new digest."""
        canonical_input, new_input = freeze(approval.input)
        payload = b'{"input":' + canonical_input + registration.declared.payload_tail
        if approval.digest != digest(payload) or self._registry.clock() >= approval.expires_at:
            return self._denied(flight, "approval_error", "")
        flight.canonical, flight.input, flight.payload, flight.digest = (
            canonical_input,
            new_input,
            payload,
            approval.digest,
        )
        flight.trace.digest = approval.digest
        self._agreed(flight, "edited")
        return None

    def _remember(self, flight: Flight, registration: Registration, scope: Scope) -> None:
        self._registry.approvals.grants.add(
            scope=scope,
            client=flight.call.client,
            name=registration.name,
            target_id=registration.target_id,
            registration=registration,
            run=flight.call.run,
            digest=flight.digest,
            facts_digest=flight.facts_digest,
            granted_at=self._registry.clock(),
        )

    def _agreed(self, flight: Flight, how: str) -> None:
        self._note(AuditKind.CONFIRMED, flight, "", how)

    def _denied(self, flight: Flight, code: str, reason: str) -> Outcome:
        code = code if code in _NO_CODES else "approval_error"
        self._note(AuditKind.DENIED, flight, Status.DENIED.value, code)
        hint = _NO_HINTS[code]
        if reason and code == "person":
            hint = f"{hint} The person's reason: {reason}"
        return ending(self._registry, flight, Status.DENIED, code, hint)


def preview_failed(registry: "Registry", flight: Flight, error: CapabilityError) -> Outcome:
    """The preview found that the call cannot be done; nothing was."""
    retry = "later" if error.retryable else ""
    return ending(registry, flight, Status.FAILED, error.code, error.hint, retry=retry)


def scopes_for(risk: Risk, run: str | None) -> tuple[Scope, ...]:
    """What a person may choose: a destructive call is approved once and never remembered."""
    if risk is Risk.DESTRUCTIVE:
        return (Scope.ONCE,)
    scopes = (Scope.ONCE, Scope.DIGEST, Scope.RUN, Scope.SESSION)
    return scopes if run is not None else (Scope.ONCE, Scope.DIGEST, Scope.SESSION)
