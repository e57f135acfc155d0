"""Handlers: how they start, how they end, what happens when they do not."""

import asyncio
import threading
from typing import Any

import pytest

from agentic_qt import CallContext, CapabilityError, Outcome, Registry, Status, Target
from agentic_qt.core.call import CallCancelled
from agentic_qt.core.journal import MemoryJournal
from agentic_qt.core.policy import Decision, Policy
from tests.support.declare import TEXT, call, declare, text_capability

pytestmark = pytest.mark.anyio


@pytest.fixture
def registry() -> Registry:
    """Changes run unasked here: these tests are about handlers."""
    return Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW))


async def turn() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


async def until(condition: Any) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.005)


async def test_a_handler_gets_the_context_when_it_asks_for_it(registry: Registry) -> None:
    seen: list = []

    def handler(text: str, ctx: CallContext) -> None:
        seen.append((ctx.call_id, ctx.actor, ctx.client, ctx.run, ctx.cancel.cancelled, text))

    registry.register(declare(input_schema=TEXT, handler=handler))
    await registry.execute(call(input={"text": "x"}, id="c9", actor="ada", client="assistant", run="r1"))
    assert seen == [("c9", "ada", "assistant", "r1", False, "x")]


async def test_progress_is_told_to_observers(registry: Registry) -> None:
    told: list = []
    registry.observe_progress(told.append)
    registry.register(declare(handler=lambda ctx: ctx.progress(2, 5, "rows")))
    await registry.execute(call(id="c1", run="r1"))
    assert [(one.call_id, one.run, one.progress.done, one.progress.total, one.progress.message) for one in told] == [
        ("c1", "r1", 2, 5, "rows")
    ]


async def test_a_capability_error_is_a_failure_with_its_code_and_hint(registry: Registry) -> None:
    def handler() -> None:
        raise CapabilityError("open_orders", "Close the orders first.", retryable=True, applied=["one order closed"])

    registry.register(declare(handler=handler, risk="mutating"))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code, outcome.hint) == ("failed", "open_orders", "Close the orders first.")
    assert (outcome.retry, outcome.applied) == ("later", ["one order closed"])


@pytest.mark.parametrize(
    "error", [ValueError("secret 4711"), SystemExit(3), asyncio.CancelledError(), TimeoutError(), StopIteration()]
)
@pytest.mark.parametrize("make", ["sync", "async", "nested"])
async def test_any_other_exception_is_a_failure_whose_text_stays_in_the_log(
    registry: Registry, error: BaseException, make: str, caplog: Any
) -> None:
    """G21, G28."""

    def handler() -> None:
        raise error

    async def async_handler() -> None:
        await asyncio.sleep(0)
        raise error

    registry.register(
        declare(handler=async_handler if make == "async" else handler, nested=make == "nested", risk="mutating")
    )
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code, outcome.applied) == ("failed", "handler_error", None)
    assert "4711" not in outcome.hint
    assert (await registry.execute(call())).status == "failed"  # the lane is free again


async def test_the_result_is_plain_json_that_shares_nothing_with_the_application(registry: Registry) -> None:
    from dataclasses import dataclass
    from datetime import date
    from decimal import Decimal
    from enum import Enum
    from pathlib import PurePosixPath

    class Colour(Enum):
        RED = "red"

    @dataclass
    class Row:
        name: str
        when: date

    kept = {
        "rows": [Row("a", date(2026, 1, 2))],
        "colour": Colour.RED,
        "price": Decimal("1.10"),
        "at": PurePosixPath("a/b"),
        "t": (1, 2),
    }
    registry.register(declare(handler=lambda: kept))
    outcome = await registry.execute(call())
    assert outcome.data == {
        "rows": [{"name": "a", "when": "2026-01-02"}],
        "colour": "red",
        "price": "1.10",
        "at": "a/b",
        "t": [1, 2],
    }


@pytest.mark.parametrize("result", [object(), float("nan"), "\ud800", {"a": {1, object()}}])
async def test_a_change_whose_result_cannot_be_shown_was_done_all_the_same(
    registry: Registry, result: Any, caplog: Any
) -> None:
    registry.register(declare("a.read", handler=lambda: result))
    registry.register(declare("a.write", handler=lambda: result, risk="mutating"))
    read = await registry.execute(call("a.read"))
    assert (read.status, read.code) == ("failed", "result_not_json")
    write = await registry.execute(call("a.write"))
    assert (write.status, write.code, write.data, write.applied) == ("ok", "result_not_json", None, True)


async def test_a_result_that_is_too_large_or_breaks_its_schema_is_said_to_be(registry: Registry, caplog: Any) -> None:
    registry.register(declare("a.large", handler=lambda: "x" * 2_000_000))
    registry.register(declare("a.wrong", handler=lambda: "text", output_schema={"type": "integer"}))
    registry.register(declare("a.right", handler=lambda: 3, output_schema={"type": "integer"}))
    assert (await registry.execute(call("a.large"))).code == "result_too_large"
    assert (await registry.execute(call("a.wrong"))).code == "output_schema"
    assert (await registry.execute(call("a.right"))).data == 3


async def test_what_redaction_takes_away_is_not_in_the_outcome_and_a_redaction_that_fails_hides_all(
    caplog: Any,
) -> None:
    registry = Registry(redact=lambda data: {**data, "password": "***"})
    registry.register(declare(handler=lambda: {"user": "ada", "password": "x"}))
    registry.register(declare("b.c", handler=lambda: 1))
    assert (await registry.execute(call())).data == {"user": "ada", "password": "***"}
    broken = await registry.execute(call("b.c"))
    assert (broken.status, broken.data, broken.code) == ("failed", None, "redaction_error")


async def test_a_sync_handler_that_turns_a_loop_of_its_own_strands_no_other_task(registry: Registry) -> None:
    """FC-07 on plain asyncio: while the handler runs, no task is current."""
    seen: list = []
    registry.register(declare(handler=lambda: seen.append(asyncio.current_task())))
    await registry.execute(call())
    assert seen == [None]
    assert asyncio.current_task() is not None


async def test_writes_run_one_at_a_time_and_in_order(registry: Registry) -> None:
    """G24."""
    running: list = []
    most: list = []

    async def handler(text: str) -> None:
        running.append(text)
        most.append(len(running))
        await asyncio.sleep(0)
        running.remove(text)

    registry.register(declare(input_schema=TEXT, handler=handler, risk="mutating"))
    calls = [asyncio.ensure_future(registry.execute(call(input={"text": text}))) for text in "abcd"]
    assert [(await one).status for one in calls] == ["ok"] * 4
    assert most == [1, 1, 1, 1]


async def test_reads_run_together(registry: Registry) -> None:
    barrier = asyncio.Barrier(3)
    registry.register(declare(handler=barrier.wait))
    outcomes = await asyncio.gather(*(registry.execute(call()) for _ in range(3)))
    assert sorted(outcome.data for outcome in outcomes) == [0, 1, 2]


async def test_a_waiting_write_gives_up_with_busy_and_the_name_of_what_runs(registry: Registry) -> None:
    release = asyncio.Event()
    registry._pipeline._lane.patience = 0.01
    registry.register(declare("slow.write", handler=release.wait, risk="mutating"))
    registry.register(declare("other.write", risk="mutating"))
    slow = asyncio.ensure_future(registry.execute(call("slow.write")))
    await turn()
    outcome = await registry.execute(call("other.write"))
    assert (outcome.status, outcome.code, outcome.retry) == ("busy", "lane_busy", "later")
    assert "slow.write" in outcome.hint
    release.set()
    assert (await slow).ok
    assert (await registry.execute(call("other.write"))).ok


async def test_a_cancelled_wait_for_the_lane_leaves_it_usable(registry: Registry) -> None:
    release = asyncio.Event()
    registry.register(declare("slow.write", handler=release.wait, risk="mutating"))
    registry.register(declare("other.write", risk="mutating"))
    slow = asyncio.ensure_future(registry.execute(call("slow.write")))
    await turn()
    waiting = asyncio.ensure_future(registry.execute(call("other.write")))
    stopped = asyncio.ensure_future(registry.execute(call("other.write", id="s")))
    await turn()
    waiting.cancel()
    assert registry.cancel("s")
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await stopped).status == "cancelled"
    assert (await slow).ok
    assert (await registry.execute(call("other.write"))).ok


async def test_a_handler_that_starts_another_change_gets_invalid(registry: Registry) -> None:
    """G24."""
    inner: list = []

    async def outer() -> Any:
        inner.append(await registry.execute(call("in.write")))
        inner.append(await registry.execute(call("in.read")))

    registry.register(declare("out.write", handler=outer, risk="mutating"))
    registry.register(declare("out.read", handler=outer))
    registry.register(declare("in.write", risk="mutating"))
    registry.register(declare("in.read"))
    for name in ("out.write", "out.read"):
        assert (await registry.execute(call(name))).ok
    assert [(one.status, one.code) for one in inner] == [("invalid", "nested_write"), ("ok", "")] * 2


async def test_a_task_that_a_handler_left_behind_may_change_things_later(registry: Registry) -> None:
    left: list = []
    registry.register(declare("in.write", risk="mutating"))
    registry.register(
        declare(
            "out.write",
            handler=lambda: left.append(asyncio.ensure_future(registry.execute(call("in.write")))),
            risk="mutating",
        )
    )
    assert (await registry.execute(call("out.write"))).ok
    assert (await left[0]).ok


async def test_a_change_that_takes_too_long_is_unknown_and_its_late_end_is_recorded(
    registry: Registry, caplog: Any
) -> None:
    """FC-04, FC-02: the handler goes on, only its target stays busy, and everything recovers by itself."""
    release = asyncio.Event()
    lates: list = []
    ran: list = []
    registry.observe_late(lates.append)

    async def stubborn() -> str:
        ran.append(1)
        try:
            await release.wait()
        except asyncio.CancelledError:
            await release.wait()
        return "finished after all"

    registry.register(declare("a.write", handler=stubborn, risk="mutating", timeout=0.02, target=Target(id="t1")))
    registry.register(declare("b.write", risk="mutating", target=Target(id="t1")))
    registry.register(declare("c.write", risk="mutating", target=Target(id="t2")))
    outcome = await registry.execute(call("a.write", id="first", client="k", run="r"))
    assert (outcome.status, outcome.code, outcome.retry, outcome.applied) == ("unknown", "timeout", "never", None)
    assert "first" in outcome.hint
    busy = await registry.execute(call("b.write"))
    assert (busy.status, busy.code) == ("busy", "target_busy")
    assert "a.write" in busy.hint
    assert (await registry.execute(call("c.write"))).ok
    release.set()
    await until(lambda: lates)
    assert (lates[0].call_id, lates[0].run, lates[0].outcome.data) == ("first", "r", "finished after all")
    assert registry.call_status("first", client="k", run="r").ok
    assert (await registry.execute(call("b.write"))).ok
    assert ran == [1]


async def test_while_a_call_is_unknown_the_same_digest_runs_nothing_and_returns_that_calls_id(
    registry: Registry,
) -> None:
    """G23."""
    runs: list = []

    async def slow() -> None:
        runs.append(1)
        await asyncio.Event().wait()

    registry.register(declare(handler=slow, risk="mutating", timeout=0.01))
    first = await registry.execute(call(id="one", run="r"))
    second = await registry.execute(call(id="two", run="r"))
    assert (first.status, second.status) == ("unknown", "unknown")
    assert second.call_id == "one"
    assert runs == [1]
    registry.end_run("r")
    assert registry.call_status("one", run="r").status == "unknown"
    assert (await registry.execute(call(id="three", run="r2"))).call_id == "one"
    assert runs == [1]


async def test_an_unknown_call_can_be_settled_by_who_found_out_and_then_the_same_call_may_run(
    registry: Registry,
) -> None:
    """G23."""
    runs: list = []

    async def slow() -> None:
        runs.append(1)
        await asyncio.Event().wait()

    registry.register(declare(handler=slow, risk="mutating", timeout=0.01))
    assert (await registry.execute(call(id="one"))).status == "unknown"
    assert registry.settle("one", Outcome(status=Status.FAILED, code="did_not_happen", applied=False))
    assert not registry.settle("one", Outcome(status=Status.OK))
    assert (registry.call_status("one").status, registry.call_status("one").call_id) == ("failed", "one")
    with pytest.raises(ValueError, match="known"):
        registry.settle("one", Outcome(status=Status.UNKNOWN))
    await registry.execute(call(id="two"))
    assert runs == [1, 1]


async def test_a_read_that_takes_too_long_fails_and_may_be_tried_later(registry: Registry) -> None:
    registry.register(declare(handler=asyncio.Event().wait, timeout=0.01))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code, outcome.retry, outcome.applied) == ("failed", "timeout", "later", False)


async def test_after_an_overdue_handler_the_callers_task_can_wait_as_before(registry: Registry) -> None:
    registry.register(declare(handler=asyncio.Event().wait, timeout=0.01, risk="mutating"))

    async def caller() -> int:
        await registry.execute(call())
        await asyncio.sleep(0)
        return asyncio.current_task().cancelling()

    assert await asyncio.ensure_future(caller()) == 0


async def test_a_sync_handler_past_its_budget_returns_its_real_result_and_is_marked(registry: Registry) -> None:
    import time

    def slow() -> str:
        end = time.perf_counter() + 0.02
        while time.perf_counter() < end:
            pass
        return "real"

    registry.register(declare(handler=slow, timeout=0.001))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.data, outcome.code) == ("ok", "real", "overran")


async def test_the_callers_cancellation_passes_through_after_it_was_journaled() -> None:
    journal = MemoryJournal()
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=journal)
    ended: list = []

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    registry.register(declare(handler=slow, risk="mutating"))
    task = asyncio.ensure_future(registry.execute(call(id="c1")))
    await turn()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [1]
    ((intent, outcomes),) = journal.entries
    assert intent.call_id == "c1"
    assert [outcome.status for outcome in outcomes] == ["cancelled"]
    assert registry.call_status("c1").status == "cancelled"


async def test_a_running_handler_that_is_stopped_ends_and_says_what_was_applied(registry: Registry) -> None:
    """FC-54, FC-42."""

    async def handler(ctx: CallContext) -> None:
        ctx.applied("row 1 written")
        await asyncio.Event().wait()

    registry.register(declare(handler=handler, risk="mutating"))
    task = asyncio.ensure_future(registry.execute(call(id="c1")))
    await turn()
    assert registry.cancel("c1")
    outcome = await asyncio.wait_for(task, 1)
    assert (outcome.status, outcome.applied) == ("cancelled", ["row 1 written"])
    assert not registry.cancel("c1")


async def test_a_handler_that_watches_the_token_ends_in_its_own_way(registry: Registry) -> None:
    async def handler(ctx: CallContext) -> str:
        stopped = asyncio.Event()
        ctx.cancel.on_cancel(stopped.set)
        await stopped.wait()
        ctx.applied("half")
        ctx.cancel.raise_if_cancelled()
        return "not reached"

    registry.register(declare(handler=handler, risk="mutating"))
    task = asyncio.ensure_future(registry.execute(call(id="c1")))
    await turn()
    registry.cancel("c1")
    outcome = await task
    assert (outcome.status, outcome.applied) == ("cancelled", ["half"])


async def test_a_result_that_came_in_spite_of_stop_is_the_outcome(registry: Registry) -> None:
    async def handler(ctx: CallContext) -> str:
        stopped = asyncio.Event()
        ctx.cancel.on_cancel(stopped.set)
        await stopped.wait()
        return "done in time"

    registry.register(declare(handler=handler, risk="mutating"))
    task = asyncio.ensure_future(registry.execute(call(id="c1")))
    await turn()
    registry.cancel("c1")
    assert (await task).data == "done in time"


async def test_a_stopped_change_that_goes_on_is_unknown(registry: Registry) -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        try:
            await release.wait()
        except asyncio.CancelledError:
            await release.wait()

    registry.register(declare(handler=stubborn, risk="mutating"))
    task = asyncio.ensure_future(registry.execute(call(id="c1")))
    await turn()
    registry.cancel("c1")
    assert (await asyncio.wait_for(task, 1)).status == "unknown"
    release.set()
    await until(lambda: registry.call_status("c1").ok)


async def test_the_handler_itself_may_say_that_it_was_cancelled(registry: Registry) -> None:
    def handler() -> None:
        raise CallCancelled

    registry.register(declare(handler=handler, risk="mutating"))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.applied) == ("cancelled", False)


async def test_a_nested_handler_repeats_the_gates_in_the_loops_own_callback(registry: Registry) -> None:
    """G03."""
    ran: list = []
    registration = registry.register(declare(handler=lambda: ran.append(1), nested=True, risk="mutating"))
    loop = asyncio.get_running_loop()
    loop.call_soon(registration.dispose)
    outcome = await registry.execute(call())
    assert outcome.status == "unavailable"
    assert ran == []


async def test_a_nested_handler_that_ends_in_the_turn_in_which_it_was_stopped_has_its_real_result(
    registry: Registry,
) -> None:
    task = asyncio.ensure_future(registry.execute(call(id="c1")))

    def handler() -> str:
        registry.cancel("c1")
        return "real"

    registry.register(declare(handler=handler, nested=True, risk="mutating"))
    assert (await task).data == "real"
    assert (await registry.execute(call())).ok


async def test_a_nested_handler_that_is_stopped_before_the_loop_comes_to_it_never_runs(registry: Registry) -> None:
    ran: list = []
    registry.register(declare(handler=lambda: ran.append(1), nested=True, risk="mutating"))
    asyncio.get_running_loop().call_soon(registry.cancel, "c1")
    outcome = await registry.execute(call(id="c1"))
    assert (outcome.status, outcome.applied) == ("cancelled", False)
    assert ran == []


async def test_the_same_call_id_again_returns_the_first_outcome_and_runs_nothing(registry: Registry) -> None:
    """G22, FC-24, threat 3."""
    ran: list = []
    registry.register(text_capability(lambda text: ran.append(text) or len(ran), risk="mutating"))
    first = call(id="c1", input={"text": "x"}, client="k", run="r")
    assert (await registry.execute(first)).data == 1
    assert (await registry.execute(first)).data == 1
    other = await registry.execute(call(id="c1", input={"text": "y"}, client="k", run="r"))
    assert (other.status, other.code) == ("invalid", "call_id_reused")
    assert (await registry.execute(call(id="c1", input={"text": "x"}, client="k", run="r2"))).data == 2
    assert (await registry.execute(call(id="c1", input={"text": "x"}, client="other", run="r"))).data == 3


async def test_a_double_click_runs_once_and_the_second_gets_the_firsts_outcome(registry: Registry) -> None:
    """G22, FC-24."""
    ran: list = []
    release = asyncio.Event()

    async def handler() -> int:
        ran.append(1)
        await release.wait()
        return len(ran)

    registry.register(declare(handler=handler, risk="mutating"))
    both = [asyncio.ensure_future(registry.execute(call(id="c1"))) for _ in range(2)]
    await turn()
    release.set()
    assert [(await one).data for one in both] == [1, 1]


async def test_a_call_id_is_free_again_when_its_run_ended(registry: Registry) -> None:
    ran: list = []
    registry.register(declare(handler=lambda: ran.append(1), risk="mutating"))
    await registry.execute(call(id="c1", run="r"))
    registry.end_run("r")
    assert registry.call_status("c1", run="r") is None
    await registry.execute(call(id="c1", run="r"))
    assert ran == [1, 1]


class FailingJournal(MemoryJournal):
    def intent(self, intent: Any) -> None:
        raise OSError("disk full")


class AsyncJournal:
    def __init__(self) -> None:
        self.entries: list = []

    async def intent(self, intent: Any) -> None:
        await asyncio.sleep(0)
        self.entries.append(("intent", intent.call_id))

    async def outcome(self, intent: Any, outcome: Any) -> None:
        await asyncio.sleep(0)
        self.entries.append(("outcome", intent.call_id, outcome.status.value))


async def test_an_intent_that_cannot_be_written_means_not_run(caplog: Any) -> None:
    """G24."""
    ran: list = []
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=FailingJournal())
    registry.register(declare(handler=lambda: ran.append(1), risk="mutating"))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code, outcome.applied) == ("failed", "journal_error", False)
    assert ran == []


async def test_an_async_journal_is_awaited_and_the_gates_run_after_it() -> None:
    """G03."""
    journal = AsyncJournal()
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=journal)
    ran: list = []
    registration = registry.register(declare(handler=lambda: ran.append(1), risk="mutating"))
    assert (await registry.execute(call(id="c1"))).ok
    assert journal.entries == [("intent", "c1"), ("outcome", "c1", "ok")]
    waiting = asyncio.ensure_future(registry.execute(call(id="c2")))
    await asyncio.sleep(0)
    registration.dispose()
    assert (await waiting).status == "unavailable"
    assert journal.entries[2:] == [("intent", "c2"), ("outcome", "c2", "unavailable")]
    assert ran == [1]


async def test_execute_may_be_called_from_any_thread_and_the_handler_runs_in_the_loops(registry: Registry) -> None:
    """FC-06."""
    seen: list = []
    registry.register(declare(handler=lambda: seen.append(threading.get_ident()) or "here"))
    registry.bind(asyncio.get_running_loop())
    outcomes: list = []

    def submit() -> None:
        outcomes.append(registry.submit(call()).result(timeout=5))

    def own_loop() -> None:
        outcomes.append(asyncio.run(registry.execute(call())))

    for target in (submit, own_loop):
        thread = threading.Thread(target=target)
        thread.start()
        await until(lambda thread=thread: not thread.is_alive())
    assert [outcome.data for outcome in outcomes] == ["here", "here"]
    assert set(seen) == {threading.get_ident()}


async def test_every_submitted_call_settles_when_the_registry_closes(registry: Registry) -> None:
    """G21."""
    registry.register(declare(handler=asyncio.Event().wait, risk="mutating"))
    registry.bind(asyncio.get_running_loop())
    running = registry.submit(call())
    await turn()
    not_begun = registry.submit(call())
    registry.close()
    late = registry.submit(call())
    await turn()
    assert [future.result(timeout=1).status for future in (running, not_begun, late)] == [
        "cancelled",
        "cancelled",
        "unavailable",
    ]
    assert registry.registrations == ()


async def test_without_a_loop_a_submitted_call_is_unavailable() -> None:
    outcome = Registry().submit(call()).result(timeout=1)
    assert (outcome.status, outcome.code) == ("unavailable", "not_running")
