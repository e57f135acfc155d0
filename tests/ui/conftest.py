"""What the tests of the assistant's face share."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the offscreen platform say that it knows no size hints; everything else is a failure."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(pytest.mark.qt_log_ignore("does not support propagateSizeHints", extend=True))
