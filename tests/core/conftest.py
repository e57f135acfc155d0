"""The core knows no Qt: its tests run on plain asyncio."""

from collections.abc import Callable
from typing import Any

import pytest

from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent
from agentic_qt.core.events import AuditEvent
from agentic_qt.core.registry import Registry


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def audit(registry: Registry) -> list[AuditEvent]:
    events: list[AuditEvent] = []
    registry.audit(events.append)
    return events


@pytest.fixture
def answer(registry: Registry) -> Callable[[Callable[[Any], None]], list[Any]]:
    """Attach a view that answers each new request by the given function; returns the list of what was asked."""

    def attach(decide: Callable[[Any], None]) -> list[Any]:
        asked: list[Any] = []

        def view(event: ApprovalEvent) -> None:
            if event.change is ApprovalChange.ADDED:
                asked.append(event.request)
                decide(event.request)

        registry.approvals.attach(view)
        return asked

    return attach


@pytest.fixture
def approve(registry: Registry, answer: Any) -> list[Any]:
    return answer(registry.approvals.approve)


@pytest.fixture
def deny(registry: Registry, answer: Any) -> list[Any]:
    return answer(lambda request: registry.approvals.deny(request, "not today"))
