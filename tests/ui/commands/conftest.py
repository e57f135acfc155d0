"""A store for each test, in a file."""

from pathlib import Path

import pytest

from tests.support.command_kit import Inspector


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'store.sqlite3'}"


@pytest.fixture
def inspector(url: str) -> Inspector:
    """Looks into the store past the service."""
    return Inspector(url)
