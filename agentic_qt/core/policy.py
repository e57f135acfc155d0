"""Whether a call runs, is asked about or is refused, by rule: no person and no model has a say here.

Policy is given to the registry by the application's programmer; no capability can reach it.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from fnmatch import fnmatchcase

from agentic_qt.core.call import Call
from agentic_qt.core.capability import Capability, Risk


class Decision(StrEnum):
    """What policy says of a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Policy:
    """Reads run, everything else is asked about, and what is on the deny list is refused.

    Args:
        deny: Capability names that never run, with ``*`` as in ``"customer.*"``; a single name may be a string.
        rule: Called with the call and the capability; returns a `Decision`, or None for the rule by risk. It cannot
            turn a refusal of the deny list into anything else, and an error in it refuses.
        remember_for: The longest that an approval may be remembered, in seconds; None for no limit.
        max_uses: The most calls that may run by one remembered approval; None for no limit.

    Raises:
        ValueError: A limit that is not positive.
    """

    def __init__(
        self,
        *,
        deny: Iterable[str] | str = (),
        rule: Callable[[Call, Capability], Decision | None] | None = None,
        remember_for: float | None = None,
        max_uses: int | None = None,
    ) -> None:
        if (remember_for is not None and not remember_for > 0) or (max_uses is not None and max_uses < 1):
            raise ValueError("remember_for and max_uses are positive, or None for no limit")
        self.remember_for = remember_for
        self.max_uses = max_uses
        self._deny = (deny,) if isinstance(deny, str) else tuple(deny)
        self._rule = rule
        self.has_rule = rule is not None

    def decide(self, call: Call, capability: Capability) -> Decision:
        """Judge one call; whatever is not clearly allowed is asked about or refused."""
        if self._deny and any(fnmatchcase(capability.name, pattern) for pattern in self._deny):
            return Decision.DENY
        if self._rule is not None:
            decision = self._rule(call, capability)
            if decision is not None:
                return Decision(decision)
        return Decision.ALLOW if capability.effective_risk is Risk.READ else Decision.ASK
