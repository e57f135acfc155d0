"""What a person does with a conversation beyond asking: change, undo, stop one step; and that every event shows."""

import asyncio
from typing import get_args

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from agentic_qt.client import events
from agentic_qt.client.budgets import Budgets
from agentic_qt.client.chat_model import ChatModelError, Delta
from agentic_qt.client.events import AgentEvent, RunEnd, RunEndReason
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.client.retries import RetryPlanned
from agentic_qt.core.call import Status
from agentic_qt.core.capability import Capability
from agentic_qt.core.events import Observers
from agentic_qt.testing.scripted import ScriptedModel, tool
from agentic_qt.ui.conversation import Conversation
from agentic_qt.ui.end_words import end_words
from agentic_qt.ui.transcript_items import ErrorCard, Note, UserMessage
from tests.support.asking import ANSWER
from tests.support.assistant_stage import AssistantStage, click_on, make_registry, settled, until
from tests.support.http_server import ReplayServer, Reply

pytestmark = pytest.mark.anyio


def words_of(request):
    return [message["content"] for message in request.messages if message["role"] == "user"]


def shown_words(stage):
    return [content.text for content in stage.transcript.contents if isinstance(content, UserMessage)]


async def ended(stage):
    """Wait for the end of what was started."""
    await until(lambda: not stage.assistant._talk.busy)
    await settled(stage.transcript)


async def press(stage, words):
    await settled(stage.transcript)
    click_on(stage.transcript, words)
    await settled(stage.transcript)


def type_and_send(stage, text):
    field = stage.assistant.panel.composer.field
    field.setFocus()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


# Every event and every end


async def test_every_event_of_an_agent_has_its_place(qapp):
    stage = AssistantStage(["Hello"])
    presenter = Conversation(stage.assistant.panel, make_registry())
    assert set(presenter._told) == set(get_args(AgentEvent))
    presenter.close()


@pytest.mark.parametrize("reason", [reason for reason in RunEndReason if reason is not RunEndReason.COMPLETED])
def test_every_end_that_is_no_success_has_words(qapp, reason):
    assert end_words(reason)


async def test_a_budget_that_is_used_up_is_named_once(qapp):
    turns = [tool("customer.find", {"customer": "Ann"}), tool("customer.find", {"customer": "Bob"}), "Done"]
    stage = await AssistantStage(turns, budgets=Budgets(calls=1)).open()
    await stage.say("Find both")
    notes = [content.text for content in stage.transcript.contents if isinstance(content, Note)]
    assert notes == ["The limit of 1 steps was reached."]


async def test_a_model_that_goes_round_in_circles_is_told_about(qapp):
    """FC-64"""
    stage = await AssistantStage([tool("customer.find", {"customer": "Ann"})] * 12, max_turns=10).open()
    await stage.say("Find Ann")
    assert any(
        isinstance(content, Note) and "Find customer" in content.text and "not run again" in content.text
        for content in stage.transcript.contents
    )


# Writing while an approval waits


async def test_writing_while_an_approval_waits_withdraws_it_and_sends_both(qapp):
    """FC-37"""
    stage = await AssistantStage([tool("customer.mark", {"customer": "Ann"}), "Then Bob it is"]).open()
    type_and_send(stage, "Mark Ann")
    queue = stage.assistant.registry.approvals
    await until(lambda: queue.pending)
    composer = stage.assistant.panel.composer
    assert composer.send_button.isVisible()
    assert composer.stop_button.isVisible()
    type_and_send(stage, "No, mark Bob")
    assert composer.text == ""
    assert queue.pending == ()
    await ended(stage)
    assert stage.cards[0].outcome.status is Status.CANCELLED
    assert len(stage.model.requests) == 2
    sent = stage.model.requests[1].messages
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert words_of(stage.model.requests[1]) == ["Mark Ann", "No, mark Bob"]
    assert shown_words(stage) == ["Mark Ann", "No, mark Bob"]
    assert "Then Bob it is" in stage.text


async def test_writing_while_nothing_waits_keeps_the_draft(qapp):
    go = asyncio.Event()

    class Slow(ScriptedModel):
        async def stream(self, messages, tools):
            await go.wait()
            async for delta in super().stream(messages, tools):
                yield delta

    stage = await AssistantStage([]).open()
    stage.assistant.chat_model = Slow(["Done"])
    type_and_send(stage, "First")
    await until(lambda: stage.assistant.running)
    type_and_send(stage, "Second")
    assert stage.assistant.panel.composer.text == "Second"
    assert not stage.assistant.panel.composer.send_button.isVisible()
    go.set()
    await ended(stage)
    assert shown_words(stage) == ["First"]


# One call


async def test_one_call_is_stopped_on_its_card_and_the_run_goes_on(qapp):
    registry = make_registry()

    async def wait(customer):
        await asyncio.Event().wait()

    schema = {"type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]}
    registry.register(
        Capability(name="report.make", description="Slow", input_schema=schema, risk="read", handler=wait, title="Slow")
    )
    calls = [tool("report.make", {"customer": "Ann"}), tool("customer.find", {"customer": "Bob"})]
    stage = await AssistantStage([calls, "Both seen"], registry=registry).open()
    type_and_send(stage, "Report")
    await until(lambda: len(stage.cards) == 2 and stage.cards[1].outcome is not None)
    await press(stage, "Stop this step")
    await ended(stage)
    assert [card.outcome.status for card in stage.cards] == [Status.CANCELLED, Status.OK]
    assert "Both seen" in stage.text


# A full context


LONG = "word " * 400


async def test_a_full_context_is_compacted_and_the_request_sent_again(qapp):
    """FC-53"""
    full = ChatModelError("context_length", "too many tokens")
    turns = ["One", "Two", "Three", full, "A summary of it all", "Here you are", "And on"]
    stage = await AssistantStage(turns).open()
    for text in ("First", "Second", "Third"):
        await stage.say(f"{text} {LONG}"[:900])
    await stage.say("Fourth")
    assert isinstance(stage.transcript.contents[-1], ErrorCard)
    await press(stage, "Compact and try again")
    await ended(stage)
    assert "Here you are" in stage.text
    assert "A summary of it all" not in stage.text
    assert "messages were summarised" in stage.text
    assert not any(isinstance(content, ErrorCard) for content in stage.transcript.contents)
    assert len(shown_words(stage)) == 4
    before = len(stage.model.requests[3].messages)
    assert len(stage.model.requests[5].messages) < before
    await press(stage, "Undo")
    assert "Back before the summary." in stage.text
    assert len(stage.assistant.agent.messages) == before
    await press(stage, "With the summary")
    assert "Here you are" in stage.text
    assert len(stage.assistant.agent.messages) < before


async def test_nothing_to_compact_is_said(qapp):
    stage = await AssistantStage([ChatModelError("context_length")]).open()
    await stage.say("Hello")
    await press(stage, "Compact and try again")
    await ended(stage)
    assert "There is nothing older to summarise" in stage.text


async def test_messages_that_are_not_sent_any_more_are_told_about(qapp):
    stage = await AssistantStage(["One", "Two", "Three"], context_window=1500, mode="meta").open()
    for text in ("First", "Second", "Third"):
        await stage.say(f"{text} {LONG}"[:1500])
    assert "not sent" in stage.text
    assert "Summarise them" in stage.text


# Branches


async def test_a_message_is_changed_in_a_branch_of_its_own_and_both_can_be_seen(qapp):
    stage = await AssistantStage(["Ann is 7", "Bob is 8", "Carl is 9"]).open()
    await stage.say("Find Ann")
    await stage.say("Find Bob")
    await press(stage, "Edit")
    composer = stage.assistant.panel.composer
    assert composer.text == "Find Ann"
    assert stage.assistant.panel.edit_bar.isVisible()
    composer.field.selectAll()
    type_and_send(stage, "Find Carl")
    await ended(stage)
    assert not stage.assistant.panel.edit_bar.isVisible()
    assert shown_words(stage) == ["Find Carl"]
    assert words_of(stage.model.requests[2]) == ["Find Carl"]
    assert "2/2" in stage.text
    assert "Bob is 8" not in stage.text
    await press(stage, "Earlier")
    assert shown_words(stage) == ["Find Ann", "Find Bob"]
    assert "1/2" in stage.text
    assert "Bob is 8" in stage.text
    assert [message["content"] for message in stage.assistant.agent.messages] == [
        *("Find Ann", "Ann is 7", "Find Bob", "Bob is 8")
    ]
    await press(stage, "Later")
    assert shown_words(stage) == ["Find Carl"]
    assert "Carl is 9" in stage.text


async def test_a_change_is_left_with_escape_and_the_message_stays(qapp):
    stage = await AssistantStage(["Ann is 7", "Bob is 8"]).open()
    await stage.say("Find Ann")
    await press(stage, "Edit")
    field = stage.assistant.panel.composer.field
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert not stage.assistant.panel.edit_bar.isVisible()
    field.selectAll()
    type_and_send(stage, "Find Bob")
    await ended(stage)
    assert shown_words(stage) == ["Find Ann", "Find Bob"]


async def test_what_is_offered_in_the_conversation_is_reached_with_the_keyboard(qapp):
    stage = await AssistantStage(["Ann is 7"]).open()
    await stage.say("Find Ann")
    stage.transcript.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(stage.transcript, Qt.Key.Key_Tab)
    assert stage.transcript.textCursor().selectedText() == "Edit"
    QTest.keyClick(stage.transcript, Qt.Key.Key_Return)
    assert stage.assistant.panel.edit_bar.isVisible()
    assert stage.assistant.panel.composer.field.hasFocus()


async def test_the_application_may_go_to_another_thread_by_itself(qapp):
    stage = await AssistantStage(["One", "Two", "Three"]).open()
    await stage.say("First")
    agent = stage.assistant.agent
    first = agent.thread
    agent.new_thread()
    await stage.say("Second")
    assert shown_words(stage) == ["First", "Second"]
    agent.switch(first)
    await stage.say("Third")
    assert words_of(stage.model.requests[2]) == ["First", "Third"]


async def test_the_last_message_is_asked_again_and_the_first_answer_is_kept(qapp):
    stage = await AssistantStage(["One way", "Another way"]).open()
    await stage.say("How?")
    await press(stage, "Ask again")
    await ended(stage)
    assert "Another way" in stage.text
    assert "One way" not in stage.text
    await press(stage, "Earlier")
    assert "One way" in stage.text


async def test_what_is_pressed_while_a_run_is_under_way_waits_for_its_end(qapp):
    stage = await AssistantStage(["Hello", tool("customer.mark", {"customer": "Ann"}), "Never"]).open()
    await stage.say("Hi")
    type_and_send(stage, "Mark Ann")
    await until(lambda: stage.assistant.registry.approvals.pending)
    await press(stage, "Edit")
    assert stage.assistant.panel.edit_bar is None
    stage.assistant.stop()
    await ended(stage)


# What the provider does


class Retrying(ScriptedModel):
    """Tells of a retry and waits."""

    def __init__(self, retry, turns):
        super().__init__(turns)
        self._observers = Observers()
        self._retry = retry

    def observe_retries(self, callback):
        return self._observers.add(callback)

    async def stream(self, messages, tools):
        self._observers.tell(self._retry)
        await asyncio.sleep(self._retry.wait)
        async for delta in super().stream(messages, tools):
            yield delta


async def test_a_retry_is_seen_counts_down_and_is_stopped(qapp):
    """FC-55"""
    stage = await AssistantStage([]).open()
    retry = RetryPlanned(attempt=2, of=2, wait=4.0, code="server")
    stage.assistant.chat_model = Retrying(retry, ["Never"])
    type_and_send(stage, "Hello")
    state = stage.assistant.panel.status.state
    await until(lambda: state.text() == "The server is busy; trying again in 4 s (2 of 2)")
    await until(lambda: state.text() == "The server is busy; trying again in 3 s (2 of 2)")
    QTest.keyClick(stage.assistant.panel.composer.field, Qt.Key.Key_Escape)
    await ended(stage)
    assert state.text() == ""
    assert stage.transcript.contents[-1] == Note(text="Stopped.")


async def test_a_rate_limit_counts_down_before_it_offers_to_try_again(qapp):
    """FC-55"""
    stage = await AssistantStage([ChatModelError("rate_limit", "slow down", retry_after=1.2), "Hello"]).open()
    await stage.say("Hi")
    assert "Try again in 2 seconds." in stage.text
    assert "Try\u00a0again" not in stage.transcript.document().toRawText()
    await until(lambda: "You can try again now." in stage.text)
    await press(stage, "Try again")
    await ended(stage)
    assert "Hello" in stage.text


async def test_every_provider_error_offers_to_try_again_and_the_settings(qapp):
    """FC-55"""
    stage = await AssistantStage([ChatModelError("offline", "refused")]).open()
    await stage.say("Hi")
    card = stage.transcript.contents[-1]
    assert "cannot be reached" in card.headline
    assert card.detail == "refused"
    assert card.can_retry
    await press(stage, "Settings")
    assert stage.assistant.windows.settings.isVisible()
    assert not stage.assistant.windows.settings.isModal()


async def test_a_model_without_tools_is_named_and_can_be_chatted_with(qapp):
    """FC-52"""

    class Toolless(ScriptedModel):
        plain = ScriptedModel(["Just words"], label="small-model")

        def without_tools(self):
            return self.plain

    stage = await AssistantStage([]).open()
    stage.assistant.chat_model = Toolless([ChatModelError("no_tool_support", "no tools")], label="small-model")
    await stage.say("Hi")
    assert "small-model" in stage.transcript.contents[-1].headline
    await press(stage, "Chat without tools")
    await ended(stage)
    assert stage.assistant.chat_model is Toolless.plain
    assert "Just words" in stage.text


async def test_a_real_server_that_refuses_tools_is_asked_again_without_them(qapp):
    """FC-52"""
    refusal = '{"error": {"message": "registry/small does not support tools"}}'
    refused = Reply(status=400, content_type="application/json", body=refusal)
    async with ReplayServer(refused, Reply(body=ANSWER)) as server:
        stage = await AssistantStage(None).open()
        stage.assistant.chat_model = model = OpenAIChatModel(model="small", base_url=server.url)
        await stage.say("Hi")
        assert "small" in stage.transcript.contents[-1].headline
        await press(stage, "Chat without tools")
        await ended(stage)
        assert "tools" in server.requests[0].body
        assert "tools" not in server.requests[1].body
        assert "Hello" in stage.text
        await stage.assistant.chat_model.aclose()
        await model.aclose()


async def test_a_model_that_cannot_do_without_tools_offers_no_such_button(qapp):
    stage = await AssistantStage([ChatModelError("no_tool_support")]).open()
    await stage.say("Hi")
    assert "without\u00a0tools" not in stage.transcript.document().toRawText()


# Its life


async def test_leaving_takes_the_tools_of_the_agent_out_of_the_registry(qapp):
    stage = await AssistantStage(["Hello"], mode="meta").open()
    registry = stage.assistant.registry
    names = {one.name for one in registry.registrations}
    await stage.say("Hi")
    assert {one.name for one in registry.registrations} > names
    stage.assistant.chat_model = None
    assert {one.name for one in registry.registrations} == names
    assert stage.assistant.agent is None


async def test_a_late_event_of_a_talk_that_ended_shows_nothing(qapp):
    stage = await AssistantStage(["Hello"]).open()
    await stage.say("Hi")
    agent = stage.assistant.agent
    stage.assistant.detach()
    agent._tell(events.RunEnded(run="r", end=RunEnd(run="r", reason=RunEndReason.EMPTY)))
    assert "gave no answer" not in stage.text


async def test_words_of_a_stream_come_through_unchanged(qapp):
    stage = await AssistantStage([]).open()
    stage.assistant.chat_model = ScriptedModel([[Delta(text="a"), Delta(text="b", finish_reason="stop", done=True)]])
    await stage.say("Hi")
    assert "ab" in stage.text
