"""Fixtures of the Qt tests."""

import pytest
from PySide6.QtCore import QCoreApplication, QEvent

from agentic_qt.core.registry import Registry


@pytest.fixture
def registry(qapp):
    return Registry()


@pytest.fixture
def delete(qapp):
    """Delete a QObject the way Qt does it, now."""

    def delete_now(owner):
        owner.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)

    return delete_now
