"""Asking a person: requests, decisions and the headless queue between the pipeline and whatever shows them.

An approval is bound to the SHA-256 digest of the call's RFC 8785 canonical JSON. Anything but an explicit, matching,
unexpired decision denies. The queue shows nothing: views attach to it and see the same requests, and one decision
closes all.
"""

import asyncio
import itertools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from agentic_qt.core.capability import Risk, Target
from agentic_qt.core.events import Observers
from agentic_qt.core.grants import Grants, Scope

DEFAULT_EXPIRY = 1800.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalRequest:
    """What a person is asked: everything that a view needs, and nothing that the model could have dressed up.

    Args:
        id: Of this request.
        call_id: Of the call that waits.
        name: The capability's name.
        title: "Verb object", from the declaration.
        description: The capability's, from the declaration.
        target: The living owner that is meant, or None.
        risk: Never ``read``.
        input: The parsed canonical input: exactly what the handler will get.
        payload: The canonical JSON of ``{name, targetId, input}``; the text whose digest is signed.
        digest: SHA-256 of `payload`, hexadecimal.
        facts: What `preview` returned, or None.
        facts_digest: SHA-256 of the canonical facts.
        undoable: As declared; None when not said.
        reason: The model's own words; a view marks them as such.
        scopes: The scopes that may be chosen.
        client: Which client called.
        actor: Who acts.
        run: The agent run.
        input_schema: For labels and for editing.
        requested_at: Seconds since the epoch.
        remember_for: The longest that policy lets a yes be remembered, in seconds; None for no limit.
        max_uses: The most calls that policy lets run by a remembered yes; None for no limit.
    """

    id: str
    call_id: str
    name: str
    title: str
    description: str
    target: Target | None
    risk: Risk
    input: Mapping[str, Any]
    payload: str
    digest: str
    facts: Any
    facts_digest: str
    undoable: bool | None
    reason: str
    scopes: tuple[Scope, ...]
    client: str | None
    actor: str | None
    run: str | None
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    requested_at: float = 0.0
    remember_for: float | None = None
    max_uses: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    """A decision on one request.

    Args:
        request_id: Of the request that was decided.
        digest: Of the payload that was seen; must be the request's.
        granted: True only when a person (or a declared approver) said yes.
        code: When not granted: ``person``, ``expired``, ``window_closed``, ``no_approver``, ``approval_error``,
            ``policy`` or ``cancelled``.
        reason: The person's words; they reach the model.
        scope: What a yes covers.
        decided_at: Seconds since the epoch.
        expires_at: A yes is worth nothing after this; seconds since the epoch.
        input: What the person made of the input, when it was edited: a new input with a new digest.
        remember_for: How long a yes beyond ``once`` is remembered, in seconds from now; None for no limit of its own.
        max_uses: How many calls may run by it; None for no limit of its own.
    """

    request_id: str
    digest: str
    granted: bool
    code: str = ""
    reason: str = ""
    scope: Scope = Scope.ONCE
    decided_at: float = 0.0
    expires_at: float = float("inf")
    input: Mapping[str, Any] | None = None
    remember_for: float | None = None
    max_uses: int | None = None


class ApprovalChange(StrEnum):
    """What happened to a request."""

    ADDED = "added"
    EXTENDED = "extended"
    SETTLED = "settled"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalEvent:
    """Told to views: `approval` is there once the request is settled."""

    change: ApprovalChange
    request: ApprovalRequest
    approval: Approval | None = None


class _Pending:
    __slots__ = ("expires_at", "future", "request")

    def __init__(self, request: ApprovalRequest, expires_at: float, future: "asyncio.Future[Approval]") -> None:
        self.request = request
        self.expires_at = expires_at
        self.future = future


class ApprovalQueue:
    """The pending requests of one registry, and the decisions on them.

    Args:
        expiry: Seconds until an unanswered request is denied with the code ``expired``.
        clock: Seconds since the epoch.
    """

    def __init__(self, *, expiry: float = DEFAULT_EXPIRY, clock: Callable[[], float] = time.time) -> None:
        self.expiry = expiry
        self.grants = Grants(clock)
        self._clock = clock
        self._pending: dict[str, _Pending] = {}
        self._numbers = itertools.count(1)
        self._views = 0
        self._observers: Observers[ApprovalEvent] = Observers()
        self._timer_loop: asyncio.AbstractEventLoop | None = None
        self._timer_at = math.inf

    @property
    def pending(self) -> tuple[ApprovalRequest, ...]:
        """The requests that wait for a person, oldest first."""
        return tuple(entry.request for entry in self._pending.values())

    @property
    def has_approver(self) -> bool:
        """Whether any view that can decide is attached."""
        return self._views > 0

    def attach(self, view: Callable[[ApprovalEvent], None]) -> Callable[[], None]:
        """Attach a view that can show requests to a person and decide them; it is told of each change.

        Without one, every request is denied with the code ``no_approver``. Returns a function that detaches the view;
        when the last one leaves, what is pending is denied with the code ``window_closed``.
        """
        remove = self._observers.add(view)
        self._views += 1
        is_attached = True

        def detach() -> None:
            nonlocal is_attached
            if not is_attached:
                return
            is_attached = False
            remove()
            self._views -= 1
            if not self._views:
                self.deny_all(code="window_closed", reason="The window that asks was closed.")

        return detach

    def observe(self, callback: Callable[[ApprovalEvent], None]) -> Callable[[], None]:
        """Tell `callback` of each change without making it an approver; returns a function that ends it."""
        return self._observers.add(callback)

    def next_id(self) -> str:
        """Return an id for a new request."""
        return f"a{next(self._numbers)}"

    async def ask(self, request: ApprovalRequest) -> Approval:
        """Wait for the decision on `request`; cancelling the wait withdraws the request from every view."""
        if not self.has_approver:
            return self._denial(request, "no_approver", "Nobody is there who could approve this.")
        loop = asyncio.get_running_loop()
        entry = _Pending(request, self._clock() + self.expiry, loop.create_future())
        self._pending[request.id] = entry
        self._arm(loop)
        try:
            self._observers.tell(ApprovalEvent(change=ApprovalChange.ADDED, request=request))
            return await entry.future
        finally:
            # Still there only when the wait was cancelled: the views must close it.
            self._settle(entry, self._denial(request, "cancelled", "The call was stopped."))

    def approve(
        self,
        request: ApprovalRequest | str,
        *,
        scope: Scope | str = Scope.ONCE,
        remember_for: float | None = None,
        max_uses: int | None = None,
    ) -> bool:
        """Say yes to a pending request.

        Args:
            request: The request as it was shown, or its id.
            scope: What the yes covers; must be one of the request's scopes.
            remember_for: How long it is remembered, in seconds; policy may allow less.
            max_uses: How many calls may run by it; policy may allow fewer.

        Returns:
            Whether the decision counted: False when the request is not pending any more or differs from the pending
            one.

        Raises:
            ValueError: The scope is not offered for this request, or a limit is not positive.
        """
        entry = self._find(request)
        if entry is None:
            return False
        scope = Scope(scope)
        if scope not in entry.request.scopes:
            raise ValueError(f"scope {scope.value!r} is not offered for {entry.request.name!r}")
        if (remember_for is not None and not remember_for > 0) or (max_uses is not None and max_uses < 1):
            raise ValueError("remember_for and max_uses are positive, or None for no limit")
        now = self._clock()
        if now >= entry.expires_at:
            self._expire(entry)
            return False
        return self._settle(
            entry,
            Approval(
                request_id=entry.request.id,
                digest=entry.request.digest,
                granted=True,
                scope=scope,
                decided_at=now,
                expires_at=entry.expires_at,
                remember_for=remember_for,
                max_uses=max_uses,
            ),
        )

    def edit(self, request: ApprovalRequest | str, new_input: Mapping[str, Any]) -> bool:
        """Answer with another input: the pipeline checks it from the start and asks again, with a new digest."""
        entry = self._find(request)
        if entry is None:
            return False
        return self._settle(entry, replace(self._denial(entry.request, "edited", ""), input=dict(new_input)))

    def deny(self, request: ApprovalRequest | str, reason: str = "", *, code: str = "person") -> bool:
        """Say no to a pending request; the reason reaches the model. Returns whether the decision counted."""
        entry = self._find(request)
        return entry is not None and self._settle(entry, self._denial(entry.request, code, reason))

    def deny_all(self, reason: str = "", *, code: str = "person") -> None:
        """Say no to everything that is pending."""
        for entry in tuple(self._pending.values()):
            self._settle(entry, self._denial(entry.request, code, reason))

    def extend(self, request: ApprovalRequest | str) -> bool:
        """Start the expiry of a pending request anew ("keep waiting"); returns whether it was still pending."""
        entry = self._find(request)
        if entry is None:
            return False
        entry.expires_at = self._clock() + self.expiry  # the timer that is under way sees it and goes on
        self._observers.tell(ApprovalEvent(change=ApprovalChange.EXTENDED, request=entry.request))
        return True

    def expires_at(self, request: ApprovalRequest | str) -> float | None:
        """Return when a pending request expires, in seconds since the epoch."""
        entry = self._find(request)
        return None if entry is None else entry.expires_at

    def _find(self, request: ApprovalRequest | str) -> _Pending | None:
        if isinstance(request, str):
            return self._pending.get(request)
        entry = self._pending.get(request.id)
        return entry if entry is not None and entry.request == request else None

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        """Keep one timer for all requests: one for each would hold what was decided until its expiry."""
        if self._timer_loop is not loop:  # the first, or the loop of before is gone
            self._timer_loop, self._timer_at = loop, math.inf
        soonest = min(entry.expires_at for entry in self._pending.values())
        when = loop.time() + max(soonest - self._clock(), 0.0)
        if when < self._timer_at:
            self._timer_at = when
            loop.call_at(when, self._sweep, loop, when)

    def _sweep(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if loop is not self._timer_loop:
            return
        if when == self._timer_at:
            self._timer_at = math.inf
        for entry in tuple(self._pending.values()):
            if self._clock() >= entry.expires_at:
                self._expire(entry)
        if self._pending:
            self._arm(loop)

    def _expire(self, entry: _Pending) -> None:
        self._settle(entry, self._denial(entry.request, "expired", "Nobody answered in time."))

    def _settle(self, entry: _Pending, approval: Approval) -> bool:
        if self._pending.pop(entry.request.id, None) is None:
            return False
        if not entry.future.done() and not entry.future.get_loop().is_closed():
            entry.future.set_result(approval)
        self._observers.tell(ApprovalEvent(change=ApprovalChange.SETTLED, request=entry.request, approval=approval))
        return True

    def _denial(self, request: ApprovalRequest, code: str, reason: str) -> Approval:
        return Approval(
            request_id=request.id,
            digest=request.digest,
            granted=False,
            code=code,
            reason=reason,
            decided_at=self._clock(),
        )
