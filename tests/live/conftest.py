"""Tests with the real embedded model: skipped, and counted as such, where it is not installed."""

from collections.abc import AsyncIterator

import pytest

from agentic_qt.client.local import LocalChatModel, embedded_available


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "live" in item.path.parts:
            item.add_marker(pytest.mark.live)
            item.add_marker(pytest.mark.timeout(300))
            if not embedded_available():
                item.add_marker(pytest.mark.skip(reason="xllamacpp or the SmolLM2 wheel is not installed"))


@pytest.fixture
async def local_model(anyio_backend) -> AsyncIterator[LocalChatModel]:
    model = LocalChatModel()
    yield model
    await model.aclose()
