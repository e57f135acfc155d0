"""What a person may choose to have remembered with a yes, in words that say how far it goes and how long."""

import math
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from agentic_qt.core.approvals import ApprovalRequest
from agentic_qt.core.grants import Grant, Scope
from agentic_qt.ui.approval.payload import shortened, target_words

translate = QCoreApplication.translate

SHORT = 900.0
"""Seconds of the choice that ends by itself: long enough for one piece of work, too short to be forgotten."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One entry of the menu beside Approve.

    Args:
        scope: What it covers.
        seconds: How long; None for as long as the scope lasts.
        words: What it allows, for people.
    """

    scope: Scope
    seconds: float | None
    words: str


def choices(request: ApprovalRequest, title: str) -> tuple[Choice, ...]:
    """Return what may be remembered of a request, the narrowest first; `title` is shown text."""
    longest = math.inf if request.remember_for is None else request.remember_for
    offered: list[tuple[Scope, float | None]] = []
    for scope in request.scopes:
        if scope is Scope.SESSION and longest > SHORT:
            offered.append((scope, SHORT))
        if scope is not Scope.ONCE:
            offered.append((scope, None))
    subject, target = shortened(title), shortened(target_words(request))
    return tuple(
        Choice(
            scope=scope, seconds=seconds, words=scope_words(scope, subject, target, seconds) + _bounds(request, seconds)
        )
        for scope, seconds in offered
    )


def scope_words(scope: Scope, title: str, target: str, seconds: float | None = None) -> str:
    """Return what a remembered approval allows, for people; `title` and `target` are shown text."""
    words = {
        Scope.ONCE: translate("agentic_qt", "Allow once"),
        Scope.DIGEST: translate("agentic_qt", "Allow this exact call again"),
        Scope.RUN: translate("agentic_qt", "Allow “{title}” on {target} until this run ends"),
        Scope.SESSION: translate("agentic_qt", "Allow “{title}” on {target} until I close the application"),
    }[scope]
    if scope is Scope.SESSION and seconds is not None:
        words = translate("agentic_qt", "Allow “{title}” on {target} for {minutes} minutes")
    return words.format(
        title=title, target=target or translate("agentic_qt", "the application"), minutes=_minutes(seconds or 0)
    )


def left_words(grant: Grant, now: float) -> str:
    """Return what is left of a remembered approval that ends by itself: time, uses, or nothing to say."""
    parts = []
    if grant.expires_at != math.inf:
        left = grant.expires_at - now
        minutes = translate("agentic_qt", "{minutes} min left").format(minutes=_minutes(left))
        parts.append(minutes if left >= 60 else translate("agentic_qt", "less than a minute left"))
    if grant.uses_left is not None:
        parts.append(translate("agentic_qt", "uses left: {count}").format(count=grant.uses_left))
    return " · ".join(parts)


def _bounds(request: ApprovalRequest, seconds: float | None) -> str:
    """What the application's policy takes away from a choice."""
    parts = []
    if seconds is None and request.remember_for is not None:
        words = translate("agentic_qt", "at most {minutes} min")
        parts.append(words.format(minutes=_minutes(request.remember_for)))
    if request.max_uses is not None:
        parts.append(translate("agentic_qt", "at most {count} times").format(count=request.max_uses))
    return f" ({', '.join(parts)})" if parts else ""


def _minutes(seconds: float) -> int:
    return max(1, math.ceil(seconds / 60)) if math.isfinite(seconds) else 0
