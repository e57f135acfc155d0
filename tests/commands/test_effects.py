"""Effects outside of the store: begun once, unknown when nobody can say, and ended by status, resolve or abandon."""

import asyncio

import pytest

from agentic_qt.commands.errors import EffectUnknown
from agentic_qt.commands.values import Actor, Command, CommandStatus
from agentic_qt.core.errors import CapabilityError
from tests.support.bank import Bank, Clock, pay, paying
from tests.support.command_kit import ANN, BOB, CHIEF, Inspector, make_service, schema

pytestmark = pytest.mark.anyio


async def test_an_effect_gets_the_command_id_and_is_begun_once(url: str) -> None:
    """FC-24"""
    bank, inspector = Bank(), Inspector(url)
    async with paying(url, bank, outbox=True) as service:
        results = await asyncio.gather(*(service.submit(pay(), ANN) for _ in range(5)))
        assert {result.encode() for result in results} == {(await service.status("p")).encode()}
        assert results[0].data == {"receipt": "p"}
        assert [message.body["result"]["status"] for message in await service.outbox.waiting()] == ["succeeded"]
    assert bank.payments == {"p": 5}
    assert inspector.events("p") == ["executing", "succeeded"]


async def test_a_duplicate_is_told_in_progress_while_the_first_is_at_it(url: str) -> None:
    bank = Bank()
    bank.goes_on = asyncio.Event()
    async with paying(url, bank, wait=0.01) as service:
        first = asyncio.ensure_future(service.submit(pay(), ANN))
        await asyncio.wait_for(bank.asked.wait(), 10)
        twice = await service.submit(pay(), ANN)
        assert (twice.status, twice.code, twice.retryable) == (CommandStatus.EXECUTING, "in_progress", True)
        assert (await service.submit(pay(amount=6), ANN)).code == "payload_mismatch"
        assert (await service.submit(pay(), BOB)).code == "payload_mismatch"
        assert (await service.status("p")).status is CommandStatus.EXECUTING
        assert (await service.abandon("p", ANN)).status is CommandStatus.EXECUTING
        similar = await service.find_open(pay("other"), ANN)
        assert similar is not None
        assert similar.command.command_id == "p"
        assert await service.find_open(pay("other"), BOB) is None
        async with paying(url, bank, wait=0.01) as other_process:
            assert (await other_process.submit(pay(), ANN)).code == "in_progress"
        bank.goes_on.set()
        assert (await first).ok
        assert await service.find_open(pay("other"), ANN) is None
    assert bank.payments == {"p": 5}


@pytest.mark.parametrize(
    "error",
    [
        EffectUnknown(),
        TimeoutError(),
        RuntimeError("secret"),
        asyncio.CancelledError(),  # of a task of the handler's own, say
        CapabilityError("", "A failure without a code."),
        CapabilityError("half", applied={1}),
    ],
    ids=repr,
)
async def test_an_effect_of_which_nobody_knows_is_unknown_and_is_never_begun_again(
    url: str, error: BaseException
) -> None:
    """FC-04, FC-39"""
    bank = Bank()
    bank.raising = error
    async with paying(url, bank) as service:
        result = await service.submit(pay(), ANN)
        assert (result.status, result.code) == (CommandStatus.UNKNOWN, "effect_unknown")
        assert "secret" not in result.hint
        bank.raising = None
        assert (await service.submit(pay(), ANN)).encode() == result.encode()
        open_command = await service.find_open(pay("another"), ANN)
        assert open_command is not None
        assert open_command.command.command_id == "p"
    assert bank.payments == {}


async def test_a_declared_failure_is_failed_and_says_what_was_applied(url: str) -> None:
    """FC-42"""
    bank = Bank()
    bank.raising = CapabilityError("no_money", "The account is empty.")
    async with paying(url, bank) as service:
        result = await service.submit(pay(), ANN)
        assert (result.status, result.code, result.data) == (CommandStatus.FAILED, "no_money", None)
        bank.raising = CapabilityError("half", "One of two was paid.", applied={"paid": 1})
        assert (await service.submit(pay("q"), ANN)).data == {"applied": {"paid": 1}}
        bank.raising = CapabilityError("lost", applied=None)
        assert (await service.submit(pay("r"), ANN)).status is CommandStatus.UNKNOWN


async def test_an_effect_whose_process_died_becomes_unknown_at_the_next_start_and_is_resolved(url: str) -> None:
    """FC-39"""
    bank, clock, inspector = Bank(), Clock(), Inspector(url)
    bank.goes_on = asyncio.Event()
    service = paying(url, bank, clock=clock)
    await service.start()
    first = asyncio.ensure_future(service.submit(pay(), ANN))
    await asyncio.wait_for(bank.asked.wait(), 10)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:  # type: ignore[arg-type]
        if "_execute" in repr(task):
            task.cancel()  # what a dying process does to it
    with pytest.raises(asyncio.CancelledError):
        await first
    await service.close()
    bank.payments["p"] = 5  # it did happen

    async with paying(url, bank, clock=clock) as restarted:
        assert (await restarted.status("p")).status is CommandStatus.EXECUTING  # its lease is not over
    clock.now += 36
    async with paying(url, bank, clock=clock) as restarted:
        (record,) = await restarted.records()
        assert record.state.value == "unknown"
        assert (await restarted.status("p")).status is CommandStatus.UNKNOWN
        resolved = await restarted.resolve("p", CHIEF)
        assert (resolved.status, resolved.data, resolved.actor) == (CommandStatus.SUCCEEDED, {"receipt": "p"}, "ann")
        assert (await restarted.submit(pay(), ANN)).encode() == resolved.encode()
    assert bank.payments == {"p": 5}
    assert inspector.events("p") == ["executing", "unknown effect_unknown", "succeeded"]


async def test_resolving_says_failed_when_it_did_not_happen_and_nothing_when_that_is_not_known(url: str) -> None:
    bank = Bank()
    bank.raising = EffectUnknown()
    async with paying(url, bank) as service:
        unknown = await service.submit(pay(), ANN)
        bank.resolving = EffectUnknown()
        assert (await service.resolve("p", ANN)).encode() == unknown.encode()
        assert (await service.resolve("p", BOB)).status is CommandStatus.NOT_FOUND
        bank.resolving = None
        assert (await service.resolve("p", ANN)).code == "no_payment"
        assert (await service.status("p")).status is CommandStatus.FAILED


async def test_an_effect_that_ends_after_it_was_given_up_is_recorded_and_changes_nothing(url: str) -> None:
    """FC-04"""
    bank, clock, inspector = Bank(), Clock(), Inspector(url)
    bank.goes_on = asyncio.Event()
    async with paying(url, bank, clock=clock) as service:
        first = asyncio.ensure_future(service.submit(pay(), ANN))
        await asyncio.wait_for(bank.asked.wait(), 10)
        clock.now += 36
        assert (await service.abandon("p", BOB)).code == "denied"
        given_up = await service.abandon("p", CHIEF)
        assert (given_up.status, given_up.code) == (CommandStatus.FAILED, "abandoned")
        bank.goes_on.set()
        assert (await first).encode() == given_up.encode()
    assert inspector.events("p")[-1] == "late_end"
    assert inspector.events("p")[:1] == ["executing"]


async def test_a_late_end_of_an_unknown_effect_becomes_its_result(url: str) -> None:
    """FC-04"""
    bank, clock = Bank(), Clock()
    bank.goes_on = asyncio.Event()
    async with paying(url, bank, clock=clock) as service:
        first = asyncio.ensure_future(service.submit(pay(), ANN))
        await asyncio.wait_for(bank.asked.wait(), 10)
        clock.now += 36
        async with paying(url, bank, clock=clock) as other_process:
            assert (await other_process.status("p")).status is CommandStatus.UNKNOWN
        bank.goes_on.set()
        assert (await first).ok
        assert (await service.status("p", ANN)).ok


async def test_an_end_that_cannot_be_recorded_is_unknown_to_the_caller(url: str) -> None:
    bank, failing = Bank(), []

    def faults(label: str) -> None:
        if label == "audit" and failing:
            raise RuntimeError(label)

    async with paying(url, bank, faults=faults) as service:
        failing.append(True)
        result = await service.submit(pay(), ANN)
        assert result.status is CommandStatus.UNKNOWN
        failing.clear()
        assert (await service.status("p")).status is CommandStatus.EXECUTING
    assert bank.payments == {"p": 5}


async def test_an_effect_needs_permission_version_and_schema_as_any_command(url: str) -> None:
    bank = Bank()
    service = make_service(url)
    declare = service.effect(
        "bill.send", schema=schema(amount={"type": "integer"}), permission="bill.send", version_of=lambda *_: 3
    )
    declare(bank.pay)
    allowed = Actor(name="ann", permissions=frozenset({"bill.send"}))
    async with service:
        old = Command.of("bill.send", {"amount": 1}, command_id="s", expected_version=2)
        assert (await service.submit(old, BOB)).code == "denied"
        assert (await service.submit(old, allowed)).code == "version_conflict"
        assert not bank.asked.is_set()
        new = Command.of("bill.send", {"amount": 1}, command_id="s-2", expected_version=3)
        assert (await service.submit(new, allowed)).ok
