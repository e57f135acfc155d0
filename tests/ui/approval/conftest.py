"""A stage for the tests of the approval."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.approval_stage import Stage


@pytest.fixture
def stage(qapp: Any) -> Iterator[Stage]:
    made = Stage()
    yield made
    made.close()
