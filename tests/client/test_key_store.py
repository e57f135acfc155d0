"""Keys in the system's keyring: one for each application and origin, bounded, and never told to anybody else."""

import asyncio
import logging
import sys
import traceback

import pytest
from keyring.backends.null import Keyring as Null

from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.client.key_store import KeyStore, KeyStoreError, origin
from agentic_qt.client.openai import OpenAIChatModel
from tests.support.asking import ANSWER
from tests.support.http_server import ReplayServer, Reply
from tests.support.keyrings import Empty, InTheClear, Locked, Slow, Working, use

pytestmark = pytest.mark.anyio
ADDRESS = "https://api.example.com/v1"
CANARY = "sk-canary-7f3a"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://api.example.com/v1", "https://api.example.com:443"),
        ("HTTPS://API.example.com:443", "https://api.example.com:443"),
        ("api.example.com/other/path", "https://api.example.com:443"),
        ("http://api.example.com", "http://api.example.com:80"),
        ("localhost:11434/v1", "http://localhost:11434"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
        ("https://user:password@api.example.com", "https://api.example.com:443"),
        ("", ""),
        ("https://host:port/v1", ""),
        ("http://[::1", ""),
        ("file:///etc/passwd", ""),
        ("ftp://example.com:21", ""),
    ],
)
def test_a_key_belongs_to_scheme_host_and_port(address, expected):
    assert origin(address) == expected


async def test_a_key_is_kept_read_and_forgotten_for_one_origin_of_one_application(monkeypatch):
    """Threat 18."""
    keyring = use(monkeypatch, Working())
    store = KeyStore("Example/Customers")
    await store.check()
    await store.write(ADDRESS, CANARY)
    assert keyring.kept == {("Example/Customers (agentic_qt)", "https://api.example.com:443"): CANARY}
    assert await store.read("https://api.example.com/v2") == CANARY
    assert await store.read("https://api.example.com:8443/v1") == ""
    assert await KeyStore("Example/Other").read(ADDRESS) == ""
    await store.forget(ADDRESS)
    assert keyring.kept == {}
    await store.forget(ADDRESS)


@pytest.mark.parametrize("backend", [Empty, Null, InTheClear])
async def test_a_keyring_that_guards_nothing_is_none(monkeypatch, backend):
    use(monkeypatch, backend())
    with pytest.raises(KeyStoreError) as caught:
        await KeyStore("app").check()
    assert caught.value.code == "no_backend"
    with pytest.raises(KeyStoreError):
        await KeyStore("app").write(ADDRESS, CANARY)


async def test_a_chain_of_keyrings_is_judged_by_its_first(monkeypatch):
    chain = Working()
    chain.backends = [InTheClear(), Working()]
    use(monkeypatch, chain)
    with pytest.raises(KeyStoreError) as caught:
        await KeyStore("app").check()
    assert caught.value.code == "no_backend"


async def test_without_the_library_there_is_no_keyring(monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(KeyStoreError) as caught:
        await KeyStore("app").check()
    assert caught.value.code == "missing"


async def test_what_a_locked_keyring_says_reaches_nobody(monkeypatch, caplog):
    """Threat 18: its words may hold the key."""
    keyring = use(monkeypatch, Locked())
    keyring.kept[("app (agentic_qt)", origin(ADDRESS))] = CANARY
    store = KeyStore("app")
    said = []
    with caplog.at_level(logging.DEBUG):
        for work in (store.write(ADDRESS, CANARY), store.read(ADDRESS)):
            with pytest.raises(KeyStoreError) as caught:
                await work
            assert caught.value.code == "locked"
            said += traceback.format_exception(caught.value)
        with pytest.raises(ChatModelError) as refused:
            await store.key_for_request(ADDRESS)
        keyring.open = None
        monkeypatch.setattr(Locked, "get_password", lambda *_: "")
        with pytest.raises(KeyStoreError, match="failed") as caught:
            await store.forget(ADDRESS)
    said += [*traceback.format_exception(refused.value), *traceback.format_exception(caught.value)]
    said += [repr(store), repr(caught.value), refused.value.message, refused.value.remedy, caplog.text]
    assert refused.value.code == "key_unavailable"
    assert CANARY not in "".join(said)
    assert "KeyringLocked" in caplog.text


async def test_a_keyring_that_does_not_answer_is_not_waited_for_for_ever(monkeypatch):
    keyring = use(monkeypatch, Slow())
    try:
        with pytest.raises(KeyStoreError) as caught:
            await KeyStore("app", within=0.05).read(ADDRESS)
    finally:
        keyring.go.set()
    assert caught.value.code == "timeout"


async def test_debug_logs_of_the_loop_hold_no_key(monkeypatch, caplog):
    """Threat 18."""
    use(monkeypatch, Working())
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 0.0
    with caplog.at_level(logging.DEBUG):
        await KeyStore("app").write(ADDRESS, CANARY)
        await KeyStore("app").read(ADDRESS)
    assert "Executing" in caplog.text
    assert CANARY not in caplog.text


# A chat model whose key is fetched


async def answer_of(model):
    return "".join([delta.text async for delta in model.stream([{"role": "user", "content": "Hi"}], [])])


async def test_a_key_is_fetched_once_before_the_first_request():
    fetched = []

    async def fetch():
        fetched.append(1)
        return f" {CANARY}\n"

    async with ReplayServer(Reply(body=ANSWER), Reply(body=ANSWER)) as server:
        model = OpenAIChatModel(model="m", base_url=server.url, api_key=fetch)
        assert model.without_tools().host == model.host
        assert fetched == []
        for _ in range(2):
            await answer_of(model)
        await model.aclose()
    assert fetched == [1]
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {CANARY}"] * 2


async def test_a_request_whose_key_is_not_given_fails_by_name_and_the_next_tries_again(monkeypatch):
    """FC-55."""
    keyring = use(monkeypatch, Locked())
    async with ReplayServer(Reply(body=ANSWER)) as server:
        keyring.kept[("app (agentic_qt)", origin(server.url))] = CANARY
        store = KeyStore("app")
        model = OpenAIChatModel(model="m", base_url=server.url, api_key=lambda: store.key_for_request(server.url))
        with pytest.raises(ChatModelError) as caught:
            await answer_of(model)
        assert caught.value.code == "key_unavailable"
        assert server.requests == []
        keyring.open = True
        await answer_of(model)
        assert server.requests[0].headers["authorization"] == f"Bearer {CANARY}"
        await model.aclose()
