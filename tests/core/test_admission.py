"""What a call may look like: whatever its fields hold, it ends in an outcome and never in an exception."""

from typing import Any

import pytest

from agentic_qt import Registry, Target
from agentic_qt.core.admission import MAX_ID
from tests.support.declare import call, declare

pytestmark = pytest.mark.anyio

NO_STRINGS = [7, 0.5, b"x", ["x"], {"x": 1}, object(), "x" * (MAX_ID + 1), "\ud800"]


@pytest.mark.parametrize("field", ["target_id", "id", "run", "client", "actor"])
@pytest.mark.parametrize("value", NO_STRINGS, ids=lambda value: type(value).__name__)
async def test_ids_that_are_no_bounded_text_are_invalid(
    registry: Registry, audit: list, field: str, value: Any
) -> None:
    """FC-01."""
    registry.register(declare())
    outcome = await registry.execute(call(**{field: value}))
    assert (outcome.status, outcome.code, outcome.applied) == ("invalid", "bad_call", False)
    assert [event.kind.value for event in audit] == ["received", "rejected"]


@pytest.mark.parametrize("value", [True, -1, 1.0, "1", [], float("nan")])
async def test_a_revision_that_is_no_whole_number_is_invalid(registry: Registry, value: Any) -> None:
    registry.register(declare())
    assert (await registry.execute(call(revision=value))).code == "bad_call"


async def test_a_revision_that_the_catalogue_never_had_is_stale(registry: Registry) -> None:
    registry.register(declare())
    outcome = await registry.execute(call(revision=registry.revision + 1))
    assert (outcome.status, outcome.code) == ("stale", "unknown_revision")


@pytest.mark.parametrize("value", [None, "note.add", {"name": "note.add"}, object()])
async def test_what_is_no_call_at_all_is_invalid(registry: Registry, value: Any) -> None:
    assert (await registry.execute(value)).code == "bad_call"


async def test_a_name_without_bounds_is_looked_up_by_nobody(registry: Registry) -> None:
    registry.register(declare())
    outcome = await registry.execute(call("n" * 1_000_000))
    assert (outcome.status, outcome.code) == ("invalid", "bad_call")
    assert len(outcome.hint) < 300


async def test_hints_repeat_no_more_than_the_head_of_a_strangers_text(registry: Registry) -> None:
    registry.register(declare(target=Target(id="a")))
    assert len((await registry.execute(call(target_id="t" * 8000))).hint) < 300
    await registry.execute(call(id="i" * 8000, target_id="a"))
    reused = await registry.execute(call(id="i" * 8000, target_id="a", name="other.x"))
    assert reused.code == "call_id_reused"
    assert len(reused.hint) < 300


async def test_an_empty_call_id_is_none_and_an_empty_run_is_a_run(registry: Registry) -> None:
    ran: list = []
    registry.register(declare(handler=lambda: ran.append(1)))
    first = await registry.execute(call(id="", run=""))
    second = await registry.execute(call(id="", run=""))
    assert first.call_id
    assert first.call_id != second.call_id
    assert ran == [1, 1]
