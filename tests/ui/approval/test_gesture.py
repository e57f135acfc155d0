"""The isolated gesture: real events on a button, with a clock in the test's hand. FC-21, threat 10."""

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QKeyEvent, QMouseEvent, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

from agentic_qt.qt.gestures.gesture import GestureGuard, GestureTimes, Refusal
from agentic_qt.qt.gestures.input_watch import InputWatch
from agentic_qt.ui.approval.buttons import GuardedButton
from tests.support.approval_stage import Clock, click


class Surface:
    def __init__(self, qtbot: Any, times: GestureTimes) -> None:
        self.clock = Clock()
        self.window = QWidget()
        qtbot.addWidget(self.window)
        layout = QVBoxLayout(self.window)
        self.field = QLineEdit()
        self.inner = QWidget()
        layout.addWidget(self.field)
        layout.addWidget(self.inner)
        self.watch = InputWatch(clock=self.clock, parent=self.window)
        self.guard = GestureGuard(self.inner, self.watch, times=times)
        self.button = GuardedButton("Approve", self.guard, self.inner)
        QVBoxLayout(self.inner).addWidget(self.button)
        self.decided = 0
        self.refusals: list[Refusal] = []
        self.button.decided.connect(self._count)
        self.button.refused.connect(self.refusals.append)
        self.window.show()
        self.window.activateWindow()
        qtbot.waitUntil(lambda: self.window.isActiveWindow() and self.guard.is_shown)
        self.field.setFocus()

    def _count(self) -> None:
        self.decided += 1

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            self.clock.now += 0.1
            self.watch.beat()

    def key(self, key: Qt.Key) -> None:
        QTest.keyClick(self.window.windowHandle(), key)


@pytest.fixture
def surface(qtbot: Any) -> Iterator[Surface]:
    made = Surface(qtbot, GestureTimes())
    yield made
    made.guard.close()


def test_a_click_right_after_showing_is_refused_and_may_be_repeated(surface: Surface) -> None:
    """G10."""
    surface.pass_time(0.9)
    click(surface.button)
    assert surface.refusals == [Refusal.TOO_EARLY]
    surface.pass_time(0.6)
    click(surface.button)
    assert surface.decided == 1


def test_an_isolated_click_counts_once(surface: Surface) -> None:
    surface.pass_time(1.1)
    click(surface.button)
    click(surface.button)  # a double click is one decision
    assert surface.decided == 1
    assert surface.refusals == [Refusal.NOT_ISOLATED]


def test_one_press_is_one_gesture(surface: Surface) -> None:
    """Code that triggers an action right after a person's click gains nothing by it."""
    surface.pass_time(1.1)
    click(surface.button)
    assert surface.guard.judge_action() is Refusal.NOT_A_PERSON


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_the_focused_button_is_pressed_by_space_and_return(surface: Surface, key: Qt.Key) -> None:
    surface.pass_time(2)
    surface.button.setFocus()
    surface.key(key)
    assert surface.decided == 1


def test_a_key_shortly_before_spoils_the_gesture(surface: Surface) -> None:
    surface.pass_time(2)
    surface.key(Qt.Key.Key_A)
    surface.pass_time(0.4)
    click(surface.button)
    assert surface.refusals == [Refusal.NOT_ISOLATED]
    surface.pass_time(0.6)
    click(surface.button)
    assert surface.decided == 1


def test_tab_and_a_quick_space_is_a_burst(surface: Surface) -> None:
    surface.pass_time(2)
    surface.key(Qt.Key.Key_Tab)
    surface.key(Qt.Key.Key_Space)
    assert surface.decided == 0
    assert surface.refusals == [Refusal.NOT_ISOLATED]


def test_a_wheel_step_shortly_before_spoils_the_gesture(surface: Surface) -> None:
    surface.pass_time(2)
    QTest.wheelEvent(surface.window.windowHandle(), QPointF(5, 5), QPoint(0, -120))
    surface.pass_time(0.3)
    click(surface.button)
    assert surface.refusals == [Refusal.NOT_ISOLATED]


def test_a_pure_modifier_does_not_spoil_the_gesture(surface: Surface) -> None:
    surface.pass_time(2)
    surface.key(Qt.Key.Key_Shift)
    click(surface.button)
    assert surface.decided == 1


def test_a_shortcut_that_is_taken_before_it_becomes_a_key_press_still_spoils_the_gesture(surface: Surface) -> None:
    """ShortcutOverride counts."""
    shortcut = QShortcut(Qt.Key.Key_F5, surface.window)
    surface.pass_time(2)
    surface.key(Qt.Key.Key_F5)
    click(surface.button)
    assert surface.refusals == [Refusal.NOT_ISOLATED]
    shortcut.deleteLater()


def test_a_press_that_began_before_the_guard_was_armed_does_not_count(surface: Surface) -> None:
    surface.pass_time(0.8)
    QTest.mousePress(surface.button, Qt.MouseButton.LeftButton)
    surface.pass_time(1.0)
    QTest.mouseRelease(surface.button, Qt.MouseButton.LeftButton)
    assert surface.refusals == [Refusal.TOO_EARLY]


def test_other_input_while_the_button_is_held_spoils_the_gesture(surface: Surface) -> None:
    surface.pass_time(2)
    QTest.mousePress(surface.button, Qt.MouseButton.LeftButton)
    surface.pass_time(0.6)
    QTest.keyClick(surface.field, Qt.Key.Key_X)
    QTest.mouseRelease(surface.button, Qt.MouseButton.LeftButton)
    assert surface.refusals == [Refusal.NOT_ISOLATED]


def test_moving_the_window_starts_anew(surface: Surface) -> None:
    surface.pass_time(2)
    surface.window.move(surface.window.pos() + QPoint(40, 0))
    click(surface.button)
    assert surface.refusals == [Refusal.TOO_EARLY]


def test_a_button_that_slides_under_the_pointer_starts_anew(surface: Surface) -> None:
    surface.pass_time(2)
    surface.button.move(surface.button.pos() + QPoint(3, 0))
    click(surface.button)
    assert surface.refusals == [Refusal.TOO_EARLY]


def test_activation_starts_anew(surface: Surface) -> None:
    surface.pass_time(2)
    QApplication.sendEvent(surface.window, QEvent(QEvent.Type.WindowActivate))
    click(surface.button)
    assert surface.refusals == [Refusal.TOO_EARLY]


def test_hiding_and_showing_starts_anew(surface: Surface, qtbot: Any) -> None:
    surface.pass_time(2)
    surface.inner.hide()
    surface.inner.show()
    qtbot.waitUntil(lambda: surface.guard.is_shown)
    click(surface.button)
    assert surface.refusals == [Refusal.TOO_EARLY]


def test_input_that_queued_up_while_the_loop_was_blocked_does_not_count(surface: Surface) -> None:
    surface.pass_time(0.5)
    surface.clock.now += 3  # no beat: the loop hung, and the click was made in the dark
    click(surface.button)
    assert surface.decided == 0
    surface.watch.beat()
    surface.pass_time(0.9)
    click(surface.button)
    assert surface.decided == 0
    surface.pass_time(0.6)
    click(surface.button)
    assert surface.decided == 1


def test_a_press_by_an_assistive_technology_passes_the_same_guard(surface: Surface, qtbot: Any) -> None:
    action = QAccessible.queryAccessibleInterface(surface.button).actionInterface()
    surface.pass_time(0.5)
    action.doAction("Press")
    qtbot.waitUntil(lambda: bool(surface.refusals))
    assert surface.refusals == [Refusal.TOO_EARLY]
    surface.pass_time(1)
    action.doAction("Press")
    qtbot.waitUntil(lambda: surface.decided == 1)


def test_a_press_by_an_assistive_technology_in_a_burst_of_keys_is_refused(surface: Surface, qtbot: Any) -> None:
    surface.pass_time(2)
    surface.key(Qt.Key.Key_A)
    QAccessible.queryAccessibleInterface(surface.button).actionInterface().doAction("Press")
    qtbot.waitUntil(lambda: bool(surface.refusals))
    assert surface.refusals == [Refusal.NOT_ISOLATED]


def test_a_mnemonic_passes_the_same_guard(surface: Surface, qtbot: Any) -> None:
    surface.button.setText("&Approve")
    qtbot.waitUntil(lambda: surface.button.shortcut().toString() == "Alt+A")
    surface.pass_time(2)
    QTest.keyClick(surface.window.windowHandle(), Qt.Key.Key_A, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: surface.decided == 1)


def test_a_click_by_code_is_not_a_person(surface: Surface) -> None:
    """G10."""
    surface.pass_time(2)
    surface.button.click()
    assert surface.refusals == [Refusal.NOT_A_PERSON]


def test_events_made_up_by_code_are_not_a_person(surface: Surface) -> None:
    """G10."""
    surface.pass_time(2)
    surface.button.setFocus()
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(surface.button, QKeyEvent(kind, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier))
    surface.pass_time(2)
    where = QPointF(surface.button.rect().center())
    for kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
        event = QMouseEvent(
            kind, where, surface.button.mapToGlobal(where), Qt.MouseButton.LeftButton, Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )  # fmt: skip
        QApplication.sendEvent(surface.button, event)
    assert surface.decided == 0
    assert surface.refusals == [Refusal.NOT_A_PERSON] * 2


def test_a_closed_guard_refuses_and_leaves_no_filter(surface: Surface) -> None:
    surface.pass_time(2)
    surface.guard.close()
    click(surface.button)
    assert surface.decided == 0
    surface.watch.press = None
    click(surface.field)
    assert surface.watch.press is None


def test_both_times_are_settings(qtbot: Any) -> None:
    surface = Surface(qtbot, GestureTimes(shown_for=3, quiet_for=0.1))
    surface.pass_time(2.9)
    click(surface.button)
    assert surface.refusals == [Refusal.TOO_EARLY]
    surface.pass_time(0.2)
    click(surface.button)
    assert surface.decided == 1
    surface.guard.close()


def test_no_button_is_a_default_button(surface: Surface) -> None:
    """FC-21."""
    assert not surface.button.isDefault()
    assert not surface.button.autoDefault()
