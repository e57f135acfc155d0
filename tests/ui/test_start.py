"""What opening a window must not load, and that it is there when it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QPalette

from agentic_qt.ui import highlight, later
from agentic_qt.ui.theme import Tones

ROOT = Path(__file__).parents[2]
OPEN = """
import sys
from PySide6.QtWidgets import QApplication, QMainWindow
import agentic_qt
app = QApplication([])
window = QMainWindow()
agentic_qt.Assistant.attach(window)
print(*sys.modules)
"""


def test_a_window_opens_without_what_only_a_conversation_needs():
    done = subprocess.run(
        [sys.executable, "-c", OPEN], cwd=ROOT, capture_output=True, text=True, timeout=50, check=True
    )
    loaded = set(done.stdout.split())
    assert "agentic_qt.ui.panel" in loaded
    late = {"pygments", "openai", "agentic_qt.ui.transcript", "agentic_qt.ui.cards", "agentic_qt.ui.approval.card"}
    late |= {f"agentic_qt.client.{name}" for name in ("agent", "events", "openai")}
    late |= {"agentic_qt.schema.infer", "docstring_parser"}
    late |= {f"agentic_qt.ui.{name}" for name in ("talk", "conversation", "settings", "sent_view", "link_bar")}
    assert loaded & late == set()


def test_every_later_part_is_handed_out(qapp):
    assert {getattr(later, name).__name__ for name in later.__all__} == set(later.__all__)
    with pytest.raises(AttributeError):
        _ = later.Nothing


def test_code_is_plain_without_pygments(qapp, monkeypatch):
    tones = Tones.of(QPalette())
    assert len(list(highlight.coloured("x = 1", "python", tones))) > 1
    highlight._lexers.cache_clear()
    highlight._aliases.cache_clear()
    monkeypatch.setitem(sys.modules, "pygments.lexers", None)
    try:
        highlight.warm_up("python")
        assert list(highlight.coloured("x = 1", "python", tones)) == [("x = 1", tones.text)]
    finally:
        highlight._lexers.cache_clear()
        highlight._aliases.cache_clear()
