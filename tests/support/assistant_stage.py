"""A window with an assistant for tests: a few capabilities, a scripted chat model, bounded waits."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMainWindow

from agentic_qt.core.capability import Capability
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.registry import Registry
from agentic_qt.testing.scripted import ScriptedModel
from agentic_qt.ui.assistant import Assistant
from agentic_qt.ui.cards import Card, CardGroup
from agentic_qt.ui.transcript import Transcript


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Turn the loop until `condition` holds; fails when it does not."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "the condition never held"
        await asyncio.sleep(0.001)
    return found


async def settled(transcript: Transcript) -> None:
    """Wait until the transcript shows everything it was given."""
    await until(lambda: transcript.idle)


def make_registry() -> Registry:
    """A registry with one capability of each risk, and one that fails and may be retried."""
    registry = Registry()

    def add(name: str, risk: str, handler: Any, title: str) -> None:
        schema = {
            "type": "object",
            "properties": {"customer": {"type": "string", "title": "Customer name"}},
            "required": ["customer"],
            "additionalProperties": False,
        }
        registry.register(
            Capability(name=name, description=title, input_schema=schema, risk=risk, handler=handler, title=title)
        )

    def fail(customer: str) -> None:
        raise CapabilityError("not_now", "The list is being rebuilt.", retryable=True)

    add("customer.find", "read", lambda customer: {"id": 7, "name": customer}, "Find customer")
    add("customer.mark", "mutating", lambda customer: {"marked": customer}, "Mark customer")
    add("orders.list", "read", fail, "List orders")
    return registry


class AssistantStage:
    """A main window with a field of its own and an assistant."""

    def __init__(self, turns: Any = (), **options: Any) -> None:
        self.window = QMainWindow()
        self.window.setWindowTitle("Customers")
        self.window.resize(900, 700)
        self.field = QLineEdit()
        self.window.setCentralWidget(self.field)
        self.model = None if turns is None else ScriptedModel(list(turns), label="test model")
        self.assistant = Assistant.attach(
            self.window, registry=options.pop("registry", None) or make_registry(), chat_model=self.model, **options
        )

    @property
    def transcript(self) -> Transcript:
        return self.assistant.panel.transcript

    @property
    def text(self) -> str:
        return self.transcript.toPlainText()

    @property
    def cards(self) -> list[Card]:
        groups = [content for content in self.transcript.contents if isinstance(content, CardGroup)]
        return [card for group in groups for card in group.cards]

    async def open(self) -> "AssistantStage":
        self.window.show()
        self.window.activateWindow()
        await until(self.window.isActiveWindow)
        return self

    async def say(self, text: str) -> None:
        """Write and send with real keys, and wait for the end of the run."""
        composer = self.assistant.panel.composer
        composer.field.setFocus()
        QTest.keyClicks(composer.field, text)
        QTest.keyClick(composer.field, Qt.Key.Key_Return)
        await until(lambda: self.assistant._talk.task is not None and self.assistant._talk.task.done())
        await settled(self.transcript)


def click_on(transcript: Transcript, words: str) -> None:
    """Click on words of the transcript with the mouse, where they stand."""
    cursor = transcript.document().find(words)
    while not cursor.isNull() and not cursor.charFormat().isAnchor():
        cursor = transcript.document().find(words, cursor)
    if cursor.isNull():  # words of an answer
        cursor = transcript.document().find(words)
    assert not cursor.isNull(), f"{words!r} is not shown"
    cursor.setPosition(cursor.selectionStart() + 1)
    place = transcript.cursorRect(cursor).center() + QPoint(1, 0)
    QTest.mouseClick(transcript.viewport(), Qt.MouseButton.LeftButton, pos=place)
