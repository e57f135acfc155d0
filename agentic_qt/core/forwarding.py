"""A capability that stands for another one: its call becomes the call that its input describes.

Nothing runs inside anything here. The pipeline takes the call that was meant through every gate under its real name,
target and input; the digest, the approval, the budget, the audit and the outcome are that call's alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from agentic_qt.core.admission import cut, malformed
from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.core.events import Trace
from agentic_qt.core.flight import Flight
from agentic_qt.core.gates import ending
from agentic_qt.schema.canonical import freeze

if TYPE_CHECKING:
    from agentic_qt.core.registry import Registry


class Forward:
    """The handler of such a capability. The pipeline knows it by its type and never calls it.

    Its input has the properties ``name``, ``revision`` (of the catalogue that the caller was shown) and, if need be,
    ``input`` and ``target``.

    Args:
        never: Names of capabilities that are not forwarded to.
    """

    __slots__ = ("_never",)

    def __init__(self, never: Iterable[str] = ()) -> None:
        self._never = frozenset(never)

    def __call__(self, **given: Any) -> NoReturn:
        """Refuse: a call is forwarded by the pipeline or not at all.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(f"a call with {sorted(given)} is forwarded by the pipeline and by nobody else")

    def meant(self, call: Call, given: Mapping[str, Any]) -> Call:
        """Return the call that is meant; who acts, for which client and run, and the id stay as they are."""
        return replace(
            call,
            name=given["name"],
            input=given.get("input") or {},
            target_id=given.get("target"),
            revision=given["revision"],
        )

    def refuses(self, call: Call) -> bool:
        """Whether the call that is meant may not be made this way."""
        return call.name in self._never


def turn_into_meant(registry: "Registry", flight: Flight, forward: Forward) -> Outcome | None:
    """Make a call under way, which passed the gates, the one that it stands for; or return why that may not be.

    It keeps its id; nothing that was found out of it stays, so that every gate must come again.
    """
    call = forward.meant(flight.call, flight.input)
    problem = malformed(call)
    if problem:
        return ending(registry, flight, Status.INVALID, "bad_call", problem)
    if flight.asked is not None or forward.refuses(call):
        hint = f"{cut(call.name)!r} is not run through another capability: call it itself."
        return ending(registry, flight, Status.INVALID, "not_forwarded", hint)
    flight.asked, flight.call = flight.call, call
    received_at = flight.trace.at
    flight.trace = Trace(call, flight.call_id)
    flight.trace.at = received_at
    flight.registration, flight.busy_key = None, ()
    flight.canonical, flight.input = freeze(call.input)
    return None


def meant_by(registry: "Registry", call: Call) -> Call:
    """Return the call that a forwarded call stands for, or the call itself.

    For those who show calls or put them in order; what is malformed is left for the gates to refuse.
    """
    registration = registry.find(call.name)
    if registration is None or not isinstance(registration.capability.handler, Forward):
        return call
    given = call.input
    is_well_formed = (
        isinstance(given, Mapping)
        and isinstance(given.get("name"), str)
        and isinstance(given.get("revision"), int)
        and isinstance(given.get("input") or {}, Mapping)
        and isinstance(given.get("target") or "", str)
    )
    return registration.capability.handler.meant(call, given) if is_well_formed else call
