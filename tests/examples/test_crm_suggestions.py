"""What the demo suggests, carried out by the real embedded model through the real window, pipeline and approvals."""

import asyncio

import pytest

from agentic_qt.client.events import CallFinished, CallStarted, RunEndReason
from agentic_qt.client.local import embedded_available
from agentic_qt.core.approvals import ApprovalChange
from examples.crm.app import build
from examples.crm.prompts import SUGGESTED

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.live,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not embedded_available(), reason="xllamacpp or the SmolLM2 wheel is not installed"),
]
SECONDS = 120
MEANT = {
    "Set the email of Ada Lovelace to ada@example.com": (
        "customer.update",
        {"customer": "Ada Lovelace", "field": "email", "value": "ada@example.com"},
    ),
    "Open Katherine Johnson": ("customer.open", {"customer": "Katherine Johnson"}),
    "Find the customers in Manchester": ("customers.search", {"query": "Manchester"}),
    "List the orders of Emmy Noether": ("orders.list", {"customer": "Emmy Noether"}),
    "Show only the leads": ("view.set_filter", {"status": "lead"}),
    "Mark order 1001 as paid": ("order.set_status", {"order": "1001", "status": "paid"}),
    "Delete the customer Alan Turing": ("customer.delete", {"customer": "Alan Turing"}),
    "Use the dark theme": ("app.set_theme", {"theme": "dark"}),
}


async def test_each_suggestion_is_done_by_the_embedded_model(qapp, backend, settings, monkeypatch):
    assert set(MEANT) == set(SUGGESTED)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    parts = build(backend, settings)
    window, assistant = parts.window, parts.assistant
    window.show()
    done = {}

    def asked(event):
        if event.change is ApprovalChange.ADDED:
            asyncio.get_running_loop().call_soon(assistant.registry.approvals.approve, event.request)

    assistant.registry.approvals.observe(asked)
    try:
        for prompt in SUGGESTED:
            calls, outcomes = [], []

            def told(event, calls=calls, outcomes=outcomes):
                if isinstance(event, CallStarted):
                    calls.append((event.call.name, dict(event.call.input)) if event.call else None)
                elif isinstance(event, CallFinished):
                    outcomes.append(event.outcome.status.value)

            remove = assistant.agent.observe(told)
            end = await asyncio.wait_for(assistant.send(prompt), SECONDS)
            remove()
            done[prompt] = (calls, outcomes, end.reason)
            assistant.agent.clear()
    finally:
        await parts.chosen.chat_model.aclose()
        assistant.detach()
        await parts.desk.close()
        window.show_theme("system")
        window.close()
    assert done == {prompt: ([call], ["ok"], RunEndReason.COMPLETED) for prompt, call in MEANT.items()}
    assert window.store.customer(1).email == "ada@example.com"
    assert window.store.order(1001).status == "paid"
    assert len(window.store.find_customers("Alan Turing")) == 0
