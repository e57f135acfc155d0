"""How long a window takes to appear, with the assistant's dock and without it, each in a process of its own."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

from agentic_qt.devtools.bench.measuring import Row

LIMIT = 2.0
ROUNDS = 7
"""The least number of turns that is worth a median."""

# Both show the same window and write the moment of its first paint; the bare one knows nothing of this library.
_WINDOW = """
import sys, time
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow
class Window(QMainWindow):
    def paintEvent(self, event):
        super().paintEvent(event)
        if not hasattr(self, "painted"):
            self.painted = time.time()
            QTimer.singleShot(0, self.close)
"""
_BARE = """
app = QApplication(sys.argv)
started = time.time()
window = Window()
window.setCentralWidget(QLabel("A window"))
window.resize(1000, 700)
window.show()
app.exec()
print(started, window.painted)
"""
_ATTACHED = """
import agentic_qt
app = QApplication(sys.argv)
Assistant = agentic_qt.Assistant
started = time.time()
window = Window()
window.setCentralWidget(QLabel("A window"))
window.resize(1000, 700)
Assistant.attach(window)
window.show()
agentic_qt.run(app)
assert "openai" not in sys.modules, "openai was imported"
print(started, window.painted)
"""


def measure(rounds: int) -> list[Row]:
    """Measure the first paint from the start of the process and from the making of the window.

    The probes take turns, at least `ROUNDS` times. Each has run once before, so that all of them find their bytecode,
    as an installed application does; it is written to a folder of the measurement's own.
    """
    bare: list[tuple[float, float]] = []
    attached: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as bytecode:
        environment = _environment(bytecode)
        _probe(_BARE, environment)
        _probe(_ATTACHED, environment)
        for _ in range(max(ROUNDS, rounds)):
            bare.append(_probe(_BARE, environment))
            attached.append(_probe(_ATTACHED, environment))
    rows = []
    for part, what, limit in ((0, "from the start of the process", LIMIT), (1, "from the making of the window", None)):
        ratio = statistics.median(a[part] / b[part] for a, b in zip(attached, bare, strict=True))
        for name, found in (("bare window", bare), ("window with the dock", attached)):
            is_base = found is bare
            rows.append(
                Row(
                    name=f"first paint of a {name}, {what}",
                    value=statistics.median(one[part] for one in found) * 1000,
                    unit="ms",
                    ratio=1.0 if is_base else ratio,
                    base="bare window",
                    limit=None if is_base else limit,
                )
            )
    return rows


def _environment(bytecode: str) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.setdefault("QT_QPA_PLATFORM", "offscreen")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _probe(code: str, environment: dict[str, str]) -> tuple[float, float]:
    """Return the seconds until the first paint, from the start of the process and from the making of the window."""
    begun = time.time()
    done = subprocess.run(  # noqa: S603 - our own interpreter with our own code
        [sys.executable, "-c", _WINDOW + code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the window did not appear: {done.stderr[-500:]}")
    started, painted = (float(part) for part in done.stdout.split())
    return painted - begun, painted - started
