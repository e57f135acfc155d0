"""One command, one effect: ids, payloads, actors, versions, permissions, and what is left in the store."""

import asyncio
import math
from typing import Any

import pytest
from sqlalchemy import insert
from sqlalchemy.orm import Session

from agentic_qt.commands.command_type import RESERVED
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Actor, Command, CommandResult, CommandStatus
from agentic_qt.core.errors import CapabilityError, DeclarationError
from tests.support.command_kit import ANN, BOB, CHIEF, Inspector, add_entry, customers, ledger, make_service, schema

pytestmark = pytest.mark.anyio


async def with_customer(service: CommandService, id_: int = 1) -> None:
    created = await service.submit(
        Command.of("customer.create", {"id": id_, "name": "Ada"}, command_id=f"create-{id_}"), ANN
    )
    assert created.ok


def delete(command_id: str = "d-1", *, version: int = 1, id_: int = 1, **fields: Any) -> Command:
    return Command.of("customer.delete", {"id": id_}, command_id=command_id, expected_version=version, **fields)


def rename(command_id: str, *, version: int, name: str = "Bea") -> Command:
    return Command.of("customer.rename", {"id": 1, "name": name}, command_id=command_id, expected_version=version)


async def test_a_command_changes_rows_and_leaves_result_and_audit(
    service: CommandService, inspector: Inspector
) -> None:
    await with_customer(service)
    result = await service.submit(delete(approved_by="ann", approved_at=5.0), ANN)
    assert (result.status, result.data, result.actor) == (CommandStatus.SUCCEEDED, {"id": 1}, "ann")
    assert inspector.rows("SELECT * FROM customer") == []
    assert inspector.results()["d-1"] == result.encode().decode()
    assert inspector.events("d-1") == ["succeeded"]
    (entry,) = await service.history(command_id="d-1")
    assert (entry.type, entry.actor, entry.detail["approvedBy"]) == ("customer.delete", "ann", "ann")


async def test_the_same_command_again_gets_the_first_result_byte_for_byte(
    service: CommandService, inspector: Inspector
) -> None:
    """G29, FC-24"""
    first = await service.submit(add_entry("a"), ANN)
    again = await service.submit(add_entry("a"), ANN)
    assert again.encode() == first.encode() == (await service.status("a")).encode()
    assert inspector.entries() == {"a": 1}


async def test_a_double_click_executes_once(service: CommandService, inspector: Inspector) -> None:
    """FC-24"""
    both = await asyncio.gather(*(service.submit(add_entry("a"), ANN) for _ in range(8)))
    assert len({result.encode() for result in both}) == 1
    assert inspector.entries() == {"a": 1}


async def test_a_result_survives_a_restart(url: str, inspector: Inspector) -> None:
    async with make_service(url) as service:
        first = await service.submit(add_entry("a"), ANN)
    async with make_service(url) as service:
        assert (await service.submit(add_entry("a"), ANN)).encode() == first.encode()
    assert inspector.entries() == {"a": 1}


@pytest.mark.parametrize(
    ("command", "actor"),
    [
        (add_entry("other", "a"), ANN),
        (Command.of("customer.create", {"id": 9, "name": "x"}, command_id="a"), ANN),
        (Command.of("ledger.add", {"entry": "a"}, command_id="a", target="elsewhere"), ANN),
        (add_entry("a"), BOB),
    ],
    ids=["input", "type", "target", "actor"],
)
async def test_another_payload_or_actor_under_the_same_id_is_refused_and_audited(
    service: CommandService, inspector: Inspector, command: Command, actor: Actor
) -> None:
    """FC-22, FC-24"""
    await service.submit(add_entry("a"), ANN)
    result = await service.submit(command, actor)
    assert (result.status, result.code, result.data) == (CommandStatus.REFUSED, "payload_mismatch", None)
    assert inspector.entries() == {"a": 1}
    assert inspector.events("a") == ["succeeded", "refused payload_mismatch"]


async def test_another_expected_version_is_another_payload(service: CommandService) -> None:
    await with_customer(service)
    assert (await service.submit(rename("r", version=1), ANN)).ok
    assert (await service.submit(rename("r", version=2), ANN)).code == "payload_mismatch"


async def test_a_changed_row_is_a_version_conflict_that_is_stored_and_not_tried_again(
    service: CommandService, inspector: Inspector
) -> None:
    """G30, FC-22, FC-25"""
    await with_customer(service)
    assert (await service.submit(rename("r-1", version=1), BOB)).version == 2
    result = await service.submit(delete(version=1), ANN)
    assert (result.status, result.code, result.version) == (CommandStatus.FAILED, "version_conflict", 2)
    assert result.data == {"expectedVersion": 1, "version": 2}
    inspector.change("UPDATE customer SET version = 1")
    assert (await service.submit(delete(version=1), ANN)).encode() == result.encode()
    assert inspector.rows("SELECT name FROM customer") == [("Bea",)]
    assert inspector.events("d-1") == ["failed version_conflict"]


@pytest.mark.parametrize(
    ("wrong", "code"), [("1", "version_conflict"), (True, "invalid"), (1.0, "invalid")], ids=["text", "bool", "float"]
)
async def test_a_version_of_another_kind_is_another_version_or_none(
    service: CommandService, wrong: Any, code: str
) -> None:
    await with_customer(service)
    assert (await service.submit(delete(version=wrong), ANN)).code == code


async def test_a_row_that_is_gone_is_a_version_conflict(service: CommandService) -> None:
    assert (await service.submit(delete(version=1), ANN)).data == {"expectedVersion": 1, "version": None}


async def test_a_versioned_command_without_a_version_is_refused(service: CommandService) -> None:
    command = Command.of("customer.delete", {"id": 1}, command_id="d")
    assert (await service.submit(command, ANN)).code == "version_required"


async def test_a_denied_actor_is_audited_and_does_not_burn_the_id(
    service: CommandService, inspector: Inspector
) -> None:
    await with_customer(service)
    denied = await service.submit(delete(), BOB)
    assert (denied.status, denied.code) == (CommandStatus.REFUSED, "denied")
    assert (await service.status("d-1")).status is CommandStatus.NOT_FOUND
    assert (await service.submit(delete(), ANN)).ok
    assert inspector.events("d-1") == ["refused denied", "succeeded"]


async def test_a_further_condition_is_asked_in_the_transaction(sqlite_url: str) -> None:
    service = make_service(sqlite_url)
    asked: list[str] = []

    def authorise(session: Session, actor: Actor, input_: dict[str, Any]) -> bool:
        asked.append(actor.name)
        return bool(session.scalar(customers.select().where(customers.c.id == input_["id"])))

    @service.command("customer.touch", schema=schema(id={"type": "integer"}), permission=None, authorise=authorise)
    def touch(session: Session, input_: dict[str, Any], actor: Actor) -> None:
        session.execute(insert(ledger).values(entry="touched"))

    async with service:
        command = Command.of("customer.touch", {"id": 1}, command_id="t")
        assert (await service.submit(command, BOB)).code == "denied"
        await with_customer(service)
        assert (await service.submit(command, BOB)).ok
    assert asked == ["bob", "bob"]


@pytest.mark.parametrize("name", sorted({*RESERVED, "approved_by", "Approved-By", "command_id", "ACTOR"}))
async def test_what_only_trusted_code_says_is_refused_in_an_input(
    service: CommandService, inspector: Inspector, name: str
) -> None:
    """FC-18"""
    command = Command.of("ledger.add", {"entry": "a", name: True}, command_id="f")
    assert (await service.submit(command, ANN)).code == "forged_field"
    assert inspector.entries() == {}
    assert inspector.events("f") == ["refused forged_field"]
    assert (await service.status("f")).status is CommandStatus.NOT_FOUND


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (add_entry("a", ""), "missing_id"),
        (add_entry("a", "x" * 201), "invalid"),
        (add_entry("a", "a\x00"), "invalid"),
        (Command.of("nothing.here", {}, command_id="a"), "unknown_type"),
        (Command.of("ledger.add", {"entry": 5}, command_id="a"), "invalid"),
        (Command.of("ledger.add", {"entry": "a", "more": 1}, command_id="a"), "invalid"),
        (Command(command_id="a", type="ledger.add", input=b'{"entry": "a"}'), "invalid"),
        (Command(command_id="a", type="ledger.add", input=b'{"entry":"a","entry":"b"}'), "invalid"),
        (Command(command_id="a", type="ledger.add", input=b"[]"), "invalid"),
        (Command(command_id="a", type="ledger.add", input=b"\xff"), "invalid"),
        (Command.of("ledger.add", {"entry": "a"}, command_id="a", target="\x00"), "invalid"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_command_that_is_malformed_is_refused_before_any_transaction(
    service: CommandService, inspector: Inspector, command: Command, code: str
) -> None:
    result = await service.submit(command, ANN)
    assert (result.status, result.code) == (CommandStatus.REFUSED, code)
    assert inspector.results() == {}


async def test_any_text_of_json_is_kept_as_it_is(service: CommandService, inspector: Inspector) -> None:
    entry = "null \x00 \u202e \U0001f600 ' \" \\ %s :x"
    command = Command.of("ledger.add", {"entry": entry}, command_id="t")
    if service.facts.dialect == "postgresql":  # the application's own column cannot hold a NUL there
        assert (await service.submit(command, ANN)).code == "constraint"
        command = Command.of("ledger.add", {"entry": entry.replace("\x00", "")}, command_id="t-2")
    result = await service.submit(command, ANN)
    assert result.data["entry"] == command.data()["entry"]
    assert (await service.submit(command, ANN)).encode() == result.encode()


async def test_a_rule_of_the_business_fails_the_command_and_undoes_its_changes(sqlite_url: str) -> None:
    service = make_service(sqlite_url)

    @service.command("ledger.half", schema=schema(), permission=None)
    def half(session: Session, input_: dict[str, Any], actor: Actor) -> None:
        session.execute(insert(ledger).values(entry="half"))
        session.flush()
        raise CapabilityError("open_orders", "There are open orders.")

    inspector = Inspector(sqlite_url)
    async with service:
        result = await service.submit(Command.of("ledger.half", {}, command_id="h"), ANN)
        assert (result.status, result.code, result.hint) == ("failed", "open_orders", "There are open orders.")
        assert (await service.status("h")).encode() == result.encode()
    assert inspector.entries() == {}
    assert inspector.events("h") == ["failed open_orders"]


async def test_a_constraint_of_the_tables_fails_the_command_without_its_words(
    service: CommandService, inspector: Inspector
) -> None:
    await with_customer(service)
    again = Command.of("customer.create", {"id": 1, "name": "Eve"}, command_id="c-2")
    result = await service.submit(again, ANN)
    assert (result.status, result.code) == (CommandStatus.FAILED, "constraint")
    assert "customer" not in result.encode().decode()
    assert inspector.rows("SELECT name FROM customer") == [("Ada",)]
    assert inspector.events("c-2") == ["failed constraint"]


@pytest.mark.parametrize("answer", [object(), {1: 2}, float("nan")], ids=["object", "key", "nan"])
async def test_a_handler_that_fails_or_returns_no_json_changes_nothing_and_tells_nothing(
    sqlite_url: str, answer: Any
) -> None:
    service = make_service(sqlite_url)

    @service.command("ledger.bad", schema=schema(), permission=None)
    def bad(session: Session, input_: dict[str, Any], actor: Actor) -> Any:
        session.execute(insert(ledger).values(entry="bad"))
        return answer

    async with service:
        result = await service.submit(Command.of("ledger.bad", {}, command_id="b"), ANN)
        assert (result.status, result.code) == (CommandStatus.FAILED, "handler_error")
        assert "JSON" not in result.hint
    assert Inspector(sqlite_url).entries() == {}


@pytest.mark.parametrize(
    ("error", "code"),
    [(CapabilityError("no_customer", "There is none."), "no_customer"), (ValueError("secret"), "handler_error")],
    ids=["declared", "broken"],
)
async def test_a_version_that_cannot_be_read_fails_the_command(sqlite_url: str, error: Exception, code: str) -> None:
    service = make_service(sqlite_url)

    def broken(_session: Session, _input: dict[str, Any]) -> int:
        raise error

    handled: list[str] = []
    declare = service.command("ledger.versioned", schema=schema(), permission=None, version_of=broken)
    declare(lambda session, input_, actor: handled.append("x"))
    async with service:
        command = Command.of("ledger.versioned", {}, command_id="v", expected_version=1)
        result = await service.submit(command, ANN)
        assert (result.status, result.code, "secret" in result.hint) == ("failed", code, False)
        assert (await service.submit(command, ANN)).encode() == result.encode()
    assert handled == []


async def test_a_command_of_another_actor_is_not_found_but_for_operators(service: CommandService) -> None:
    first = await service.submit(add_entry("a"), ANN)
    assert (await service.status("a", BOB)).status is CommandStatus.NOT_FOUND
    assert await service.status("a", ANN) == await service.status("a", CHIEF) == first


async def test_a_preview_shows_the_row_and_its_version(service: CommandService) -> None:
    await with_customer(service)
    preview = await service.preview("customer.delete", {"id": 1}, ANN)
    assert (preview.version, preview.facts) == (1, {"id": 1, "name": "Ada", "version": 1})
    for actor, input_, code in ((BOB, {"id": 1}, "denied"), (ANN, {"id": "x"}, "invalid")):
        with pytest.raises(CapabilityError) as refused:
            await service.preview("customer.delete", input_, actor)
        assert refused.value.code == code


async def test_history_and_records_are_read_in_pages(service: CommandService) -> None:
    for number in range(5):
        await service.submit(add_entry(f"e{number}"), ANN if number % 2 else BOB)
    newest = await service.history(limit=2)
    older = await service.history(limit=10, before=newest[-1].entry_id)
    assert [entry.command_id for entry in (*newest, *older)] == ["e4", "e3", "e2", "e1", "e0"]
    assert {entry.command_id for entry in await service.history(actor="ann")} == {"e1", "e3"}
    assert await service.history(type_="customer.delete") == ()
    assert len(await service.records(type_="ledger.add")) == 5


async def test_a_result_reads_back_as_it_was_written() -> None:
    result = CommandResult(command_id="a", status=CommandStatus.FAILED, code="no", data={"x": [1, None]}, version="v2")
    assert CommandResult.decode(result.encode()) == result
    assert CommandResult.decode(result.encode()[:-1] + b',"later":1}') == result


@pytest.mark.parametrize(
    "bad",
    [{"type": "object"}, schema(approved={"type": "boolean"}), schema(x={"type": "nonsense"})],
    ids=["open", "reserved", "malformed"],
)
async def test_a_schema_that_lets_a_model_forge_is_refused_at_declaration(sqlite_url: str, bad: Any) -> None:
    with pytest.raises(DeclarationError):
        make_service(sqlite_url).command("x.y", schema=bad, permission=None)(lambda session, input_, actor: None)


async def test_a_type_is_registered_once(sqlite_url: str) -> None:
    with pytest.raises(DeclarationError, match=r"ledger\.add"):
        make_service(sqlite_url).command("ledger.add", schema=schema(), permission=None)(lambda *_: None)


async def test_a_service_that_was_not_started_or_is_closed_says_so(sqlite_url: str) -> None:
    service = make_service(sqlite_url)
    for _ in range(2):
        with pytest.raises(CommandError, match="store_closed"):
            await service.submit(add_entry("a"), ANN)
        await service.start()
        await service.close()


async def test_a_caller_who_is_cancelled_does_not_hide_what_happened(
    service: CommandService, inspector: Inspector
) -> None:
    """FC-42"""
    caller = asyncio.ensure_future(service.submit(add_entry("a"), ANN))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert (await service.submit(add_entry("a"), ANN)).ok
    assert inspector.entries() == {"a": 1}


@pytest.mark.parametrize(
    "fields",
    [
        {"proposal_id": "\x00"},
        {"proposal_id": "x" * 201},
        {"approved_by": "a\x00"},
        {"approved_by": "\ud800"},
        {"approved_by": "x" * 1001},
        {"approved_at": math.nan},
        {"target": "x" * 1001},
    ],
    ids=["id-nul", "id-long", "by-nul", "by-surrogate", "by-long", "at-nan", "target-long"],
)
async def test_what_no_store_takes_is_invalid_and_no_trouble_of_the_store(
    service: CommandService, fields: dict[str, Any]
) -> None:
    """`store_error` would say: the same again, later."""
    command = Command.of("ledger.add", {"entry": "a"}, command_id="a", **fields)
    result = await service.submit(command, ANN)
    assert (result.status, result.code) == (CommandStatus.REFUSED, "invalid")
    assert (await service.submit(add_entry("a"), ANN)).ok
