"""A bank: the other side of an external effect, for the tests of commands."""

import asyncio
from typing import Any

from agentic_qt.commands.command_type import Effect
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Command
from agentic_qt.core.errors import CapabilityError
from tests.support.command_kit import make_service, schema


class Bank:
    """Keeps what it was asked to do, by the command's id.

    Attributes:
        payments: What was paid under each id.
        raising: What an attempt to pay ends with instead.
        resolving: What a question for a payment ends with instead.
        asked: Set when it is asked to pay.
        goes_on: What an attempt to pay waits for.
    """

    def __init__(self) -> None:
        self.payments: dict[str, int] = {}
        self.raising: BaseException | None = None
        self.resolving: Exception | None = None
        self.asked = asyncio.Event()
        self.goes_on: asyncio.Event | None = None

    async def pay(self, effect: Effect) -> dict[str, Any]:
        """Pay, as a handler."""
        self.asked.set()
        if self.goes_on is not None:
            await self.goes_on.wait()
        if self.raising is not None:
            raise self.raising
        self.payments[effect.command_id] = self.payments.get(effect.command_id, 0) + effect.input["amount"]
        return {"receipt": effect.command_id}

    async def look(self, effect: Effect) -> dict[str, Any]:
        """Say whether it was paid, as a resolver."""
        if self.resolving is not None:
            raise self.resolving
        if effect.command_id not in self.payments:
            raise CapabilityError("no_payment", "The bank never saw it.")
        return {"receipt": effect.command_id}


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """The seconds."""
        return self.now


def paying(url: str, bank: Bank, **settings: Any) -> CommandService:
    """The shop with a bank."""
    service = make_service(url, **settings)
    declare = service.effect(
        "bill.pay", schema=schema(amount={"type": "integer"}), permission=None, resolve=bank.look, budget=30.0
    )
    declare(bank.pay)
    return service


def pay(command_id: str = "p", amount: int = 5) -> Command:
    """A bill that is paid."""
    return Command.of("bill.pay", {"amount": amount}, command_id=command_id, target="bill 7")
