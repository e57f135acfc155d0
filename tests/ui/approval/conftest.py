"""A stage for the tests of the approval."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.approval_stage import Stage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the offscreen platform say that it knows no size hints; everything else is a failure."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.qt_log_ignore("does not support propagateSizeHints", extend=True))


@pytest.fixture
def stage(qapp: Any) -> Iterator[Stage]:
    made = Stage()
    yield made
    made.close()
