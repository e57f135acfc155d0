"""Every call ends once and honestly: Stop, budgets, late ends, journals, threads and loops that go away."""

import asyncio
import contextlib
import gc
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from agentic_qt import CallContext, CapabilityError, DeclarationError, Outcome, Registry, Status, Target
from agentic_qt.core.journal import MemoryJournal
from agentic_qt.core.policy import Decision, Policy
from tests.support.declare import call, declare, text_capability

pytestmark = pytest.mark.anyio


@pytest.fixture
def registry() -> Registry:
    return Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW))


async def turn(times: int = 5) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(2):
        while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.001)


def stubborn(release: asyncio.Event, result: Any = "finished after all") -> Callable[[], Any]:
    async def handler() -> Any:
        try:
            await release.wait()
        except asyncio.CancelledError:
            await release.wait()
        return result

    return handler


# Asking that does not end


async def test_a_preview_that_never_ends_is_given_up_after_the_capabilitys_time_and_denies(caplog: Any) -> None:
    registry = Registry()
    registry.approvals.attach(lambda event: None)

    async def preview(text: str) -> None:
        await asyncio.Event().wait()

    registry.register(text_capability(lambda text: 1, risk="mutating", preview=preview, timeout=0.02))
    outcome = await asyncio.wait_for(registry.execute(call(input={"text": "x"})), 2)
    assert (outcome.status, outcome.code) == ("denied", "approval_error")
    assert asyncio.current_task().cancelling() == 0


async def test_a_preview_that_never_ends_inside_the_lane_does_not_keep_the_lane(caplog: Any) -> None:
    asked: list = []
    registry = Registry()
    registry.approvals.attach(lambda event: event.approval or registry.approvals.approve(event.request))

    async def preview(text: str) -> int:
        asked.append(text)
        if len(asked) > 1:
            await asyncio.Event().wait()
        return 1

    ran: list = []
    registry.register(
        text_capability(lambda text: ran.append(text) or "done", risk="mutating", preview=preview, timeout=0.02)
    )
    registry.register(declare("other.write", risk="mutating"))
    assert (await asyncio.wait_for(registry.execute(call(input={"text": "x"})), 2)).code == "approval_error"
    assert (await registry.execute(call("other.write"))).ok
    assert ran == []


@pytest.mark.parametrize("who", ["permission", "preview", "approver"])
@pytest.mark.parametrize("swallows", [False, True])
async def test_stop_reaches_whoever_is_being_asked_and_nothing_runs(who: str, swallows: bool) -> None:
    """FC-54."""
    ran: list = []

    async def asked(*_: Any, **__: Any) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not swallows:
                raise
        return True

    registry = Registry(permission=asked if who == "permission" else None)
    extra = {} if who == "permission" else {who: asked}
    registry.register(text_capability(lambda text: ran.append(text) or "done", risk="mutating", **extra))
    registry.register(declare("note.read", handler=lambda: ran.append(1)))
    for name, given in [("note.add", {"text": "x"}), *([("note.read", {})] if who == "permission" else [])]:
        task = asyncio.ensure_future(registry.execute(call(name, id=name, input=given)))
        await turn()
        assert registry.cancel(name)
        outcome = await asyncio.wait_for(task, 1)
        assert (outcome.status, outcome.applied) == ("cancelled", False)
    assert ran == []


async def test_stop_during_a_synchronous_hook_is_no_cancellation_of_the_caller() -> None:
    registry = Registry(permission=lambda asked, capability: registry.cancel("c1"))
    registry.register(declare())

    async def caller() -> tuple[Any, int]:
        outcome = await registry.execute(call(id="c1"))
        await asyncio.sleep(0)
        return outcome.status, asyncio.current_task().cancelling()

    assert await asyncio.ensure_future(caller()) == ("cancelled", 0)


# Handlers


async def test_a_handler_that_cleans_up_when_it_is_stopped_has_ended_and_is_not_unknown(registry: Registry) -> None:
    """FC-42: ``async with`` awaits on its way out; that is no reason to tell nothing."""
    cleaned: list = []

    @contextlib.asynccontextmanager
    async def session() -> Any:
        try:
            yield
        finally:
            await asyncio.sleep(0)
            cleaned.append(1)

    async def handler() -> None:
        async with session():
            await asyncio.Event().wait()

    registry.register(declare(handler=handler, risk="mutating", target=Target(id="t")))
    task = asyncio.ensure_future(registry.execute(call(id="c1")))
    await turn()
    registry.cancel("c1")
    outcome = await asyncio.wait_for(task, 1)
    assert (outcome.status, outcome.applied, cleaned) == ("cancelled", None, [1])


async def test_a_time_out_of_the_handlers_own_is_the_handlers_business(registry: Registry) -> None:
    async def handler() -> str:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            await asyncio.sleep(0)
            return "gave up"
        return "not reached"

    registry.register(declare(handler=handler))

    async def caller() -> tuple[Any, int]:
        return (await registry.execute(call())).data, asyncio.current_task().cancelling()

    assert await asyncio.ensure_future(caller()) == ("gave up", 0)


async def test_the_callers_cancellation_passes_through_a_handler_that_keeps_it_to_itself() -> None:
    journal = MemoryJournal()
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=journal)

    async def handler() -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "done"

    registry.register(declare(handler=handler, risk="mutating"))
    task = asyncio.ensure_future(registry.execute(call(id="c1")))
    await turn()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert registry.call_status("c1").data == "done"
    assert [outcome.data for outcome in journal.entries[0][1]] == ["done"]


@pytest.mark.parametrize("kind", ["generator", "async generator", "partial", "object"])
def test_a_handler_that_yields_is_refused_at_registration(registry: Registry, kind: str) -> None:
    def generator() -> Any:
        yield 1

    async def async_generator() -> Any:
        yield 1

    class Handler:
        async def __call__(self) -> Any:
            yield 1

    handler = {
        "generator": generator,
        "async generator": async_generator,
        "partial": partial(partial(generator)),
        "object": Handler(),
    }[kind]
    with pytest.raises(DeclarationError, match="yield"):
        registry.register(declare(handler=handler))


async def test_a_change_that_returns_a_generator_has_not_been_done(registry: Registry, caplog: Any) -> None:
    registry.register(declare(handler=lambda: (ran for ran in [1]), risk="mutating"))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code, outcome.applied) == ("failed", "result_not_json", None)


async def test_callables_of_every_kind_can_be_handlers(registry: Registry) -> None:
    class Awaitable:
        def __await__(self) -> Any:
            yield from asyncio.sleep(0).__await__()
            return "awaited"

    class Handler:
        def __call__(self, ctx: CallContext) -> str:
            return "object" if ctx.call_id else ""

        async def method(self) -> str:
            return "method"

    def future() -> Any:
        made = asyncio.get_running_loop().create_future()
        made.set_result("future")
        return made

    handlers = {
        "partial": partial(lambda text: text, text="partial"),
        "object": Handler(),
        "method": Handler().method,
        "awaited": Awaitable,
        "future": future,
    }
    for name, handler in handlers.items():
        registry.register(declare(f"try.{name}", handler=handler))
        assert (await registry.execute(call(f"try.{name}"))).data == name


async def test_a_handler_whose_owner_is_gone_fails_and_its_words_stay_in_the_log(
    registry: Registry, caplog: Any
) -> None:
    def handler() -> None:
        raise RuntimeError("Internal C++ object already deleted")

    registry.register(declare(handler=handler))
    outcome = await registry.execute(call())
    assert outcome.code == "handler_error"
    assert "C++" not in outcome.hint


async def test_an_exception_that_cannot_be_printed_is_a_failure_like_any_other(registry: Registry, caplog: Any) -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

        __repr__ = __str__

    def handler() -> None:
        raise SilentError

    registry.register(declare(handler=handler, risk="mutating"))
    assert (await registry.execute(call())).code == "handler_error"


@pytest.mark.parametrize("raised", [SystemExit, type("Odd", (BaseException,), {})])
async def test_no_exception_of_a_handler_gets_out(registry: Registry, caplog: Any, raised: Any) -> None:
    def handler() -> None:
        raise raised

    registry.register(declare(handler=handler, risk="mutating"))
    registry.register(declare("other.write", risk="mutating"))
    outcome = await registry.execute(call())
    assert (outcome.status, outcome.code, outcome.applied) == ("failed", "handler_error", None)
    assert (await registry.execute(call("other.write"))).ok


async def test_words_of_a_capability_error_are_bounded_text(registry: Registry) -> None:
    for code, hint in [(7, None), ("c" * 1000, "h" * 100_000), ("\ud800", "\ud800"), (["x"], {"secret": 1})]:

        def handler(code: Any = code, hint: Any = hint) -> None:
            raise CapabilityError(code, hint)

        registration = registry.register(declare(handler=handler, input_schema={"type": "object"}))
        outcome = await registry.execute(call())
        assert outcome.code == "handler_error"
        assert isinstance(outcome.hint, str)
        assert len(outcome.hint) < 2100
        registration.dispose()


async def test_what_was_applied_is_plain_redacted_json(caplog: Any) -> None:
    """Threat 18."""
    registry = Registry(
        policy=Policy(rule=lambda call, capability: Decision.ALLOW),
        redact=lambda data: "***" if data == "secret" else data,
    )

    def handler(ctx: CallContext) -> None:
        ctx.applied({"row": 1})
        ctx.applied("secret")
        ctx.applied(object())
        raise CapabilityError("half_done")

    def other() -> None:
        raise CapabilityError("half_done", applied="secret")

    registry.register(declare(handler=handler, risk="mutating"))
    registry.register(declare("other.write", handler=other, risk="mutating"))
    assert (await registry.execute(call())).applied == [{"row": 1}, "***", "(not shown)"]
    assert (await registry.execute(call("other.write"))).applied == "***"


# Late ends and settled ones


async def test_a_repeated_call_learns_of_the_late_end_of_the_first(registry: Registry) -> None:
    """FC-04, FC-39."""
    release = asyncio.Event()
    registry.register(declare(handler=stubborn(release), risk="mutating", timeout=0.01))
    assert (await registry.execute(call(id="one", run="r"))).status == "unknown"
    second = await registry.execute(call(id="two", run="r2", client="k"))
    assert (second.status, second.call_id) == ("unknown", "one")
    release.set()
    await until(lambda: registry.call_status("one", run="r").ok)
    assert registry.call_status("two", run="r2", client="k").ok
    assert registry.call_status("one", run="r2", client="k").ok
    assert (await registry.execute(call(id="three"))).ok


async def test_what_was_unknown_when_its_run_ended_can_be_asked_about_when_it_is_known(registry: Registry) -> None:
    """FC-04."""
    release = asyncio.Event()
    registry.register(declare(handler=stubborn(release), risk="mutating", timeout=0.01))
    assert (await registry.execute(call(id="one", run="r"))).status == "unknown"
    registry.end_run("r")
    release.set()
    await until(lambda: registry.call_status("one", run="r").ok)
    assert registry._pipeline.ledger._runs == {}


async def test_a_late_end_after_somebody_settled_it_still_says_what_was_applied(registry: Registry) -> None:
    release = asyncio.Event()
    lates: list = []
    registry.observe_late(lates.append)
    registry.register(declare(handler=stubborn(release), risk="mutating", timeout=0.01, target=Target(id="t")))
    assert (await registry.execute(call(id="one"))).status == "unknown"
    assert registry.settle("one", Outcome(status=Status.FAILED, code="gone", applied=False))
    assert (await registry.execute(call())).code == "target_busy"
    release.set()
    await until(lambda: len(lates) == 2)
    assert (lates[1].outcome.status, lates[1].outcome.applied) == ("ok", True)
    assert registry.call_status("one").ok


async def test_a_read_that_goes_on_after_it_was_given_up_keeps_nothing_busy(registry: Registry) -> None:
    release = asyncio.Event()
    registry.register(declare(handler=stubborn(release), timeout=0.01, target=Target(id="t")))
    registry.register(declare("other.write", risk="mutating", target=Target(id="t")))
    assert (await registry.execute(call())).code == "timeout"
    assert (await registry.execute(call("other.write"))).ok
    release.set()
    await turn()


async def test_a_target_and_a_name_that_are_spelt_alike_are_not_busy_together(registry: Registry) -> None:
    release = asyncio.Event()
    registry.register(declare("same", handler=stubborn(release), risk="mutating", timeout=0.01))
    registry.register(declare("other.write", risk="mutating", target=Target(id="same")))
    assert (await registry.execute(call("same"))).status == "unknown"
    assert (await registry.execute(call("other.write"))).ok
    release.set()
    await turn()


class SlowJournal:
    """Writes each entry late, the first outcome latest."""

    def __init__(self) -> None:
        self.written: list = []
        self.gate = asyncio.Event()

    async def intent(self, intent: Any) -> None:
        await asyncio.sleep(0)
        self.written.append(("intent", intent.client))

    async def outcome(self, intent: Any, outcome: Any) -> None:
        if outcome.status is Status.UNKNOWN:
            await self.gate.wait()
        self.written.append((intent.client, outcome.status.value))


async def test_a_late_end_is_written_after_the_end_that_it_corrects() -> None:
    """FC-39."""
    journal, release = SlowJournal(), asyncio.Event()
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=journal)
    registry.register(declare(handler=stubborn(release), risk="mutating", timeout=0.01))
    task = asyncio.ensure_future(registry.execute(call(id="c1", client="k")))
    await until(lambda: registry.call_status("c1", client="k"))
    release.set()
    await until(lambda: registry.call_status("c1", client="k").ok)
    journal.gate.set()
    assert (await task).status == "unknown"
    await until(lambda: len(journal.written) == 3)
    assert journal.written == [("intent", "k"), ("k", "unknown"), ("k", "ok")]


async def test_the_outcome_is_written_to_its_end_when_the_caller_is_cancelled_meanwhile() -> None:
    journal = SlowJournal()
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=journal)
    registry.register(declare(handler=asyncio.Event().wait, risk="mutating", timeout=0.01))
    task = asyncio.ensure_future(registry.execute(call(id="c1", client="k")))
    await until(lambda: registry.call_status("c1", client="k"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    journal.gate.set()
    await until(lambda: len(journal.written) == 2)
    assert journal.written[1] == ("k", "unknown")


async def test_two_clients_with_one_call_id_have_each_their_own_entry() -> None:
    """FC-62."""
    journal, release = MemoryJournal(), asyncio.Event()
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=journal)
    registry.register(declare(handler=release.wait, risk="mutating"))
    both = [asyncio.ensure_future(registry.execute(call(id="call_0", client=client))) for client in ("a", "b")]
    await turn()
    registry.cancel("call_0", client="a")
    await both[0]
    release.set()
    await both[1]
    entries = {intent.client: [outcome.status.value for outcome in outcomes] for intent, outcomes in journal.entries}
    assert entries == {"a": ["cancelled"], "b": ["ok"]}


async def test_an_intent_that_the_journal_never_answers_is_not_run(caplog: Any) -> None:
    class Dead(MemoryJournal):
        def intent(self, intent: Any) -> Any:
            return asyncio.Event().wait()

    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=Dead())
    ran: list = []
    registry.register(declare(handler=lambda: ran.append(1), risk="mutating", timeout=0.02))
    outcome = await asyncio.wait_for(registry.execute(call()), 2)
    assert (outcome.status, outcome.code, ran) == ("failed", "journal_error", [])


async def test_facts_that_change_while_the_intent_is_written_stop_the_call() -> None:
    row = [1]

    class Journal(MemoryJournal):
        async def intent(self, intent: Any) -> None:
            await asyncio.sleep(0)
            row[0] = 2

    registry = Registry(journal=Journal())
    registry.approvals.attach(lambda event: event.approval or registry.approvals.approve(event.request))
    ran: list = []
    registry.register(text_capability(lambda text: ran.append(1), risk="mutating", preview=lambda text: row[0]))
    outcome = await registry.execute(call(input={"text": "x"}))
    assert (outcome.code, ran) == ("changed_since_approval", [])


# Duplicates


async def test_a_cancelled_duplicate_leaves_the_first_alone_and_a_duplicate_survives_the_first(
    registry: Registry,
) -> None:
    """FC-24."""
    release = asyncio.Event()
    registry.register(declare(handler=release.wait, risk="mutating"))
    first, second, third = (asyncio.ensure_future(registry.execute(call(id="c1"))) for _ in range(3))
    await turn()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await asyncio.wait_for(third, 1)).status == "cancelled"
    assert registry.call_status("c1").status == "cancelled"


async def test_a_duplicate_of_a_call_that_waits_for_approval_asks_nobody_again() -> None:
    """FC-24."""
    registry = Registry()
    asked: list = []
    registry.approvals.attach(lambda event: asked.append(event) if event.approval is None else None)
    ran: list = []
    registry.register(declare(handler=lambda: ran.append(1), risk="mutating"))
    both = [asyncio.ensure_future(registry.execute(call(id="c1"))) for _ in range(2)]
    await turn()
    assert len(asked) == 1
    registry.approvals.approve(asked[0].request)
    assert [(await one).status for one in both] == ["ok", "ok"]
    assert ran == [1]


async def test_a_duplicate_of_an_edited_call_is_still_the_same_call() -> None:
    registry = Registry()
    asked: list = []

    def view(event: Any) -> None:
        if event.approval is None:
            asked.append(event.request)
            if len(asked) == 1:
                registry.approvals.edit(event.request, {"text": "better"})
            else:
                registry.approvals.approve(event.request)

    registry.approvals.attach(view)
    registry.register(text_capability(lambda text: text, risk="mutating"))
    for _ in range(2):
        assert (await registry.execute(call(id="c1", input={"text": "x" * 1000}))).data == "better"
    assert len(asked) == 2
    assert (await registry.execute(call(id="c1", input={"text": "better"}))).code == "call_id_reused"


async def test_a_call_that_repeats_its_own_id_from_inside_does_not_wait_for_itself(registry: Registry) -> None:
    inner: list = []

    async def handler(ctx: CallContext) -> None:
        inner.append(await registry.execute(call(id=ctx.call_id)))

    registry.register(declare(handler=handler))
    assert (await asyncio.wait_for(registry.execute(call(id="c1")), 2)).ok
    assert inner[0].code == "call_id_reused"


# The end of the application, threads and loops


async def test_closing_stops_async_handlers_and_whatever_is_called_later_is_not_running(registry: Registry) -> None:
    """FC-09."""
    ended: list = []

    async def handler(ctx: CallContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(ctx.cancel.cancelled)

    registry.register(declare(handler=handler, risk="mutating"))
    tasks = [asyncio.ensure_future(registry.execute(call(id=f"c{number}"))) for number in range(2)]
    await turn()
    registry.close()
    registry.close()
    outcomes = [await asyncio.wait_for(task, 1) for task in tasks]
    assert {outcome.status.value for outcome in outcomes} == {"cancelled"}
    assert ended == [True]
    registry.register(declare())
    assert (await registry.execute(call())).code == "not_running"


async def test_a_failing_callback_of_a_cancel_token_keeps_nothing_from_stopping(
    registry: Registry, caplog: Any
) -> None:
    async def handler(ctx: CallContext) -> None:
        ctx.cancel.on_cancel(lambda: 1 / 0)
        await asyncio.Event().wait()

    registry.register(declare(handler=handler))
    tasks = [asyncio.ensure_future(registry.execute(call(id=f"c{number}"))) for number in range(2)]
    await turn()
    registry.close()
    for task in tasks:
        assert (await asyncio.wait_for(task, 1)).status == "cancelled"


async def test_cancelling_in_another_threads_loop_stops_the_call_in_ours(registry: Registry) -> None:
    """FC-54, FC-06."""
    registry.register(declare(handler=asyncio.Event().wait, risk="mutating"))
    registry.bind(asyncio.get_running_loop())
    started = threading.Event()
    registry.audit(lambda event: started.set() if event.kind.value == "executing" else None)
    raised: list = []

    async def elsewhere() -> None:
        task = asyncio.ensure_future(registry.execute(call(id="c1")))
        await asyncio.to_thread(started.wait, 2)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            raised.append(1)

    thread = threading.Thread(target=lambda: asyncio.run(elsewhere()))
    thread.start()
    await until(lambda: not thread.is_alive())
    await until(lambda: registry.call_status("c1"))
    assert registry.call_status("c1").status == "cancelled"
    assert raised == [1]


def test_what_was_under_way_in_a_loop_that_is_gone_keeps_nothing_busy_in_the_next() -> None:
    registry = Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW))
    registry.register(declare("slow.write", handler=lambda: asyncio.Event().wait(), risk="mutating"))
    registry.register(declare("other.write", risk="mutating"))
    first = asyncio.new_event_loop()
    task = first.create_task(registry.execute(call("slow.write", id="c1")))
    first.run_until_complete(turn())

    async def too_early() -> str:
        return (await registry.execute(call("other.write"))).code

    assert asyncio.run(too_early()) == "not_running"
    first.close()

    async def later() -> Any:
        return await registry.execute(call("other.write")), registry.call_status("c1")

    outcome, old = asyncio.run(later())
    assert outcome.ok
    assert old.status == "unknown"
    task._log_destroy_pending = False  # its loop is closed on purpose
    with contextlib.suppress(RuntimeError):
        task.get_coro().close()
    del task
    gc.collect()


async def test_context_variables_of_a_handler_do_not_leak_to_its_caller(registry: Registry) -> None:
    registry.register(declare("in.write", risk="mutating"))
    registry.register(declare("out.write", risk="mutating", handler=lambda: 1))
    for _ in range(2):
        assert (await registry.execute(call("out.write"))).ok
        assert (await registry.execute(call("in.write"))).ok  # not taken for a nested one


async def test_progress_after_the_end_is_told_to_nobody(registry: Registry) -> None:
    kept: list = []
    told: list = []
    registry.observe_progress(told.append)
    registry.register(declare(handler=lambda ctx: kept.append(ctx) or ctx.progress(1)))
    await registry.execute(call())
    kept[0].progress(2)
    assert [entry.progress.done for entry in told] == [1]
