"""Whether the window stays alive while an answer streams in: the longest gap between two turns of the GUI's loop."""

import asyncio
import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow

from agentic_qt.client.chat_model import Delta
from agentic_qt.devtools.bench.measuring import Row
from agentic_qt.qt.loop import run
from agentic_qt.testing.scripted import ScriptedModel
from agentic_qt.ui.assistant import Assistant

CHUNKS = 2000
LIMIT_MS = 33.0
_BEAT_MS = 5


def measure() -> list[Row]:
    """Stream 2,000 chunks through the real agent into the real transcript and watch a 5 ms beat."""
    gaps: list[float] = []
    baseline: list[float] = []

    async def main() -> None:
        application = QApplication.instance()
        window = QMainWindow()
        window.resize(1100, 800)
        model = ScriptedModel([[Delta(text=piece) for piece in _pieces()]])
        assistant = Assistant.attach(window, chat_model=model)
        window.show()
        await _beat(baseline, asyncio.sleep(1.0))
        await _beat(gaps, assistant.send("Tell me everything."))
        window.close()
        del application

    run(main)
    return [
        Row(name="longest gap of an idle window", value=max(baseline), unit="ms"),
        Row(
            name=f"longest gap while {CHUNKS:,} chunks stream in",
            value=max(gaps),
            unit="ms",
            limit=LIMIT_MS,
        ),
    ]


async def _beat(gaps: list[float], work: object) -> None:
    last = time.perf_counter()

    def tick() -> None:
        nonlocal last
        now = time.perf_counter()
        gaps.append((now - last) * 1000)
        last = now

    timer = QTimer()
    timer.setInterval(_BEAT_MS)
    timer.timeout.connect(tick)
    timer.start()
    try:
        await work  # type: ignore[misc]
    finally:
        timer.stop()


def _pieces() -> list[str]:
    """Markdown as chat models write it: headings, lists, code and prose, in chunks of a few characters."""
    text = (
        "## Orders of this week\n\nThere are **twelve** orders; three of them are *late*. The list:\n\n"
        "- 1001: spare parts, `open`\n- 1002: filters, `closed`\n\n```python\nfor order in orders:\n"
        "    print(order.number, order.status)\n```\n\n> Ask before you delete.\n\n"
    )
    size = 6
    whole = text * (CHUNKS * size // len(text) + 1)
    return [whole[start : start + size] for start in range(0, CHUNKS * size, size)]
