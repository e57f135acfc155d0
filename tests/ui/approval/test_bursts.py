"""Bursts of keys and aimed clicks on a dialog that appears under a person's hands. Threat 10, FC-21.

Each cell prints how many sessions approved or denied, of how many. AGENTIC_QT_BURST_SESSIONS asks for more of them.
"""

import os
import random
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from agentic_qt.core.capability import Risk
from tests.support.approval_stage import Stage, click, make_destructive, make_request, settle, until

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

SESSIONS = int(os.environ.get("AGENTIC_QT_BURST_SESSIONS", "6"))
KEYS = [
    Qt.Key.Key_Space,
    Qt.Key.Key_Return,
    Qt.Key.Key_Tab,
    Qt.Key.Key_Escape,
    Qt.Key.Key_A,
    Qt.Key.Key_E,
    Qt.Key.Key_N,
]


def early(chance: random.Random) -> Iterator[float]:
    """Input that was under way and stops before a second has passed."""
    at = -0.5
    while at < 0.9:
        yield at
        at += chance.uniform(0.03, 0.15)


def typing(chance: random.Random) -> Iterator[float]:
    """Somebody goes on typing for four seconds."""
    at = -0.5
    while at < 4:
        yield at
        at += chance.uniform(0.06, 0.3)


def late(chance: random.Random) -> Iterator[float]:
    """A burst that begins after the guard was armed, with nothing before it."""
    at = chance.uniform(1.2, 2.5)
    for _ in range(8):
        yield at
        at += chance.uniform(0.03, 0.15)


def slow(chance: random.Random) -> Iterator[float]:
    """Presses with long pauses: nobody can tell these from a person."""
    at = chance.uniform(1.2, 2.5)
    for _ in range(6):
        yield at
        at += chance.uniform(0.6, 2.0)


def press_key(stage: Stage, chance: random.Random) -> None:
    window = QApplication.activeWindow() or stage.window
    QTest.keyClick(window.windowHandle(), chance.choice(KEYS))


def aim(stage: Stage, chance: random.Random) -> None:
    dialog = stage.views.dialog
    if dialog is None:
        click(stage.editor)
        return
    card = dialog.card
    approve = card.confirm_button if card.confirming else card.approve_button
    click(chance.choice([approve, approve, card.deny_button]))


async def session(stage: Stage, number: int, risk: Risk, pattern: object, press: object) -> str:
    chance = random.Random(number)
    answer = None
    now = -0.6
    request = make_request if risk is Risk.MUTATING else make_destructive
    for at in pattern(chance):
        if answer is None and at >= 0:
            stage.pass_time(0 - now)
            answer = await stage.ask(request(id=f"s{number}"))
            now = 0.0
        stage.pass_time(at - now)
        now = at
        press(stage, chance)
        await settle()
        if answer is not None and answer.done():
            break
    ended = "open" if not answer.done() else "approved" if answer.result().granted else "denied"
    stage.queue.deny_all()
    await until(lambda: stage.views.cards == ())
    stage.pass_time(3)
    return ended


@pytest.mark.parametrize("press", [press_key, aim])
@pytest.mark.parametrize("risk", [Risk.MUTATING, Risk.DESTRUCTIVE])
@pytest.mark.parametrize("pattern", [early, typing, late, slow])
async def test_bursts_decide_nothing(stage: Stage, pattern: object, risk: Risk, press: object) -> None:
    """G10."""
    await stage.open()
    stage.host.hide()
    ends = [await session(stage, number, risk, pattern, press) for number in range(SESSIONS)]
    approved, denied = ends.count("approved"), ends.count("denied")
    print(f"{pattern.__name__} {risk} {press.__name__}: {approved} approved, {denied} denied of {SESSIONS}")  # noqa: T201 - a zero is worth its N
    if pattern in (early, typing):
        assert (approved, denied) == (0, 0)
    if pattern is late and risk is Risk.DESTRUCTIVE:
        assert approved == 0
    if pattern is slow and press is aim:
        assert approved + denied > 0, "the sessions never reached the buttons: the zeros above would mean nothing"
