"""One request without a person at the window: the same window, assistant and pipeline, told as a transcript.

What changed is found by comparing the database before and after, not by believing the model or the outcomes.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_qt.client.agent import Agent
from agentic_qt.client.events import (
    AgentEvent,
    CallFinished,
    CallStarted,
    MessageFinished,
    RunEnd,
    RunEndReason,
)
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent, ApprovalRequest
from agentic_qt.core.events import AuditEvent
from agentic_qt.core.registry import Registry
from agentic_qt.ui.approval.text import exact
from agentic_qt.ui.assistant import Assistant
from examples.crm.approvers import attach_approver
from examples.crm.chat_model import Chosen
from examples.crm.database_diff import changes, in_words, tables
from examples.crm.terminal import terminal
from examples.crm.window import CrmWindow

DONE, FAILED, NOTHING_DONE = 0, 1, 3
_FAILURES = (RunEndReason.ERROR, RunEndReason.CUT_STREAM)
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Errand:
    """What a headless run shall do.

    Args:
        request: The person's words.
        approve: ``"ask"``, ``"all"`` or ``"none"``.
        screenshot: Where to put a picture of the window at the end.
        report: Where to put everything as JSON.
        approval_screenshot: Where to put a picture of the window while the first approval waits.
    """

    request: str
    approve: str
    screenshot: Path | None = None
    report: Path | None = None
    approval_screenshot: Path | None = None


class _Record:
    """Collects what happens and prints it as it comes."""

    def __init__(self, registry: Registry, say: Say) -> None:
        self._registry, self._say = registry, say
        self.calls: dict[str, dict[str, Any]] = {}
        self.approvals: list[dict[str, Any]] = []
        self.audit: list[dict[str, Any]] = []

    def told_by_agent(self, event: AgentEvent) -> None:
        if isinstance(event, CallStarted):
            self._started(event)
        elif isinstance(event, CallFinished):
            self._finished(event)
        elif isinstance(event, MessageFinished) and event.text:
            self._say(f"assistant: {exact(event.text)}")

    def told_by_queue(self, event: ApprovalEvent) -> None:
        if event.change is not ApprovalChange.SETTLED or event.approval is None:
            return
        request, approval = event.request, event.approval
        self.approvals.append(
            {
                "call_id": request.call_id,
                "name": request.name,
                "input": dict(request.input),
                "facts": request.facts,
                "digest": request.digest,
                "granted": approval.granted,
                "code": approval.code,
                "reason": approval.reason,
                "scope": approval.scope.value if approval.granted else None,
            }
        )
        verdict = "approved" if approval.granted else f"denied ({approval.code})"
        self._say(f"approval {request.id}: {verdict}" + (f": {exact(approval.reason)}" if approval.reason else ""))

    def told_by_audit(self, event: AuditEvent) -> None:
        self.audit.append(event.as_dict())

    @property
    def done(self) -> bool:
        """Whether a change was carried out or, when none was tried, something was looked up or shown."""
        risky = [call for call in self.calls.values() if call["risk"] != "read"]
        return any(call["status"] == "ok" for call in risky or self.calls.values())

    def _started(self, event: CallStarted) -> None:
        call = event.call
        places = {} if call is None else self._registry.places(call.name)
        risk = next((place.capability.effective_risk.value for place in places.values()), "")
        name = event.tool_call.name if call is None else call.name
        given: Any = event.tool_call.arguments if call is None else dict(call.input)
        self.calls[event.call_id] = {"id": event.call_id, "name": name, "input": given, "risk": risk, "status": ""}
        self._say(f"call {exact(name)} {exact(json.dumps(given, ensure_ascii=False))}")

    def _finished(self, event: CallFinished) -> None:
        outcome = event.outcome
        record = self.calls.setdefault(
            event.call_id, {"id": event.call_id, "name": event.tool_call.name, "input": None, "risk": ""}
        )
        record |= {
            "status": outcome.status.value,
            "code": outcome.code,
            "hint": outcome.hint,
            "data": outcome.data,
        }
        detail = outcome.hint or json.dumps(outcome.data, ensure_ascii=False)
        code = f" ({outcome.code})" if outcome.code else ""
        self._say(f"outcome {outcome.status.value}{code}: {exact(detail)}")


async def run_errand(
    errand: Errand, *, window: CrmWindow, assistant: Assistant, agent: Agent, chosen: Chosen, say: Say
) -> int:
    """Carry out one request and tell of it.

    Returns:
        0 when the run ended and something was done, 3 when nothing was, 1 on an error.
    """
    registry = assistant.registry
    record = _Record(registry, say)
    say(f"model: {chosen.chat_model.label} at {chosen.chat_model.host} ({chosen.badge})")
    say(f"you: {exact(errand.request)}")
    before = tables(window.store)

    async def picture_of_approval(request: ApprovalRequest) -> None:
        if errand.approval_screenshot is not None and request.id == registry.approvals.pending[0].id:
            await _take_picture(window, assistant, errand.approval_screenshot)

    undo = [
        agent.observe(record.told_by_agent),
        registry.audit(record.told_by_audit),
        registry.approvals.observe(record.told_by_queue),
        attach_approver(registry.approvals, errand.approve, say, terminal(), before=picture_of_approval),
    ]
    try:
        end = await agent.run(errand.request)
    finally:
        for detach in undo:
            detach()
    changed = changes(before, tables(window.store))
    code = _exit_code(end, done=record.done)
    _tell_end(end, changed, say)
    if errand.screenshot is not None:
        await _take_picture(window, assistant, errand.screenshot)
    if errand.report is not None:
        report = _report(errand, chosen, end, record, changed, code)
        errand.report.write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return code


def _exit_code(end: RunEnd, *, done: bool) -> int:
    if end.reason in _FAILURES:
        return FAILED
    return DONE if done else NOTHING_DONE


def _tell_end(end: RunEnd, changed: list[dict[str, Any]], say: Say) -> None:
    if changed:
        say("changed in the database:")
        for change in changed:
            for line in in_words(change):
                say(f"  {exact(line)}")
    else:
        say("changed in the database: nothing")
    if end.error is not None:
        say(f"error: {end.error.code}. {exact(end.error.message)} {end.error.remedy}".rstrip())
    say(f"run ended: {end.reason.value}")


async def _take_picture(window: CrmWindow, assistant: Assistant, path: Path) -> None:
    await assistant.shown()
    path.parent.mkdir(parents=True, exist_ok=True)
    if not window.grab().save(str(path)):
        raise OSError(f"The picture could not be written to {path}")


def _report(
    errand: Errand,
    chosen: Chosen,
    end: RunEnd,
    record: _Record,
    changed: list[dict[str, Any]],
    code: int,
) -> dict[str, Any]:
    model = chosen.chat_model
    return {
        "request": errand.request,
        "model": {"label": model.label, "host": model.host, "badge": chosen.badge},
        "approve": errand.approve,
        "calls": list(record.calls.values()),
        "approvals": record.approvals,
        "changes": changed,
        "end": {
            "reason": end.reason.value,
            "text": end.text,
            "turns": end.turns,
            "error": None if end.error is None else end.error.code,
        },
        "audit": record.audit,
        "done": record.done,
        "exit_code": code,
    }
