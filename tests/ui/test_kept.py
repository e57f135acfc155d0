"""What the assistant remembers between two starts: address, model, and a key in the system's keyring."""

import asyncio
import gc
import logging
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMainWindow

from agentic_qt.client.key_store import origin
from agentic_qt.ui.assistant import Assistant
from agentic_qt.ui.stored import Stored
from tests.support.asking import ANSWER
from tests.support.assistant_stage import AssistantStage, until
from tests.support.http_server import ReplayServer, Reply
from tests.support.keyrings import Empty, Locked, Slow, Working, use

pytestmark = pytest.mark.anyio
CANARY = "sk-canary-93bd"
ADDRESS = "https://api.example.com/v1"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def settings(qapp, tmp_path):
    return QSettings(str(tmp_path / "app.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def keyring(monkeypatch):
    return use(monkeypatch, Working())


async def open_page(settings, **options):
    stage = await AssistantStage(None, settings=settings, **options).open()
    stage.assistant.show_settings()
    page = stage.assistant.windows.settings.connection
    await until(lambda: page.idle)
    return stage, page


def fill(page, address=ADDRESS, key=CANARY, model="m"):
    page.address.setText(address)
    page.key.setFocus()
    page.key.clear()
    QTest.keyClicks(page.key, key)
    page.model.setEditText(model)


def press(button):
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def file_of(settings):
    settings.sync()
    file = Path(settings.fileName())
    return file.read_text(encoding="utf-8") if file.exists() else ""


# Address and model


async def test_address_and_model_are_there_at_the_next_start_and_nobody_is_asked_before_a_request(settings, keyring):
    """FC-56."""
    async with ReplayServer(Reply(body=ANSWER), Reply(body=ANSWER)) as server:
        stage, page = await open_page(settings)
        fill(page, server.url, key="")
        press(page.use_button)
        assert stage.assistant.chat_model.label == "m"
        stage.assistant.detach()
        again = await AssistantStage(None, settings=settings).open()
        assert again.assistant.chat_model.label == "m"
        assert again.assistant.chat_model.base_url == server.url
        await asyncio.sleep(0)
        assert server.requests == []
        await again.say("Hello")
        assert server.requests[0].body["model"] == "m"
        again.assistant.detach()
    assert keyring.asked == []


async def test_a_chat_model_of_the_application_comes_first(settings):
    Stored(settings).keep_chat_model(ADDRESS, "m")
    stage = AssistantStage(["Hello."], settings=settings)
    assert stage.assistant.chat_model is stage.model


async def test_an_application_without_an_organization_keeps_nothing_unless_it_says_where(qapp):
    assert not QCoreApplication.organizationName()
    stored = Stored()
    assert not stored.lasting
    assert not stored.keep_chat_model(ADDRESS, "m")
    stored.keep_keys(["x"])
    stored.keep_shortcut("focus", "F9")
    assert (stored.chat_model, stored.keys, stored.shortcuts({"focus": "F1"})) == (None, (), {"focus": "F1"})


async def test_the_settings_of_the_applications_own_names_are_used_by_default(qapp, tmp_path):
    QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, str(tmp_path))
    QCoreApplication.setOrganizationName("Example")
    try:
        Stored().keep_chat_model(ADDRESS, "m")
        assert Stored().chat_model == (ADDRESS, "m")
        kept = QSettings()
        kept.sync()
        assert all(key.startswith("agentic_qt/") for key in kept.allKeys() if "chat_model" in key)
        assert kept.value("agentic_qt/chat_model/name") == "m"
        kept.clear()
        kept.sync()
    finally:
        QCoreApplication.setOrganizationName("")


@pytest.mark.parametrize(
    "address", ["https://u:secret-9@api.example.com/v1", f"https://api.example.com/v1?key={CANARY}"]
)
async def test_an_address_that_holds_a_secret_is_used_and_not_kept(settings, keyring, address):
    """Threat 18."""
    stage, page = await open_page(settings)
    fill(page, address, key="")
    assert "not kept" in page.key_note.text()
    press(page.use_button)
    assert stage.assistant.chat_model is not None
    assert Stored(settings).chat_model is None
    assert "secret-9" not in file_of(settings)
    assert CANARY not in file_of(settings)


@pytest.mark.parametrize("address", ["http://[::1", "https://host:port/v1", "file:///x", "", ["a", "b"]])
async def test_settings_that_somebody_broke_by_hand_are_no_chat_model(settings, address):
    settings.setValue("agentic_qt/chat_model/address", address)
    settings.setValue("agentic_qt/chat_model/name", "m")
    settings.setValue("agentic_qt/shortcuts/focus", ["Ctrl+1", "Ctrl+2"])
    settings.setValue("agentic_qt/shortcuts/nonsense", "=Ctrl+3")
    stage = await AssistantStage(None, settings=settings).open()
    assert stage.assistant.chat_model is None
    assert stage.assistant.actions["focus"].shortcut().toString() == "Ctrl+Shift+I"


# The key


async def test_a_key_is_kept_only_when_the_person_says_so_and_found_at_the_next_start(settings, keyring):
    """FC-56, threat 18."""
    async with ReplayServer(Reply(body=ANSWER), Reply(body=ANSWER)) as server:
        stage, page = await open_page(settings)
        fill(page, server.url)
        assert page.keeping.box.isEnabled()
        assert not page.keeping.box.isChecked()
        press(page.use_button)
        assert keyring.kept == {}
        stage.assistant.show_settings()
        await until(lambda: page.idle)
        press(page.keeping.box)
        press(page.use_button)
        await until(lambda: page.idle)
        assert list(keyring.kept.values()) == [CANARY]
        assert page.key.text() == ""
        assert stage.assistant.windows.settings.isHidden()
        stage.assistant.detach()
        again = await AssistantStage(None, settings=settings).open()
        await asyncio.sleep(0)
        assert "get" not in keyring.asked, "the keyring is not opened before a request needs it"
        await again.say("Hello")
        assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
        again.assistant.detach()


async def test_a_kept_key_goes_to_its_own_origin_only(settings, keyring):
    """FC-56, threat 18."""
    models = Reply(content_type="application/json", body='{"data": [{"id": "m"}]}')
    async with ReplayServer(models) as server, ReplayServer(models) as other:
        Stored(settings).keep_keys([origin(server.url)])
        keyring.kept["pytest-qt-qapp (agentic_qt)", origin(server.url)] = CANARY
        _stage, page = await open_page(settings)
        page.address.setText(server.url)
        assert "keyring" in page.key.placeholderText()
        press(page.test_button)
        await until(lambda: page.idle)
        page.address.setText(other.url)
        assert "keyring" not in page.key.placeholderText()
        assert page.keeping.forget_button.isHidden()
        press(page.test_button)
        await until(lambda: page.idle)
        assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
        assert CANARY not in str(other.requests[0].headers)


async def test_a_written_key_leaves_its_field_when_the_address_becomes_anothers(settings, keyring):
    """FC-56: and nothing is done with the new address before the person has seen it."""
    stage, page = await open_page(settings)
    fill(page)
    page.address.setText("https://api.example.com/v2")
    press(page.test_button)
    page.end()
    assert page.key.text() == CANARY, "the same origin"
    page.address.setText("https://evil.example.net/v1")
    press(page.use_button)
    assert page.key.text() == ""
    assert "api.example.com" in page.answer.text()
    assert stage.assistant.chat_model is None
    press(page.use_button)
    assert stage.assistant.chat_model.host == "evil.example.net"


async def test_forget_takes_the_key_out_of_the_keyring(settings, keyring):
    """FC-56."""
    stage, page = await open_page(settings)
    fill(page)
    press(page.keeping.box)
    press(page.use_button)
    await until(lambda: page.idle)
    stage.assistant.show_settings()
    await until(lambda: page.idle)
    assert page.keeping.box.isChecked()
    press(page.keeping.forget_button)
    await until(lambda: page.idle)
    assert keyring.kept == {}
    assert Stored(settings).keys == ()
    assert page.keeping.forget_button.isHidden()
    assert not page.keeping.box.isChecked()
    assert "no longer" in page.answer.text()


@pytest.mark.parametrize("lasting", [True, False])
async def test_where_no_key_can_be_kept_the_box_is_off_and_says_why(settings, monkeypatch, lasting):
    """FC-56."""
    use(monkeypatch, Empty() if lasting else Working())
    _stage, page = await open_page(settings if lasting else None)
    assert not page.keeping.box.isEnabled()
    why = "no system keyring" if lasting else "keeps no settings"
    assert why in page.keeping.why.text()
    assert why in page.keeping.box.accessibleDescription()
    assert page.keeping.why.isVisible()


async def test_a_locked_keyring_leaves_the_key_in_memory_and_says_so(settings, monkeypatch):
    """FC-56."""
    use(monkeypatch, Locked())
    async with ReplayServer(Reply(body=ANSWER)) as server:
        stage, page = await open_page(settings)
        fill(page, server.url)
        press(page.keeping.box)
        press(page.use_button)
        await until(lambda: page.idle)
        assert "locked" in page.answer.text()
        assert "in memory" in page.answer.text()
        assert page.isVisible()
        assert Stored(settings).keys == ()
        await stage.say("Hello")
        assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
        stage.assistant.detach()


async def test_a_key_that_a_locked_keyring_does_not_give_ends_the_run_with_a_remedy(settings, monkeypatch):
    """FC-55."""
    use(monkeypatch, Locked())
    stored = Stored(settings)
    stored.keep_chat_model(ADDRESS, "m")
    stored.keep_keys([origin(ADDRESS)])
    stage = await AssistantStage(None, settings=settings).open()
    await stage.say("Hello")
    assert "could not be read from the system keyring" in stage.text
    stage.assistant.show_settings()
    page = stage.assistant.windows.settings.connection
    press(page.test_button)
    await until(lambda: page.idle)
    assert "locked" in page.answer.text()
    press(page.keeping.forget_button)
    await until(lambda: page.idle)
    assert "could not be removed" in page.answer.text()
    assert stored.keys == (origin(ADDRESS),)
    stage.assistant.detach()


async def test_a_slow_keyring_does_not_hold_up_the_window(settings, monkeypatch):
    keyring = use(monkeypatch, Slow())
    _stage, page = await open_page(settings)
    fill(page)
    press(page.keeping.box)
    began = time.monotonic()
    press(page.use_button)
    for _ in range(20):
        await asyncio.sleep(0)
    assert time.monotonic() - began < 5, "the keyring waits for 20"
    assert "Keeping" in page.answer.text()
    assert not page.idle
    keyring.go.set()
    await until(lambda: page.idle)
    assert list(keyring.kept.values()) == [CANARY]


async def test_a_keyring_that_gives_no_answer_may_have_kept_the_key_so_it_can_be_forgotten(settings, monkeypatch):
    keyring = use(monkeypatch, Slow())
    _stage, page = await open_page(settings)
    monkeypatch.setattr(page._keys._keyring, "_within", 0.01)
    fill(page)
    press(page.keeping.box)
    press(page.use_button)
    await until(lambda: page.idle)
    assert "did not answer" in page.answer.text()
    assert not page.keeping.forget_button.isHidden()
    keyring.go.set()


async def test_the_key_is_in_the_keyring_and_nowhere_else(settings, keyring, caplog):
    """Threat 18: canaries in settings, logs, reprs, what was sent and what is shown."""
    with caplog.at_level(logging.DEBUG):
        async with ReplayServer(Reply(status=401, body=f'{{"error": {{"message": "Bad key {CANARY}"}}}}')) as server:
            stage, page = await open_page(settings)
            fill(page, server.url)
            press(page.keeping.box)
            press(page.use_button)
            await until(lambda: page.idle)
            await stage.say("Hello")
            stage.assistant.show_sent()
            seen = [stage.text, stage.assistant.windows.sent.body.toPlainText(), page.answer.text()]
            objects = (stage.assistant.chat_model, page._keys, page._stored, page._keys.for_requests(server.url))
            seen += [repr(value) for value in objects]
            assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
            stage.assistant.detach()
    assert CANARY not in "".join([file_of(settings), caplog.text, *seen])
    assert list(keyring.kept.values()) == [CANARY]


async def test_detaching_while_the_keyring_is_asked_leaves_nothing_behind(settings, monkeypatch):
    keyring = use(monkeypatch, Slow())
    stage, page = await open_page(settings)
    fill(page)
    press(page.keeping.box)
    press(page.use_button)
    await asyncio.sleep(0)
    stage.assistant.detach()
    keyring.go.set()
    await until(lambda: "set" in keyring.asked)
    gc.collect()


async def test_two_assistants_keep_apart_what_their_settings_keep_apart(qapp, tmp_path):
    first, second = (QSettings(str(tmp_path / f"{n}.ini"), QSettings.Format.IniFormat) for n in "ab")
    Stored(first).keep_chat_model(ADDRESS, "m")
    windows = QMainWindow(), QMainWindow()
    models = [
        Assistant.attach(window, settings=where).chat_model
        for window, where in zip(windows, (first, second), strict=True)
    ]
    assert models[0].label == "m"
    assert models[1] is None
