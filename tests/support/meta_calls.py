"""Calls of the meta-capabilities, for tests."""

from typing import Any

from agentic_qt import Registry
from agentic_qt.core.call import Call
from agentic_qt.core.meta import EXECUTE


def execute(name: str, planned: int, given: Any = None, target: str | None = None, /, **fields: Any) -> Call:
    """A call of agent.execute."""
    asked: dict[str, Any] = {"name": name, "revision": planned}
    if given is not None:
        asked["input"] = given
    if target is not None:
        asked["target"] = target
    return Call(name=EXECUTE, input=asked, **fields)


def recording(ran: list[str]) -> Any:
    """A handler that notes its text."""

    def handler(text: str) -> None:
        ran.append(text)

    return handler


async def data(registry: Registry, capability: str, /, **given: Any) -> Any:
    outcome = await registry.execute(Call(name=capability, input=given))
    assert outcome.ok, outcome
    return outcome.data
