"""A window without Qt: a registry whose capabilities submit the shop's commands, and a person who answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentic_qt.commands.capability import command_capability
from agentic_qt.commands.desk import CommandDesk
from agentic_qt.commands.port import CommandPort
from agentic_qt.commands.recovery import Recovery
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Actor
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent, ApprovalRequest
from agentic_qt.core.call import Call, Outcome
from agentic_qt.core.registry import Registry
from tests.support.command_kit import ANN, BOB, schema

INTEGER, STRING = {"type": "integer"}, {"type": "string", "maxLength": 100}
ACTORS = {"ann": ANN, "bob": BOB}


@dataclass
class Window:
    """One window of the shop.

    Attributes:
        asked: The requests that were shown, in order.
        answer: What the person does with each; None: nothing yet.
    """

    registry: Registry
    desk: CommandDesk
    asked: list[ApprovalRequest] = field(default_factory=list)
    answer: Callable[[ApprovalRequest], Any] | None = None

    def __post_init__(self) -> None:
        self.detach = self.registry.approvals.attach(self._show)
        if self.answer is None:
            self.answer = self.registry.approvals.approve

    def _show(self, event: ApprovalEvent) -> None:
        if event.change is ApprovalChange.ADDED:
            self.asked.append(event.request)
            if self.answer is not None:
                self.answer(event.request)

    @property
    def recovery(self) -> Recovery:
        return Recovery(self.desk)

    async def delete(self, customer: int = 1, **fields: Any) -> Outcome:
        return await self.call("customer.delete", {"id": customer}, **fields)

    async def rename(self, name: str, **fields: Any) -> Outcome:
        return await self.call("customer.rename", {"id": 1, "name": name}, **fields)

    async def call(self, name: str, input_: dict[str, Any], **fields: Any) -> Outcome:
        return await self.registry.execute(Call(**{"name": name, "input": input_, "actor": "ann", **fields}))


def open_window(
    service: CommandPort,
    *,
    store: CommandService | None = None,
    actor_of: Callable[[str | None], Actor | None] = lambda name: ACTORS.get(name or ""),
    registry: Registry | None = None,
    **settings: Any,
) -> Window:
    """Return a window on a service.

    Args:
        service: Embedded or remote.
        store: Where proposals and the journal are kept; the service itself unless given.
        actor_of: Who is signed in.
        registry: Its registry; one with the store's journal unless given.
        **settings: Further settings of the desk.
    """
    own = store if store is not None else service
    assert isinstance(own, CommandService)
    registry = registry or Registry(journal=own.journal)
    desk = CommandDesk(registry, service, actor_of=actor_of, proposals=own.proposals, **settings)
    for name, input_schema, risk in [
        ("customer.delete", schema(id=INTEGER), "destructive"),
        ("customer.rename", schema(id=INTEGER, name=STRING), "mutating"),
        ("ledger.add", schema(entry=STRING), "mutating"),
    ]:
        registry.register(
            command_capability(
                desk,
                name,
                description=f"{name} of the shop",
                input_schema=input_schema,
                risk=risk,
                target_of=lambda given: f"customer:{given['id']}" if "id" in given else None,
            )
        )
    return Window(registry=registry, desk=desk)
