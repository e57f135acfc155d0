"""Four capabilities by which a model finds and uses all others, so that not every schema must be sent each time.

They are ordinary entries of the registry that they speak of. None of them reaches policy, permissions, approvals or
grants; ``agent.execute`` is no way around a gate, since the call that it asks for takes the whole route itself.
"""

import difflib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.capability import Capability, Risk
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.flight import CallContext
from agentic_qt.core.forwarding import Forward
from agentic_qt.core.registration import Registration
from agentic_qt.core.registry import Registry
from agentic_qt.core.search import CapabilityIndex, Scorer, SearchHit

_log = logging.getLogger("agentic_qt.core.meta")

SEARCH = "agent.search_capabilities"
DESCRIBE = "agent.describe"
EXECUTE = "agent.execute"
CALL_STATUS = "agent.call_status"
META_NAMES = frozenset({SEARCH, DESCRIBE, EXECUTE, CALL_STATUS})

_MAX_RESULTS = 20
_MAX_SCHEMAS = 8192  # characters of all schemas in one search result
_MAX_DESCRIPTION = 1024
_MAX_TARGETS = 20
_MAX_EXAMPLES = 3
_MAX_NAMES = 100  # told when nothing was found

_SEARCH_INPUT = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "description": "What is to be done, in plain words"},
        "limit": {"type": "integer", "minimum": 1, "maximum": _MAX_RESULTS, "description": "Results at most; 5"},
    },
    "required": ["query"],
}
_DESCRIBE_INPUT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The capability's exact name"},
        "target": {"type": ["string", "null"], "description": "Only for this target"},
    },
    "required": ["name"],
}
_EXECUTE_INPUT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The capability's exact name"},
        "input": {"type": ["object", "null"], "description": "The capability's own input, by its input_schema"},
        "target": {"type": ["string", "null"], "description": "The id of the target, where there are several"},
        "revision": {
            "type": "integer",
            "minimum": 0,
            "description": f"The revision that {SEARCH} or {DESCRIBE} returned with it",
        },
    },
    "required": ["name", "revision"],
}
_CALL_STATUS_INPUT = {
    "type": "object",
    "properties": {"call_id": {"type": "string", "description": "The call_id of the outcome"}},
    "required": ["call_id"],
}


def register_meta(registry: Registry, *, scorer: Scorer | None = None) -> list[Registration]:
    """Register the four capabilities in a registry, about that registry.

    Args:
        registry: What they search, describe and run.
        scorer: A second opinion for the search; see `CapabilityIndex`.

    Returns:
        Their registrations, to dispose of.

    Raises:
        DeclarationError: They are registered already.
    """
    catalogue = _Catalogue(registry, scorer)
    declared = (
        Capability(
            name=SEARCH,
            description="Find what the application can do. Returns the capabilities that fit best, with their input "
            "schemas where these are short, and the revision to run them with.",
            input_schema=_SEARCH_INPUT,
            risk=Risk.READ,
            handler=catalogue.search,
            title="Search capabilities",
        ),
        Capability(
            name=DESCRIBE,
            description="Describe one capability: input schema, risk, targets, and the revision to run it with.",
            input_schema=_DESCRIBE_INPUT,
            risk=Risk.READ,
            handler=catalogue.describe,
            title="Describe a capability",
        ),
        Capability(
            name=EXECUTE,
            description=f"Run a capability that {SEARCH} or {DESCRIBE} told of. What it returns is the outcome of that "
            "capability; a person is asked as if it had been called itself.",
            input_schema=_EXECUTE_INPUT,
            risk=Risk.READ,  # it does nothing by itself: the call that it asks for is judged by its own risk
            handler=Forward(never=META_NAMES),
            title="Run a capability",
        ),
        Capability(
            name=CALL_STATUS,
            description="Tell what became of a call, above all of one whose outcome was unknown. Changes nothing.",
            input_schema=_CALL_STATUS_INPUT,
            risk=Risk.READ,
            handler=catalogue.call_status,
            title="Look up a call",
        ),
    )
    return [registry.register(capability) for capability in declared]


class _Catalogue:
    """The handlers; what they return is data and nothing but data."""

    def __init__(self, registry: Registry, scorer: Scorer | None) -> None:
        self._registry = registry
        self._scorer = scorer

    def search(self, query: str, limit: int = 5) -> dict[str, Any]:
        index = CapabilityIndex.of(self._registry, scorer=self._scorer)
        hits = [hit for hit in index.search(query, limit + len(META_NAMES)) if hit.name not in META_NAMES][:limit]
        found: dict[str, Any] = {"revision": self._registry.revision, "results": [_result(hit) for hit in hits]}
        room = _MAX_SCHEMAS
        undescribed: list[str] = []
        for hit, result in zip(hits, found["results"], strict=True):
            schema, size = hit.common_schema()
            if schema is None or size > room:
                undescribed.append(hit.name)
            else:
                room -= size
                result["input_schema"] = schema
        if undescribed:
            found["hint"] = f"Ask {DESCRIBE} for the input schemas of: {', '.join(undescribed)}."
        if not hits:
            names = dict.fromkeys(shown.name for shown in self._registry.visible if shown.name not in META_NAMES)
            found["names"] = list(names)[:_MAX_NAMES]
            found["hint"] = "Nothing fits these words. Try others, or choose among the names."
        return found

    def describe(self, name: str, target: str | None = None) -> dict[str, Any]:
        places = self._registry.places(name)
        living = list(places.values()) if target is None else [places[target]] if target in places else []
        shown = [registration for registration in living if not registration.suspended]
        if not shown:
            raise self._not_there(name, target, living)
        first = shown[0].capability
        described: dict[str, Any] = {
            "revision": self._registry.revision,
            "name": name,
            "title": first.display_title,
            "description": first.description[:_MAX_DESCRIPTION],
            "risk": _riskiest(shown).value,
        }
        if all(registration.input_schema == shown[0].input_schema for registration in shown):
            described["input_schema"] = shown[0].input_schema
        else:  # each target judges by its own
            described["input_schemas"] = {found.target_id: found.input_schema for found in shown[:_MAX_TARGETS]}
        described |= _targets([registration.capability for registration in shown])
        reasons = {found.target_id or name: reason for found in shown if (reason := _why_not(found.capability))}
        if reasons:
            described["not_available"] = reasons
        if first.examples:
            pairs = first.examples[:_MAX_EXAMPLES]
            described["examples"] = [{"request": request, "input": given} for request, given in pairs]
        return described

    def call_status(self, call_id: str, ctx: CallContext) -> dict[str, Any]:
        flight = self._registry.known(call_id, client=ctx.client, run=ctx.run)
        if flight is None or flight.call.actor != ctx.actor:
            hint = "No such call is known. Calls are forgotten when their run ends, unless their outcome is unknown."
            return {"call_id": call_id, "state": "not_known", "hint": hint}
        if flight.outcome is None:
            state = "running" if flight.started_at else "waiting"
            return {"call_id": call_id, "state": state, "name": flight.call.name}
        state = "unknown" if flight.outcome.status is Status.UNKNOWN else "ended"
        return {"call_id": call_id, "state": state, "name": flight.call.name, "outcome": _told(flight.outcome)}

    def _not_there(self, name: str, target: str | None, living: Sequence[Registration]) -> CapabilityError:
        if living:
            reason = living[0].reason or "it is not shown now"
            return CapabilityError("suspended", f"{name!r} cannot be used: {reason}.", retryable=True)
        if self._registry.places(name):
            hint = f"{name!r} has no target {target!r}. Ask {DESCRIBE} without a target for those that it has."
            return CapabilityError("no_such_target", hint)
        shown = dict.fromkeys(registration.name for registration in self._registry.visible)
        near = difflib.get_close_matches(name, shown, n=3)
        advice = f"Similar: {', '.join(near)}." if near else f"Search with {SEARCH}."
        return CapabilityError("no_such_capability", f"There is no capability {name!r} now. {advice}")


def _result(hit: SearchHit) -> dict[str, Any]:
    return {
        "name": hit.name,
        "description": hit.capability.description[:_MAX_DESCRIPTION],
        "risk": max((found.effective_risk for found in hit.targets), key=_RISKS.index).value,
        "score": round(hit.score, 3),
        **_targets(hit.targets),
    }


_RISKS = (Risk.READ, Risk.MUTATING, Risk.DESTRUCTIVE)


def _riskiest(registrations: Sequence[Registration]) -> Risk:
    return max((registration.declared.risk for registration in registrations), key=_RISKS.index)


def _targets(capabilities: Sequence[Capability]) -> dict[str, Any]:
    targets = [capability.target for capability in capabilities if capability.target is not None]
    if not targets:
        return {}
    listed = {"targets": [{"id": target.id, "label": target.label or target.id} for target in targets[:_MAX_TARGETS]]}
    return listed if len(targets) <= _MAX_TARGETS else {**listed, "targets_in_all": len(targets)}


def _why_not(capability: Capability) -> str:
    if capability.available is None:
        return ""
    try:
        answer = capability.available()
    except Exception:
        _log.exception("available() of %s failed", capability.name)
        return "its state could not be read"
    return "" if answer is True else answer if isinstance(answer, str) and answer else "it is disabled now"


def _told(outcome: Outcome) -> Mapping[str, Any]:
    told = {
        "status": outcome.status.value,
        "data": outcome.data,
        "code": outcome.code,
        "hint": outcome.hint,
        "applied": outcome.applied,
        "command_id": outcome.command_id,
    }
    return {key: value for key, value in told.items() if value not in (None, "") or key == "applied"}
