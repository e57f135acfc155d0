"""The assistant in a window: what it brings, what a person sees of a run, and that nothing of it stays behind."""

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractAnimation, QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QAccessible, QAction, QDesktopServices, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDockWidget, QLineEdit, QMainWindow, QMenu, QToolButton, QWidget

from agentic_qt.client.chat_model import ChatModelError, Delta, Usage
from agentic_qt.core.call import Status
from agentic_qt.qt.loop import spawn
from agentic_qt.testing.scripted import tool
from agentic_qt.ui import announce as announcements
from agentic_qt.ui import conversation, endings
from agentic_qt.ui.assistant import Assistant
from agentic_qt.ui.cards import CardGroup
from agentic_qt.ui.dock import DOCK_NAME
from agentic_qt.ui.end_button import EndButton
from agentic_qt.ui.header import is_local
from agentic_qt.ui.transcript_items import ErrorCard, Note, UserMessage
from tests.support.assistant_stage import AssistantStage, click_on, make_registry, settled, until

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]


def delete_now():
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def state(window):
    """Everything in a window that an assistant could leave behind, by kind and name."""
    children = sorted(
        (type(child).__name__, child.objectName())
        for child in window.findChildren(QObject)
        if not isinstance(child, QAbstractAnimation)  # Qt's own, and they come and go
    )
    menus = [action.text() for action in window.menuBar().actions()] if window.menuWidget() else None
    return children, menus, [action.text() for action in window.actions()]


def persons_words(request):
    return [message["content"] for message in request.messages if message["role"] == "user"]


class Held:
    """A chat model whose answer goes on until it is let go."""

    label, host = "held", "example.com"

    def __init__(self):
        self.go = asyncio.Event()
        self.closed = False

    async def stream(self, messages, tools):
        try:
            yield Delta(text="Working on it")
            await self.go.wait()
            yield Delta(finish_reason="stop", done=True)
        finally:
            self.closed = True

    async def aclose(self):
        self.closed = True


# What it brings, and that it goes


@pytest.mark.parametrize("bar", ["none", "view", "other"])
async def test_detach_leaves_the_window_as_it_was(qapp, bar):
    window = QMainWindow()
    window.setCentralWidget(QWidget())
    if bar != "none":
        menu = window.menuBar().addMenu("&View" if bar == "view" else "&Help")
        menu.addAction("Something")
    window.show()
    await until(window.isVisible)
    before = state(window)
    tasks = asyncio.all_tasks()
    registry = make_registry()
    for _ in range(2):  # twice: the place is free again
        assistant = Assistant.attach(window, chat_model=Held(), registry=registry)
        assistant.send("go")
        shown = assistant.panel.transcript
        await until(lambda shown=shown: "Working" in shown.toPlainText())
        assistant.detach()
        assistant.detach()
        await until(lambda: asyncio.all_tasks() == tasks)
        delete_now()
        assert state(window) == before
        assert not registry.approvals.has_approver
    window.close()


async def test_the_dock_is_one_that_a_host_can_save_and_place(qapp):
    """FC-84, FC-13"""
    stage = AssistantStage()
    await stage.open()
    dock = stage.window.findChild(QDockWidget, DOCK_NAME)
    assert dock is stage.assistant.dock
    assert dock.allowedAreas() == Qt.DockWidgetArea.AllDockWidgetAreas
    assert dock.features() & QDockWidget.DockWidgetFeature.DockWidgetFloatable
    assert not dock.testAttribute(Qt.WidgetAttribute.WA_QuitOnClose)
    assert stage.assistant.panel.minimumWidth() == 280
    saved = stage.window.saveState()
    stage.window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
    assert stage.window.restoreState(saved)
    assert stage.window.dockWidgetArea(dock) == Qt.DockWidgetArea.RightDockWidgetArea


async def test_the_toggle_goes_into_the_view_menu_that_is_there(qapp):
    window = QMainWindow()
    view = window.menuBar().addMenu("&View")
    view.addAction("Toolbar")
    assistant = Assistant.attach(window)
    assert assistant.dock.toggleViewAction() in view.actions()
    assert len(window.menuBar().actions()) == 1


async def test_a_view_menu_is_made_before_help_when_there_is_none(qapp):
    window = QMainWindow()
    assistant = Assistant.attach(window)
    window.menuBar().addMenu("&File")
    window.menuBar().addMenu("&Help")  # made after attach, as many applications do
    window.show()
    assert [action.text() for action in window.menuBar().actions()] == ["&File", "&View", "&Help"]
    menu = QMenu.menuInAction(window.menuBar().actions()[1])
    assert assistant.actions["toggle"] in menu.actions()


async def test_the_toggle_hides_and_shows_the_dock(qapp):
    stage = await AssistantStage().open()
    QTest.keyClick(stage.field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert not stage.assistant.dock.isVisible()
    stage.assistant.actions["toggle"].trigger()
    assert stage.assistant.dock.isVisible()


async def test_a_shortcut_that_the_window_uses_is_left_to_it(qapp, caplog):
    window = QMainWindow()
    theirs = QAction("Import", window)
    theirs.setShortcut(QKeySequence("Ctrl+Shift+N"))
    window.addAction(theirs)
    with caplog.at_level(logging.WARNING, logger="agentic_qt"):
        assistant = Assistant.attach(window)
        window.show()
    assert assistant.actions["new_chat"].shortcut().isEmpty()
    assert assistant.actions["focus"].shortcut() == QKeySequence("Ctrl+Shift+I")
    assert "Import" in caplog.text


async def test_shortcuts_can_be_chosen(qapp):
    window = QMainWindow()
    assistant = Assistant.attach(window, shortcuts={"focus": "F9", "toggle": ""})
    window.show()
    assert assistant.actions["focus"].shortcut() == QKeySequence("F9")
    assert assistant.actions["toggle"].shortcut().isEmpty()


async def test_a_window_has_one_assistant(qapp):
    window = QMainWindow()
    window.setWindowTitle("Customers")
    Assistant.attach(window)
    with pytest.raises(RuntimeError, match="Customers"):
        Assistant.attach(window)


async def test_attach_takes_no_focus_and_neither_does_a_run(qapp):
    stage = await AssistantStage(["Hello."]).open()
    stage.field.setFocus()
    await stage.assistant.send("go")
    assert stage.field.hasFocus()


async def test_the_shortcut_brings_the_cursor_into_the_composer(qapp):
    stage = await AssistantStage().open()
    stage.assistant.dock.hide()
    stage.field.setFocus()
    QTest.keyClick(stage.field, Qt.Key.Key_I, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert stage.assistant.panel.composer.field.hasFocus()


async def test_a_window_that_has_no_docks_gets_a_floating_one(qapp):
    window = QWidget()
    window.show()
    assistant = Assistant.attach(window)
    assert assistant.dock.isVisible()
    assert assistant.dock.isWindow()
    assistant.detach()
    delete_now()
    assert window.findChildren(QObject) == []
    window.close()


async def test_every_control_of_the_panel_has_a_name(qapp):
    stage = await AssistantStage(suggestions=["Do this"]).open()
    controls = [*stage.assistant.panel.findChildren(QToolButton), *stage.assistant.panel.welcome.chips]
    for control in controls:
        if control.objectName().startswith("qt_"):
            continue
        named = QAccessible.queryAccessibleInterface(control).text(QAccessible.Text.Name)
        assert named, control


# A run as a person sees it


async def test_a_conversation_shows_words_calls_and_results(qapp):
    stage = await AssistantStage([["Looking.", tool("customer.find", {"customer": "Ada"})], "**Found** her."]).open()
    await stage.say("find Ada")
    kinds = [type(content).__name__ for content in stage.transcript.contents]
    assert kinds == ["UserMessage", "Answer", "CardGroup", "Answer"]
    assert "Found her." in stage.text
    (card,) = stage.cards
    assert (card.title, list(card.arguments)) == ("Find customer", [("Customer name", "Ada")])
    assert card.outcome.status is Status.OK
    assert stage.assistant.panel.composer.text == ""
    assert stage.assistant.panel.status.figures.text() == "step 2"
    assert stage.assistant.panel.status.state.text() == ""


async def test_what_hides_in_arguments_is_made_visible(qapp):
    """FC-20; threats row 9: characters that deceive the eye are escaped."""
    stage = await AssistantStage([tool("customer.find", {"customer": "a\u202eb\u200b"}), "ok"]).open()
    await stage.say("go")
    assert stage.cards[0].arguments == (("Customer name", "a\\u{202e}b\\u{200b}"),)


async def test_a_call_that_cannot_be_decoded_shows_what_the_model_wrote(qapp):
    stage = await AssistantStage([[tool("customer.find", "{broken"), tool("no.such", {"a": 1})], "ok"]).open()
    await stage.say("go")
    first, second = stage.cards
    assert (first.title, first.arguments) == ("Find customer", (("Arguments", "{broken"),))
    assert first.outcome.status is Status.INVALID
    assert second.title == "no_such"


async def test_an_approval_is_shown_on_the_card_and_in_the_dock(qapp):
    stage = await AssistantStage([tool("customer.mark", {"customer": "Ada"}), "Done."]).open()
    task = stage.assistant.send("mark Ada")
    (request,) = await until(lambda: stage.assistant.registry.approvals.pending)
    assert stage.cards[0].waiting
    assert stage.assistant.panel.status.state.text() == "Waiting for you"
    assert stage.assistant.approvals.panel.card is not None
    assert stage.assistant.panel.isAncestorOf(stage.assistant.approvals.panel)
    assert stage.assistant.approvals.dialog is None
    stage.assistant.registry.approvals.approve(request)
    await task
    assert not stage.cards[0].waiting
    assert not stage.cards[0].unfolded
    assert stage.cards[0].outcome.status is Status.OK


async def test_the_cursor_is_in_the_composer_again_when_the_card_that_had_the_focus_goes(qapp):
    stage = await AssistantStage([tool("customer.mark", {"customer": "Ada"}), "Done."]).open()
    other = QLineEdit(stage.window)
    stage.window.setCentralWidget(other)
    task = stage.assistant.send("mark Ada")
    (request,) = await until(lambda: stage.assistant.registry.approvals.pending)
    stage.assistant.approvals.panel.card.deny_button.setFocus()
    stage.assistant.registry.approvals.approve(request)
    await task
    assert stage.assistant.panel.composer.field.hasFocus()


async def test_the_focus_stays_where_the_person_works_when_a_card_goes(qapp):
    stage = await AssistantStage([tool("customer.mark", {"customer": "Ada"}), "Done."]).open()
    other = QLineEdit(stage.window)
    stage.window.setCentralWidget(other)
    task = stage.assistant.send("mark Ada")
    (request,) = await until(lambda: stage.assistant.registry.approvals.pending)
    other.setFocus()
    stage.assistant.registry.approvals.approve(request)
    await task
    assert other.hasFocus()


async def test_stop_withdraws_the_approval_and_says_so(qapp):
    """FC-14, FC-54"""
    stage = await AssistantStage([tool("customer.mark", {"customer": "Ada"}), "never"]).open()
    task = stage.assistant.send("mark Ada")
    await until(lambda: stage.assistant.registry.approvals.pending)
    stage.assistant.panel.composer.field.setFocus()
    QTest.keyClick(stage.assistant.panel.composer.field, Qt.Key.Key_Escape)
    await asyncio.wait_for(task, 2)
    await settled(stage.transcript)
    assert stage.assistant.registry.approvals.pending == ()
    assert stage.assistant.approvals.panel.card is None
    assert stage.cards[0].outcome.status is Status.CANCELLED
    assert stage.transcript.contents[-1] == Note(text="Stopped.")


async def test_the_keys_of_the_composer_are_not_taken_by_the_applications_shortcuts(qapp):
    stage = AssistantStage(["Hello."])
    taken = []
    for key in ("Return", "Esc"):
        action = QAction(key, stage.window)
        action.setShortcut(QKeySequence(key))
        action.triggered.connect(lambda _checked=False, key=key: taken.append(key))
        stage.window.addAction(action)
    await stage.open()
    await stage.say("go")
    assert taken == []
    assert "Hello." in stage.text
    QTest.keyClick(stage.assistant.panel.composer.field, Qt.Key.Key_Escape)
    assert taken == ["Esc"], "nothing runs: the key is the application's"


async def test_escape_stops_wherever_the_focus_is_in_the_panel(qapp):
    stage = AssistantStage(None)
    stage.assistant.chat_model = Held()
    await stage.open()
    assert not stage.assistant.actions["stop"].isEnabled()
    task = stage.assistant.send("go")
    await until(lambda: "Working" in stage.text)
    stage.transcript.setFocus()
    QTest.keyClick(stage.transcript, Qt.Key.Key_Escape)
    assert (await asyncio.wait_for(task, 2)).reason == "stopped"
    assert not stage.assistant.actions["stop"].isEnabled()


async def test_the_stop_button_stops(qapp):
    stage = AssistantStage(None)
    stage.assistant.chat_model = Held()
    await stage.open()
    task = stage.assistant.send("go")
    await until(lambda: "Working" in stage.text)
    QTest.mouseClick(stage.assistant.panel.composer.stop_button, Qt.MouseButton.LeftButton)
    await asyncio.wait_for(task, 2)
    assert stage.assistant.panel.composer.send_button.isVisible()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("authentication", "The key was not accepted"),
        ("rate_limit", "Too many requests"),
        ("offline", "The chat model cannot be reached: test model"),
        ("timeout", "did not answer in time"),
        ("context_length", "too long for the model"),
        ("no_tool_support", "This model cannot use tools: test model"),
        ("content_filter", "refused this request"),
        ("something_new", "The chat model failed"),
    ],
)
async def test_a_provider_error_is_a_card_in_the_persons_words(qapp, code, words):
    """FC-55"""
    stage = await AssistantStage([ChatModelError(code, "<b>body</b>")]).open()
    await stage.say("go")
    card = stage.transcript.contents[-1]
    assert isinstance(card, ErrorCard)
    assert words in card.headline
    assert card.remedy
    assert "<b>body</b>" in stage.text
    assert stage.assistant.panel.status.state.text() == ""


async def test_try_again_sends_the_same_request_and_keeps_the_draft(qapp):
    """FC-55"""
    stage = await AssistantStage([ChatModelError("offline"), "Now it works."]).open()
    await stage.say("hello")
    QTest.keyClicks(stage.assistant.panel.composer.field, "draft")
    click_on(stage.transcript, "Try again")
    await until(lambda: not stage.assistant.running and stage.model.remaining == 0)
    await settled(stage.transcript)
    kinds = [type(content).__name__ for content in stage.transcript.contents]
    assert kinds == ["UserMessage", "Answer"]
    assert persons_words(stage.model.requests[1]) == ["hello"]
    assert stage.assistant.panel.composer.text == "draft"


async def test_trying_a_call_again_goes_through_the_model(qapp):
    stage = await AssistantStage([tool("orders.list", {"customer": "Ada"}), "Later.", "Fine."]).open()
    await stage.say("list")
    stage.cards[0].open = True
    stage.transcript.update_card(stage.cards[0])
    await settled(stage.transcript)
    click_on(stage.transcript, "Try again")
    await until(lambda: stage.model.remaining == 0 and not stage.assistant.running)
    users = [content.text for content in stage.transcript.contents if isinstance(content, UserMessage)]
    assert users == ["list", "Please try again: List orders"]


async def test_a_message_while_one_is_running_is_kept_as_a_draft(qapp):
    stage = AssistantStage(None)
    held = Held()
    stage.assistant.chat_model = held
    await stage.open()
    task = stage.assistant.send("first")
    await until(lambda: "Working" in stage.text)
    field = stage.assistant.panel.composer.field
    QTest.keyClicks(field, "second")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert stage.assistant.send("third") is None
    held.go.set()
    await task
    assert stage.assistant.panel.composer.text == "second"


async def test_a_suggestion_is_sent_with_one_press(qapp):
    stage = await AssistantStage(["Hello."], suggestions=["Say hello", "Other"]).open()
    QTest.mouseClick(stage.assistant.panel.welcome.chips[0], Qt.MouseButton.LeftButton)
    await until(lambda: "Hello." in stage.text)
    assert stage.transcript.contents[0] == UserMessage(text="Say hello")


async def test_a_suggestion_never_sends_over_a_draft(qapp):
    stage = await AssistantStage(["Hello."], suggestions=["Say hello"]).open()
    QTest.keyClicks(stage.assistant.panel.composer.field, "mine")
    QTest.mouseClick(stage.assistant.panel.welcome.chips[0], Qt.MouseButton.LeftButton)
    assert not stage.assistant.running
    assert stage.assistant.panel.composer.text == "Say hello"


async def test_without_a_chat_model_the_panel_says_what_to_do(qapp):
    """FC-56"""
    stage = await AssistantStage(None, suggestions=["Say hello"]).open()
    panel = stage.assistant.panel
    assert panel.welcome.setup_button.isVisible()
    assert not panel.welcome.chips[0].isVisible()
    QTest.keyClicks(panel.composer.field, "hello")
    QTest.keyClick(panel.composer.field, Qt.Key.Key_Return)
    assert stage.assistant.send("hello") is None
    assert panel.composer.text == "hello"
    stage.assistant.chat_model = Held()
    assert panel.composer.send_button.isEnabled()


async def test_new_chat_begins_an_empty_conversation(qapp):
    stage = await AssistantStage(["One.", "Two."]).open()
    await stage.say("first")
    stage.assistant.actions["new_chat"].trigger()
    assert stage.assistant.panel.pages.currentWidget() is stage.assistant.panel.welcome
    assert stage.assistant.agent.messages == []
    await stage.say("second")
    assert persons_words(stage.model.requests[1]) == ["second"]
    assert "One." not in stage.text


async def test_new_chat_in_the_middle_of_a_run_stops_it_first(qapp):
    stage = AssistantStage(None)
    stage.assistant.chat_model = Held()
    await stage.open()
    stage.assistant.send("go")
    await until(lambda: "Working" in stage.text)
    stage.assistant.actions["new_chat"].trigger()
    await until(lambda: stage.assistant.agent.messages == [] and not stage.assistant.running)
    await until(lambda: stage.assistant.panel.pages.currentWidget() is stage.assistant.panel.welcome)


@pytest.mark.parametrize(
    ("host", "given", "badge", "kind"),
    [
        ("local (127.0.0.1:8080)", "", "local", "ok"),
        ("api.example.com", "", "", "ok"),
        ("local", "no AI", "no AI", "warning"),
    ],
)
async def test_the_header_says_who_answers_and_where(qapp, host, given, badge, kind):
    held = Held()
    held.host = host
    stage = AssistantStage(None, badge=given)
    stage.assistant.chat_model = held
    await stage.open()
    header = stage.assistant.panel.header
    assert header.badge.text() == badge
    assert header.badge.isVisible() is bool(badge)
    assert header.badge.kind == kind
    assert header.model.text() == ("held" if host == "local" else f"held · {host}")


def test_local_hosts_are_told_by_their_names():
    assert all(is_local(host) for host in ("local", "localhost:1", "127.0.0.1:8", "[::1]:80", "local (127.0.0.1:1)"))
    assert not any(is_local(host) for host in ("api.example.com", "10.0.0.1:80", "[2001:db8::1]:80", "example.com:127"))


async def test_a_link_is_shown_before_it_is_opened(qapp, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    stage = await AssistantStage(["See [bank](https://b\u0430nk.example/x)."]).open()
    await stage.say("go")
    click_on(stage.transcript, "bank")
    bar = stage.assistant.panel.link_bar
    assert bar.isVisible()
    assert bar.address.text().isascii()
    assert bar.address.text().startswith("https://xn--")
    assert opened == []
    QTest.mouseClick(bar.cancel_button, Qt.MouseButton.LeftButton)
    assert not bar.isVisible()
    assert opened == []
    click_on(stage.transcript, "bank")
    QTest.mouseClick(bar.open_button, Qt.MouseButton.LeftButton)
    assert len(opened) == 1


async def test_a_screen_reader_hears_start_end_and_error_and_never_a_chunk(qapp, monkeypatch):
    """FC-81"""
    heard = []
    for module in (conversation, endings):
        monkeypatch.setattr(module, "announce", lambda _w, text, **_more: heard.append(text))
    stage = await AssistantStage(["word " * 200, ChatModelError("offline")]).open()
    await stage.say("one")
    await stage.say("two")
    assert heard == [
        "The assistant is at work",
        "The assistant has finished",
        "The assistant is at work",
        "The chat model cannot be reached: test model. Check the address and the connection, or start the server.",
    ]


async def test_an_announcement_reaches_the_platform(qapp, monkeypatch):
    told = []
    monkeypatch.setattr(announcements.QtGui.QAccessible, "updateAccessibility", told.append)
    stage = AssistantStage()
    announcements.announce(stage.window, "words", urgent=True)
    assert [event.message() for event in told] == ["words"]


# Ends


async def test_closing_the_window_stops_the_run_and_denies_what_waits(qapp):
    """FC-09"""
    stage = await AssistantStage([tool("customer.mark", {"customer": "Ada"}), "never"]).open()
    settled_by = []
    stage.assistant.registry.approvals.observe(lambda event: settled_by.append(event.approval and event.approval.code))
    task = stage.assistant.send("mark Ada")
    await until(lambda: stage.assistant.registry.approvals.pending)
    stage.window.close()
    await asyncio.wait_for(task, 2)
    assert settled_by == [None, "window_closed"]
    assert not stage.assistant.running


async def test_a_refused_close_goes_on(qapp):
    class Careful(QMainWindow):
        def closeEvent(self, event):
            event.ignore()

    window = Careful()
    held = Held()
    assistant = Assistant.attach(window, chat_model=held)
    window.show()
    task = assistant.send("go")
    await until(lambda: "Working" in assistant.panel.transcript.toPlainText())
    window.close()
    await asyncio.sleep(0)
    assert assistant.running
    held.go.set()
    end = await task
    assert end.reason == "completed"
    window.hide()


async def test_destroying_the_window_with_an_approval_open_ends_everything(qapp):
    """FC-09"""
    registry = make_registry()
    stage = await AssistantStage([tool("customer.mark", {"customer": "Ada"}), "never"], registry=registry).open()
    task = stage.assistant.send("mark Ada")
    await until(lambda: registry.approvals.pending)
    stage.window.deleteLater()
    delete_now()
    end = await asyncio.wait_for(task, 2)
    assert end.reason == "stopped"
    assert registry.approvals.pending == ()
    assert not registry.approvals.has_approver
    stage.assistant.detach()


async def test_hiding_the_dock_lets_the_run_go_on(qapp):
    stage = AssistantStage(None)
    held = Held()
    stage.assistant.chat_model = held
    await stage.open()
    task = stage.assistant.send("go")
    await until(lambda: "Working" in stage.text)
    stage.assistant.dock.close()
    assert stage.assistant.running
    held.go.set()
    assert (await task).reason == "completed"


HOST = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
from agentic_qt.testing.scripted import ScriptedModel, tool
from agentic_qt.ui.assistant import Assistant

app = QApplication([])
app.setQuitOnLastWindowClosed(False)
window = QMainWindow()

def attach():
    window.assistant = Assistant.attach(window, chat_model=ScriptedModel(["Hello there.", "More words. " * 500]))
    window.assistant.send("hi").add_done_callback(done)

def done(task):
    print(task.result().reason, flush=True)
    QTimer.singleShot(50, finish)

def finish():
    print("Hello there." in window.assistant.panel.transcript.toPlainText(), flush=True)
    print("openai" in sys.modules, flush=True)
    {end}
    app.quit()

window.show()
if {before}:
    attach()
else:
    QTimer.singleShot(0, attach)
QTimer.singleShot(20000, app.quit)
sys.exit(app.exec())
"""


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("end", ["window.assistant.detach()", "window.deleteLater()", "window.assistant.send('more')"])
def test_it_works_in_the_loop_of_a_host_and_ends_quietly(before, end):
    """FC-09: attached before the host's loop runs or inside it; nothing is printed, openai is not loaded."""
    process = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", HOST.format(before=before, end=end)],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    noise = [line for line in process.stderr.splitlines() if "propagateSizeHints" not in line]
    assert noise == []
    assert process.stdout.split() == ["completed", "True", "False"]
    assert process.returncode == 0


async def test_a_button_leads_back_to_the_newest_message(qapp):
    stage = await AssistantStage(["line\n\n" * 80]).open()
    await stage.say("go")
    (button,) = stage.transcript.findChildren(EndButton)
    assert not button.isVisible()
    stage.transcript.verticalScrollBar().setValue(0)
    assert button.isVisible()
    room = stage.transcript.viewport().geometry()
    assert room.contains(button.geometry())
    assert button.geometry().top() > room.center().y()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert not button.isVisible()
    bar = stage.transcript.verticalScrollBar()
    assert bar.value() == bar.maximum()


async def test_tokens_are_counted_over_the_conversation(qapp):
    usage = Delta(usage=Usage(input_tokens=900, output_tokens=100), finish_reason="stop", done=True)
    stage = await AssistantStage([[Delta(text="a"), usage], [Delta(text="b"), usage]]).open()
    await stage.say("one")
    assert stage.assistant.panel.status.figures.text() == "step 1 · 1.0k tokens"
    await stage.say("two")
    assert stage.assistant.panel.status.figures.text() == "step 1 · 2.0k tokens"


async def test_the_panel_works_without_the_dock(qapp):
    """For hosts with a docking system of their own."""
    stage = await AssistantStage(["Hello."]).open()
    host = QWidget()
    stage.assistant.panel.setParent(host)
    host.show()
    stage.assistant.panel.show()
    await stage.assistant.send("go")
    await until(lambda: "Hello." in stage.text)
    stage.assistant.detach()
    delete_now()
    assert host.findChildren(QWidget) == []
    host.close()


async def test_a_group_of_cards_belongs_to_one_answer(qapp):
    calls = [tool("customer.find", {"customer": str(number)}) for number in range(5)]
    stage = await AssistantStage([calls, "Done."]).open()
    await stage.say("go")
    (group,) = [content for content in stage.transcript.contents if isinstance(content, CardGroup)]
    assert len(group.cards) == 5
    assert "5 steps" in stage.text


async def test_spawned_work_of_the_host_is_not_touched_by_detach(qapp):
    stage = await AssistantStage().open()
    go = asyncio.Event()
    task = spawn(go.wait())
    stage.assistant.detach()
    await asyncio.sleep(0)
    assert not task.done()
    go.set()
    await task
    QTimer.singleShot(0, lambda: None)
