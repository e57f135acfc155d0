"""What all tests share: Qt without a display, and the event loop that each async test runs on."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Before any QApplication: without a display and without this Qt aborts.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

QT_FOLDERS = {"qt", "ui", "examples", "devtools"}


def uses_qt(request: pytest.FixtureRequest) -> bool:
    """Whether the test lives in a Qt folder or asks for the application."""
    folder = request.path.relative_to(Path(__file__).parent).parts[0]
    return folder in QT_FOLDERS or "qapp" in request.fixturenames


@pytest.fixture(scope="session")
def qapp(qapp: Any) -> Any:
    """pytest-qt's application; no closed window may end a test's loop."""
    qapp.setQuitOnLastWindowClosed(False)
    return qapp


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    """Our Qt loop for tests of a Qt folder and tests that use `qapp` or `qtbot`; plain asyncio for the others."""
    if not uses_qt(request):
        return "asyncio"
    from agentic_qt.qt.event_loop import QtEventLoop

    application = request.getfixturevalue("qapp")
    return ("asyncio", {"loop_factory": lambda: QtEventLoop(application)})


@pytest.fixture(autouse=True)
def no_widgets_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Delete the windows that a Qt test leaves, so that they are not in the way of the next one."""
    yield
    if not uses_qt(request):
        return
    from PySide6.QtCore import QCoreApplication, QEvent
    from PySide6.QtWidgets import QApplication

    application = QApplication.instance()
    if isinstance(application, QApplication):
        for widget in application.topLevelWidgets():
            widget.close()
            widget.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
