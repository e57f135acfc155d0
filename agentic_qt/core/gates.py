"""The synchronous gates of a call, in order; run once before the approval and once more right before the handler.

Each takes the registry and the call under way and returns None, or the outcome that ends the call.
"""

import difflib
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from agentic_qt.core.call import RETRY, Outcome, Status
from agentic_qt.core.flight import Flight
from agentic_qt.core.lane import describe
from agentic_qt.core.policy import Decision
from agentic_qt.core.registration import Registration
from agentic_qt.schema.validate import Issue

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry

_log = logging.getLogger("agentic_qt.core.gates")
_MAX_LISTED = 20


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
    if call.target_id is None and len(places) > 1:
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
    if revision is None or registration is None or registration.breaking_revision <= revision:
        return None
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
    at_work = registry.at_work(flight)
    if at_work is not None:
        hint = f"{describe(at_work)} has not ended yet. Wait, then try again."
        return ending(registry, flight, Status.BUSY, "target_busy", hint)
    check = registration.capability.available
    if check is None:
        return None
    try:
        answer = check()
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
    declared = registration.declared
    if declared.validate(flight.input) and not (declared.required and declared.required - flight.input.keys()):
        return None
    issues = declared.schema.issues(flight.input) or tuple(
        Issue(pointer=f"/{name}", keyword="required", message="is required", expected="a value")
        for name in sorted(declared.required - flight.input.keys())
    )
    data = {"issues": [{"path": issue.pointer, "problem": issue.message} for issue in issues]}
    hint = "; ".join(f"{issue.pointer or '/'}: {issue.message}" for issue in issues[:5])
    return ending(registry, flight, Status.INVALID, "schema", hint, data=data)


def allowed(registry: "Registry", flight: Flight) -> Outcome | None:
    """5a: policy; the permission hook, which may be async, follows in the pipeline."""
    registration = flight.registration
    if registration is None:
        return None
    try:
        flight.decision = registry.policy.decide(flight.call, registration.capability)
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


def _bind(flight: Flight, registration: Registration) -> None:
    flight.registration = registration
    flight.busy_key = registration.target_id or registration.name
    flight.trace.target_id = registration.target_id


def _gone(registry: "Registry", flight: Flight, places: "dict[str | None, Registration]") -> Outcome:
    call = flight.call
    if places:
        alive = ", ".join(_describe_target(found) for found in list(places.values())[:_MAX_LISTED])
        hint = f"{call.name!r} has no target {call.target_id!r}. Living targets: {alive}."
        return ending(registry, flight, Status.UNAVAILABLE, "no_such_target", hint)
    near = difflib.get_close_matches(call.name, registry.names(), n=3)
    hint = f"There is no capability {call.name!r} now."
    if near:
        hint += f" Similar: {', '.join(near)}."
    return ending(registry, flight, Status.UNAVAILABLE, "no_such_capability", hint)


def _choose(registry: "Registry", flight: Flight, places: "dict[str | None, Registration]") -> Outcome | None:
    """No target was named and several live: never "the first", but the only one shown, if it was shown then too."""
    revision = flight.call.revision
    shown = [found for found in places.values() if not found.suspended]
    known = shown if revision is None else [found for found in shown if found.visible_revision <= revision]
    if len(shown) == 1 and known:
        _bind(flight, shown[0])
        return None
    if not shown:
        _bind(flight, next(iter(places.values())))  # the next gate says why it cannot be used
        return None
    if len(known) <= 1 and revision is not None:
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
