"""Choosing a chat model: nothing is asked before a button is pressed, keys stay in their place, what is sent shows."""

import asyncio
import json
import socket

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.qt.availability import is_own
from agentic_qt.ui import connection
from tests.support.asking import ANSWER
from tests.support.assistant_stage import AssistantStage, until
from tests.support.http_server import ReplayServer, Reply
from tests.support.keyrings import Empty, use

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    use(monkeypatch, Empty())


def models(*names):
    return Reply(content_type="application/json", body=json.dumps({"data": [{"id": name} for name in names]}))


def port_of(url):
    return int(url.rpartition(":")[2].partition("/")[0])


async def open_settings(stage):
    QTest.mouseClick(stage.assistant.panel.header.settings, Qt.MouseButton.LeftButton)
    dialog = stage.assistant.windows.settings
    await until(dialog.isActiveWindow)
    return dialog.connection


async def answered(page):
    await until(lambda: page.idle)


def write(field, text):
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)


async def test_without_a_model_the_panel_leads_to_the_settings_which_ask_nobody_yet(qapp, monkeypatch):
    """FC-56"""
    asked = []
    monkeypatch.setattr(connection, "discover_local", lambda *ports: asked.append(ports))
    monkeypatch.setattr(connection, "probe", lambda *address: asked.append(address))
    stage = await AssistantStage(None).open()
    QTest.mouseClick(stage.assistant.panel.welcome.setup_button, Qt.MouseButton.LeftButton)
    dialog = stage.assistant.windows.settings
    assert dialog.isVisible()
    assert not dialog.isModal()
    assert is_own(dialog)
    assert all(str(port) in dialog.connection.look_note.text() for port in (11434, 1234, 8080, 8000))
    await asyncio.sleep(0)
    assert asked == []


async def test_a_server_on_this_computer_is_found_chosen_and_used(qapp):
    """FC-56"""
    async with ReplayServer(models("small", "large"), Reply(body=ANSWER)) as server:
        stage = await AssistantStage(None).open()
        dialog = await open_settings(stage)
        dialog.ports = (port_of(server.url),)
        QTest.mouseClick(dialog.look_button, Qt.MouseButton.LeftButton)
        await answered(dialog)
        assert dialog.found.count() == 1
        assert "2 models" in dialog.found.item(0).text()
        QTest.keyClick(dialog.found, Qt.Key.Key_Return)
        assert dialog.address.text() == server.url
        assert dialog.model.currentText() == "small"
        QTest.mouseClick(dialog.use_button, Qt.MouseButton.LeftButton)
        assert not dialog.isVisible()
        assert stage.assistant.chat_model.label == "small"
        assert "small" in stage.assistant.panel.header.model.text()
        await stage.say("Hello")
        assert server.requests[-1].body["model"] == "small"
        await stage.assistant.chat_model.aclose()


async def test_a_computer_without_servers_is_said_so(qapp):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        stage = await AssistantStage(None).open()
        dialog = await open_settings(stage)
        dialog.ports = (taken.getsockname()[1],)
        QTest.mouseClick(dialog.look_button, Qt.MouseButton.LeftButton)
        await answered(dialog)
    assert "No model was found" in dialog.answer.text()
    assert dialog.found.isHidden()


async def test_the_key_is_masked_trimmed_and_sent_to_its_address_only(qapp):
    """FC-56"""
    async with ReplayServer(models("m")) as server, ReplayServer(models("n")) as other:
        stage = await AssistantStage(None).open()
        dialog = await open_settings(stage)
        write(dialog.address, server.url)
        dialog.key.setFocus()
        QGuiApplication.clipboard().setText("  sk-secret \n")
        QTest.keyClick(dialog.key, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
        assert dialog.key.echoMode() is QLineEdit.EchoMode.Password
        QTest.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
        await answered(dialog)
        assert server.requests[-1].headers["authorization"] == "Bearer sk-secret"
        assert "It answers" in dialog.answer.text()
        assert [dialog.model.itemText(n) for n in range(dialog.model.count())] == ["m"]
        dialog.ports = (port_of(other.url),)
        QTest.mouseClick(dialog.look_button, Qt.MouseButton.LeftButton)
        await answered(dialog)
        QTest.keyClick(dialog.found, Qt.Key.Key_Return)
        assert dialog.key.text() == ""
        assert all("sk-secret" not in str(request.headers) for request in other.requests)


async def test_the_key_of_the_environment_is_found_and_goes_to_its_own_address_only(qapp, monkeypatch):
    """FC-56"""
    async with ReplayServer(models("m")) as server, ReplayServer(models("n")) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env\n")
        stage = await AssistantStage(None).open()
        dialog = await open_settings(stage)
        assert dialog.address.text() == server.url
        assert "OPENAI_API_KEY" in dialog.key.placeholderText()
        QTest.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
        await answered(dialog)
        assert server.requests[-1].headers["authorization"] == "Bearer sk-env"
        write(dialog.address, other.url)
        assert "OPENAI_API_KEY" not in dialog.key.placeholderText()
        QTest.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
        await answered(dialog)
        assert "sk-env" not in str(other.requests[-1].headers)


async def test_a_refused_key_is_told_with_its_cause_and_never_shown(qapp):
    """FC-55"""
    refusal = Reply(status=401, content_type="application/json", body='{"error": {"message": "Bad key sk-wrong"}}')
    async with ReplayServer(refusal) as server:
        stage = await AssistantStage(None).open()
        dialog = await open_settings(stage)
        write(dialog.address, server.url)
        write(dialog.key, "sk-wrong")
        QTest.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
        await answered(dialog)
    assert "The key was not accepted" in dialog.answer.text()
    assert "sk-wrong" not in dialog.answer.text()


async def test_what_is_missing_is_said_and_gets_the_focus(qapp):
    stage = await AssistantStage(None).open()
    dialog = await open_settings(stage)
    QTest.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
    await answered(dialog)
    assert dialog.address.hasFocus()
    write(dialog.address, "http://127.0.0.1:1/v1")
    QTest.mouseClick(dialog.use_button, Qt.MouseButton.LeftButton)
    assert "needed" in dialog.answer.text()
    assert dialog.isVisible()
    assert stage.assistant.chat_model is None


async def test_every_control_of_the_settings_is_reached_with_tab_and_has_a_name(qapp):
    stage = await AssistantStage(None).open()
    dialog = await open_settings(stage)
    reached = set()
    for _ in range(16):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        reached.add(QApplication.focusWidget())
    window = stage.assistant.windows.settings
    buttons = {dialog.look_button, dialog.test_button, dialog.use_button, window.close_button}
    assert buttons | {dialog.address, dialog.key, dialog.model} <= reached
    names = [field.accessibleName() for field in (dialog.address, dialog.key, dialog.model)]
    assert names == ["Address", "Key", "Model"]
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isVisible()


async def test_closing_the_settings_ends_what_they_ask(qapp, monkeypatch):
    ended = asyncio.Event()

    async def never(*_address):
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(connection, "probe", never)
    stage = await AssistantStage(None).open()
    dialog = await open_settings(stage)
    write(dialog.address, "http://127.0.0.1:1/v1")
    QTest.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
    await asyncio.sleep(0)
    stage.assistant.detach()
    await asyncio.wait_for(ended.wait(), 5)


async def test_a_model_is_not_changed_under_a_run(qapp):
    stage = await AssistantStage(["Never"]).open()
    dialog = await open_settings(stage)
    task = stage.assistant.send("Hello")
    write(dialog.address, "http://127.0.0.1:1/v1")
    write(dialog.model.lineEdit(), "m")
    QTest.mouseClick(dialog.use_button, Qt.MouseButton.LeftButton)
    assert "stop it first" in dialog.answer.text()
    assert stage.assistant.chat_model is stage.model
    await task


# What was sent


@pytest.mark.parametrize("told", ["tools", "no tools"])
async def test_what_was_sent_is_exactly_what_the_server_got(qapp, told):
    """FC-30"""
    async with ReplayServer(Reply(body=ANSWER)) as server:
        model = OpenAIChatModel(model="m", base_url=server.url, api_key="sk-1", tools=told == "tools")
        stage = await AssistantStage(None, instructions="Be brief.").open()
        stage.assistant.chat_model = model
        assert stage.assistant.panel.status.host_button is None
        await stage.assistant.send("Hällo <b>")
        button = stage.assistant.panel.status.host_button
        assert "127.0.0.1" in button.accessibleName()
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        view = stage.assistant.windows.sent
        assert not view.isModal()
        assert view.body.isReadOnly()
        sent = server.requests[-1].text
        assert json.loads(view.body.toPlainText()) == json.loads(sent)
        view.indented.click()
        assert view.body.toPlainText() == sent
        QTest.mouseClick(view.copy_button, Qt.MouseButton.LeftButton)
        assert QGuiApplication.clipboard().text() == sent
        assert "sk-1" not in sent
        stage.assistant.new_chat()
        assert button.isHidden()
        await model.aclose()


async def test_a_chat_model_of_another_kind_shows_what_it_was_given(qapp):
    stage = await AssistantStage(["Hello"]).open()
    await stage.say("Hi")
    stage.assistant.show_sent()
    shown = json.loads(stage.assistant.windows.sent.body.toPlainText())
    assert shown["messages"] == [{"role": "user", "content": "Hi"}]
    assert shown["tools"] == stage.model.requests[0].tools
