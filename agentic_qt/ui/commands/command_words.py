"""Words for people: what became of commands, when, and what went wrong on the way. No widget."""

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QDateTime, QLocale

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.values import Code, CommandResult, CommandStatus
from agentic_qt.core.call import Outcome, Status
from agentic_qt.ui.approval.text import exact
from agentic_qt.ui.words import status_word, translate

Tone = Literal["ok", "warning", "danger", "info", "muted"]
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400  # seconds
_CLOSED = ("bad_transition", "no_proposal", "no_intent")


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """How something stands: an icon, a word and a colour, and a sentence that says more or is empty."""

    icon: str
    tone: Tone
    word: str
    sentence: str = ""


def state_of_result(result: CommandResult) -> State:
    """Return what became of a command."""
    known = _state_of_code(result.code)
    if known is not None:
        return known
    match result.status:
        case CommandStatus.SUCCEEDED:
            return State(icon="check", tone="ok", word=translate("agentic_qt", "Done"))
        case CommandStatus.EXECUTING:
            return State(icon="running", tone="info", word=translate("agentic_qt", "Being done now"))
        case CommandStatus.UNKNOWN:
            words = translate("agentic_qt", "It may have happened, or not. Nobody can say yet.")
            return State(icon="question", tone="warning", word=translate("agentic_qt", "Not known"), sentence=words)
        case CommandStatus.NOT_FOUND:
            words = translate("agentic_qt", "No such id is stored. That does not mean that it failed.")
            return State(icon="question", tone="warning", word=translate("agentic_qt", "Not stored"), sentence=words)
    refused = result.status is CommandStatus.REFUSED
    word = translate("agentic_qt", "Refused") if refused else translate("agentic_qt", "Failed")
    return State(icon="cross", tone="danger", word=word, sentence=_why(result.code, result.hint))


def state_of_outcome(outcome: Outcome) -> State:
    """Return what became of something that was taken up again."""
    word = status_word(outcome)
    if outcome.ok:
        return State(icon="check", tone="ok", word=word)
    known = _state_of_code(outcome.code)
    if known is not None:
        return known
    sentence = {
        Status.DENIED: "",
        Status.CANCELLED: "",
        Status.STALE: translate("agentic_qt", "It was changed meanwhile, so nothing was written."),
        Status.UNKNOWN: translate("agentic_qt", "It may have happened, or not. Nobody can say yet."),
    }.get(outcome.status, _why(outcome.code, outcome.hint))
    icon, tone = _LOOKS.get(outcome.status, ("cross", "danger"))
    return State(icon=icon, tone=tone, word=word, sentence=sentence)


def event_words(event: str, code: str) -> State:
    """Return one line of the audit as a state."""
    if event == "executing":
        return State(icon="running", tone="info", word=translate("agentic_qt", "Begun"))
    if event == "succeeded":
        return State(icon="check", tone="ok", word=translate("agentic_qt", "Done"))
    known = _state_of_code(code)
    if known is not None and event != "late_end":
        return known
    words: dict[str, tuple[str, Tone, str]] = {
        "failed": ("cross", "danger", translate("agentic_qt", "Failed")),
        "unknown": ("question", "warning", translate("agentic_qt", "End not known")),
        "abandoned": ("cancelled", "muted", translate("agentic_qt", "Given up")),
        "settled": ("check", "info", translate("agentic_qt", "Settled by hand")),
        "late_end": ("warning", "warning", translate("agentic_qt", "An end that came too late to count")),
        "refused": ("denied", "danger", translate("agentic_qt", "Refused")),
    }
    icon, tone, word = words.get(event, ("steps", "muted", exact(event)))
    return State(icon=icon, tone=tone, word=word)


def trouble(error: Exception) -> str:
    """Return what went wrong, and what a person can do about it; the words of an exception are for the log alone."""
    if not isinstance(error, CommandError):
        return translate("agentic_qt", "Something went wrong inside the application; its log says more.")
    if error.code in _CLOSED:
        return translate("agentic_qt", "It was decided or closed elsewhere meanwhile.")
    if error.code == "other_session":
        return translate("agentic_qt", "It belongs to another window that is open: decide there.")
    if error.code == "unreachable":
        return translate(
            "agentic_qt",
            "The service of commands cannot be reached. Nothing was changed; try again when it can be reached.",
        )
    if error.code in ("store_unusable", "store_too_new"):
        return translate(
            "agentic_qt", "The file of commands cannot be used here: {code}. Ask whoever looks after it."
        ).format(code=exact(error.code))
    words = translate(
        "agentic_qt", "The commands cannot be read or written now ({code}). Nothing was changed; try again."
    )
    return words.format(code=exact(error.code))


def ago_words(at: float, now: float) -> str:
    """Return how long ago a moment was, roughly; both in seconds since the epoch."""
    seconds = now - at
    if seconds < _MINUTE:
        return translate("agentic_qt", "just now")
    if seconds < _HOUR:
        return translate("agentic_qt", "{count} min ago").format(count=int(seconds // _MINUTE))
    if seconds < _DAY:
        return translate("agentic_qt", "{count} h ago").format(count=int(seconds // _HOUR))
    if seconds < 2 * _DAY:
        return translate("agentic_qt", "a day ago")
    return translate("agentic_qt", "{count} days ago").format(count=int(seconds // _DAY))


def moment_words(at: float) -> str:
    """Return a moment (seconds since the epoch) to the second, in local time."""
    moment = QDateTime.fromMSecsSinceEpoch(round(at * 1000))
    day = QLocale().toString(moment.date(), QLocale.FormatType.ShortFormat)
    return f"{day} {moment.toString('HH:mm:ss')}"


_LOOKS: dict[Status, tuple[str, Tone]] = {
    Status.DENIED: ("denied", "warning"),
    Status.FORBIDDEN: ("lock", "danger"),
    Status.CANCELLED: ("cancelled", "muted"),
    Status.UNKNOWN: ("question", "warning"),
    Status.STALE: ("warning", "warning"),
    Status.BUSY: ("waiting", "warning"),
    Status.UNAVAILABLE: ("warning", "warning"),
}


def _state_of_code(code: str) -> State | None:
    """Return what a code of the service says to people, where that is more than the status says."""
    if code == Code.VERSION_CONFLICT:
        words = translate("agentic_qt", "Somebody else changed it first, so nothing was written.")
        return State(icon="warning", tone="warning", word=translate("agentic_qt", "Changed meanwhile"), sentence=words)
    if code == Code.ABANDONED:
        words = translate("agentic_qt", "It did not happen, and cannot happen any more.")
        return State(icon="cancelled", tone="muted", word=translate("agentic_qt", "Given up"), sentence=words)
    if code == Code.NOT_HAPPENED:
        words = translate("agentic_qt", "Somebody has looked: it did not happen.")
        return State(icon="cancelled", tone="muted", word=translate("agentic_qt", "Did not happen"), sentence=words)
    if code == Code.CONSTRAINT:
        words = translate("agentic_qt", "The data do not allow it; nothing was written.")
        return State(icon="cross", tone="danger", word=translate("agentic_qt", "Failed"), sentence=words)
    if code == Code.HANDLER_ERROR:
        words = translate("agentic_qt", "Something went wrong inside the application; nothing was written.")
        return State(icon="cross", tone="danger", word=translate("agentic_qt", "Failed"), sentence=words)
    if code == Code.DENIED:
        words = translate("agentic_qt", "You may not do that here; nothing was written.")
        return State(icon="lock", tone="danger", word=translate("agentic_qt", "Not allowed"), sentence=words)
    return None


def _why(code: str, hint: str) -> str:
    """The application's own code and words, to the letter."""
    return " ".join(filter(None, (exact(hint), f"({exact(code)})" if code else "")))
