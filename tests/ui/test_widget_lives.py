"""No widget of ours outlives its window, and none is ever left to Python's collector."""

import gc

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QApplication, QMainWindow, QVBoxLayout, QWidget

from agentic_qt.core.approvals import ApprovalQueue
from agentic_qt.core.registry import Registry
from agentic_qt.testing.scripted import tool
from agentic_qt.ui.approval.remembered import RememberedApprovals
from agentic_qt.ui.approval.views import ApprovalViews
from agentic_qt.ui.assistant import Assistant
from tests.support.approval_stage import Stage, make_destructive, make_request
from tests.support.assistant_stage import AssistantStage, make_registry, until

pytestmark = pytest.mark.anyio

OURS = "agentic_qt"


def homeless() -> list[str]:
    """The widgets of ours, and plain ones that ours would have made, that have no parent."""
    return [
        f"{type(widget).__module__}.{type(widget).__name__} {widget.objectName()}"
        for widget in QApplication.allWidgets()
        if widget.parentWidget() is None and (type(widget).__module__.startswith(OURS) or type(widget) is QWidget)
    ]


def delete_now(window: QWidget) -> None:
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def windows() -> set[QWidget]:
    return set(QApplication.topLevelWidgets())


async def live() -> None:
    """A whole life: attach, run, ask in the dock, ask in a dialog, stop, detach, and the end of the window."""
    stage = AssistantStage([[tool("customer_mark", {"customer": "Ada"})]], registry=make_registry())
    assert homeless() == []
    await stage.open()
    stage.assistant.send("Mark Ada")
    await until(lambda: stage.assistant.approvals.panel.card)
    assert homeless() == []
    stage.assistant.dock.hide()
    await until(lambda: stage.assistant.approvals.dialog)
    assert homeless() == []
    stage.assistant.stop()
    await until(lambda: not stage.assistant.running)
    stage.assistant.detach()
    assert homeless() == []
    delete_now(stage.window)


async def test_no_widget_is_without_a_parent_at_any_time_of_an_assistants_life(qapp):
    """FC-09: short values had hidden widgets of their own that crashed the next change of direction."""
    before = windows()
    await live()
    gc.collect()
    assert windows() == before


async def test_a_window_that_goes_with_an_approval_open_takes_everything_along(qapp):
    """FC-09."""
    before = windows()
    stage = AssistantStage([[tool("customer_mark", {"customer": "Ada"})]], registry=make_registry())
    await stage.open()
    run = stage.assistant.send("Mark Ada")
    await until(lambda: stage.assistant.approvals.panel.card)
    delete_now(stage.window)
    assert windows() == before
    assert homeless() == []
    await run
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # tells every widget that is left
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


@pytest.mark.parametrize(
    "make",
    [
        make_request,
        lambda: make_request(reason="Because", facts={"changes": {"email": {"old": "a", "new": "b" * 900}}}),
        lambda: make_destructive(input={"customer": "Ad\u0430"}),  # a Cyrillic letter at the end
    ],
)
async def test_no_part_of_a_card_is_without_a_parent(qapp, make):
    """Short, long and suspicious values."""
    stage = Stage()
    await stage.open()
    await stage.ask(make())
    stage.views.prefer_dialogs = True
    stage.views.sight_may_have_changed()
    await until(lambda: stage.views.dialog)
    assert [name for name in homeless() if "QWidget" not in name] == []
    shown = {id(widget) for widget in stage.window.findChildren(QWidget)}
    lost = [w for w in QApplication.allWidgets() if type(w).__module__.startswith(OURS) and id(w) not in shown]
    assert lost == []
    stage.close()


async def test_views_whose_panel_was_never_placed_go_with_the_window(qapp):
    before = windows()
    window = QMainWindow()
    views = ApprovalViews(ApprovalQueue(), window)
    assert homeless() == []
    assert not views.panel.reachable
    delete_now(window)
    assert windows() == before


async def test_the_list_of_remembered_approvals_keeps_its_parts(qapp):
    window = QWidget()
    layout = QVBoxLayout(window)
    layout.addWidget(RememberedApprovals(ApprovalQueue(), window))
    assert [name for name in homeless() if OURS in name] == []
    delete_now(window)


async def test_a_window_can_get_an_assistant_again_in_the_same_turn(qapp):
    window = QMainWindow()
    Assistant.attach(window, registry=Registry()).detach()
    again = Assistant.attach(window, registry=Registry())
    assert homeless() == []
    again.detach()
    delete_now(window)
