"""The places for the assistant in a window that was drawn in Qt Designer."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QLabel, QMainWindow, QVBoxLayout, QWidget

from agentic_qt import Assistant
from agentic_qt.ui.places import ApprovalPlace, AssistantPlace

pytestmark = pytest.mark.usefixtures("qapp")


class Window(QMainWindow):
    """As uic makes it: a place in a standard dock, another one in the middle."""

    def __init__(self) -> None:
        super().__init__()
        middle = QWidget(self)
        self.approval_place = ApprovalPlace(middle)
        QVBoxLayout(middle).addWidget(self.approval_place)
        self.setCentralWidget(middle)
        self.outer = QDockWidget("Help", self)
        self.place = AssistantPlace(self.outer)
        self.outer.setWidget(self.place)
        self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, self.outer)


@pytest.fixture
def window(qtbot: Any) -> Window:
    made = Window()
    qtbot.addWidget(made)
    return made


def test_without_an_assistant_a_place_is_empty_and_says_nothing(window: Window) -> None:
    window.show()
    assert window.place.findChildren(QWidget) == []
    assert window.approval_place.findChildren(QWidget) == []


def test_the_assistant_stands_in_its_place_and_nowhere_else(window: Window) -> None:
    assistant = Assistant.attach(window)
    window.place.hold(assistant)
    window.show()
    assert assistant.panel.isVisible()
    assert window.place.isAncestorOf(assistant.panel)
    assert window.dockWidgetArea(assistant.dock) == Qt.DockWidgetArea.NoDockWidgetArea
    assert not assistant.dock.isFloating()
    assistant.detach()


def test_its_menu_entry_shows_and_hides_the_dock_around_the_place(window: Window) -> None:
    assistant = Assistant.attach(window)
    window.place.hold(assistant)
    window.show()
    toggle = assistant.actions["toggle"]
    assert toggle.isChecked()
    toggle.trigger()
    assert not window.outer.isVisible()
    toggle.trigger()
    assert window.outer.isVisible()
    assert assistant.panel.isVisible()
    window.outer.close()
    assert not toggle.isChecked()
    toggle.trigger()
    assert assistant.panel.isVisible()
    assistant.detach()


def test_writing_to_the_assistant_brings_its_dock_back(window: Window, qtbot: Any) -> None:
    assistant = Assistant.attach(window)
    window.place.hold(assistant)
    window.show()
    window.outer.close()
    assistant.actions["focus"].trigger()
    assert assistant.panel.isVisible()
    assistant.detach()


def test_approvals_are_asked_in_their_place(window: Window) -> None:
    assistant = Assistant.attach(window)
    window.approval_place.hold(assistant)
    assert window.approval_place.isAncestorOf(assistant.approvals.panel)
    assistant.detach()


def test_an_assistant_that_leaves_leaves_an_empty_place(window: Window) -> None:
    assistant = Assistant.attach(window)
    window.place.hold(assistant)
    window.show()
    assistant.detach()
    assert window.outer.isVisible()
    assert [child for child in window.place.findChildren(QWidget) if child.isVisible()] == []
    again = Assistant.attach(window)
    window.place.hold(again)
    assert again.panel.isVisible()
    again.detach()


def test_a_hint_is_shown_until_the_assistant_is_there(window: Window) -> None:
    window.place.set_hint("The assistant")
    window.show()
    hint = window.place.findChild(QLabel)
    assert hint is not None
    assert (hint.text(), hint.isVisible()) == ("The assistant", True)
    assistant = Assistant.attach(window)
    window.place.hold(assistant)
    assert not hint.isVisible()
    assistant.detach()


def test_a_window_that_is_no_main_window_can_have_a_place(qtbot: Any) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    place = AssistantPlace(window)
    QVBoxLayout(window).addWidget(place)
    assistant = Assistant.attach(window)
    place.hold(assistant)
    window.show()
    assert assistant.panel.isVisible()
    assert not assistant.panel.window().isHidden()
    assert assistant.panel.window() is window
    assistant.detach()
