"""What happened to one command, in a window of its own: opened from a call's card or by an action."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.values import AuditEntry, Command
from agentic_qt.testing.scripted import tool
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.cards import CardGroup
from agentic_qt.ui.commands.audit import read_audit
from agentic_qt.ui.commands.audit_lines import AuditLine, detail_words
from tests.support.assistant_stage import click_on, settled, until
from tests.support.command_kit import ANN, BOB, CHIEF, make_service
from tests.support.leftover_stage import LeftoverStage

pytestmark = pytest.mark.anyio


@pytest.fixture
async def service(qapp, url):
    async with make_service(url) as started:
        await started.submit(Command.of("customer.create", {"id": 1, "name": "Ada"}, command_id="c-1"), ANN)
        yield started


@pytest.fixture
async def stage(service):
    made = LeftoverStage(service, turns=[[tool("customer_rename", {"id": 1, "name": "Bea"})], "Done."])
    yield await made.open()
    await made.close()


async def rename(stage):
    """Let the model rename customer 1 and return the card of that call."""
    stage.assistant.send("Rename her")
    await until(lambda: stage.registry.approvals.pending)
    stage.registry.approvals.approve(stage.registry.approvals.pending[0])
    await until(lambda: not stage.assistant.running)
    transcript = stage.assistant.panel.transcript
    await settled(transcript)
    (group,) = [content for content in transcript.contents if isinstance(content, CardGroup)]
    card = group.cards[0]
    card.open = True
    transcript.update_card(card)
    await settled(transcript)
    return card


def words_of(view):
    return "\n".join(label.text() for line in view.findChildren(AuditLine) for label in line.findChildren(ExactLabel))


async def read(view):
    await until(lambda: not view.busy)
    return view


async def test_the_card_of_a_call_tells_what_happened_to_its_command(stage):
    """FC-42: who, when, on whose approval, for which version."""
    card = await rename(stage)
    click_on(stage.assistant.panel.transcript, "What happened")
    view = await read(stage.views.audit_view)
    assert view.isVisible()
    assert not view.isModal()
    assert (view.word.text(), view.title.text(), view.target.text()) == ("Done", "Rename customer", "customer:1")
    assert view.id_label.text() == card.command_id
    words = words_of(view)
    assert "by ann" in words
    assert "Approved by ann" in words
    assert "For version 1" in words
    assert "Version afterwards: 2" in words
    assert "Digest " in words


async def test_it_is_reached_with_the_keyboard(stage):
    await rename(stage)
    transcript = stage.assistant.panel.transcript
    transcript.setFocus()
    for _ in range(12):
        QTest.keyClick(transcript, Qt.Key.Key_Tab)
        if "What happened" in transcript.textCursor().selectedText():
            break
    QTest.keyClick(transcript, Qt.Key.Key_Return)
    view = await read(stage.views.audit_view)
    assert view.isVisible()
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert not view.isVisible()


async def test_an_action_shows_the_last_command(stage):
    action = stage.assistant.actions["last_command"]
    assert not action.isEnabled()
    card = await rename(stage)
    assert action.isEnabled()
    action.trigger()
    view = await read(stage.views.audit_view)
    assert view.id_label.text() == card.command_id


async def test_id_and_audit_can_be_copied(stage):
    card = await rename(stage)
    stage.views.show_command(card.command_id)
    view = await read(stage.views.audit_view)
    QTest.mouseClick(view.copy_id_button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == card.command_id
    QTest.mouseClick(view.copy_button, Qt.MouseButton.LeftButton)
    copied = json.loads(QGuiApplication.clipboard().text())
    assert (copied["commandId"], copied["type"], copied["result"]["status"]) == (
        card.command_id,
        "customer.rename",
        "succeeded",
    )
    assert copied["audit"][-1]["detail"]["approvedBy"] == "ann"


async def test_a_card_without_a_desk_offers_nothing(stage):
    card = await rename(stage)
    card.has_audit = False
    stage.assistant.panel.transcript.update_card(card)
    await settled(stage.assistant.panel.transcript)
    assert "What happened" not in stage.assistant.panel.transcript.toPlainText()


async def test_an_id_that_is_not_stored_is_no_failure(stage):
    """FC-39"""
    stage.views.show_command("nothing")
    view = await read(stage.views.audit_view)
    assert view.word.text() == "Not stored"
    assert view.sentence.text() == "No such id is stored. That does not mean that it failed."


async def test_it_says_that_it_is_looking_and_a_failure_can_be_tried_again(stage, service, monkeypatch):
    async def fail(**_fields):
        raise CommandError("store_error", "The store could not be read.")

    with monkeypatch.context() as patch:
        patch.setattr(service, "history", fail)
        stage.views.show_command("c-1")
        view = stage.views.audit_view
        assert view.word.text() == "Looking…"
        await read(view)
        assert view.problem.isVisible()
        assert "store_error" in view.problem.words.text()
        assert not view.copy_button.isEnabled()
    QTest.mouseClick(view.problem.retry_button, Qt.MouseButton.LeftButton)
    await read(view)
    assert not view.problem.isVisible()
    assert view.word.text() == "Done"


async def test_a_conflict_is_told_as_one(stage, service):
    """FC-22, FC-25"""
    late = Command.of("customer.rename", {"id": 1, "name": "Cleo"}, command_id="late", expected_version=7)
    assert (await service.submit(late, ANN)).code == "version_conflict"
    stage.views.show_command("late")
    view = await read(stage.views.audit_view)
    assert view.word.text() == "Changed meanwhile"
    assert "For version 7" in words_of(view)
    assert "Version found: 1" in words_of(view)


async def test_lines_are_in_order_and_a_second_payload_is_a_line_of_its_own(stage, service):
    """FC-24"""
    other = Command.of("customer.create", {"id": 2, "name": "Eve"}, command_id="c-1")
    assert (await service.submit(other, ANN)).code == "payload_mismatch"
    audit = await read_audit(service, "c-1", ANN)
    assert [entry.event for entry in audit.entries] == ["succeeded", "refused"]
    stage.views.show_command("c-1")
    view = await read(stage.views.audit_view)
    assert "payload_mismatch" in words_of(view)


async def test_commands_of_others_are_told_to_operators_only(service):
    mine = await read_audit(service, "c-1", BOB)
    assert (mine.result.status, mine.entries) == ("not_found", ())
    assert len((await read_audit(service, "c-1", CHIEF)).entries) == 1


async def test_whoever_is_not_signed_in_is_told_nothing(stage):
    stage.desk.actor_of = lambda _name: None
    stage.views.show_command("c-1")
    view = await read(stage.views.audit_view)
    assert view.audit is None
    assert view.problem.isVisible()


async def test_another_command_in_the_same_window_shows_nothing_of_the_one_before(stage):
    stage.views.show_command("c-1")
    view = await read(stage.views.audit_view)
    assert view.findChildren(AuditLine)
    stage.views.show_command("nothing")
    assert view.audit is None
    await read(view)
    assert "Nothing is written of it." in [label.text() for label in view.findChildren(ExactLabel)]


async def test_the_window_goes_with_the_assistant(stage):
    stage.views.show_command("c-1")
    view = stage.views.audit_view
    stage.assistant.detach()
    assert not view.isVisible()


def test_what_an_application_wrote_is_shown_to_the_letter():
    """The target and the note are nobody's markup."""
    entry = AuditEntry(
        entry_id=1, command_id="c", event="settled", type="x", target=None, actor="<b>\u202eann", code="", at=1.0,
        detail={"note": "<b>seen\u200b</b>", "approvedBy": "<i>bob"},
    )  # fmt: skip
    words = detail_words(entry)
    assert "Note: <b>seen\\u{200b}</b>" in words
    assert "Approved by <i>bob" in words
