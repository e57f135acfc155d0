"""A destructive form takes two isolated gestures, on two buttons in two places."""

import asyncio

import pytest
import shiboken6
from PySide6.QtCore import QBuffer, QByteArray, QPoint, QRect, Qt
from PySide6.QtGui import QAccessible, QPalette
from PySide6.QtTest import QTest
from PySide6.QtUiTools import QUiLoader
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QPushButton, QSpinBox, QVBoxLayout

from agentic_qt.core.call import Status
from tests.support.approval_stage import settle, until
from tests.support.form_stage import FormStage, make_form, outcome_of

pytestmark = pytest.mark.anyio
FORM = b"""<ui version="4.0"><class>Form</class><widget class="QWidget" name="trip">
<property name="toolName" stdset="0"><string notr="true">trip.book</string></property>
<property name="toolDescription" stdset="0"><string notr="true">Book a trip.</string></property>
<layout class="QVBoxLayout" name="rows">
<item><widget class="QLineEdit" name="city"><property name="text"><string>Hanoi</string></property></widget></item>
<item><widget class="QPushButton" name="book"><property name="text"><string>Book</string></property></widget></item>
</layout></widget></ui>"""


def load_form(**properties):
    """A form that C++ made."""
    buffer = QBuffer()
    buffer.setData(QByteArray(FORM))
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    form = QUiLoader().load(buffer)
    for name, value in properties.items():
        form.setProperty(name, value)
    return form


async def first_press(**properties):
    """A stage on which the first of the two gestures was made."""
    stage = FormStage(make_form(toolRisk="destructive", toolTitle="Cancel & refund", **properties))
    await stage.open()
    task = await stage.begin({"city": "Hue", "people": 2})
    stage.pass_time()
    stage.press_submit()
    await settle()
    assert not task.done()
    return stage, task


def second(stage):
    return stage.tool.review.second.button


def is_there(button):
    return shiboken6.isValid(button) and button.isVisible()


async def stop(task):
    task.cancel()
    await asyncio.wait([task])


async def test_one_press_is_not_enough_for_a_destructive_form_and_two_are():
    stage, task = await first_press()
    assert stage.booked == []
    button = second(stage)
    assert (button.isVisible(), button.text(), button.accessibleName()) == (
        True,
        "Yes: Cancel && refund",
        "Yes: Cancel & refund",
    )
    assert (button.property("toolSubmitActive"), stage.button.property("toolSubmitActive")) == (True, None)
    stage.pass_time()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert (await outcome_of(task)).ok
    assert stage.booked == [{"city": "Hue", "people": 2}]
    assert not is_there(button)
    assert stage.button.property("toolSubmitActive") is None


@pytest.mark.parametrize("sheet", ["", "QPushButton { background: #123456; border: none; padding: 9px; }"])
async def test_the_second_button_stands_out_unless_a_style_sheet_says_how_it_looks(sheet):
    stage = FormStage(make_form(toolRisk="destructive"))
    stage.window.setStyleSheet(sheet)
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    stage.press_submit()
    await settle()
    button = second(stage)
    wanted = "#123456" if sheet else button.palette().color(QPalette.ColorRole.Highlight).name()
    assert button.grab().toImage().pixelColor(5, button.height() // 2).name() == wanted
    assert button.font().bold()
    await stop(task)


async def test_a_mutating_form_takes_one_press():
    stage = FormStage()
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    assert stage.tool.review.second is None
    stage.pass_time()
    stage.press_submit()
    assert (await outcome_of(task)).ok


async def test_the_second_button_covers_neither_the_first_nor_a_field():
    stage, task = await first_press()
    button = second(stage)
    place = QRect(button.mapTo(stage.window, QPoint()), button.size())
    assert stage.window.rect().contains(place)
    for kind in (QLineEdit, QSpinBox, QPushButton):
        for widget in stage.window.findChildren(kind):
            if widget is not button and widget.isVisible():
                assert not place.intersects(QRect(widget.mapTo(stage.window, QPoint()), widget.size()))
    await stop(task)


async def test_in_a_tight_dialog_no_button_is_covered_and_return_stays_a_first_press():
    stage = FormStage()
    dialog = QDialog(stage.window)
    form = make_form(dialog, toolName=None, toolDescription=None)
    declared = {"toolName": "trip.cancel", "toolDescription": "Cancel a trip.", "toolRisk": "destructive"}
    for name, value in declared.items():
        dialog.setProperty(name, value)
    QVBoxLayout(dialog).addWidget(form)
    box = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
    dialog.layout().addWidget(box)
    await stage.open()
    dialog.show()
    dialog.activateWindow()
    await until(lambda: stage.exposed.find("trip.cancel") is not None and dialog.isActiveWindow())
    tool = stage.exposed.find("trip.cancel")
    task = await stage.begin({"city": "Hue"}, name="trip.cancel")
    form.findChild(QLineEdit, "city").setFocus()
    for _ in range(2):
        for _ in range(12):
            stage.clock.now += 0.1
            tool.review.watch.beat()
        QTest.keyClick(dialog.windowHandle(), Qt.Key.Key_Return)
    assert not task.done()
    button = tool.review.second.button
    place = QRect(button.pos(), button.size())
    assert dialog.rect().contains(place)
    for one in box.buttons():
        assert not place.intersects(QRect(one.mapTo(dialog, QPoint()), one.size()))
    await stop(task)


async def test_a_second_press_right_after_the_first_does_not_count_and_may_be_repeated():
    stage, task = await first_press()
    QTest.mouseClick(second(stage), Qt.MouseButton.LeftButton)
    stage.pass_time(0.6)
    QTest.mouseClick(second(stage), Qt.MouseButton.LeftButton)  # isolated, but shown for too short a time
    await settle()
    assert not task.done()
    assert stage.booked == []
    stage.pass_time()
    QTest.mouseClick(second(stage), Qt.MouseButton.LeftButton)
    assert (await outcome_of(task)).ok


async def test_a_second_press_out_of_a_burst_does_not_count():
    stage, task = await first_press()
    stage.pass_time()
    stage.elsewhere.setFocus()
    QTest.keyClicks(stage.elsewhere, "x")
    QTest.mouseClick(second(stage), Qt.MouseButton.LeftButton)
    await settle()
    assert not task.done()
    assert stage.booked == []
    await stop(task)


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Return])
async def test_both_presses_may_be_keys(key):
    stage = FormStage(make_form(toolRisk="destructive"))
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.button.setFocus()
    stage.pass_time()
    stage.key(key)
    stage.pass_time()
    stage.key(key)  # on the first button again
    await settle()
    assert not task.done()
    stage.key(Qt.Key.Key_Tab)
    assert stage.window.focusWidget() is second(stage)
    stage.key(key)  # right after the Tab
    await settle()
    assert not task.done()
    stage.pass_time()
    stage.key(key)
    assert (await outcome_of(task)).ok
    assert len(stage.booked) == 1


async def test_return_in_a_field_is_a_first_press_each_time():
    stage, task = await first_press()
    stage.city.setFocus()
    for _ in range(3):
        stage.pass_time()
        stage.key(Qt.Key.Key_Return)
    await settle()
    assert not task.done()
    assert stage.booked == []
    await stop(task)


async def test_code_cannot_make_the_second_press():
    stage, task = await first_press()
    stage.pass_time()
    second(stage).click()
    await settle()
    assert not task.done()
    await stop(task)


async def test_an_assistive_technology_makes_both_presses():
    stage = FormStage(make_form(toolRisk="destructive"))
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    QAccessible.queryAccessibleInterface(stage.button).actionInterface().doAction("Press")
    await until(lambda: second(stage) is not None)
    stage.pass_time()
    QAccessible.queryAccessibleInterface(second(stage)).actionInterface().doAction("Press")
    assert (await outcome_of(task)).ok


async def test_what_is_edited_between_the_presses_needs_the_first_one_again():
    stage, task = await first_press()
    stage.people.setValue(5)
    stage.pass_time()
    QTest.mouseClick(second(stage), Qt.MouseButton.LeftButton)
    await settle()
    assert not task.done()
    assert second(stage) is None
    for button in (lambda: stage.button, lambda: second(stage)):
        stage.pass_time()
        QTest.mouseClick(button(), Qt.MouseButton.LeftButton)
    assert (await outcome_of(task)).data["submitted"] == {"city": "Hue", "people": 5}


async def test_escape_on_the_second_button_takes_the_first_press_back():
    stage, task = await first_press()
    second(stage).setFocus()
    stage.key(Qt.Key.Key_Escape)
    await settle()
    assert not task.done()
    assert second(stage) is None
    assert stage.button.property("toolSubmitActive") is True
    await stop(task)


async def test_the_second_button_goes_with_the_review():
    stage, task = await first_press()
    button = second(stage)
    stage.form.hide()
    assert (await outcome_of(task)).status is Status.CANCELLED
    await settle()
    assert not is_there(button)
    assert stage.booked == []


@pytest.mark.parametrize("what", ["form", "first", "second", "window"])
async def test_whatever_is_deleted_between_the_presses_submits_nothing(what, delete):
    stage, task = await first_press()
    things = {"form": stage.form, "first": stage.button, "second": second(stage), "window": stage.window}
    delete(things[what])
    if what == "second":  # the form is there, and may be submitted from the start
        stage.pass_time()
        stage.press_submit()
        await settle()
        assert not task.done()
        assert second(stage).isVisible()
        await stop(task)
    else:
        assert (await outcome_of(task)).status is Status.CANCELLED
    assert stage.booked == []


async def test_a_form_of_a_ui_file_may_be_deleted_between_the_presses(delete):
    """What C++ made counts as valid for longer than it lives."""
    form = load_form(toolRisk="destructive")
    stage = FormStage(form)
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    stage.press_submit()
    await settle()
    assert second(stage).isVisible()
    del form
    stage.place.removeWidget(stage.form)
    delete(stage.form)
    assert (await outcome_of(task)).status is Status.CANCELLED


async def test_a_review_that_expires_between_the_presses_denies():
    """FC-03"""
    stage = FormStage(make_form(toolRisk="destructive"), expiry=0.3)
    await stage.open()
    task = await stage.begin({"city": "Hue"})
    stage.pass_time()
    stage.press_submit()
    button = second(stage)
    outcome = await outcome_of(task)
    assert (outcome.status, outcome.code) == (Status.DENIED, "expired")
    assert not is_there(button)
    assert stage.city.text() == "Hanoi"
