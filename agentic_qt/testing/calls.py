"""One capability through the whole real pipeline: gates, approval, run, seal."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent, ApprovalQueue
from agentic_qt.core.call import Call, Outcome
from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry


async def call_capability(
    capability: Capability,
    input: Mapping[str, Any] | None = None,  # noqa: A002 - the word of `Call`
    *,
    permission: bool | Callable[[Call, Capability], Any] = True,
    confirm: Literal["approve", "deny"] = "approve",
    actor: str | None = None,
    client: str | None = "test",
) -> Outcome:
    """Run a capability in a registry of its own, with somebody there who approves or denies at once.

    Nothing is skipped: a read is not asked about, and an input that breaks the schema is `invalid` before
    anybody is asked.

    Args:
        capability: What to run.
        input: A JSON object.
        permission: Whether the actor may, or the hook that says so.
        confirm: What the person answers.
        actor: Who acts.
        client: Which client calls.

    Raises:
        DeclarationError: The capability is malformed.
        ValueError: `confirm` is neither of its two words.
    """
    if confirm not in ("approve", "deny"):
        raise ValueError(f'confirm must be "approve" or "deny", not {confirm!r}')
    queue = ApprovalQueue()

    def decide(event: ApprovalEvent) -> None:
        if event.change is not ApprovalChange.ADDED:
            return
        if confirm == "approve":
            queue.approve(event.request)
        else:
            queue.deny(event.request)

    hook = permission if callable(permission) else lambda _call, _capability: permission
    registry = Registry(approvals=queue, permission=hook)
    detach = queue.attach(decide)
    registration = registry.register(capability)
    try:
        return await registry.execute(
            Call(
                name=capability.name,
                input={} if input is None else input,
                target_id=registration.target_id,
                revision=registry.revision,
                actor=actor,
                client=client,
            )
        )
    finally:
        registration.dispose()
        detach()
