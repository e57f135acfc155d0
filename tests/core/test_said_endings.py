"""What a handler may say of its own end: a status where `failed` would be wrong, and the command it submitted."""

from typing import Any

import pytest

from agentic_qt import Call, CallContext, Capability, CapabilityError, Registry

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("status", "retry", "applied"),
    [("failed", "no", False), ("busy", "later", False), ("stale", "after_listing", False), ("forbidden", "no", False),
     ("unknown", "never", None), ("ok", "no", False), ("nonsense", "no", False)],
)  # fmt: skip
async def test_a_handler_says_how_it_ended_and_which_command_it_submitted(
    registry: Registry, approve: Any, status: str, retry: str, applied: Any
) -> None:
    def handler(ctx: CallContext) -> None:
        ctx.submits("c-7")
        raise CapabilityError("why", "Because.", status=status)

    registry.register(
        Capability(name="a.b", description="d", input_schema={"type": "object"}, risk="mutating", handler=handler)
    )
    outcome = await registry.execute(Call(name="a.b", id="1"))
    expected = "failed" if status in ("ok", "nonsense") else status
    assert (outcome.status, outcome.code, outcome.command_id) == (expected, "why", "c-7")
    assert (outcome.retry, outcome.applied) == (retry, applied)


async def test_a_read_is_never_unknown(registry: Registry) -> None:
    def handler() -> None:
        raise CapabilityError("why", status="unknown")

    registry.register(
        Capability(name="a.b", description="d", input_schema={"type": "object"}, risk="read", handler=handler)
    )
    assert (await registry.execute(Call(name="a.b"))).status == "failed"
