"""The synchronous gates of a call, in order; run once before the approval and once more right before the handler.

Each takes the registry and the call under way and returns None, or the outcome that ends the call.
"""

import difflib
import logging
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentic_qt.core.admission import cut
from agentic_qt.core.call import RETRY, Outcome, Status
from agentic_qt.core.flight import Flight
from agentic_qt.core.lane import describe
from agentic_qt.core.policy import Decision, Policy
from agentic_qt.core.registration import Declared, Registration
from agentic_qt.schema.canonical import pointer_token
from agentic_qt.schema.validate import Issue

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.core.gates")
_MAX_LISTED = 20
_SAYS_NO_VALUE = frozenset({"required", "dependentRequired", "additionalProperties", "unevaluatedProperties"})


def ending(
    registry: "Registry",
    flight: Flight,
    status: Status,
    code: str,
    hint: str,
    *,
    data: object = None,
    applied: object = False,
    retry: str = "",
) -> Outcome:
    """Build the outcome that ends a call; nothing was applied unless said otherwise."""
    return Outcome(
        status=status,
        data=data,
        code=code,
        hint=hint,
        retry=retry or RETRY[status],
        applied=applied,
        call_id=flight.call_id,
        command_id=flight.command_id,
        revision=registry.revision,
    )


def resolve(registry: "Registry", flight: Flight) -> Outcome | None:
    """1: the living registration of that name and target; once found, it must still be the same one."""
    call = flight.call
    places = registry.places(call.name)
    bound = flight.registration
    if bound is not None:
        if places.get(bound.target_id) is bound:
            return None
        if bound.target_id in places:
            hint = f"{call.name!r} was replaced since. List the capabilities and plan again."
            return ending(registry, flight, Status.STALE, "replaced", hint)
        return _gone(registry, flight, places)
    if call.target_id is None:
        if places and call.revision is not None and registry.lost_target_since(call.name, call.revision):
            # Such a plan meant the only target that there was; another may be all that is left.
            hint = f"{call.name!r} has other targets now than when this was planned. List and plan again."
            return ending(registry, flight, Status.STALE, "targets_changed", hint)
        if len(places) > 1:
            return _choose(registry, flight, places)
    found = next(iter(places.values()), None) if call.target_id is None else places.get(call.target_id)
    if found is None:
        return _gone(registry, flight, places)
    _bind(flight, found)
    return None


def fresh(registry: "Registry", flight: Flight) -> Outcome | None:
    """2: not changed in a breaking way since the snapshot that the call was planned on."""
    revision = flight.call.revision
    registration = flight.registration
    if revision is None or registration is None or registration.breaking_revision <= revision <= registry.revision:
        return None
    if revision > registry.revision:
        hint = f"This catalogue has no revision {revision}. List the capabilities and plan again."
        return ending(registry, flight, Status.STALE, "unknown_revision", hint)
    hint = f"{flight.call.name!r} changed since this was planned. List the capabilities and plan again."
    return ending(registry, flight, Status.STALE, "changed_since_listing", hint)


def available(registry: "Registry", flight: Flight) -> Outcome | None:
    """3: shown, enabled and not at work right now."""
    registration = flight.registration
    if registration is None:
        return None
    if registration.suspended:
        reason = registration.reason or "it is not shown now"
        hint = f"{flight.call.name!r} cannot be used: {reason}."
        return ending(registry, flight, Status.UNAVAILABLE, "suspended", hint)
    at_work = registry.busy.get(flight.busy_key) if registry.busy else None
    if at_work is not None:
        known = registry.repeats(flight, at_work)
        if known is not None:
            return known
        hint = f"{describe(at_work)} has not ended yet. Wait, then try again."
        return ending(registry, flight, Status.BUSY, "target_busy", hint)
    is_available = registration.capability.available
    if is_available is None:
        return None
    try:
        answer = is_available()
    except Exception:
        _log.exception("available() of %s failed", flight.call.name)
        return ending(registry, flight, Status.UNAVAILABLE, "availability_error", "Its state could not be read.")
    if answer is True:
        return None
    reason = answer if isinstance(answer, str) and answer else "it is disabled now"
    hint = f"{flight.call.name!r} cannot be used: {reason}."
    return ending(registry, flight, Status.UNAVAILABLE, "not_available", hint)


def valid(registry: "Registry", flight: Flight) -> Outcome | None:
    """4: the input is what the capability's schema says; otherwise every issue at once."""
    registration = flight.registration
    if registration is None:
        return None
    if flight.valid_input is flight.input:  # nobody else has a hand on it, nor on the registration's schema
        return None
    declared = registration.declared
    if declared.schema.is_valid(flight.input) and (declared.is_plain or not _signature_issues(declared, flight.input)):
        flight.valid_input = flight.input
        return None
    issues = declared.schema.issues(flight.input) or _signature_issues(declared, flight.input)
    problems = [(issue.pointer, _discreet(issue, declared.secrets)) for issue in issues]
    data = {"issues": [{"path": pointer, "problem": problem} for pointer, problem in problems]}
    hint = "; ".join(f"{pointer or '/'}: {problem}" for pointer, problem in problems[:5])
    return ending(registry, flight, Status.INVALID, "schema", hint, data=data)


def allowed(registry: "Registry", flight: Flight) -> Outcome | None:
    """5a: policy; the permission hook, which may be async, follows in the pipeline."""
    registration = flight.registration
    if registration is None:
        return None
    policy = registry.policy
    try:
        looks = type(policy) is not Policy or policy.has_rule
        flight.decision = policy.decide(flight.outside_call() if looks else flight.call, registration.capability)
    except Exception:
        _log.exception("The policy failed on %s", flight.call.name)
        flight.decision = Decision.DENY
    if flight.decision is not Decision.DENY:
        return None
    return ending(registry, flight, Status.DENIED, "policy", "The application's policy does not allow this.")


GATES: tuple[Callable[["Registry", Flight], Outcome | None], ...] = (resolve, fresh, available, valid, allowed)


def check(registry: "Registry", flight: Flight) -> Outcome | None:
    """Run every synchronous gate; the first refusal ends the call."""
    for gate in GATES:
        refusal = gate(registry, flight)
        if refusal is not None:
            return refusal
    return None


def agreed(registry: "Registry", flight: Flight) -> Outcome | None:
    """6, once more: whoever agreed still does, to exactly these bytes; for what policy lets run it is enough."""
    if flight.decision is Decision.ALLOW:
        return None
    if flight.agreed in ("", "policy"):
        hint = "The application's policy changed meanwhile: a person has to be asked. Plan it again."
        return ending(registry, flight, Status.STALE, "policy_changed", hint)
    if flight.agreed_digest != flight.digest:
        return ending(registry, flight, Status.DENIED, "approval_error", "Something else was approved.")
    if flight.agreed_until != math.inf and not registry.clock() < flight.agreed_until:
        return ending(registry, flight, Status.DENIED, "expired", "The approval expired before it could begin.")
    if flight.grant is not None and not registry.approvals.grants.holds(flight.grant):
        return revoked(registry, flight)
    return None


def revoked(registry: "Registry", flight: Flight) -> Outcome:
    """The remembered approval that covered a call is there no more: taken back, over, or used up by other calls."""
    hint = "The remembered approval ended meanwhile. Plan it again: a person will be asked."
    return ending(registry, flight, Status.STALE, "approval_revoked", hint)


def check_again(registry: "Registry", flight: Flight) -> Outcome | None:
    """Run every synchronous gate right before the handler starts."""
    for gate in _GATES_AGAIN:
        refusal = gate(registry, flight)
        if refusal is not None:
            return refusal
    return None


_GATES_AGAIN = (*GATES, agreed)


def _signature_issues(declared: Declared, given: Mapping[str, Any]) -> tuple[Issue, ...]:
    """What an open schema lets through and the handler could not be called with."""
    missing = sorted(declared.required - given.keys())
    extra = [] if declared.accepts is None else sorted(given.keys() - declared.accepts)
    return tuple(
        Issue(pointer=pointer_token(name), keyword="required", message="is required.", expected="a value")
        for name in missing
    ) + tuple(
        Issue(pointer=pointer_token(name), keyword="additionalProperties", message="is not known.", expected="absent")
        for name in extra
    )


def _discreet(issue: Issue, secrets: frozenset[str]) -> str:
    """Return the words of an issue; those of a secret property repeat nothing of its value."""
    if not secrets or issue.keyword in _SAYS_NO_VALUE:
        return issue.message
    inside = issue.pointer == "" or issue.pointer.split("/")[1] in secrets
    return f"must be {issue.expected}." if inside else issue.message


def _bind(flight: Flight, registration: Registration) -> None:
    flight.registration = registration
    flight.is_read = registration.declared.is_read
    flight.busy_key = registration.busy_key
    flight.trace.target_id = registration.target_id


def _gone(registry: "Registry", flight: Flight, places: "dict[str | None, Registration]") -> Outcome:
    call = flight.call
    if places:
        alive = ", ".join(_describe_target(found) for found in list(places.values())[:_MAX_LISTED])
        hint = f"{call.name!r} has no target {cut(call.target_id)!r}. Living targets: {alive}."
        return ending(registry, flight, Status.UNAVAILABLE, "no_such_target", hint)
    near = difflib.get_close_matches(call.name, registry.names(), n=3)  # the name is short: admission saw to it
    hint = f"There is no capability {call.name!r} now."
    if near:
        hint += f" Similar: {', '.join(near)}."
    return ending(registry, flight, Status.UNAVAILABLE, "no_such_capability", hint)


def _choose(registry: "Registry", flight: Flight, places: "dict[str | None, Registration]") -> Outcome | None:
    """No target was named and several live: never "the first", but the only one shown, if it was shown then too."""
    revision = flight.call.revision
    shown = [found for found in places.values() if not found.suspended]
    known = shown if revision is None else [found for found in shown if found.visible_revision <= revision]
    hidden = [found for found in places.values() if found.suspended and revision is not None]
    left = any(found.hidden_revision > revision for found in hidden if revision is not None)
    if len(shown) == 1 and known and not left:
        _bind(flight, shown[0])
        return None
    if not shown:
        _bind(flight, next(iter(places.values())))  # the next gate says why it cannot be used
        return None
    if (len(known) <= 1 or left) and revision is not None:
        hint = f"{flight.call.name!r} has other targets now than when this was planned. List and plan again."
        return ending(registry, flight, Status.STALE, "targets_changed", hint)
    alive = ", ".join(_describe_target(found) for found in shown[:_MAX_LISTED])
    hint = f"Say which target is meant. Living targets: {alive}."
    return ending(registry, flight, Status.INVALID, "target_required", hint)


def _describe_target(registration: Registration) -> str:
    target = registration.target
    if target is None:
        return "(none)"
    return f"{target.id} ({target.label})" if target.label and target.label != target.id else target.id
