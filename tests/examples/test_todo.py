"""The thirty lines of `examples.todo`, with a scripted model, the real pipeline and a real process."""

import asyncio
import sys
from pathlib import Path

import pytest

from agentic_qt import Assistant
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.testing.scripted import ScriptedModel, tool
from examples.todo import Todo

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples" / "todo.py"
SECONDS = 30

START_AND_CLOSE = """
import sys
from PySide6.QtCore import QTimer
import agentic_qt
from examples.todo import show

def main():
    window = show()
    QTimer.singleShot(0, window.close)
    return window

sys.exit(agentic_qt.run(main))
"""


@pytest.mark.parametrize(("answer", "items"), [("approve", ["Buy milk (!)"]), ("deny", [])])
async def test_assistant_adds_an_item_when_the_person_agrees(qapp, answer, items):
    window = Todo()
    model = ScriptedModel([tool("todo.add_todo", {"text": "Buy milk", "priority": "high"}), "Done."])
    assistant = Assistant.attach(window, chat_model=model)
    window.show()
    queue = assistant.registry.approvals

    def decide(event):
        if event.change is ApprovalChange.ADDED:
            asyncio.get_running_loop().call_soon(getattr(queue, answer), event.request)

    queue.observe(decide)
    await asyncio.wait_for(assistant.send("Add: buy milk, it is urgent"), SECONDS)
    assert [window.items.item(row).text() for row in range(window.items.count())] == items
    (offered,) = model.requests[0].tools
    assert offered["function"]["parameters"]["properties"]["priority"]["enum"] == ["low", "high"]
    assistant.detach()
    window.close()


def test_it_is_as_short_as_it_says():
    lines = [line for line in SOURCE.read_text().splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith(("import", "from"))]) <= 30


async def test_it_starts_and_ends_as_a_program():
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", START_AND_CLOSE),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = [line for line in err.decode().splitlines() if "propagateSizeHints" not in line]  # offscreen's own
    assert (process.returncode, out, said) == (0, b"", [])
