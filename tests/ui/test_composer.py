"""Writing and sending, with real keys and real input methods."""

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication

from agentic_qt.ui.composer import MAX_LINES, Composer


@pytest.fixture
def composer(qtbot):
    made = Composer()
    qtbot.addWidget(made)
    made.resize(360, 100)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    made.field.setFocus()
    return made


@pytest.fixture
def sent(composer):
    return QSignalSpy(composer.submitted)


def texts(spy):
    return [spy.at(row)[0] for row in range(spy.count())]


def compose(composer, preedit, commit=""):
    event = QInputMethodEvent(preedit, [])
    event.setCommitString(commit)
    QApplication.sendEvent(composer.field, event)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_return_sends(composer, sent, key):
    QTest.keyClicks(composer.field, "hello")
    modifier = Qt.KeyboardModifier.KeypadModifier if key == Qt.Key.Key_Enter else Qt.KeyboardModifier.NoModifier
    QTest.keyClick(composer.field, key, modifier)
    assert texts(sent) == ["hello"]


def test_shift_return_breaks_the_line(composer, sent):
    QTest.keyClicks(composer.field, "a")
    QTest.keyClick(composer.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.field, "b")
    assert texts(sent) == []
    assert composer.text in ("a\nb", "a\u2028b")
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts(sent) == ["a\nb"]


def test_return_never_sends_while_a_text_is_composed(composer, sent):
    """FC-82"""
    QTest.keyClicks(composer.field, "xin ")
    compose(composer, "cha\u0300o")
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    QTest.mouseClick(composer.send_button, Qt.MouseButton.LeftButton)
    assert texts(sent) == []
    compose(composer, "", commit="chào")
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts(sent) == ["xin chào"]


def test_escape_while_composing_belongs_to_the_input_method(composer):
    """FC-82"""
    stops = QSignalSpy(composer.stop_requested)
    composer.set_running(running=True)
    compose(composer, "ni")
    QTest.keyClick(composer.field, Qt.Key.Key_Escape)
    assert stops.count() == 0
    compose(composer, "")
    QTest.keyClick(composer.field, Qt.Key.Key_Escape)
    assert stops.count() == 1


def test_blank_text_is_not_sent(composer, sent):
    QTest.keyClicks(composer.field, "   ")
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert not composer.send_button.isEnabled()
    assert texts(sent) == []


def test_the_text_stays_until_it_is_accepted(composer, sent):
    QTest.keyClicks(composer.field, "draft")
    QTest.mouseClick(composer.send_button, Qt.MouseButton.LeftButton)
    assert texts(sent) == ["draft"]
    assert composer.text == "draft"
    composer.accept_text()
    assert composer.text == ""


def test_while_something_runs_stop_takes_the_place_of_send(composer, sent):
    stops = QSignalSpy(composer.stop_requested)
    composer.set_running(running=True)
    assert composer.stop_button.isVisible()
    assert not composer.send_button.isVisible()
    QTest.keyClicks(composer.field, "next")
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts(sent) == []
    assert composer.text == "next"
    QTest.mouseClick(composer.stop_button, Qt.MouseButton.LeftButton)
    assert stops.count() == 1


def test_escape_does_nothing_when_nothing_runs(composer):
    stops = QSignalSpy(composer.stop_requested)
    QTest.keyClick(composer.field, Qt.Key.Key_Escape)
    assert stops.count() == 0


def test_without_a_chat_model_nothing_is_sent(composer, sent):
    composer.set_ready(ready=False)
    QTest.keyClicks(composer.field, "hello")
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert texts(sent) == []


def test_the_field_grows_with_its_text_up_to_a_limit(composer):
    heights = []
    for lines in (1, 3, MAX_LINES, MAX_LINES + 10):
        composer.set_text("\n".join("x" * lines))
        heights.append(composer.field.height())
    assert heights[0] < heights[1] < heights[2] == heights[3]
    composer.set_text("a")
    assert composer.field.height() == heights[0]


def test_what_is_pasted_is_plain_text(composer):
    data = QMimeData()
    data.setHtml("<b>bold</b>")
    data.setText("bold")
    composer.field.insertFromMimeData(data)
    assert composer.text == "bold"


def test_tab_leads_out_of_the_field_to_the_buttons(composer, qtbot):
    QTest.keyClicks(composer.field, "a")
    QTest.keyClick(composer.field, Qt.Key.Key_Tab)
    assert composer.send_button.hasFocus()
    QTest.keyClick(composer.send_button, Qt.Key.Key_Space)
    assert composer.text == "a"


def test_the_focus_stays_in_the_composer_when_its_button_goes(composer):
    QTest.keyClicks(composer.field, "a")
    composer.send_button.setFocus()
    composer.set_running(running=True)
    assert composer.field.hasFocus()


def test_the_focus_of_others_is_not_taken(composer, qtbot):
    from PySide6.QtWidgets import QLineEdit

    other = QLineEdit()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow)
    other.setFocus()
    composer.set_running(running=True)
    composer.set_running(running=False)
    assert other.hasFocus()


def test_every_control_has_a_name_for_screen_readers(composer):
    for widget in (composer.field, composer.send_button, composer.stop_button):
        assert widget.accessibleName()
