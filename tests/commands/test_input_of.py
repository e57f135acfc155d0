"""What a call says and what its command gets: `input_of`, asked in every preview and again before submitting."""

import asyncio
from typing import Any

import pytest

from agentic_qt.commands.capability import command_capability
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Command
from agentic_qt.core.call import Outcome, Status
from agentic_qt.core.capability import Target
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.policy import Decision, Policy
from agentic_qt.core.registry import Registry
from tests.support.command_kit import ANN, Inspector, make_service, schema
from tests.support.desk_kit import STRING, Window, open_window

pytestmark = pytest.mark.anyio


class People:
    """Who is meant by a name, and how often that was asked."""

    def __init__(self) -> None:
        self.ids = {"Ada": 1}
        self.asked: list[dict[str, Any]] = []

    def __call__(self, given: Any) -> dict[str, Any]:
        self.asked.append(dict(given))
        if given["customer"] not in self.ids:
            raise CapabilityError("no_such_customer", "There is no customer of that name.")
        return {"id": self.ids[given.pop("customer")]}

    async def later(self, given: Any) -> dict[str, Any]:
        return self(given)


def by_name(service: CommandService, people: People, *, later: bool = False, **settings: Any) -> Window:
    window = open_window(service, **settings)
    window.registry.register(
        command_capability(
            window.desk,
            "customer.delete_by_name",
            description="Delete a customer",
            input_schema=schema(customer=STRING),
            command_type="customer.delete",
            target_of=lambda given: f"customer:{given['id']}",
            input_of=people.later if later else people,
        )
    )
    return window


async def delete(window: Window, name: str = "Ada", **fields: Any) -> Outcome:
    return await window.call("customer.delete_by_name", {"customer": name}, **fields)


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
async def people(service: CommandService) -> People:
    for number, name in enumerate(["Ada", "Bea"], start=1):
        made = Command.of("customer.create", {"id": number, "name": name}, command_id=f"c-{number}")
        assert (await service.submit(made, ANN)).ok
    return People()


@pytest.mark.parametrize("later", [False, True])
async def test_the_command_gets_what_the_call_means(
    service: CommandService, people: People, inspector: Inspector, later: bool
) -> None:
    window = by_name(service, people, later=later)
    outcome = await delete(window)
    assert (outcome.status, outcome.data) == (Status.OK, {"id": 1})
    record = await service.find(outcome.command_id or "")
    assert record is not None
    assert (record.command.data(), record.command.target) == ({"id": 1}, "customer:1")
    proposal = await service.proposals.get(record.command.proposal_id or "")
    assert (proposal.data(), proposal.call_input) == ({"id": 1}, b'{"customer":"Ada"}')
    assert (window.asked[0].input, window.asked[0].facts["id"]) == ({"customer": "Ada"}, 1)
    assert people.asked == [{"customer": "Ada"}] * 4  # shown, approved, journaled, submitted


async def test_a_call_that_says_what_its_command_gets_keeps_nothing_of_its_own(
    service: CommandService, people: People, inspector: Inspector
) -> None:
    assert (await open_window(service).delete()).ok
    assert inspector.rows("SELECT call_input FROM agentic_proposal") == [(None,)]


@pytest.mark.parametrize("when", [1, 2, 3])
async def test_a_name_that_comes_to_mean_somebody_else_is_stale(
    service: CommandService, people: People, inspector: Inspector, when: int
) -> None:
    """FC-22: both would be shown alike, so no fact tells them apart."""

    def changing(given: Any) -> dict[str, Any]:
        people(given)
        return {"entry": "first" if len(people.asked) <= when else "second"}

    window = open_window(service)
    window.registry.register(
        command_capability(
            window.desk,
            "ledger.note",
            description="Note something",
            input_schema=schema(customer=STRING),
            command_type="ledger.add",
            risk="mutating",
            input_of=changing,
        )
    )
    outcome = await window.call("ledger.note", {"customer": "Ada"})
    assert (outcome.status, outcome.code, outcome.applied) == (Status.STALE, "input_changed", False)
    assert (len(window.asked), len(people.asked)) == (1, when + 1)
    assert window.asked[0].facts["input"] == {"entry": "first"}
    await window.desk.close()
    assert inspector.rows("SELECT state FROM agentic_proposal") == [("cancelled",)]
    assert inspector.entries() == {}


async def test_its_own_refusal_ends_the_call_before_anybody_is_asked(service: CommandService, people: People) -> None:
    window = by_name(service, people)
    outcome = await delete(window, "Cleo")
    assert (outcome.status, outcome.code, window.asked) == (Status.FAILED, "no_such_customer", [])


async def test_a_store_that_it_cannot_read_is_a_reason_to_try_later(service: CommandService, people: People) -> None:
    async def unreadable(given: Any) -> dict[str, Any]:
        raise CommandError("store_error", "The store of commands could not do it; see the log.")

    people.later = unreadable  # type: ignore[method-assign]
    outcome = await delete(by_name(service, people, later=True))
    assert (outcome.status, outcome.code, outcome.retry) == (Status.FAILED, "store_error", "later")


@pytest.mark.parametrize("why", ["stopped", "timeout"])
@pytest.mark.parametrize("asked", [True, False])
async def test_one_that_does_not_answer_in_the_end_is_no_unknown(
    service: CommandService, people: People, inspector: Inspector, why: str, asked: bool
) -> None:
    """FC-04: nothing was submitted, and that is known."""
    window = open_window(service) if asked else open_window(
        service, registry=Registry(policy=Policy(rule=lambda call, capability: Decision.ALLOW), journal=service.journal)
    )  # fmt: skip
    answers, stuck = (3 if asked else 0), asyncio.Event()

    async def input_of(given: Any) -> dict[str, Any]:
        people(given)
        if len(people.asked) > answers:
            stuck.set()
            await asyncio.get_running_loop().create_future()
        return {"id": 1}

    window.registry.register(
        command_capability(
            window.desk, "customer.drop", description="Delete a customer", command_type="customer.delete",
            input_schema=schema(customer=STRING), input_of=input_of, timeout=60.0 if why == "stopped" else 0.05,
        )
    )  # fmt: skip
    pending = asyncio.create_task(window.call("customer.drop", {"customer": "Ada"}, id="d"))
    await asyncio.wait_for(stuck.wait(), 10)
    if why == "stopped":
        window.registry.cancel("d")
    outcome = await asyncio.wait_for(pending, 10)
    assert (outcome.status, outcome.code, outcome.applied, outcome.command_id) == {
        "stopped": (Status.CANCELLED, "stopped", False, None),
        "timeout": (Status.FAILED, "timeout", False, None),
    }[why]
    await window.desk.close()
    assert (inspector.entries(), await service.proposals.open()) == ({}, ())


async def test_what_it_gives_is_checked_as_the_commands_input(service: CommandService, people: People) -> None:
    people.ids["Ada"] = "one"  # type: ignore[assignment]
    outcome = await delete(by_name(service, people))
    assert (outcome.status, outcome.code) == (Status.FAILED, "invalid")


async def test_a_call_that_says_who_approved_is_refused_whatever_its_schema_lets_through(
    service: CommandService, people: People
) -> None:
    """FC-18"""
    window = open_window(service)
    window.registry.register(
        command_capability(
            window.desk, "customer.drop", description="Delete a customer", command_type="customer.delete",
            input_schema=schema(customer=STRING, approved={"type": "boolean"}), input_of=people,
        )
    )  # fmt: skip
    outcome = await window.call("customer.drop", {"customer": "Ada", "approved": True})
    assert (outcome.status, outcome.code, window.asked) == (Status.FAILED, "forged_field", [])


async def test_an_edit_is_mapped_anew(service: CommandService, people: People, inspector: Inspector) -> None:
    people.ids["Bea"] = 2
    window = by_name(service, people)
    approvals = window.registry.approvals

    def edit_first(request: Any) -> None:
        window.answer = approvals.approve
        approvals.edit(request, {"customer": "Bea"})

    window.answer = edit_first
    assert (await delete(window)).data == {"id": 2}
    (proposal,) = inspector.rows("SELECT input, call_input, state FROM agentic_proposal")
    assert proposal == ('{"id":2}', '{"customer":"Bea"}', "succeeded")


async def test_where_nobody_is_asked_the_command_gets_what_was_meant(
    service: CommandService, people: People, inspector: Inspector
) -> None:
    allow = Policy(rule=lambda call, capability: Decision.ALLOW)
    window = by_name(service, people, registry=Registry(policy=allow, journal=service.journal))
    assert (await delete(window)).data == {"id": 1}
    assert len(people.asked) == 1


@pytest.mark.parametrize("same", [True, False])
async def test_a_resumed_call_means_who_it_meant_or_is_stale(
    service: CommandService, people: People, url: str, inspector: Inspector, same: bool
) -> None:
    """FC-22, FC-38"""
    window = by_name(service, people)
    window.answer = lambda request: window.registry.close()
    await delete(window)
    await window.desk.close()
    await service.close()
    async with make_service(url) as later:
        if not same:
            people.ids["Ada"] = 2
        again = by_name(later, people)
        (waiting,) = (await again.recovery.look()).waiting
        outcome = await again.recovery.resume(waiting.proposal_id)
        await again.desk.close()
        assert (await again.recovery.look()).waiting == ()
    if same:
        assert (outcome.data, len(again.asked)) == ({"id": 1}, 1)
    else:
        assert (outcome.status, outcome.code, again.asked) == (Status.STALE, "input_changed", [])
    assert inspector.entries() == ({"delete 1": 1} if same else {})


async def test_each_of_two_capabilities_of_one_type_takes_its_own_up_again(
    service: CommandService, people: People, url: str, inspector: Inspector
) -> None:
    """FC-38: by a name, by a number, and by a target of which there are two."""
    people.ids["Bea"] = 2

    def window_on(one: CommandService) -> Window:
        window = by_name(one, people)
        for name in ("left", "right"):
            window.registry.register(
                command_capability(
                    window.desk, "ledger.note", description="Note", input_schema=schema(entry=STRING), risk="mutating",
                    command_type="ledger.add", target=Target(id=name), input_of=lambda given, name=name: {
                        "entry": f"{given['entry']} {name}"
                    },
                )
            )  # fmt: skip
        return window

    window = window_on(service)
    window.answer = lambda request: len(window.asked) == 3 and window.registry.close()
    await asyncio.gather(
        window.delete(1, id="1"),
        delete(window, "Bea", id="2"),
        window.call("ledger.note", {"entry": "e"}, target_id="left", id="3"),
    )
    await window.desk.close()
    await service.close()
    async with make_service(url) as later:
        again = window_on(later)
        for waiting in (await again.recovery.look()).waiting:
            assert (await again.recovery.resume(waiting.proposal_id)).ok
        assert sorted(request.name for request in again.asked) == [
            "customer.delete", "customer.delete_by_name", "ledger.note",
        ]  # fmt: skip
    assert inspector.entries() == {"delete 1": 1, "delete 2": 1, "e left": 1}


async def test_the_same_command_by_another_name_is_not_made_twice(service: CommandService, people: People) -> None:
    """G23: what is compared is what the commands would do, not what the calls said."""
    people.ids["ada"] = 1
    window = by_name(service, people)
    first = await delete(window)
    record = await service.find(first.command_id or "")
    assert record is not None

    async def find_open(command: Command, actor: Any) -> Any:
        return record if command.digest == record.command.digest else None

    made = Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-again")
    assert (await service.submit(made, ANN)).ok
    service.find_open = find_open  # type: ignore[method-assign]
    outcome = await delete(window, "ada", id="again")
    assert (outcome.status, outcome.code, outcome.command_id) == (Status.UNKNOWN, "in_progress", first.command_id)
    await window.desk.close()
