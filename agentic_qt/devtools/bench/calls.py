"""What one call costs: the whole route, with every gate and audit event, against the bare work.

The floor is what any caller must do: parse the arguments, validate them, call the function.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent
from agentic_qt.core.call import Call
from agentic_qt.core.capability import Capability
from agentic_qt.core.events import AuditEvent
from agentic_qt.core.registry import Registry
from agentic_qt.devtools.bench.measuring import Row, take_turns
from agentic_qt.schema.validate import compile_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Order title"},
        "priority": {"type": "integer", "minimum": 1, "maximum": 5, "description": "1 low to 5 high"},
        "status": {"type": "string", "enum": ["draft", "open", "closed"], "description": "Workflow state"},
        "items": {
            "type": "array",
            "minItems": 1,
            "maxItems": 50,
            "description": "Order lines",
            "items": {
                "type": "object",
                "properties": {"sku": {"type": "string", "minLength": 1}, "qty": {"type": "integer", "minimum": 1}},
                "required": ["sku", "qty"],
                "additionalProperties": False,
            },
        },
        "note": {"type": ["string", "null"], "description": "Free text"},
    },
    "required": ["title", "priority", "status", "items"],
    "additionalProperties": False,
}
ARGUMENTS = json.dumps(
    {
        "title": "Spare parts for line 4",
        "priority": 3,
        "status": "open",
        "items": [{"sku": "A-100", "qty": 2}, {"sku": "B-200", "qty": 1}, {"sku": "C-300", "qty": 12}],
    }
)
LIMITS = {"read": 8.0, "mutating, remembered approval": 12.0}
Work = Callable[[int], Awaitable[None]]


def _sync(title: str, priority: int, status: str, items: list[Any], note: str | None = None) -> None: ...


async def _async(title: str, priority: int, status: str, items: list[Any], note: str | None = None) -> None: ...


def work() -> dict[str, Work]:
    """Return the rows; the first is the floor."""
    registry = Registry()
    _count_audit(registry)
    _approve_for_the_session(registry)
    plain = Capability(
        name="orders.create", description="Create an order.", input_schema=SCHEMA, risk="read", handler=_sync
    )
    declared = {
        "read": plain,
        "mutating, remembered approval": replace(plain, risk="mutating"),
        "read, async handler": replace(plain, handler=_async),
        "read, nested start": replace(plain, nested=True),
    }
    is_valid = compile_schema(SCHEMA).is_valid

    async def floor(times: int) -> None:
        for _ in range(times):
            arguments = json.loads(ARGUMENTS)
            if is_valid(arguments):
                _sync(**arguments)

    rows: dict[str, Work] = {"floor: json.loads + jsonschema-rs + call": floor}
    for number, (row, capability) in enumerate(declared.items()):
        name = f"orders.create_{number}"
        registry.register(replace(capability, name=name))
        rows[row] = _executing(registry, name)
    return rows


async def measure(rounds: int, repetitions: int, loop_name: str) -> list[Row]:
    """Measure the rows on the loop that runs this."""
    rows = work()
    base = next(iter(rows))
    found = await take_turns(rows, base=base, rounds=rounds, repetitions=repetitions)
    return [
        Row(
            name=f"{name} ({loop_name})",
            value=value,
            unit="us",
            ratio=ratio,
            base="floor",
            limit=LIMITS.get(name),
        )
        for name, (value, ratio) in found.items()
    ]


def measure_plain(rounds: int, repetitions: int) -> list[Row]:
    """Measure the rows on plain asyncio."""
    return asyncio.run(measure(rounds, repetitions, "asyncio"))


def _executing(registry: Registry, name: str) -> Work:
    async def execute(times: int) -> None:
        for _ in range(times):
            outcome = await registry.execute(Call(name=name, input=json.loads(ARGUMENTS)))
            if not outcome.ok:
                raise RuntimeError(f"{name} ended {outcome.status}: {outcome.hint}")

    return execute


def _count_audit(registry: Registry) -> None:
    """An observer, so that every audit event is really made."""
    count = 0

    def observe(_event: AuditEvent) -> None:
        nonlocal count
        count += 1

    registry.audit(observe)


def _approve_for_the_session(registry: Registry) -> None:
    def view(event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            registry.approvals.approve(event.request, scope="session")

    registry.approvals.attach(view)
