"""Each statement and each point of a command failing, once and for good: nothing half done, and the id usable after."""

from typing import Any

import pytest

from agentic_qt.commands.library import choose_library
from agentic_qt.commands.transactions import POINTS
from agentic_qt.commands.values import Command, CommandStatus
from tests.support.breaker import Breaker
from tests.support.command_kit import ANN, BOB, Inspector, add_entry, make_service

pytestmark = pytest.mark.anyio

ERRORS = {
    "io": "disk I/O error",
    "full": "database or disk is full",
    "locked": "database is locked",
}


def rename(number: int) -> Command:
    command_id = f"r-{number}"
    return Command.of(
        "customer.rename", {"id": 1, "name": f"n{number}"}, command_id=command_id, expected_version=number
    )


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
async def test_each_statement_failing_leaves_nothing_and_the_id_usable(url: str, for_good: bool, error: str) -> None:
    inspector = Inspector(url)
    async with make_service(url, outbox=True) as service:
        breaker = Breaker(service)
        await service.submit(Command.of("customer.create", {"id": 1, "name": "n0"}, command_id="c"), ANN)
        breaker.count = 0
        assert (await service.submit(rename(1), ANN)).version == 2
        statements, version = breaker.count, 2
        assert statements >= 7, "claim, version, effect, version, result, audit, outbox"
        for number in range(1, statements + 1):
            before = (
                inspector.rows("SELECT * FROM customer"),
                inspector.results(),
                inspector.rows("SELECT count(*) FROM agentic_audit"),
                inspector.rows("SELECT count(*) FROM agentic_outbox"),
            )
            with breaker.broken(number, ERRORS[error], for_good=for_good):
                broken = await service.submit(rename(version), ANN)
            assert (broken.status, broken.retryable) == (CommandStatus.REFUSED, True), number
            assert broken.code in {"store_error", "busy"}
            assert "SELECT" not in broken.hint
            after = (
                inspector.rows("SELECT * FROM customer"),
                inspector.results(),
                inspector.rows("SELECT count(*) FROM agentic_audit"),
                inspector.rows("SELECT count(*) FROM agentic_outbox"),
            )
            assert after == before
            repaired = await service.submit(rename(version), ANN)
            assert (repaired.status, repaired.version) == (CommandStatus.SUCCEEDED, version + 1)
            version += 1


@pytest.mark.parametrize("point", POINTS)
async def test_a_failure_at_each_point_is_answered_by_what_the_store_says(url: str, point: str) -> None:
    inspector = Inspector(url)
    broken: list[str] = [point]

    def fail(label: str) -> None:
        if label in broken:
            raise RuntimeError(label)

    async with make_service(url, faults=fail, outbox=True) as service:
        result = await service.submit(add_entry("a"), ANN)
        if point == "committed":  # the answer was lost, the fact was not
            assert result.ok
            assert inspector.entries() == {"a": 1}
        else:
            assert (result.status, result.code) == (CommandStatus.REFUSED, "store_error")
            assert (inspector.entries(), inspector.results()) == ({}, {})
        broken.clear()
        again = await service.submit(add_entry("a"), ANN)
        assert again.ok
        assert point != "committed" or again.encode() == result.encode()
    assert inspector.entries() == {"a": 1}


async def test_an_audit_that_cannot_be_written_undoes_the_command(url: str) -> None:
    inspector = Inspector(url)
    async with make_service(url) as service:
        inspector.change("ALTER TABLE agentic_audit RENAME TO hidden")
        assert (await service.submit(add_entry("a"), ANN)).code == "store_error"
        assert (inspector.entries(), inspector.results()) == ({}, {})
        inspector.change("ALTER TABLE hidden RENAME TO agentic_audit")
        assert (await service.submit(add_entry("a"), ANN)).ok


async def test_a_refusal_stays_a_refusal_when_its_audit_cannot_be_written(url: str) -> None:
    inspector = Inspector(url)
    async with make_service(url) as service:
        inspector.change("ALTER TABLE agentic_audit RENAME TO hidden")
        delete = Command.of("customer.delete", {"id": 1}, command_id="d", expected_version=1)
        assert (await service.submit(delete, BOB)).code == "denied"


async def test_a_commit_that_breaks_a_deferred_rule_is_a_stored_failure(url: str) -> None:
    inspector = Inspector(url)
    async with make_service(url) as service:
        inspector.change("CREATE TABLE child (n INTEGER REFERENCES customer (id) DEFERRABLE INITIALLY DEFERRED)")

        @service.command("child.add", schema={"type": "object", "additionalProperties": False}, permission=None)
        def add(session: Any, input_: Any, actor: Any) -> None:
            session.connection().exec_driver_sql("INSERT INTO child VALUES (77)")

        command = Command.of("child.add", {}, command_id="x")
        result = await service.submit(command, ANN)
        assert (result.status, result.code) == (CommandStatus.FAILED, "constraint")
        assert (await service.submit(command, ANN)).encode() == result.encode()
    assert inspector.rows("SELECT * FROM child") == []
    assert inspector.events("x") == ["failed constraint"]


async def test_a_commit_that_fails_leaves_nothing_for_a_later_one_to_commit(sqlite_url: str) -> None:
    """SQLite keeps a transaction open after a commit that failed."""
    inspector, state = Inspector(sqlite_url), {"full": False}
    async with make_service(sqlite_url) as service:
        commit = service.store.engine.dialect.do_commit

        def failing(connection: Any) -> None:
            if state["full"]:
                raise choose_library().module.OperationalError("database or disk is full")
            commit(connection)

        service.store.engine.dialect.do_commit = failing  # type: ignore[method-assign]
        state["full"] = True
        assert (await service.submit(add_entry("a"), ANN)).code == "store_error"
        state["full"] = False
        assert (await service.submit(add_entry("b"), ANN)).ok
        assert inspector.entries() == {"b": 1}
        assert (await service.submit(add_entry("a"), ANN)).ok
    assert inspector.entries() == {"a": 1, "b": 1}


async def test_another_writer_who_does_not_end_makes_a_command_busy_and_not_failed(sqlite_url: str) -> None:
    async with make_service(sqlite_url, busy_timeout=0.1) as service:
        other = service.store.engine.dialect.dbapi.connect(service.store.engine.url.database)  # type: ignore[union-attr]
        try:
            other.isolation_level = None
            other.execute("BEGIN IMMEDIATE")
            busy = await service.submit(add_entry("a"), ANN)
            assert (busy.status, busy.code, busy.retryable) == (CommandStatus.REFUSED, "busy", True)
            assert (await service.status("a")).status is CommandStatus.NOT_FOUND  # readers wait for nobody
            other.execute("ROLLBACK")
        finally:
            other.close()
        assert (await service.submit(add_entry("a"), ANN)).ok


async def test_nothing_of_a_payload_is_in_the_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    def fail(label: str) -> None:
        if label == "audit":
            raise RuntimeError(label)

    async with make_service(url, faults=fail) as service:
        await service.submit(add_entry("CANARY", "a"), ANN)
        Inspector(url).change("DROP TABLE ledger")
        await service.submit(add_entry("CANARY", "b"), ANN)
    assert "could not be executed" in caplog.text
    assert "CANARY" not in caplog.text
