"""The life of a capability follows the life of its widget: each row of the table of events."""

import gc
import weakref

import pytest
import shiboken6
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDockWidget,
    QGroupBox,
    QLabel,
    QMainWindow,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from agentic_qt.core.call import Call, Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry
from agentic_qt.qt.binder import Binder, binder_of
from agentic_qt.qt.expose import expose
from agentic_qt.qt.mixin import capability
from agentic_qt.qt.scope import find_registry, find_scope, provide


class Note(QLabel):
    @capability(risk="read")
    def read_text(self) -> str:
        """Return the text."""
        return self.text()


NAME = "note.read_text"


@pytest.fixture
def window(qapp, registry):
    window = QMainWindow()
    window.setWindowTitle("Main")
    provide(window, registry)
    return window


def add_note(window: QMainWindow) -> Note:
    central = QWidget()
    QVBoxLayout(central)
    note = Note("hello")
    central.layout().addWidget(note)
    window.setCentralWidget(central)
    return note


def listed(registry: Registry) -> list[str | None]:
    return [found.target_id for found in registry.visible if found.name == NAME]


def only(registry: Registry):
    (registration,) = registry.registrations
    return registration


def test_a_capability_is_registered_when_its_widget_is_first_shown_and_not_before(window, registry):
    add_note(window)
    assert registry.registrations == ()
    window.show()
    assert listed(registry) == ["note"]


def test_hiding_suspends_and_showing_resumes_the_same_registration(window, registry):
    note = add_note(window)
    window.show()
    registration = only(registry)
    note.hide()
    assert registration.suspended
    assert registration.reason == "it is not shown"
    assert registry.visible == ()
    note.show()
    assert not registration.suspended
    assert only(registry) is registration


def test_a_closed_window_suspends_what_is_in_it(window, registry):
    add_note(window)
    window.show()
    window.close()
    assert only(registry).suspended
    window.show()
    assert not only(registry).suspended


@pytest.mark.parametrize("pages_class", [QTabWidget, QStackedWidget])
def test_pages_register_when_first_shown_and_suspend_when_another_is(window, registry, pages_class):
    pages = pages_class()
    notes = [Note("one"), Note("two")]
    for number, note in enumerate(notes):
        note.setObjectName(f"page{number}")
        pages.addTab(note, "page") if pages_class is QTabWidget else pages.addWidget(note)
    window.setCentralWidget(pages)
    window.show()
    assert listed(registry) == ["page0"]
    pages.setCurrentIndex(1)
    assert listed(registry) == ["page1"]
    assert len(registry.registrations) == 2
    pages.setCurrentIndex(0)
    assert listed(registry) == ["page0"]


def test_a_minimised_window_keeps_its_capabilities(window, registry):
    note = add_note(window)
    window.show()
    revision = registry.revision
    window.showMinimized()
    # The offscreen platform sends none of these; window systems do, and mark them as spontaneous.
    for event in (QHideEvent(), QShowEvent()):
        spontaneous = make_spontaneous(event)
        assert spontaneous.spontaneous()
        binder_of(note).eventFilter(note, spontaneous)
    assert note.isVisible()
    assert listed(registry) == ["note"]
    assert registry.revision == revision


def make_spontaneous(event):
    class Spontaneous(type(event)):
        def spontaneous(self) -> bool:
            return True

    return Spontaneous()


def test_a_widget_that_is_scrolled_out_or_obscured_stays_available(window, registry):
    note = add_note(window)
    window.show()
    note.setGeometry(-5000, -5000, 10, 10)
    cover = QWidget(window)
    cover.setGeometry(window.rect())
    cover.show()
    assert listed(registry) == ["note"]
    assert only(registry).capability.available() is True


def test_disabling_the_widget_or_an_ancestor_suspends_it_with_the_reason(window, registry):
    note = add_note(window)
    window.show()
    note.setEnabled(False)
    assert only(registry).reason == "it is disabled"
    note.setEnabled(True)
    assert listed(registry) == ["note"]
    window.centralWidget().setEnabled(False)
    assert only(registry).suspended
    window.centralWidget().setEnabled(True)
    assert listed(registry) == ["note"]


def test_an_unchecked_group_box_suspends_what_is_in_it(window, registry):
    box = QGroupBox("Box")
    box.setCheckable(True)
    layout = QVBoxLayout(box)
    layout.addWidget(Note("hello"))
    window.setCentralWidget(box)
    window.show()
    assert listed(registry) == ["note"]
    box.setChecked(False)
    assert only(registry).suspended
    box.setChecked(True)
    assert listed(registry) == ["note"]


def test_a_widget_that_is_disabled_when_first_shown_is_registered_and_suspended(window, registry):
    add_note(window).setEnabled(False)
    window.show()
    assert only(registry).suspended


def test_a_disabled_widget_that_is_hidden_and_shown_stays_suspended_with_the_reason_of_now(window, registry):
    note = add_note(window)
    window.show()
    note.setEnabled(False)
    note.hide()
    assert only(registry).reason == "it is not shown"
    note.show()
    assert only(registry).reason == "it is disabled"


@pytest.mark.anyio
async def test_a_dock_behind_another_is_suspended_after_the_storm_of_signals(window, registry, qtbot):
    docks = []
    for number in range(2):
        dock = QDockWidget(f"Dock {number}", window)
        dock.setObjectName(f"dock{number}")
        note = Note(str(number))
        note.setObjectName(f"note{number}")
        dock.setWidget(note)
        window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, dock)
        docks.append(dock)
    window.tabifyDockWidget(*docks)
    window.resize(400, 300)
    window.show()
    docks[1].raise_()
    qtbot.waitUntil(lambda: listed(registry) == ["note1"], timeout=5000)
    docks[0].raise_()
    qtbot.waitUntil(lambda: listed(registry) == ["note0"], timeout=5000)
    behind = registry.find(NAME, "note1")
    assert behind.reason == "its dock is behind another one"
    outcome = await registry.execute(Call(name=NAME, target_id="note1"))
    assert (outcome.status, outcome.code) == (Status.UNAVAILABLE, "suspended")
    docks[1].setFloating(True)
    qtbot.waitUntil(lambda: sorted(listed(registry)) == ["note0", "note1"], timeout=5000)


@pytest.mark.parametrize("way", ["deleteLater", "parent", "shiboken"])
def test_destroying_the_widget_disposes_its_registrations(window, registry, delete, way):
    note = add_note(window)
    window.show()
    registration = only(registry)
    if way == "deleteLater":
        delete(note)
    elif way == "parent":
        delete(window.centralWidget())
    else:
        shiboken6.delete(note)
    assert registration.disposed
    assert registry.registrations == ()
    assert not shiboken6.isValid(note)


def test_destroying_the_window_disposes_everything_without_a_word(window, registry, delete, caplog):
    note = add_note(window)
    dialog = QDialog(window)
    inside = Note("dialog", dialog)
    inside.setObjectName("inside")
    window.show()
    dialog.show()
    assert listed(registry) == ["note", "inside"]
    delete(window)
    assert registry.registrations == ()
    assert not shiboken6.isValid(note)
    assert caplog.text == ""


def test_a_widget_without_a_parent_is_not_kept_alive_by_its_capabilities(qapp, registry):
    note = Note("alone")
    remove = provide(note, registry)
    note.show()
    assert listed(registry) == ["note"]
    gone = weakref.ref(note)
    del note
    gc.collect()
    assert gone() is None
    assert registry.registrations == ()
    remove()


@pytest.mark.anyio
async def test_a_call_planned_before_the_widget_died_is_unavailable(window, registry, delete):
    """FC-11: deleted between listing and call; no RuntimeError escapes."""
    note = add_note(window)
    window.show()
    revision = registry.revision
    assert (await registry.execute(Call(name=NAME, revision=revision))).data == "hello"
    delete(note)
    outcome = await registry.execute(Call(name=NAME, revision=revision))
    assert outcome.status is Status.UNAVAILABLE


@pytest.mark.anyio
async def test_surviving_targets_are_named_when_one_died(window, registry, delete):
    """FC-11: the answer lists who lives."""
    central = QWidget()
    layout = QVBoxLayout(central)
    notes = [Note(str(number)) for number in range(3)]
    for number, note in enumerate(notes):
        note.setObjectName(f"note{number}")
        layout.addWidget(note)
    window.setCentralWidget(central)
    window.show()
    delete(notes[1])
    outcome = await registry.execute(Call(name=NAME, target_id="note1"))
    assert outcome.status is Status.UNAVAILABLE
    assert "note0" in outcome.hint
    assert "note2" in outcome.hint


@pytest.mark.anyio
async def test_a_handler_whose_owner_died_under_it_fails_with_a_code(qapp, registry, delete):
    """FC-11: even where nobody was told, the owner is looked at before it is touched."""
    note = Note("hello")
    handler = binder_of(note).bindings[0].capability.handler
    delete(note)
    registry.register(
        Capability(name="note.probe", description="", input_schema={"type": "object"}, risk="read", handler=handler)
    )
    outcome = await registry.execute(Call(name="note.probe"))
    assert (outcome.status, outcome.code) == (Status.FAILED, "target_gone")


def test_a_widget_that_moves_to_another_window_moves_its_registrations(window, registry):
    other_registry = Registry()
    other = QMainWindow()
    provide(other, other_registry)
    note = add_note(window)
    window.show()
    other.show()
    first = only(registry)
    other.setCentralWidget(note)
    note.show()
    assert first.disposed
    assert registry.registrations == ()
    assert listed(other_registry) == ["note"]
    assert find_registry(note) is other_registry


def test_a_widget_whose_ancestor_moves_is_found_again_when_it_is_shown(window, registry):
    other_registry = Registry()
    other = QMainWindow()
    provide(other, other_registry)
    add_note(window)
    window.show()
    other.show()
    central = window.takeCentralWidget()
    other.setCentralWidget(central)
    central.show()
    assert registry.registrations == ()
    assert listed(other_registry) == ["note"]


def test_a_dialog_and_a_floating_dock_belong_to_their_parent_window(window, registry):
    dialog = QDialog(window)
    note = Note("in a dialog", dialog)
    note.setObjectName("in_dialog")
    dock = QDockWidget("Dock", window)
    docked = Note("in a dock")
    docked.setObjectName("in_dock")
    dock.setWidget(docked)
    window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
    dock.setFloating(True)
    window.show()
    dialog.show()
    assert sorted(listed(registry)) == ["in_dialog", "in_dock"]
    nested = QDialog(dialog)
    inner = Note("deeper", nested)
    inner.setObjectName("deeper")
    nested.show()
    assert "deeper" in listed(registry)


def test_a_widget_without_any_registry_waits_for_one(qapp, registry):
    note = Note("early")
    note.show()
    assert find_registry(note) is None
    provide(note, registry)
    assert listed(registry) == ["note"]


def test_taking_the_registry_back_disposes_and_waits_again(window, qapp):
    note = Note("hello")
    first, second = Registry(), Registry()
    remove = provide(note, first)
    note.show()
    assert listed(first) == ["note"]
    remove()
    remove()
    assert first.registrations == ()
    assert find_registry(note) is None
    provide(note, second)
    assert listed(second) == ["note"]


def test_taking_the_registry_back_leaves_no_child_behind(qapp, registry):
    window = QMainWindow()
    add_note(window)
    window.show()
    before = [(child, len(child.children())) for child in window.findChildren(QObject)]
    remove = provide(window, registry)
    assert listed(registry) == ["note"]
    remove()
    after = [(child, len(child.children())) for child in window.findChildren(QObject) if child in dict(before)]
    assert after == before


def test_an_inner_window_falls_back_to_the_outer_registry_when_its_own_goes(window, registry):
    dialog = QDialog(window)
    Note("hello", dialog)
    inner = Registry()
    remove = provide(dialog, inner)
    window.show()
    dialog.show()
    assert listed(inner) == ["note"]
    remove()
    assert listed(registry) == ["note"]


def test_two_registries_for_one_window_are_refused(window, registry):
    with pytest.raises(ValueError, match="has a registry already"):
        provide(window, registry)
    with pytest.raises(ValueError, match="is no window"):
        provide(add_note(window), registry)


def test_equal_names_are_told_apart_and_linted_once_without_raising(window, registry, caplog):
    central = QWidget()
    layout = QVBoxLayout(central)
    for _ in range(3):
        layout.addWidget(Note("same"))
    window.setCentralWidget(central)
    window.show()
    assert listed(registry) == ["note", "note-2", "note-3"]
    lints = find_scope(window).lints
    assert len(lints) == 2
    assert "called 'note'" in lints[0]
    assert "objectName" in caplog.text


def test_a_clash_that_cannot_be_told_apart_is_linted_and_raises_nothing(window, registry, caplog):
    note = add_note(window)
    registry.register(  # without a target, so nobody else may have the name
        Capability(name=NAME, description="d", input_schema={"type": "object"}, risk="read", handler=lambda: 1)
    )
    window.show()
    assert [found.target_id for found in registry.registrations] == [None]
    assert "each needs a target" in find_scope(note).lints[0]
    note.hide()
    note.show()
    assert len(find_scope(note).lints) == 1


def test_a_plain_object_is_registered_at_once_through_its_parents(window, registry):
    class Clock(QObject):
        @capability(risk="read")
        def tell(self) -> int:
            """Tell the time."""
            return 12

    clock = Clock(window)
    assert [found.name for found in registry.visible] == ["clock.tell"]
    shiboken6.delete(clock)
    assert registry.registrations == ()


def test_a_plain_object_may_be_given_its_registry(qapp, registry):
    plain = QObject()
    plain.setObjectName("engine")
    exposed = expose(plain, lambda: 1, name="engine.start", risk="read", schema={"type": "object"}, registry=registry)
    assert exposed.registration.target_id == "engine"
    exposed.dispose()
    exposed.dispose()
    assert registry.registrations == ()


def test_replacing_a_registration_keeps_its_place_and_dies_with_the_widget(window, registry, delete):
    note = add_note(window)
    window.show()
    old = only(registry)
    new = old.replace(description="Other words")
    assert only(registry) is new
    assert binder_of(note).bindings[0].registration is new
    assert new.capability.description == "Other words"
    note.hide()
    assert new.suspended
    note.show()
    assert not new.suspended
    delete(note)
    assert new.disposed


def test_one_owner_has_one_binder(window):
    note = add_note(window)
    assert binder_of(note) is binder_of(note)
    assert len(note.findChildren(Binder)) == 1
    assert QApplication.instance() is not None
