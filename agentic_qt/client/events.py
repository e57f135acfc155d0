"""What an agent tells a view while it works, and how a run ends: frozen values."""

from dataclasses import dataclass
from enum import StrEnum

from agentic_qt.client.chat_model import ChatModelError, Usage
from agentic_qt.core.call import Call, Outcome, Progress
from agentic_qt.protocol.messages import ToolCall


class RunEndReason(StrEnum):
    """Why a run ended; ``busy``: it never began, since another one is under way."""

    COMPLETED = "completed"
    STOPPED = "stopped"
    TURN_CAP = "turn_cap"
    BUDGET = "budget"
    BREAKER = "breaker"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    CUT_STREAM = "cut_stream"
    EMPTY = "empty"
    ERROR = "error"
    BUSY = "busy"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnd:
    """How a run ended.

    Args:
        run: The run's id.
        reason: Why it ended.
        text: The assistant's last words.
        turns: Requests that were sent to the chat model.
        error: What the provider did, when the reason is ``error``; None when the fault is the program's own (see the
            log).
        usage: Tokens, where the provider reports them.
        thread: The id of the thread that it worked in.
        budget: Which budget was used up, when the reason is ``budget`` or ``turn_cap``.
    """

    run: str
    reason: RunEndReason
    text: str = ""
    turns: int = 0
    error: ChatModelError | None = None
    usage: Usage | None = None
    thread: str = ""
    budget: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarted:
    """A person's message was taken and a run began; `text` is empty when the last request is tried again.

    `thread` and `branch` are the ids of where it works, whatever the person looks at meanwhile.
    """

    run: str
    text: str
    thread: str = ""
    branch: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnStarted:
    """A request is being sent to the chat model; `turn` counts from 1."""

    run: str
    turn: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDelta:
    """A piece of the assistant's words."""

    run: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningDelta:
    """A piece of the chat model's thoughts, where the provider sends them."""

    run: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageFinished:
    """The assistant's message of this turn is complete; `text` is all of it."""

    run: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallStarted:
    """A tool call was taken up; `call` is None when it could not be decoded (its outcome follows).

    Each tool call is told exactly once, and its `CallFinished` follows, also when it was stopped before it began.
    """

    run: str
    call_id: str
    tool_call: ToolCall
    call: Call | None
    thread: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallProgressed:
    """The handler of a call told how far it has come."""

    run: str
    call_id: str
    progress: Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class CallFinished:
    """A tool call has its outcome; `late` when it came after the call was given up as ``unknown``."""

    run: str
    call_id: str
    tool_call: ToolCall
    outcome: Outcome
    late: bool = False
    thread: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnded:
    """The run is over; nothing of it follows but late ends of calls."""

    run: str
    end: RunEnd


@dataclass(frozen=True, kw_only=True, slots=True)
class Interjected:
    """The person wrote `text` while the run was under way; it goes to the chat model with the next request."""

    run: str
    text: str
    thread: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextTrimmed:
    """Not all of the conversation fits: `left_out` of its oldest messages are not sent, though they are kept.

    Told when the number changes. `tokens` is what the rest is thought to take, of `budget`.
    """

    run: str
    left_out: int
    kept: int
    tokens: int
    budget: int
    thread: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compacted:
    """`replaced` messages were replaced by `summary` in a new branch; the branch `before` still has them."""

    run: str
    replaced: int
    summary: str
    thread: str
    branch: str
    before: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetReached:
    """The run has used up one of its budgets (``turns``, ``calls``, ``writes``, ``tokens``, ``seconds``) and ends."""

    run: str
    budget: str
    limit: float


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakerTripped:
    """A call was answered without being run or asked about, since the chat model goes round in circles.

    `breaker` is ``identical_calls`` or ``denials``; `name` is the capability's.
    """

    run: str
    call_id: str
    name: str
    breaker: str


AgentEvent = (
    RunStarted
    | TurnStarted
    | TextDelta
    | ReasoningDelta
    | MessageFinished
    | CallStarted
    | CallProgressed
    | CallFinished
    | Interjected
    | ContextTrimmed
    | Compacted
    | BudgetReached
    | BreakerTripped
    | RunEnded
)
"""Everything that an agent tells its observers."""
