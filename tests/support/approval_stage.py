"""Requests, clocks and views for the tests of the approval."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMainWindow, QVBoxLayout, QWidget

from agentic_qt.core.approvals import Approval, ApprovalQueue, ApprovalRequest
from agentic_qt.core.capability import Risk, Target
from agentic_qt.core.grants import Scope
from agentic_qt.ui.approval.views import ApprovalViews


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


_BASE = ApprovalRequest(
    id="a1",
    call_id="c1",
    name="customer.update",
    title="Update customer",
    description="Change a customer.",
    target=Target(id="customers", label="Customers"),
    risk=Risk.MUTATING,
    input={"customer": "Ada", "email": "ada@example.com"},
    payload="",
    digest="",
    facts=None,
    facts_digest="",
    undoable=True,
    reason="",
    scopes=(Scope.ONCE, Scope.DIGEST, Scope.RUN, Scope.SESSION),
    client="assistant",
    actor=None,
    run="r1",
    input_schema={"type": "object", "properties": {"email": {"type": "string", "title": "E-mail"}}},
)


def make_request(**fields: Any) -> ApprovalRequest:
    request = replace(_BASE, **fields)
    target_id = request.target.id if request.target is not None else None
    payload = json.dumps(
        {"input": request.input, "name": request.name, "targetId": target_id},
        ensure_ascii=False,
        separators=(",", ":"),
        sort_keys=True,
    )
    digest = hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()
    return replace(request, payload=payload, digest=digest)


def make_destructive(**fields: Any) -> ApprovalRequest:
    return make_request(
        **{"title": "Delete customer", "risk": Risk.DESTRUCTIVE, "undoable": False, "scopes": (Scope.ONCE,), **fields}
    )


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop turn until `condition` holds; fail after two seconds."""
    async with asyncio.timeout(2):
        while not condition():  # noqa: ASYNC110 - the conditions are states of widgets, which set no event
            await asyncio.sleep(0.002)


async def settle() -> None:
    """Let posted events (layout, deletion) be handled."""
    for _ in range(6):
        await asyncio.sleep(0)


class Stage:
    """A window with a panel, a queue and clocks in the hand of the test."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.wall = Clock()
        self.queue = ApprovalQueue(clock=self.wall)
        self.window = QMainWindow()
        self.editor = QLineEdit()
        self.host = QWidget()
        host_layout = QVBoxLayout(self.host)
        middle = QWidget()
        layout = QVBoxLayout(middle)
        layout.addWidget(self.editor)
        layout.addWidget(self.host, 1)
        self.window.setCentralWidget(middle)
        self.window.resize(420, 640)
        self.again: list[ApprovalRequest] = []
        self.views = ApprovalViews(
            self.queue, self.window, clock=self.wall, gesture_clock=self.clock, ask_again=self.again.append
        )
        host_layout.addWidget(self.views.panel)
        self.tasks: list[asyncio.Task[Approval]] = []

    async def open(self) -> None:
        self.window.show()
        self.window.activateWindow()
        await until(self.window.isActiveWindow)

    async def ask(self, request: ApprovalRequest | None = None) -> "asyncio.Task[Approval]":
        task = asyncio.ensure_future(self.queue.ask(request or make_request()))
        self.tasks.append(task)
        await until(lambda: bool(self.queue.pending) or task.done())
        await settle()
        if not task.done():
            await until(self._is_shown)
        return task

    def _is_shown(self) -> bool:
        card = self.views.dialog.card if self.views.dialog is not None else self.views.panel.card
        return card is not None and card.guard.is_shown

    def pass_time(self, seconds: float) -> None:
        """Let time pass while the event loop lives."""
        while seconds > 0:
            step = min(seconds, 0.1)
            self.clock.now += step
            seconds -= step
            self.views.watch.beat()

    def close(self) -> None:
        for task in self.tasks:
            task.cancel()


def click(widget: QWidget) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)
