"""Remembered approvals: who may do what again without being asked, and how to take it back.

A grant names client, capability, target and registration; it holds no power over anything else. Where somebody said
so it ends by itself: at a time, or with its last use. A use is taken in the turn in which the handler starts, and a
handler that fails has used it all the same.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from agentic_qt.core.call import Call
from agentic_qt.core.events import Observers

if TYPE_CHECKING:
    from agentic_qt.core.registration import Registration


class Scope(StrEnum):
    """What an approval covers.

    ``once``: this call. ``digest``: this exact call, with the facts of its preview, again. ``run``: this capability
    on this target until the run ends. ``session``: the same until the application closes. The last two are given
    without regard to facts, so nobody looks at the preview; it is computed all the same, since it may say that the call
    cannot be done, and what it says must not change before the handler starts.
    """

    ONCE = "once"
    DIGEST = "digest"
    RUN = "run"
    SESSION = "session"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """One remembered approval; `registration` is compared by identity, so a successor inherits nothing.

    Args:
        expires_at: It is worth nothing from then on; seconds since the epoch.
        max_uses: How many calls may run by it, after the one that was approved; None for any number.
        uses: How many have.
    """

    id: str
    scope: Scope
    client: str | None
    name: str
    target_id: str | None
    registration: "Registration"
    run: str | None
    digest: str
    facts_digest: str
    granted_at: float
    actor: str | None = None
    expires_at: float = math.inf
    max_uses: int | None = None
    uses: int = 0

    @property
    def uses_left(self) -> int | None:
        """How many calls may still run by it; None for any number."""
        return None if self.max_uses is None else max(0, self.max_uses - self.uses)

    def is_over(self, now: float) -> bool:
        """Whether its time is up; a clock that was set back, or says nothing, ends a grant with an end."""
        return self.expires_at != math.inf and not self.granted_at <= now < self.expires_at


class Grants:
    """The remembered approvals of one queue, in memory only.

    Attributes:
        clock: Seconds since the epoch; decides when a grant is over.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._grants: dict[str, Grant] = {}
        self._numbers = itertools.count(1)
        self._observers: Observers[Grants] = Observers()

    def __iter__(self) -> Iterator[Grant]:
        return iter(tuple(self._grants.values()))

    def holds(self, grant: Grant) -> bool:
        """Whether a grant is still there: not revoked, not void, not used up, not over."""
        found = self._grants.get(grant.id)
        return found is not None and not self._is_over(found)

    def use(self, grant: Grant) -> bool:
        """Take one use of a grant for a handler that starts now; returns whether it still held.

        With the last one the grant is gone.
        """
        found = self._grants.get(grant.id)
        if found is None or self._is_over(found):
            return False
        if found.max_uses is None:
            return True
        used = replace(found, uses=found.uses + 1)
        if used.uses_left:
            self._grants[grant.id] = used
        else:
            del self._grants[grant.id]
        self._observers.tell(self)
        return True

    def drop_ended(self) -> None:
        """Forget the grants whose time is up, so that a list of them shows what still counts."""
        now = self.clock()
        self._drop(lambda grant: grant.is_over(now))

    def __len__(self) -> int:
        return len(self._grants)

    def observe(self, callback: Callable[["Grants"], None]) -> Callable[[], None]:
        """Call `callback` after each change; returns a function that ends it."""
        return self._observers.add(callback)

    def add(self, **fields: Any) -> Grant:
        """Remember an approval; the fields are those of `Grant` without its id.

        Raises:
            ValueError: A grant for no use at all, or for a number of them that is none.
        """
        max_uses = fields.get("max_uses")
        if max_uses is not None and (type(max_uses) is not int or max_uses < 1):
            raise ValueError(f"a grant is for a positive number of uses, not {max_uses!r}")
        grant = Grant(id=f"g{next(self._numbers)}", **fields)
        self._grants[grant.id] = grant
        self._observers.tell(self)
        return grant

    def revoke(self, grant_id: str) -> bool:
        """Take a grant back; returns whether it was there."""
        found = self._grants.pop(grant_id, None) is not None
        if found:
            self._observers.tell(self)
        return found

    def void(self, registration: "Registration") -> None:
        """Drop every grant that was given to `registration`, which was replaced or disposed."""
        self._drop(lambda grant: grant.registration is registration)

    def end_run(self, run: str) -> None:
        """Drop the grants of scope ``run`` that were given for `run`."""
        self._drop(lambda grant: grant.scope is Scope.RUN and grant.run == run)

    def covering(self, registration: "Registration", call: Call, digest: str, facts_digest: str) -> Grant | None:
        """Return a grant that covers this very call of a registration, or None."""
        client, actor, run = call.client, call.actor, call.run
        name, target_id = registration.name, registration.target_id
        for grant in self._grants.values():
            if (
                grant.registration is registration
                and grant.client == client
                and grant.actor == actor
                and grant.name == name
                and grant.target_id == target_id
                and _reaches(grant, run, digest, facts_digest)
                and not self._is_over(grant)
            ):
                return grant
        return None

    def _is_over(self, grant: Grant) -> bool:
        return grant.expires_at != math.inf and grant.is_over(self.clock())

    def _drop(self, condition: Callable[[Grant], bool]) -> None:
        gone = [grant_id for grant_id, grant in self._grants.items() if condition(grant)]
        for grant_id in gone:
            del self._grants[grant_id]
        if gone:
            self._observers.tell(self)


def _reaches(grant: Grant, run: str | None, digest: str, facts_digest: str) -> bool:
    if grant.scope is Scope.DIGEST:
        return grant.digest == digest and grant.facts_digest == facts_digest
    if grant.scope is Scope.RUN:
        return run is not None and grant.run == run
    return grant.scope is Scope.SESSION
