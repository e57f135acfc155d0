"""Remembered approvals that end by themselves: at a time, or with their last use."""

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_qt import Approval, CapabilityError, Registry
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent
from agentic_qt.core.grants import Grants, Scope
from agentic_qt.core.policy import Policy
from tests.support.declare import call, declare

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Desk:
    """A registry with a clock in the hand of the test and a person who says yes in the way that is given."""

    def __init__(self, policy: Policy | None = None, **yes: Any) -> None:
        self.clock = Clock()
        self.registry = Registry(clock=self.clock, policy=policy)
        self.yes = {"scope": "session", **yes}
        self.asked: list[Any] = []
        self.ran = 0
        self.fails = False
        self.registry.approvals.attach(self._view)
        self.registry.register(declare(handler=self._handle, risk="mutating"))

    def _view(self, event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            self.asked.append(event.request)
            self.registry.approvals.approve(event.request, **self.yes)

    def _handle(self) -> str:
        self.ran += 1
        if self.fails:
            raise CapabilityError("no_luck", "It went wrong.")
        return "done"

    @property
    def grants(self) -> Grants:
        return self.registry.approvals.grants

    async def call(self) -> Any:
        return await self.registry.execute(call(run="r"))


@pytest.mark.parametrize("scope", ["digest", "run", "session"])
async def test_a_grant_with_a_time_asks_again_when_it_is_over(scope: str) -> None:
    """FC-40."""
    desk = Desk(scope=scope, remember_for=900)
    await desk.call()
    desk.clock.now += 899
    await desk.call()
    assert len(desk.asked) == 1
    desk.clock.now += 1
    assert (await desk.call()).ok
    assert (len(desk.asked), desk.ran) == (2, 3)


@pytest.mark.parametrize("scope", ["digest", "run", "session"])
async def test_a_grant_with_uses_asks_again_when_they_are_used_up(scope: str) -> None:
    """FC-40."""
    desk = Desk(scope=scope, max_uses=2)
    for _ in range(3):
        await desk.call()
    assert (len(desk.asked), len(desk.grants)) == (1, 0)
    await desk.call()
    assert (len(desk.asked), desk.ran) == (2, 4)


async def test_a_use_counts_when_the_handler_fails() -> None:
    """FC-40."""
    desk = Desk(max_uses=1)
    await desk.call()
    desk.fails = True
    assert (await desk.call()).code == "no_luck"
    await desk.call()
    assert len(desk.asked) == 2


async def test_a_call_that_does_not_begin_uses_nothing() -> None:
    desk = Desk(max_uses=1)
    await desk.call()
    invalid = await desk.registry.execute(call(run="r", input={"nonsense": 1}))
    assert invalid.status == "invalid"
    assert [grant.uses_left for grant in desk.grants] == [1]


async def test_two_calls_at_once_do_not_share_the_last_use() -> None:
    """FC-40: the second is told that it has to be planned anew, and then a person is asked."""
    desk = Desk(max_uses=1)
    await desk.call()
    release = asyncio.Event()
    desk.registry.register(declare("slow.write", handler=release.wait, risk="mutating"))
    slow = asyncio.ensure_future(desk.registry.execute(call("slow.write", run="r")))
    await asyncio.sleep(0)
    waiting = [asyncio.ensure_future(desk.call()) for _ in range(2)]
    for _ in range(5):
        await asyncio.sleep(0)
    release.set()
    await slow
    outcomes = await asyncio.gather(*waiting)
    assert [(outcome.status, outcome.code) for outcome in outcomes] == [("ok", ""), ("stale", "approval_revoked")]
    assert desk.ran == 2


async def test_a_grant_that_is_over_before_its_turn_comes_does_not_run() -> None:
    """FC-31, FC-40."""
    desk = Desk(remember_for=10)
    await desk.call()
    release = asyncio.Event()
    desk.registry.register(declare("slow.write", handler=release.wait, risk="mutating"))
    slow = asyncio.ensure_future(desk.registry.execute(call("slow.write", run="r")))
    await asyncio.sleep(0)
    waiting = asyncio.ensure_future(desk.call())
    for _ in range(5):
        await asyncio.sleep(0)
    desk.clock.now += 10
    release.set()
    await slow
    assert ((await waiting).code, desk.ran) == ("approval_revoked", 1)


async def test_policy_bounds_what_a_person_chose_and_says_so_in_the_request() -> None:
    """FC-40: the stricter of both counts."""
    desk = Desk(Policy(remember_for=60, max_uses=3), remember_for=900, max_uses=2)
    await desk.call()
    (grant,) = desk.grants
    assert (grant.expires_at - desk.clock.now, grant.max_uses) == (60, 2)
    assert (desk.asked[0].remember_for, desk.asked[0].max_uses) == (60, 3)


async def test_without_limits_a_grant_lasts() -> None:
    desk = Desk()
    for _ in range(20):
        await desk.call()
        desk.clock.now += 1e6
    assert (len(desk.asked), desk.ran) == (1, 20)
    assert [grant.uses_left for grant in desk.grants] == [None]


async def test_a_clock_that_is_set_back_ends_a_grant_with_an_end_for_good() -> None:
    desk = Desk(remember_for=900)
    await desk.call()
    desk.clock.now -= 3600
    await desk.call()
    assert len(desk.asked) == 2


@pytest.mark.parametrize("limit", [{"remember_for": 0}, {"remember_for": math.nan}, {"max_uses": 0}])
async def test_a_limit_that_is_none_is_refused_by_policy_and_queue(limit: dict) -> None:
    with pytest.raises(ValueError, match="positive"):
        Policy(**limit)
    registry = Registry()
    registry.approvals.attach(lambda event: None)
    registry.register(declare(risk="mutating"))
    waiting = asyncio.ensure_future(registry.execute(call()))
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match="positive"):
        registry.approvals.approve("a1", scope="session", **limit)
    registry.approvals.deny_all()
    assert (await waiting).status == "denied"


@pytest.mark.parametrize(
    ("limit", "ran"),
    [({"max_uses": 0}, 0), ({"max_uses": "3"}, 0), ({"max_uses": True}, 0), ({"remember_for": math.nan}, 2)],
)
async def test_an_approver_with_a_limit_that_is_none_grants_nothing(limit: dict, ran: int) -> None:
    """FC-15: what is not clearly a yes denies; what is not clearly remembered is asked again."""
    desk = Desk()
    asked = []

    def approver(request: Any) -> Approval:
        asked.append(request)
        return Approval(request_id=request.id, digest=request.digest, granted=True, scope=Scope.SESSION, **limit)

    desk.registry.register(declare("other.write", handler=desk._handle, risk="mutating", approver=approver))
    for _ in range(2):
        await desk.registry.execute(call("other.write", run="r"))
    assert (len(asked), desk.ran) == (2, ran)


async def test_what_is_over_is_dropped_from_the_list_and_its_observers_are_told() -> None:
    desk = Desk(remember_for=10)
    await desk.call()
    told: list[int] = []
    desk.grants.observe(lambda grants: told.append(len(grants)))
    desk.grants.drop_ended()
    assert told == []
    desk.clock.now += 10
    desk.grants.drop_ended()
    assert told == [0]


async def test_a_handler_that_opens_dialogs_takes_its_use_when_it_starts() -> None:
    desk = Desk(max_uses=1)
    desk.registry.register(declare("nested.write", handler=desk._handle, risk="mutating", nested=True))
    for _ in range(3):
        assert (await desk.registry.execute(call("nested.write", run="r"))).ok
    assert len(desk.asked) == 2


async def test_an_observer_that_takes_the_capability_away_at_its_last_use_stops_the_call() -> None:
    desk = Desk(max_uses=1)
    await desk.call()
    (registration,) = desk.registry.registrations
    desk.grants.observe(lambda grants: registration.dispose())
    assert (await desk.call()).status == "unavailable"
    assert desk.ran == 1


steps = st.lists(
    st.tuples(
        st.sampled_from(["call", "two", "fail", "later", "back", "revoke"]), st.integers(min_value=1, max_value=900)
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(plan=steps, max_uses=st.integers(min_value=1, max_value=3), seconds=st.sampled_from([None, 300.0, 900.0]))
def test_there_are_never_more_runs_than_yeses_and_uses(plan: list, max_uses: int, seconds: float | None) -> None:
    """G06, FC-40: whatever happens in whatever order, each run is a yes or one of its uses."""

    async def go() -> None:
        desk = Desk(max_uses=max_uses, remember_for=seconds)
        given_at: list[float] = []
        for step, amount in plan:
            before, asked = desk.ran, len(desk.asked)
            desk.fails = step == "fail"
            if step == "two":
                await asyncio.gather(desk.call(), desk.call())
            elif step in ("call", "fail"):
                await desk.call()
            elif step == "revoke":
                for grant in desk.grants:
                    desk.grants.revoke(grant.id)
                given_at.clear()
            else:
                desk.clock.now += amount if step == "later" else -amount
            given_at += [desk.clock.now] * (len(desk.asked) - asked)
            remembered = desk.ran - before - (len(desk.asked) - asked)
            if remembered > 0 and seconds is not None:
                assert any(0 <= desk.clock.now - at < seconds for at in given_at)
            assert desk.ran <= len(desk.asked) * (1 + max_uses)
            assert not (remembered > 0 and not given_at)

    asyncio.run(go())
