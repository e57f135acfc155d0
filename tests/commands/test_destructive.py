"""The destructive checklist: one delete, everything that goes wrong around it, and what is true afterwards.

Each case is judged by the rows, the stored result, the audit, the answers, and the same questions after a restart.
"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Actor, Command, CommandResult, CommandStatus
from tests.support.command_kit import ANN, BOB, CHIEF, Inspector, make_service

pytestmark = pytest.mark.anyio


def delete(**fields: object) -> Command:
    given = {"id": 1} | fields
    return Command.of("customer.delete", given, command_id="d", expected_version=1, approved_by="ann", approved_at=1.0)


DELETED = {"rows": [], "effects": {"delete 1": 1}, "status": "succeeded", "code": ""}
KEPT = {"rows": [(1,)], "effects": {}, "status": "not_found", "code": "not_found"}


class Stage:
    """A started service whose point of failure can be chosen, a second one beside it, and the store's inspector."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.inspector = Inspector(url)
        self.failing = ""
        self.service = make_service(url, faults=self._faults)
        self.other = make_service(url)

    def _faults(self, label: str) -> None:
        if label == self.failing:
            raise ConnectionError(label)

    async def submit(self, command: Command, actor: Actor = ANN) -> CommandResult:
        return await self.service.submit(command, actor)

    async def facts(self, service: CommandService) -> dict[str, object]:
        status = await service.status("d")
        return {
            "rows": self.inspector.rows("SELECT id FROM customer"),
            "effects": {entry: n for entry, n in self.inspector.entries().items() if entry.startswith("delete")},
            "status": status.status.value,
            "code": str(status.code),
        }


async def double_click(stage: Stage) -> list[str]:
    results = await asyncio.gather(stage.submit(delete()), stage.submit(delete()))
    assert results[0].encode() == results[1].encode()
    return ["succeeded"]


async def same_call_twice(stage: Stage) -> list[str]:
    assert (await stage.submit(delete())).encode() == (await stage.submit(delete())).encode()
    return ["succeeded"]


async def forged_actor(stage: Stage) -> list[str]:
    assert (await stage.submit(delete(actor="ann"), BOB)).code == "forged_field"
    assert (await stage.submit(delete(), BOB)).code == "denied"
    return ["refused forged_field", "refused denied"]


async def forged_approval(stage: Stage) -> list[str]:
    assert (await stage.submit(delete(approved=True))).code == "forged_field"
    return ["refused forged_field"]


async def changed_after_the_approval(stage: Stage) -> list[str]:
    stage.inspector.change("UPDATE customer SET version = 2")
    result = await stage.submit(delete())
    assert (result.code, result.version) == ("version_conflict", 2)
    return ["failed version_conflict"]


async def answer_lost_after_the_commit(stage: Stage) -> list[str]:
    stage.failing = "committed"
    assert (await stage.submit(delete())).ok
    stage.failing = ""
    assert (await stage.submit(delete())).ok
    return ["succeeded"]


async def caller_gone_while_it_executes(stage: Stage) -> list[str]:
    caller = asyncio.ensure_future(stage.submit(delete()))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    await stage.service.close()  # waits for what is running
    await stage.service.start()
    return ["succeeded"]


async def audit_fails(stage: Stage) -> list[str]:
    stage.failing = "result"
    result = await stage.submit(delete())
    assert (result.status, result.code, result.retryable) == (CommandStatus.REFUSED, "store_error", True)
    stage.failing = ""
    return []


async def same_id_from_another_process(stage: Stage) -> list[str]:
    results = await asyncio.gather(stage.submit(delete()), stage.other.submit(delete(), ANN))
    assert results[0].encode() == results[1].encode()
    return ["succeeded"]


async def another_payload_under_the_id(stage: Stage) -> list[str]:
    assert (await stage.submit(delete())).ok
    assert (await stage.submit(delete(id=2))).code == "payload_mismatch"
    return ["succeeded", "refused payload_mismatch"]


CONFLICT = KEPT | {"status": "failed", "code": "version_conflict"}
CASES: list[tuple[Callable[[Stage], Awaitable[list[str]]], dict[str, object]]] = [
    (double_click, DELETED),
    (same_call_twice, DELETED),
    (forged_actor, KEPT),
    (forged_approval, KEPT),
    (changed_after_the_approval, CONFLICT),
    (answer_lost_after_the_commit, DELETED),
    (caller_gone_while_it_executes, DELETED),
    (audit_fails, KEPT),
    (same_id_from_another_process, DELETED),
    (another_payload_under_the_id, DELETED),
]


@pytest.mark.parametrize(("case", "expected"), CASES, ids=[case.__name__ for case, _ in CASES])
async def test_a_delete_happens_exactly_when_its_result_says_so(
    url: str, case: Callable[[Stage], Awaitable[list[str]]], expected: dict[str, object]
) -> None:
    """FC-22, FC-24, FC-25"""
    stage = Stage(url)
    async with stage.service, stage.other:
        create = Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c")
        assert (await stage.submit(create)).ok
        events = await case(stage)
        assert await stage.facts(stage.service) == expected
        assert stage.inspector.events("d") == events
    async with make_service(url) as restarted:
        assert await stage.facts(restarted) == expected
        assert [entry.command_id for entry in await restarted.history(command_id="d")] == ["d"] * len(events)


@pytest.mark.parametrize(
    ("point", "expected"),
    [("begun", "succeeded"), ("claimed", "succeeded"), ("before_commit", "unknown"), ("committed", "succeeded")],
)
async def test_a_server_connection_that_is_cut_is_answered_honestly_and_the_id_stays_good(
    postgres: object, request: pytest.FixtureRequest, point: str, expected: str
) -> None:
    """FC-39: cut before the commit it is tried again; cut in the commit nobody knows, and asking ends that."""
    url = request.getfixturevalue("postgres").new_database()
    cut: list[str] = []

    def faults(label: str) -> None:
        if label == point and cut:
            cut.clear()
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            inspector.rows(others + " AND pid <> pg_backend_pid()")
            ended = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            assert any(inspector.rows(ended) == [(1,)] for _ in range(2000)), "the connection lives on"

    async with make_service(url, faults=faults) as service:
        inspector = Inspector(url)
        await service.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c"), ANN)
        cut.append("once")
        result = await service.submit(delete(), ANN)
        assert (result.status.value, not cut) == (expected, True)
        if expected == "unknown":
            assert (result.code, result.retryable) == ("connection_lost", True)
        final = await service.submit(delete(), ANN)
        assert final.ok
        assert (await service.status("d", CHIEF)).encode() == final.encode()
    assert inspector.entries() == {"delete 1": 1}
    assert inspector.events("d") == ["succeeded"]
