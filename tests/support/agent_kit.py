"""Small parts for tests of the agent: capabilities that note what ran, and a chat model that can be held."""

import asyncio
from typing import Any

from agentic_qt.client.chat_model import Delta
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry


def capability(name: str, handler: Any, *, risk: str = "read", **more: Any) -> Capability:
    """A capability that takes anything it is told in `properties`."""
    properties = more.pop("properties", {})
    input_schema = {
        "type": "object",
        "properties": properties,
        "required": more.pop("required", []),
        "additionalProperties": False,
    }
    return Capability(
        name=name, description=f"Do {name}.", input_schema=input_schema, risk=risk, handler=handler, **more
    )


def approving(registry: Registry) -> Registry:
    """Attach somebody who approves everything."""

    def decide(event: Any) -> None:
        if event.change is ApprovalChange.ADDED:
            registry.approvals.approve(event.request)

    registry.approvals.attach(decide)
    return registry


class HeldModel:
    """Streams what it is given, then waits for ever; `closed` is set when the stream was let go of."""

    label = "held"
    host = "local"

    def __init__(self, *deltas: Delta) -> None:
        self.deltas = deltas
        self.waiting = asyncio.Event()
        self.closed = asyncio.Event()

    async def stream(self, messages: Any, tools: Any) -> Any:
        try:
            for delta in self.deltas:
                yield delta
            self.waiting.set()
            await asyncio.Event().wait()
        finally:
            self.closed.set()

    async def aclose(self) -> None:
        pass
