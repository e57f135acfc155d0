"""A window of the shop with an assistant and a command desk, after an earlier session that ended in the middle."""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMainWindow, QWidget

from agentic_qt.commands.port import CommandPort
from agentic_qt.commands.service import CommandService
from agentic_qt.core.registry import Registry
from agentic_qt.testing.scripted import ScriptedModel
from agentic_qt.ui.assistant import Assistant
from agentic_qt.ui.commands.leftover_card import LeftoverCard
from agentic_qt.ui.commands.strip import LeftoverStrip
from tests.support.approval_stage import Clock
from tests.support.assistant_stage import until
from tests.support.crashing_window import CRASH
from tests.support.desk_kit import open_window

TITLES = {
    "customer.delete": "Delete customer",
    "customer.rename": "Rename customer",
    "ledger.add": "Add ledger entry",
}


def _can_be_pressed(button: QWidget) -> bool:
    return button.isVisible() and button.isEnabled()


async def crash(url: str, point: str) -> None:
    """Let another process end at a point while it deletes customer 1."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.crashing_window", url, point, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == CRASH, errors.decode()


class LeftoverStage:
    """The window.

    Args:
        service: Embedded or remote, started.
        store: Where proposals and the journal are kept; the service itself unless given.
        turns: Of the scripted chat model; None: there is no chat model.
        **settings: Of the desk.
    """

    def __init__(
        self,
        service: CommandPort,
        *,
        store: CommandService | None = None,
        turns: Sequence[Any] | None = None,
        **settings: Any,
    ) -> None:
        own = store if store is not None else service
        assert isinstance(own, CommandService)
        self.service = service
        self.registry = Registry(journal=own.journal)
        shop = open_window(service, store=store, registry=self.registry, **settings)
        shop.detach()  # the assistant asks, nobody else
        self.desk = shop.desk
        for registration in self.registry.registrations:
            registration.replace(title=TITLES[registration.name])
        self.window = QMainWindow()
        self.window.resize(640, 800)
        self.field = QLineEdit()
        self.window.setCentralWidget(self.field)
        model = None if turns is None else ScriptedModel(list(turns), label="test model")
        self.assistant = Assistant.attach(
            self.window, registry=self.registry, chat_model=model, actor="ann", desk=self.desk
        )
        self.clock = Clock()
        self.assistant.approvals.watch.clock = self.clock
        assert self.assistant.commands is not None
        self.views = self.assistant.commands

    @property
    def strip(self) -> LeftoverStrip:
        assert self.views.leftovers is not None
        return self.views.leftovers.strip

    async def open(self) -> "LeftoverStage":
        self.window.show()
        self.window.activateWindow()
        await until(self.window.isActiveWindow)
        self.field.setFocus()
        await self.looked()
        return self

    async def looked(self) -> None:
        """Wait until nothing is being looked for any more."""
        await until(lambda: not self.views.looking)

    async def close(self) -> None:
        self.assistant.detach()
        if shiboken6.isValid(self.window):
            self.window.close()
        await self.desk.close()

    async def reload(self) -> None:
        """Look again and wait for it."""
        self.views.look()
        await self.looked()

    @property
    def cards(self) -> list[LeftoverCard]:
        return list(self.strip.cards.values())

    @property
    def card(self) -> LeftoverCard:
        (card,) = self.cards
        return card

    def pass_time(self, seconds: float) -> None:
        while seconds > 0:
            step = min(seconds, 0.1)
            self.clock.now += step
            seconds -= step
            self.assistant.approvals.watch.beat()

    async def press(self, card: LeftoverCard, name: str) -> None:
        """Wait like somebody who reads, and click on a button of a card."""
        self.strip.area.ensureWidgetVisible(card.buttons[name])
        if not card.ended:
            await until(lambda: card.guard.is_shown)
        for _ in range(6):
            await asyncio.sleep(0)
        self.pass_time(2)
        QTest.mouseClick(card.buttons[name], Qt.MouseButton.LeftButton)

    async def approve(self) -> None:
        """Approve what is asked, as a person does; a destructive one takes two presses."""
        await until(lambda: self.assistant.approvals.panel.card is not None)
        card = self.assistant.approvals.panel.card
        assert card is not None
        await until(lambda: card.guard.is_shown and card.payload.complete)
        for button in (card.approve_button, card.confirm_button):
            if card.settled:
                return
            await until(partial(_can_be_pressed, button))
            for _ in range(6):
                await asyncio.sleep(0)
            self.pass_time(2)
            QTest.mouseClick(button, Qt.MouseButton.LeftButton)
            await asyncio.sleep(0)
