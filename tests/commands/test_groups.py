"""Commands that wait for the I/O thread and are executed together: one commit, and each is judged for itself."""

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import event, insert
from sqlalchemy.exc import OperationalError

from agentic_qt.commands import groups
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.transactions import POINTS
from agentic_qt.commands.values import Actor, Command, CommandResult, CommandStatus
from tests.support.bank import Bank, pay, paying
from tests.support.breaker import Breaker
from tests.support.command_kit import ANN, BOB, Inspector, add_entry, ledger, make_service, schema
from tests.support.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio


async def together(service: CommandService, *commands: Command | tuple[Command, Actor]) -> list[CommandResult]:
    """Submit commands while the I/O thread is busy, so that they wait for it together."""
    gate = threading.Event()
    busy = asyncio.ensure_future(service._io(lambda: gate.wait(20)))
    pairs = [each if isinstance(each, tuple) else (each, ANN) for each in commands]
    tasks = [asyncio.ensure_future(service.submit(*pair)) for pair in pairs]
    for _ in range(1000):
        if len(service._groups._waiting) == len(tasks):
            break
        await asyncio.sleep(0)
    else:
        raise AssertionError("not all of them wait for the thread")
    gate.set()
    await busy
    return list(await asyncio.gather(*tasks))


class Commits:
    """Counts them."""

    def __init__(self, service: CommandService) -> None:
        self.count = 0
        event.listen(service.store.engine, "commit", self._add)

    def _add(self, _connection: Any) -> None:
        self.count += 1


def entries(count: int, prefix: str = "e") -> list[Command]:
    return [add_entry(f"{prefix}{number}") for number in range(count)]


def rename(command_id: str, *, version: int, name: str = "Bea") -> Command:
    return Command.of("customer.rename", {"id": 1, "name": name}, command_id=command_id, expected_version=version)


def broken_shop(url: str, **settings: Any) -> CommandService:
    """The shop with two commands that end a group."""
    service = make_service(url, **settings)

    @service.command("ledger.locked", schema=schema(), permission=None)
    def locked(session: Any, input_: Any, actor: Any) -> None:
        session.execute(insert(ledger).values(entry="locked"))
        raise OperationalError("INSERT", None, Exception("disk I/O error"))

    @service.command("ledger.raises", schema=schema(), permission=None)
    def raises(session: Any, input_: Any, actor: Any) -> None:
        session.execute(insert(ledger).values(entry="raises"))
        session.flush()
        raise ValueError("a mistake")

    return service


async def test_what_waits_is_committed_together_and_stored_as_it_is_answered(url: str) -> None:
    inspector = Inspector(url)
    async with make_service(url, outbox=True) as service:
        commits = Commits(service)
        results = await together(service, *entries(7))
        assert commits.count == 1
        assert [each.command_id for each in results] == [f"e{number}" for number in range(7)]
        stored = inspector.results()
        for result in results:
            assert result.ok
            assert (stored[result.command_id] or "").encode() == result.encode()
            assert (await service.submit(add_entry(result.command_id), ANN)).encode() == result.encode()
        assert [each.sequence for each in await service.outbox.waiting()] == list(range(1, 8))
    assert inspector.entries() == {f"e{number}": 1 for number in range(7)}


async def test_one_alone_has_a_transaction_and_a_commit_of_its_own(url: str) -> None:
    async with make_service(url) as service:
        breaker, commits = Breaker(service), Commits(service)
        assert (await service.submit(add_entry("a"), ANN)).ok
        alone = breaker.count
        assert commits.count == 1
        breaker.count = 0
        await together(service, add_entry("b"), add_entry("c"))
        assert breaker.count > alone
        assert commits.count == 2


async def test_a_member_that_is_refused_or_fails_does_not_touch_its_neighbours(url: str) -> None:
    inspector = Inspector(url)
    async with broken_shop(url) as service:
        await service.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c"), ANN)
        await service.submit(add_entry("old"), ANN)
        await service.submit(add_entry("older"), ANN)
        commits = Commits(service)
        delete = Command.of("customer.delete", {"id": 1}, command_id="denied", expected_version=1)
        results = await together(
            service,
            add_entry("first"),
            (delete, BOB),
            rename("renamed", version=1),
            rename("conflict", version=1),
            Command.of("customer.create", {"id": 1, "name": "Eve"}, command_id="taken"),
            rename("nameless", version=2, name=""),
            Command.of("ledger.raises", {}, command_id="mistake"),
            add_entry("another", "old"),
            add_entry("older"),
            add_entry("last"),
        )
        assert [(each.status.value, each.code) for each in results] == [
            ("succeeded", ""),
            ("refused", "denied"),
            ("succeeded", ""),
            ("failed", "version_conflict"),
            ("failed", "constraint"),
            ("failed", "no_name"),
            ("failed", "handler_error"),
            ("refused", "payload_mismatch"),
            ("succeeded", ""),
            ("succeeded", ""),
        ]
        assert commits.count == 3, "the group, and the audit of two refusals"
        again = await service.submit(rename("conflict", version=1), ANN)
        assert again.encode() == results[3].encode()
    assert inspector.entries() == {"old": 1, "older": 1, "first": 1, "last": 1}
    assert inspector.rows("SELECT name, version FROM customer") == [("Bea", 2)]
    assert "denied" not in inspector.results()
    assert inspector.events("denied") == ["refused denied"]
    assert inspector.events("nameless") == ["failed no_name"]


async def test_an_error_of_the_database_ends_the_group_and_each_is_executed_alone(url: str) -> None:
    inspector = Inspector(url)
    async with broken_shop(url) as service:
        commits = Commits(service)
        results = await together(
            service, add_entry("a"), Command.of("ledger.locked", {}, command_id="x"), add_entry("b")
        )
        assert [(each.status.value, each.code) for each in results] == [
            ("succeeded", ""), ("refused", "store_error"), ("succeeded", ""),
        ]  # fmt: skip
        assert commits.count == 2
    assert inspector.entries() == {"a": 1, "b": 1}
    assert inspector.events("a") == ["succeeded"]


@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("point", POINTS)
async def test_a_failure_at_each_point_of_a_group_is_nobodys_result(url: str, point: str, nth: int) -> None:
    inspector, passed = Inspector(url), Counter[str]()

    def fail_once(label: str) -> None:
        passed[label] += 1
        if (label, passed[label]) == (point, nth):
            raise RuntimeError(label)

    async with make_service(url, faults=fail_once, outbox=True) as service:
        results = await together(service, *entries(3))
        assert passed[point] >= nth
        assert all(each.ok for each in results)
        assert {each.command_id: each.encode().decode() for each in results} == inspector.results()
    assert inspector.entries() == {"e0": 1, "e1": 1, "e2": 1}
    assert [inspector.events(f"e{number}") for number in range(3)] == [["succeeded"]] * 3


@pytest.mark.parametrize("point", POINTS)
async def test_a_failure_for_good_leaves_nothing_of_a_group_and_every_id_usable(url: str, point: str) -> None:
    inspector, broken = Inspector(url), [point]

    def fail(label: str) -> None:
        if label in broken:
            raise RuntimeError(label)

    async with make_service(url, faults=fail, outbox=True) as service:
        results = await together(service, *entries(3))
        if point == "committed":  # the answer was lost, the fact was not
            assert all(each.ok for each in results)
        else:
            assert {each.code for each in results} == {"store_error"}
            assert (inspector.entries(), inspector.results()) == ({}, {})
        broken.clear()
        assert all(each.ok for each in await together(service, *entries(3)))
    assert inspector.entries() == {"e0": 1, "e1": 1, "e2": 1}


async def test_each_statement_of_a_group_failing_once_loses_and_doubles_nothing(url: str) -> None:
    inspector = Inspector(url)
    async with make_service(url, outbox=True) as service:
        breaker = Breaker(service)
        await together(service, *entries(2, "warm"))
        statements = breaker.count
        assert statements >= 14
        for number in range(1, statements + 1):
            with breaker.broken(number, "disk I/O error", for_good=False):
                results = await together(service, *entries(2, f"n{number}-"))
            assert all(each.ok for each in results), number
    assert set(inspector.entries().values()) == {1}
    assert len(inspector.entries()) == 2 * (statements + 1)


async def test_a_rule_that_breaks_at_the_commit_is_the_failure_of_its_own_command_alone(url: str) -> None:
    inspector = Inspector(url)
    async with make_service(url) as service:
        inspector.change("CREATE TABLE child (n INTEGER REFERENCES customer (id) DEFERRABLE INITIALLY DEFERRED)")

        @service.command("child.add", schema=schema(), permission=None)
        def add(session: Any, input_: Any, actor: Any) -> None:
            session.connection().exec_driver_sql("INSERT INTO child VALUES (77)")

        results = await together(service, add_entry("a"), Command.of("child.add", {}, command_id="x"), add_entry("b"))
        assert [each.code for each in results] == ["", "constraint", ""]
    assert inspector.entries() == {"a": 1, "b": 1}
    assert inspector.rows("SELECT * FROM child") == []


async def test_a_connection_that_is_lost_at_the_commit_is_asked_about_for_each(postgres: PostgresServer) -> None:
    """FC-39"""
    url = postgres.new_database()
    inspector, armed = Inspector(url), [True]
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND state = 'idle in transaction'"
    )

    def cut(label: str) -> None:
        if label == "before_commit" and armed:
            armed.clear()
            inspector.rows(kill)

    async with make_service(url, faults=cut) as service:
        results = await together(service, *entries(3))
        assert {(each.status, each.code) for each in results} == {(CommandStatus.UNKNOWN, "connection_lost")}
        assert inspector.entries() == {}
        assert all(each.ok for each in await together(service, *entries(3)))
    assert inspector.entries() == {"e0": 1, "e1": 1, "e2": 1}


async def test_another_writer_who_does_not_end_makes_all_of_them_busy_after_one_wait(sqlite_url: str) -> None:
    async with make_service(sqlite_url, busy_timeout=0.1) as service:
        other = service.store.engine.dialect.dbapi.connect(service.store.engine.url.database)  # type: ignore[union-attr]
        try:
            other.isolation_level = None
            other.execute("BEGIN IMMEDIATE")
            breaker = Breaker(service)
            results = await together(service, *entries(5))
            assert {(each.status, each.code) for each in results} == {(CommandStatus.REFUSED, "busy")}
            assert breaker.count == 1
            other.execute("ROLLBACK")
        finally:
            other.close()
        assert all(each.ok for each in await together(service, *entries(5)))


async def test_a_group_is_bounded(sqlite_url: str) -> None:
    async with make_service(sqlite_url) as service:
        commits = Commits(service)
        assert all(each.ok for each in await together(service, *entries(2 * groups.LARGEST + 3)))
        assert commits.count == 3
    assert len(Inspector(sqlite_url).entries()) == 2 * groups.LARGEST + 3


async def test_slow_commands_do_not_hold_up_the_first_of_a_group(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "LONGEST", -1.0)
    async with make_service(sqlite_url) as service:
        commits, ended = Commits(service), []
        service.observe(lambda command, result: ended.append(command.command_id))
        await together(service, *entries(4))
        assert (commits.count, ended) == (4, ["e0", "e1", "e2", "e3"])
    assert len(Inspector(sqlite_url).entries()) == 4


async def test_an_effect_is_claimed_in_a_group_and_begins_after_its_commit(url: str) -> None:
    """FC-39"""
    bank, inspector = Bank(), Inspector(url)
    seen: list[Any] = []
    pay_now = bank.pay

    async def look_and_pay(effect: Any) -> Any:
        seen.append(inspector.events(effect.command_id))
        return await pay_now(effect)

    bank.pay = look_and_pay  # type: ignore[method-assign]
    async with paying(url, bank) as service:
        commits = Commits(service)
        results = await together(service, add_entry("a"), pay("p"), pay("q"))
        assert all(each.ok for each in results)
        assert commits.count == 3, "the group, and the ends of two effects"
    assert (bank.payments, seen) == ({"p": 5, "q": 5}, [["executing"], ["executing"]])


async def test_a_claim_whose_commit_has_no_answer_begins_no_effect(url: str) -> None:
    """FC-39"""
    bank, armed = Bank(), [True]

    def fail_once(label: str) -> None:
        if label == "committed" and armed:
            armed.clear()
            raise RuntimeError(label)

    async with paying(url, bank, faults=fail_once) as service:
        first, second = await together(service, add_entry("a"), pay("p"))
        assert (first.ok, second.status) == (True, CommandStatus.EXECUTING)
    assert bank.payments == {}


async def test_members_see_what_the_ones_before_them_did(url: str) -> None:
    async with make_service(url) as service:
        await service.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c"), ANN)
        results = await together(service, *(rename(f"r{number}", version=number) for number in range(1, 6)))
        assert [each.version for each in results] == [2, 3, 4, 5, 6]


async def test_services_on_one_store_with_groups_that_collide_lose_and_double_nothing(url: str) -> None:
    """G29, FC-22: at most one of those who saw a version changes it."""
    inspector = Inspector(url)
    async with make_service(url) as one, make_service(url) as other:
        await one.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c"), ANN)
        both = await asyncio.gather(
            together(one, *entries(4), *(rename(f"one-{version}", version=version) for version in (1, 2))),
            together(other, *entries(4), *(rename(f"other-{version}", version=version) for version in (1, 2))),
        )
        shared = [[each.encode() for each in results[:4]] for results in both]
        assert shared[0] == shared[1]
        renamed = [each for results in both for each in results[4:]]
        assert {each.code for each in renamed} <= {"", "version_conflict"}
        (row,) = inspector.rows("SELECT version FROM customer")
        assert row == (1 + sum(each.ok for each in renamed),)
    assert inspector.entries() == {f"e{number}": 1 for number in range(4)}
