"""What earlier sessions left, as people are told of it: one value for each thing. No widget, and nothing is decided."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentic_qt.commands.desk import CommandDesk
from agentic_qt.commands.journal import OpenIntent
from agentic_qt.commands.recovery import Leftovers
from agentic_qt.commands.values import CommandResult, Proposal
from agentic_qt.core.registration import Registration
from agentic_qt.core.registry import Registry
from agentic_qt.ui.approval.payload import Section, content_sections
from agentic_qt.ui.approval.text import exact
from agentic_qt.ui.commands.command_words import State, state_of_result
from agentic_qt.ui.words import translate


class Kind(StrEnum):
    """What a person can do about it."""

    WAITING = "waiting"
    UNKNOWN = "unknown"
    SETTLED = "settled"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """One thing that was left.

    Args:
        key: Tells it from all others, whatever becomes of it.
        kind: What can be done about it.
        title: Verb and object, shown text.
        target: Which thing it is about, shown text, or empty.
        state: How it stands.
        note: What a person should know before deciding, or empty.
        sections: What it would do, or what it was to do.
        reason: The model's own words, shown text, or empty.
        actor: For whom, from the trusted session.
        at: When it was asked for, seconds since the epoch.
        proposal_id: Of the proposal, if there is one.
        intent_id: Of the interrupted call, if it is one.
        command_id: Of the command that was or may have been submitted; None while there is none.
    """

    key: str
    kind: Kind
    title: str
    target: str = ""
    state: State
    note: str = ""
    sections: tuple[Section, ...] = ()
    reason: str = ""
    actor: str | None = None
    at: float
    proposal_id: str = ""
    intent_id: int = 0
    command_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Content:
    """A proposal in the form in which approvals are shown."""

    input: Mapping[str, Any]
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    facts: Any = None


def describe_all(found: Leftovers, registry: Registry, desk: CommandDesk) -> tuple[Left, ...]:
    """Return everything that was found, what waits for the person first, each kind oldest first."""
    described = [
        *(_waiting(proposal, registry, desk) for proposal in found.waiting),
        *(_submitted(each.proposal, each.result, Kind.UNKNOWN, registry, desk) for each in found.unknown),
        *(_interrupted(each, registry) for each in found.interrupted),
        *(_submitted(each.proposal, each.result, Kind.SETTLED, registry, desk) for each in found.settled),
    ]
    return tuple(described)


def _waiting(proposal: Proposal, registry: Registry, desk: CommandDesk) -> Left:
    word = translate("agentic_qt", "Waits for you")
    note = ""
    if proposal.decided_by is not None:
        note = translate(
            "agentic_qt", "{name} had approved it. The application ended before it was done; nothing was changed."
        ).format(name=exact(proposal.decided_by))
    return _of_proposal(
        proposal,
        registry,
        desk,
        kind=Kind.WAITING,
        state=State(icon="waiting", tone="warning", word=word),
        note=note,
        command_id=proposal.command_id if proposal.decided_by is not None else None,
    )


def _submitted(proposal: Proposal, result: CommandResult, kind: Kind, registry: Registry, desk: CommandDesk) -> Left:
    if kind is Kind.SETTLED:
        state, note = state_of_result(result), ""
    else:
        word = translate("agentic_qt", "Submitted, and nobody can say yet")
        state = State(icon="question", tone="warning", word=word)
        note = translate(
            "agentic_qt",
            "It may have happened, or may still happen. Giving up puts a mark in its place, so that it cannot happen "
            "later; if it was faster, it counts and you are told.",
        )
    return _of_proposal(proposal, registry, desk, kind=kind, state=state, note=note, command_id=proposal.command_id)


def _of_proposal(proposal: Proposal, registry: Registry, desk: CommandDesk, **fields: Any) -> Left:
    name = proposal.capability or desk.capability_of(proposal.type)
    declared = _declared(registry, name)
    schema = {} if declared is None else declared.capability.input_schema
    given = json.loads(proposal.call_input or proposal.input)
    content = _Content(input=given, input_schema=schema, facts=proposal.facts)
    return Left(
        key=f"proposal:{proposal.proposal_id}",
        title=_title(declared, proposal.type),
        target=exact(proposal.target or ""),
        sections=tuple(section for section in content_sections(content) if section.rows),
        reason=exact(proposal.reason),
        actor=proposal.actor,
        at=proposal.created_at,
        proposal_id=proposal.proposal_id,
        **fields,
    )


def _interrupted(found: OpenIntent, registry: Registry) -> Left:
    intent = found.intent
    declared = _declared(registry, intent.name)
    schema = {} if declared is None else declared.capability.input_schema
    content = _Content(input=json.loads(intent.payload).get("input", {}), input_schema=schema)
    note = translate(
        "agentic_qt",
        "The application ended while it was under way. Please check in the application what became of it, and say so "
        "here. Your answer runs nothing.",
    )
    if found.command_id is not None:
        note = translate("agentic_qt", "The application ended before it was told what became of it.")
    word = translate("agentic_qt", "May or may not have happened")
    return Left(
        key=f"intent:{found.intent_id}",
        kind=Kind.INTERRUPTED if found.command_id is None else Kind.UNKNOWN,
        title=_title(declared, intent.name),
        target=exact(intent.target_id or ""),
        state=State(icon="question", tone="warning", word=word),
        note=note,
        sections=tuple(section for section in content_sections(content) if section.rows),
        actor=intent.actor,
        at=intent.at,
        intent_id=found.intent_id,
        command_id=found.command_id,
    )


def _declared(registry: Registry, name: str) -> Registration | None:
    return next(iter(registry.places(name).values()), None)


def _title(declared: Registration | None, name: str) -> str:
    return exact(name if declared is None else declared.capability.display_title)
