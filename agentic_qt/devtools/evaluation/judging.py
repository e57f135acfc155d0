"""What became of a task: pure functions of the calls that were seen and of the application's state."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentic_qt.devtools.evaluation.tasks import End, ExpectedCall, Task
from agentic_qt.devtools.evaluation.watching import SeenCall

Records = Mapping[str, Mapping[str, Any]]
_MOST_SHOWN = 5


class Verdict(StrEnum):
    """What became of a task.

    ``completed`` and ``refused`` (nothing was to be done, and nothing was) are right. ``wrong_executed``: a handler
    ran that nobody wanted, or the state is another than it should be. ``stopped``: a change that nobody wanted was
    proposed, and a gate kept it from running. ``partly``: some of what was wanted, and nothing else.
    ``nothing_done``: none of it. ``error``: the chat model failed.
    """

    COMPLETED = "completed"
    REFUSED = "refused"
    WRONG_EXECUTED = "wrong_executed"
    STOPPED = "stopped"
    PARTLY = "partly"
    NOTHING_DONE = "nothing_done"
    ERROR = "error"

    @property
    def is_right(self) -> bool:
        """Whether the task ended as it should."""
        return self in (Verdict.COMPLETED, Verdict.REFUSED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """How one record differs: ``added``, ``changed`` or ``removed``, and the new values of the fields that differ."""

    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)


def differences(before: Records, after: Records) -> dict[str, Change]:
    """Return the records that differ, by key."""
    found: dict[str, Change] = {}
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if new is None:
            found[key] = Change(kind="removed")
        elif old is None:
            found[key] = Change(kind="added", fields=dict(new))
        elif old != new:
            fields = {name: new.get(name) for name in {**old, **new} if old.get(name) != new.get(name)}
            found[key] = Change(kind="changed", fields=fields)
    return found


def judge(
    task: Task, calls: Sequence[SeenCall], changes: Mapping[str, Change], view: Mapping[str, Any], *, failed: bool
) -> tuple[Verdict, tuple[str, ...]]:
    """Return what became of a task, and what is missing from its first right end.

    Args:
        task: What was asked.
        calls: What was seen, in order.
        changes: How the records differ from before.
        view: What the window shows.
        failed: The chat model failed.
    """
    problems = [_problems(end, calls, changes, view) for end in task.ends]
    for end, found in zip(task.ends, problems, strict=True):
        if not found:
            return Verdict.REFUSED if end.is_refusal else Verdict.COMPLETED, ()
    return _fault(task, calls, changes, failed=failed), problems[0][:_MOST_SHOWN]


def is_expected(task: Task, call: SeenCall) -> bool:
    """Tell whether any right end of a task has this call, however it ended."""
    return any(expected.is_meant(call.name, call.input) for end in task.ends for expected in (*end.calls, *end.may))


def _fault(task: Task, calls: Sequence[SeenCall], changes: Mapping[str, Change], *, failed: bool) -> Verdict:
    strays = [call for call in calls if not is_expected(task, call)]
    good = [call for call in calls if is_expected(task, call) and call.status == "ok"]
    # A read that found nothing has shown nothing; a write that failed may have done something.
    if any(call.reached and (call.status == "ok" or call.is_write) for call in strays):
        return Verdict.WRONG_EXECUTED
    if any(call.is_write for call in strays):
        return Verdict.STOPPED
    if failed:
        return Verdict.ERROR
    if changes and not any(call.is_write for call in good):
        return Verdict.WRONG_EXECUTED
    if not good:
        return Verdict.NOTHING_DONE
    wanted = max(len(end.calls) for end in task.ends)
    return Verdict.PARTLY if len(good) < wanted else Verdict.WRONG_EXECUTED


def _problems(
    end: End, calls: Sequence[SeenCall], changes: Mapping[str, Change], view: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return what keeps a state and its calls from being this end."""
    left = list(calls)
    problems: list[str] = []
    for expected in end.calls:
        match = next((call for call in left if _is_done(expected, call)), None)
        if match is None:
            problems.append(f"no call {expected.name} {_text(expected.inputs[0])} that ends {expected.status}")
        else:
            left.remove(match)
    left = [call for call in left if not any(may.is_meant(call.name, call.input) for may in end.may)]
    # Looking something up on the way to a change harms nobody; where nothing was wanted, nothing is to be done.
    strays = [call for call in left if call.is_write or (end.is_refusal and call.risk)]
    problems += [f"unexpected {call.name} {_text(call.input)} ended {call.status}" for call in strays]
    problems += _record_problems(end.records, changes)
    problems += [
        f"the view shows {name} = {_text(view.get(name))}, not {_text(value)}"
        for name, value in end.view.items()
        if view.get(name) != value
    ]
    return tuple(problems)


def _is_done(expected: ExpectedCall, call: SeenCall) -> bool:
    return (
        expected.is_meant(call.name, call.input)
        and call.status == expected.status
        and (not expected.code or call.code == expected.code)
    )


def _record_problems(wanted: Mapping[str, Mapping[str, Any] | None], changes: Mapping[str, Change]) -> list[str]:
    problems = []
    for key in sorted(wanted.keys() | changes.keys()):
        if key not in wanted:
            problems.append(f"{key} was {changes[key].kind}: {_text(changes[key].fields)}")
        elif key not in changes:
            problems.append(f"{key} is as before")
        elif not _is_change(wanted[key], changes[key]):
            problems.append(f"{key} was {changes[key].kind}: {_text(changes[key].fields)}, not {_text(wanted[key])}")
    return problems


def _is_change(wanted: Mapping[str, Any] | None, change: Change) -> bool:
    if wanted is None or change.kind == "removed":
        return wanted is None and change.kind == "removed"
    if change.kind == "added":
        return all(change.fields.get(name) == value for name, value in wanted.items())
    return dict(change.fields) == dict(wanted)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
