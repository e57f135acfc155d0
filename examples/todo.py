"""The whole library in thirty lines: run ``python -m examples.todo``."""

import os
import sys
from typing import Literal

from PySide6.QtWidgets import QApplication, QListWidget, QMainWindow

import agentic_qt
from agentic_qt.client.openai import OpenAIChatModel


class Todo(QMainWindow):
    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle("Todo")
        self.items = QListWidget()
        self.setCentralWidget(self.items)

    @agentic_qt.capability(risk="mutating")
    def add_todo(self, text: str, priority: Literal["low", "high"] = "low") -> dict[str, int]:
        """Add an item to the list.

        Args:
            text: What to do.
            priority: How urgent it is.
        """
        self.items.addItem(f"{text} (!)" if priority == "high" else text)
        return {"items": self.items.count()}


def show() -> Todo:
    window = Todo()
    model = os.environ.get("OPENAI_MODEL")  # with OPENAI_BASE_URL and OPENAI_API_KEY; without, the dock says what to do
    agentic_qt.Assistant.attach(window, chat_model=OpenAIChatModel(model=model) if model else None)
    window.show()
    return window


if __name__ == "__main__":
    app = QApplication(sys.argv)
    sys.exit(agentic_qt.run(show))
