"""Three fixed steps in place of a chat model, for machines that have none; it understands nothing."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentic_qt.client.chat_model import Delta, ToolCallDelta
from agentic_qt.protocol.names import to_wire


@dataclass(frozen=True, kw_only=True)
class _Step:
    words: str
    name: str
    input: Mapping[str, str]


_STEPS = (
    _Step(
        words="I change an e-mail address. It needs your approval.",
        name="customer.update",
        input={"customer": "Ada Lovelace", "field": "email", "value": "ada@example.com"},
    ),
    _Step(
        words="I look for customers. It changes nothing, so nobody is asked.",
        name="customers.search",
        input={"query": "London", "status": "active"},
    ),
    _Step(
        words="I try to delete a customer who has open orders. The application's own rule refuses it.",
        name="customer.delete",
        input={"customer": "Grace Hopper"},
    ),
)


class TourModel:
    """A `ChatModel` without a model: each message gets the next of three steps, whatever it says."""

    @property
    def label(self) -> str:
        """What the status line shows."""
        return "Scripted tour, no AI"

    @property
    def host(self) -> str:
        """Where it is."""
        return "local"

    async def stream(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> AsyncIterator[Delta]:
        """Yield the next step, or a closing word when the step has been taken."""
        asked = sum(message["role"] == "user" for message in messages)
        number = (asked - 1) % len(_STEPS)
        step = _STEPS[number]
        heading = f"Scripted tour (no AI), step {number + 1} of {len(_STEPS)}"
        wire_name = to_wire(step.name)
        offered = any(tool["function"]["name"] == wire_name for tool in tools)
        if messages[-1]["role"] == "tool":
            answer = "Done." if _went_well(messages[-1]) else "It was not done; the card says why."
            yield Delta(text=f"{answer} Send anything for the next step.")
        elif not offered:
            yield Delta(text=f"{heading}: {step.name} cannot be used now.")
        else:
            yield Delta(text=f"{heading}. {step.words}")
            yield Delta(
                tool_calls=(
                    ToolCallDelta(index=0, id=f"tour_{asked}", name=wire_name, arguments=json.dumps(dict(step.input))),
                )
            )
            yield Delta(finish_reason="tool_calls", done=True)
            return
        yield Delta(finish_reason="stop", done=True)

    async def aclose(self) -> None:
        """There is nothing to let go of."""


def _went_well(message: Mapping[str, Any]) -> bool:
    return bool(json.loads(message["content"]).get("status") == "ok")
