"""One capability through the whole pipeline."""

import pytest

from agentic_qt.core.call import Status
from agentic_qt.core.capability import Target
from agentic_qt.core.errors import DeclarationError
from agentic_qt.testing import call_capability
from tests.support.agent_kit import capability

pytestmark = pytest.mark.anyio

TEXT = {"text": {"type": "string"}}


def saving(ran, **more):
    return capability(
        "form.save",
        lambda text: ran.append(text) or {"saved": text},
        properties=TEXT,
        required=["text"],
        **more,
    )


async def test_an_approved_change_runs():
    ran = []
    outcome = await call_capability(saving(ran, risk="mutating"), {"text": "a"})
    assert (outcome.status, outcome.data, ran) == (Status.OK, {"saved": "a"}, ["a"])


async def test_a_denied_change_does_not_run():
    ran = []
    outcome = await call_capability(saving(ran, risk="destructive"), {"text": "a"}, confirm="deny")
    assert (outcome.status, outcome.code, ran) == (Status.DENIED, "person", [])


async def test_a_read_is_not_asked_about():
    ran = []
    outcome = await call_capability(saving(ran, risk="read"), {"text": "a"}, confirm="deny")
    assert outcome.status is Status.OK


async def test_without_permission_nothing_runs_and_nobody_is_asked():
    ran = []
    outcome = await call_capability(saving(ran, risk="mutating"), {"text": "a"}, permission=False)
    assert (outcome.status, ran) == (Status.FORBIDDEN, [])


async def test_a_permission_hook_of_ones_own_decides():
    ran = []
    outcome = await call_capability(
        saving(ran), {"text": "a"}, permission=lambda call, _: call.actor == "ada", actor="ada"
    )
    assert outcome.status is Status.OK
    outcome = await call_capability(saving(ran), {"text": "a"}, permission=lambda call, _: False)
    assert outcome.status is Status.FORBIDDEN


@pytest.mark.parametrize("given", [{}, {"text": 1}, {"text": "a", "confirm": True}])
async def test_an_input_that_breaks_the_schema_is_invalid(given):
    """FC-18, FC-51."""
    ran = []
    outcome = await call_capability(saving(ran, risk="mutating"), given)
    assert (outcome.status, ran) == (Status.INVALID, [])


async def test_no_input_is_an_empty_one_and_none_is_a_result():
    """FC-01."""
    outcome = await call_capability(capability("it.do", lambda: None))
    assert (outcome.status, outcome.data) == (Status.OK, None)


async def test_a_capability_with_a_target_is_called_on_it():
    outcome = await call_capability(capability("it.do", lambda: 1, target=Target(id="t")))
    assert outcome.status is Status.OK


async def test_the_same_capability_can_be_called_again():
    ran = []
    declared = saving(ran, risk="mutating")
    for text in ("a", "b"):
        await call_capability(declared, {"text": text})
    assert ran == ["a", "b"]


async def test_a_malformed_capability_is_refused():
    with pytest.raises(DeclarationError):
        await call_capability(capability("it.do", lambda x: 1))


async def test_a_person_can_only_approve_or_deny():
    with pytest.raises(ValueError, match="confirm"):
        await call_capability(capability("it.do", lambda: 1), confirm="maybe")
