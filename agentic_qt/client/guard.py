"""Whether one more call of a run may begin: its budgets, its breakers, and what the person did meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from agentic_qt.client.breakers import Breakers
from agentic_qt.client.budgets import Budgets
from agentic_qt.client.events import BreakerTripped, BudgetReached
from agentic_qt.core.call import RETRY, Call, Outcome, Status
from agentic_qt.protocol.messages import ToolCall

_WROTE_HINT = "The person wrote a new message instead; nothing of this call was done. Read the message first."
_CANCELLED_HINT = "The person cancelled this call; the rest may go on."
_BREAKER_HINTS = {
    "identical_calls": "This very call had the same result several times; it was not run again. Do something else, "
    "or stop and tell the user.",
    "denials": "A person said no to this several times, so nobody was asked again. Do not try it again: stop, or "
    "tell the user.",
}
_RAN = (Status.OK, Status.FAILED, Status.UNKNOWN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """One tool call of a turn.

    Args:
        call_id: Our own id for it.
        tool_call: As the chat model made it.
        decoded: What is executed, or the outcome that says why nothing can be.
        meant: What it is about, when it could be decoded: itself, or the call that it stands for.
    """

    call_id: str
    tool_call: ToolCall
    decoded: Call | Outcome
    meant: Call | None


class RunGuard:
    """The judge of one run's calls.

    Args:
        run: The run's id.
        budgets: Its limits.
        tell: Called with what a person should see.

    Attributes:
        turn: The number of the turn whose calls are judged.
        reached: The budget that ended the run, or an empty string.
        went_on: Whether the chat model went on, in a later turn, after a breaker had told it to stop.
        interrupted: Whether the person wrote something: calls of this turn that have not begun do not begin.
    """

    def __init__(self, *, run: str, budgets: Budgets, tell: Callable[[BudgetReached | BreakerTripped], None]) -> None:
        self._run = run
        self._budgets = budgets
        self._tell = tell
        self._breakers = Breakers()
        self._calls = 0
        self._writes = 0
        self._tripped_in = 0
        self._cancelled: set[str] = set()
        self._waiting: set[str] = set()
        self.turn = 0
        self.reached = ""
        self.went_on = False
        self.interrupted = False

    def admit(self, entry: Planned, *, is_write: bool) -> Outcome | None:
        """Return None when the call may begin, or the outcome that says why not."""
        if entry.call_id in self._cancelled:
            return _never_began(entry, "stopped", _CANCELLED_HINT)
        if self.interrupted:
            return _never_began(entry, "interrupted", _WROTE_HINT)
        tripped = self._breakers.tripped(entry.tool_call, entry.meant)
        if tripped:
            return self._trip(entry, tripped)
        for name, used in (("calls", self._calls), ("writes", self._writes if is_write else -1)):
            limit = getattr(self._budgets, name)
            if used >= limit:
                self.reach(name)
                return _never_began(entry, "budget", f"This run may make {limit:g} {name}; this one did not begin.")
        self._calls += 1
        return None

    def settle(self, entry: Planned, outcome: Outcome, *, is_write: bool) -> Outcome:
        """Take note of an outcome, and say what the registry cannot know: why the call was stopped."""
        if is_write and outcome.status in _RAN:
            self._writes += 1
        if entry.call_id in self._waiting and outcome.status is Status.CANCELLED and outcome.applied is False:
            outcome = replace(outcome, code="interrupted", hint=_WROTE_HINT)
        self._breakers.note(entry.tool_call, entry.meant, outcome)
        return outcome

    def interrupt(self, call_id: str) -> None:
        """Note that this call waited for the person, who wrote something instead of answering."""
        self._waiting.add(call_id)

    def cancel(self, call_id: str) -> None:
        """Note that the person does not want this call, begun or not."""
        self._cancelled.add(call_id)

    def renew(self) -> None:
        """Begin anew after words of the person: they may well want what was refused before."""
        self.interrupted = False
        self._breakers = Breakers()
        self._tripped_in = 0
        self.went_on = False

    def reach(self, budget: str) -> None:
        """Note that a budget is used up, and tell it once."""
        if not self.reached:
            self.reached = budget
            self._tell(BudgetReached(run=self._run, budget=budget, limit=getattr(self._budgets, budget)))

    def _trip(self, entry: Planned, breaker: str) -> Outcome:
        if self._tripped_in and self._tripped_in < self.turn:
            self.went_on = True
        self._tripped_in = self._tripped_in or self.turn
        name = entry.tool_call.name if entry.meant is None else entry.meant.name
        self._tell(BreakerTripped(run=self._run, call_id=entry.call_id, name=name, breaker=breaker))
        return Outcome(
            status=Status.DENIED,
            code="breaker",
            hint=_BREAKER_HINTS[breaker],
            retry=RETRY[Status.DENIED],
            applied=False,
            call_id=entry.call_id,
        )


def _never_began(entry: Planned, code: str, hint: str) -> Outcome:
    return Outcome(
        status=Status.CANCELLED,
        code=code,
        hint=hint,
        retry=RETRY[Status.CANCELLED],
        applied=False,
        call_id=entry.call_id,
    )
