"""Facts that go with a message, and suggestions that fit what the application shows."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from agentic_qt.testing.scripted import ScriptedModel
from tests.support.assistant_stage import AssistantStage

pytestmark = pytest.mark.anyio


def told(request):
    return [message["content"] for message in request.messages if "Context (data" in str(message["content"])]


async def test_a_fact_is_a_chip_and_goes_with_each_message(qapp):
    stage = await AssistantStage(["One", "Two"]).open()
    remove = stage.assistant.context("selection", lambda: {"rows": [7]}, description="The selected customers")
    (chip,) = stage.assistant.panel.context_bar.chips
    assert chip.isVisible()
    assert "selection" in chip.accessibleName()
    assert chip.accessibleDescription() == "The selected customers"
    await stage.say("First")
    assert '{"rows":[7]}' in told(stage.model.requests[0])[0]
    remove()
    remove()
    assert stage.assistant.panel.context_bar.isHidden()
    await stage.say("Second")
    assert told(stage.model.requests[1]) == []


async def test_a_fact_is_left_out_of_one_message_with_the_keyboard(qapp):
    stage = await AssistantStage(["One", "Two"]).open()
    stage.assistant.context("selection", lambda: [7])
    stage.assistant.context("page", lambda: "start")
    chip = stage.assistant.panel.context_bar.chips[0]
    chip.setFocus(Qt.FocusReason.TabFocusReason)
    assert QApplication.focusWidget() is chip
    QTest.keyClick(chip, Qt.Key.Key_Space)
    assert not chip.isChecked()
    await stage.say("First")
    assert "selection" not in told(stage.model.requests[0])[0]
    assert "page" in told(stage.model.requests[0])[0]
    assert chip.isChecked()
    await stage.say("Second")
    assert "selection" in told(stage.model.requests[1])[0]


async def test_facts_stay_when_the_chat_model_changes(qapp):
    stage = await AssistantStage(None).open()
    stage.assistant.context("page", lambda: "start")
    with pytest.raises(ValueError, match="name of its own"):
        stage.assistant.context("page", lambda: "other")
    for model in (ScriptedModel(["One"]), None, ScriptedModel(["Two"]), ScriptedModel(["Three"])):
        stage.assistant.chat_model = model
        if model is not None:
            await stage.say("Where am I?")
            assert '"start"' in told(model.requests[0])[0]


async def test_two_facts_are_added_while_a_model_is_there(qapp):
    stage = await AssistantStage(["One"]).open()
    stage.assistant.context("one", lambda: 1)
    stage.assistant.context("two", lambda: 2)
    await stage.say("Hi")
    assert "one: 1" in told(stage.model.requests[0])[0]
    assert "two: 2" in told(stage.model.requests[0])[0]


async def test_a_name_that_the_agent_has_already_leaves_no_chip(qapp):
    stage = await AssistantStage(["One"]).open()
    stage.assistant.agent.context("page", lambda: 1)
    with pytest.raises(ValueError, match="name of its own"):
        stage.assistant.context("page", lambda: 2)
    assert stage.assistant.panel.context_bar.chips == ()
    assert stage.assistant.panel.context_bar.isHidden()


async def test_suggestions_follow_the_state_of_the_application(qapp):
    state = ["Add a customer"]
    stage = await AssistantStage(["Done"], suggestions=lambda: state).open()
    welcome = stage.assistant.panel.welcome
    assert [chip.words for chip in welcome.chips] == ["Add a customer"]
    state[:] = ["Edit Ann", "Delete Ann"]
    stage.assistant.refresh_suggestions()
    assert [chip.words for chip in welcome.chips] == ["Edit Ann", "Delete Ann"]
    await stage.say("Hi")
    state[:] = ["Next"]
    stage.assistant.new_chat()
    assert [chip.words for chip in welcome.chips] == ["Next"]
    assert welcome.chips[0].isVisible()


async def test_suggestions_that_fail_are_left_out(qapp, caplog):
    def broken():
        raise RuntimeError("no state yet")

    stage = await AssistantStage(["Done"], suggestions=broken).open()
    assert stage.assistant.panel.welcome.chips == []
    assert "no state yet" in caplog.text
