"""Changing the assistant's shortcuts: checked against the window's own, kept, and put back."""

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from agentic_qt.ui.shortcuts import is_for_writing
from tests.support.assistant_stage import AssistantStage, until

pytestmark = pytest.mark.anyio
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def settings(qapp, tmp_path):
    return QSettings(str(tmp_path / "app.ini"), QSettings.Format.IniFormat)


async def open_editor(settings, **options):
    stage = await AssistantStage(settings=settings, **options).open()
    theirs = QAction("&Import", stage.window)
    theirs.setShortcut(QKeySequence("Ctrl+J"))
    stage.window.addAction(theirs)
    chord = QShortcut(QKeySequence("Ctrl+K, Ctrl+L"), stage.window)
    chord.setObjectName("fold")
    stage.assistant.show_settings()
    dialog = stage.assistant.windows.settings
    dialog.tabs.setCurrentWidget(dialog.shortcuts)
    await until(dialog.isActiveWindow)
    return stage, dialog.shortcuts


async def press(row, key, modifiers=Qt.KeyboardModifier.NoModifier):
    """Press keys in the field, and wait until it takes them for finished."""
    ended = []
    connection = row.edit.editingFinished.connect(lambda: ended.append(1))
    field = row.edit.findChild(QLineEdit)
    field.setFocus()
    QTest.keyClick(row.edit, key, modifiers)
    await until(lambda: ended)
    row.edit.editingFinished.disconnect(connection)


def keys_of(stage, name):
    return stage.assistant.actions[name].shortcut().toString()


async def test_a_new_shortcut_counts_at_once_and_at_the_next_start(settings):
    stage, editor = await open_editor(settings)
    await press(editor.rows["focus"], Qt.Key.Key_F9)
    assert keys_of(stage, "focus") == "F9"
    stage.window.activateWindow()
    await until(stage.window.isActiveWindow)
    stage.field.setFocus()
    QTest.keyClick(stage.field, Qt.Key.Key_F9)
    assert stage.assistant.panel.composer.field.hasFocus()
    stage.assistant.detach()
    again = await AssistantStage(settings=settings).open()
    assert keys_of(again, "focus") == "F9"
    assert keys_of(again, "new_chat") == "Ctrl+Shift+N"


@pytest.mark.parametrize(
    ("key", "modifiers", "who"),
    [
        (Qt.Key.Key_J, CTRL, "Import"),
        (Qt.Key.Key_I, CTRL | SHIFT, "Write to the Assistant"),
        (Qt.Key.Key_K, CTRL, "fold"),
    ],
)
async def test_keys_that_are_taken_are_refused_with_the_name_of_their_owner(settings, key, modifiers, who):
    stage, editor = await open_editor(settings)
    row = editor.rows["new_chat"]
    await press(row, key, modifiers)
    assert keys_of(stage, "new_chat") == "Ctrl+Shift+N"
    assert row.edit.keySequence() == QKeySequence("Ctrl+Shift+N")
    assert who in editor.answer.text()
    assert settings.value("agentic_qt/shortcuts/new_chat") is None


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("A", True),
        ("Shift+A", True),
        ("Return", True),
        ("Space", True),
        ("Left", True),
        ("Shift+Home", True),
        ("Esc", False),
        ("F5", False),
        ("Shift+F5", False),
        ("Ctrl+A", False),
        ("Alt+A", False),
        ("", False),
    ],
)
def test_keys_that_people_write_and_move_with_are_told_from_the_others(qapp, keys, expected):
    assert is_for_writing(QKeySequence(keys)) is expected


async def test_a_field_that_is_left_without_a_key_changes_nothing(settings):
    stage, editor = await open_editor(settings)
    row = editor.rows["new_chat"]
    row.edit.setKeySequence(QKeySequence())
    row.edit.editingFinished.emit()
    assert keys_of(stage, "new_chat") == "Ctrl+Shift+N"
    assert row.edit.keySequence() == QKeySequence("Ctrl+Shift+N")


async def test_a_letter_is_no_shortcut(settings):
    stage, editor = await open_editor(settings)
    await press(editor.rows["new_chat"], Qt.Key.Key_X)
    assert keys_of(stage, "new_chat") == "Ctrl+Shift+N"
    assert "is for writing" in editor.answer.text()


async def test_a_shortcut_can_be_removed_and_stays_removed(settings):
    stage, editor = await open_editor(settings)
    QTest.mouseClick(editor.rows["toggle"].remove, Qt.MouseButton.LeftButton)
    assert keys_of(stage, "toggle") == ""
    assert not editor.rows["toggle"].remove.isEnabled()
    settings.sync()
    stage.assistant.detach()
    again = await AssistantStage(settings=QSettings(settings.fileName(), QSettings.Format.IniFormat)).open()
    assert keys_of(again, "toggle") == ""


async def test_reset_puts_the_applications_default_back(settings):
    stage, editor = await open_editor(settings, shortcuts={"focus": "F8"})
    row = editor.rows["focus"]
    assert not row.reset.isEnabled()
    await press(row, Qt.Key.Key_F9)
    assert row.reset.isEnabled()
    QTest.mouseClick(row.reset, Qt.MouseButton.LeftButton)
    assert keys_of(stage, "focus") == "F8"
    assert row.edit.keySequence() == QKeySequence("F8")
    assert not row.reset.isEnabled()
    assert settings.value("agentic_qt/shortcuts/focus") is None


async def test_a_default_that_the_window_has_taken_meanwhile_is_not_put_back(settings):
    stage, editor = await open_editor(settings, shortcuts={"focus": "F8"})
    await press(editor.rows["focus"], Qt.Key.Key_F9)
    theirs = QAction("Save", stage.window)
    theirs.setShortcut(QKeySequence("F8"))
    stage.window.addAction(theirs)
    QTest.mouseClick(editor.rows["focus"].reset, Qt.MouseButton.LeftButton)
    assert keys_of(stage, "focus") == "F9"
    assert "Save" in editor.answer.text()


async def test_every_shortcut_is_reached_with_tab_and_named(settings):
    _stage, editor = await open_editor(settings)
    assert set(editor.rows) == {"toggle", "focus", "new_chat", "stop", "settings"}
    editor.rows["toggle"].edit.setFocus()
    reached = [QApplication.focusWidget().accessibleName()]
    for _ in range(10):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        reached.append(QApplication.focusWidget().accessibleName())
    for name in ("Write to the Assistant", "New Chat", "Stop the Assistant", "Assistant Settings"):
        assert f"Shortcut for: {name}" in reached


async def test_the_settings_can_have_a_shortcut_too(settings):
    stage, editor = await open_editor(settings)
    await press(editor.rows["settings"], Qt.Key.Key_Comma, CTRL)
    assert keys_of(stage, "settings") == "Ctrl+,"
    dialog = stage.assistant.windows.settings
    dialog.close()
    stage.window.activateWindow()
    await until(stage.window.isActiveWindow)
    stage.assistant.panel.composer.field.setFocus()
    QTest.keyClick(stage.assistant.panel.composer.field, Qt.Key.Key_Comma, CTRL)
    await until(dialog.isVisible)
