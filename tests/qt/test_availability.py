"""Modal windows: somebody else's blocks, ours never, and neither does a dialog that holds the widget itself."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel, QMainWindow

from agentic_qt.core.call import Call, Status
from agentic_qt.qt.availability import OWN_WINDOW, why_blocked
from agentic_qt.qt.expose import expose
from agentic_qt.qt.scope import provide


@pytest.fixture
def label(qapp, registry):
    window = QMainWindow()
    label = QLabel("hello")
    label.window_that_lives = window
    window.setCentralWidget(label)
    provide(window, registry)
    expose(label, label.text, name="label.read", risk="read", schema={"type": "object"}, description="Read it.")
    window.show()
    yield label
    window.close()


@pytest.mark.anyio
async def test_a_foreign_modal_dialog_makes_it_unavailable_with_its_title(label, registry):
    dialog = QDialog(label.window())
    dialog.setWindowTitle("Save changes?")
    dialog.open()
    outcome = await registry.execute(Call(name="label.read"))
    assert (outcome.status, outcome.code) == (Status.UNAVAILABLE, "not_available")
    assert "a dialog is open: Save changes?" in outcome.hint
    assert label.isEnabled()
    dialog.close()
    assert (await registry.execute(Call(name="label.read"))).data == "hello"


@pytest.mark.anyio
async def test_a_modal_dialog_changes_nothing_in_the_catalogue(label, registry):
    revision = registry.revision
    dialog = QDialog(label.window())
    dialog.open()
    dialog.close()
    assert registry.revision == revision


def test_a_window_of_ours_never_blocks(label):
    dialog = QDialog(label.window())
    dialog.setProperty(OWN_WINDOW, True)
    dialog.setModal(True)
    dialog.show()
    assert why_blocked(label) == ""
    child = QDialog(dialog)
    child.open()
    assert why_blocked(label) == ""


def test_a_foreign_modal_below_a_window_of_ours_still_blocks(label):
    foreign = QDialog(label.window())
    foreign.setWindowTitle("Foreign")
    foreign.open()
    ours = QDialog(label.window())
    ours.setProperty(OWN_WINDOW, True)
    ours.setModal(True)
    ours.show()
    assert why_blocked(label) == "a dialog is open: Foreign"


def test_what_stands_in_the_modal_dialog_or_in_a_dialog_that_it_opened_is_available(label):
    dialog = QDialog(label.window())
    inside = QLabel("inside", dialog)
    dialog.open()
    nested = QDialog(dialog)
    deeper = QLabel("deeper", nested)
    nested.show()
    assert why_blocked(inside) == ""
    assert why_blocked(deeper) == ""
    assert why_blocked(label) != ""


def test_a_window_modal_dialog_of_another_window_does_not_block(label):
    other = QMainWindow()
    other.show()
    dialog = QDialog(other)
    dialog.open()
    assert why_blocked(label) == ""
    assert why_blocked(other) == "a dialog is open: QDialog"


def test_an_application_modal_dialog_blocks_every_window(label):
    dialog = QDialog()
    dialog.setWindowModality(Qt.WindowModality.ApplicationModal)
    dialog.setWindowTitle("x" * 200)
    dialog.show()
    assert why_blocked(label) == "a dialog is open: " + "x" * 80


def test_a_non_modal_dialog_does_not_block(label):
    dialog = QDialog(label.window())
    dialog.show()
    assert why_blocked(label) == ""
