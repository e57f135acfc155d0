"""The customer application with a service of its own process, and what is left when the application is killed."""

import asyncio
import contextlib
import os
import pty
import signal
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from agentic_qt.commands.recovery import Recovery
from agentic_qt.core.approvals import ApprovalChange
from agentic_qt.core.call import Call, Status
from examples.crm import chat_model
from examples.crm.app import TOKEN, build, main
from examples.crm.backend import BackendError, open_backend, open_remote
from examples.crm.commands import PERMISSIONS
from tests.examples.test_crm_headless import SECONDS, UPDATE, calls, run_python, says
from tests.examples.test_crm_window import box, click_row, idle, press, retype
from tests.support.approval_stage import until
from tests.support.http_server import ReplayServer

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
ROOT = Path(__file__).parents[2]
ADA, ALAN = 1, 3


class Serving:
    """``agentic-qt commands serve`` on the file, and a token for it."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.tokens = folder / "tokens.json"

    async def run(self, *arguments):
        code, out, err = await run_python(self.folder, "-m", "agentic_qt", "commands", *arguments, environment={})
        assert code == 0, err
        return out.strip()

    async def start(self):
        permissions = [word for name in sorted(PERMISSIONS) for word in ("--permission", name)]
        self.token = await self.run("token", "--tokens", str(self.tokens), "--actor", "till-7", *permissions)
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agentic_qt", "commands", "serve"),
            *("--app", "examples.crm.commands:service", "--tokens", str(self.tokens), "--port", "0"),
            cwd=ROOT,
            env={**os.environ, "AGENTIC_QT_CRM_DB": str(self.path)},
            stdout=asyncio.subprocess.PIPE,
        )
        line = await asyncio.wait_for(self.process.stdout.readline(), SECONDS)
        self.url = line.decode().rpartition(" ")[2].strip()
        assert self.url.startswith("http://127.0.0.1:")

    async def stop(self):
        if self.process.returncode is None:
            self.process.terminate()
            await asyncio.wait_for(self.process.wait(), SECONDS)


@pytest.fixture
async def serving(path, tmp_path, anyio_backend):
    made = Serving(path, tmp_path)
    await made.start()
    yield made
    await made.stop()


@contextlib.asynccontextmanager
async def application(backend, settings, monkeypatch):
    """The window and its assistant on a backend."""
    monkeypatch.setattr(chat_model, "embedded_available", lambda: False)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    parts = build(backend, settings)
    parts.window.show()
    try:
        yield parts
    finally:
        parts.assistant.detach()
        parts.window.form.show_customer(None)
        parts.window.close()
        await parts.desk.close()
        await backend.close()


def approve_all(registry):
    seen = []

    def told(event):
        if event.change is ApprovalChange.ADDED:
            seen.append(event.request)
            asyncio.get_running_loop().call_soon(registry.approvals.approve, event.request)

    registry.approvals.attach(told)
    return seen


async def test_assistant_deletes_by_the_service_and_the_audit_has_the_tokens_actor(
    qapp, serving, path, tmp_path, settings, monkeypatch
):
    backend = await open_remote(path, serving.url, serving.token, own=tmp_path / "own.db")
    async with application(backend, settings, monkeypatch) as parts:
        registry = parts.assistant.registry
        asked = approve_all(registry)
        call = Call(name="customer.delete", input={"customer": "Alan Turing"}, actor=backend.actor.name)
        outcome = await asyncio.wait_for(registry.execute(call), SECONDS)
        assert outcome.status is Status.OK
        assert asked[0].facts["customer"] == "Alan Turing (3)"
        assert parts.window.statusBar().currentMessage() == "Alan Turing was deleted."
        assert len(parts.window.store.customers()) == 239
        assert await backend.own.proposals.open() == ()
        entries = await backend.service.history(command_id=outcome.command_id)
        assert {entry.actor for entry in entries} == {"till-7"}
        assert entries[0].event == "succeeded"


async def test_person_saves_by_the_service_and_is_told_when_it_is_gone(
    qapp, serving, path, tmp_path, settings, monkeypatch
):
    backend = await open_remote(path, serving.url, serving.token, own=tmp_path / "own.db")
    async with application(backend, settings, monkeypatch) as parts:
        window = parts.window
        assert await backend.trouble() == ""
        click_row(window, ADA)
        retype(window, "city", "Paris")
        window.actions_.save.trigger()
        await idle(window)
        assert window.store.customer(ADA).city == "Paris"
        await serving.stop()
        assert "cannot be reached" in await backend.trouble()
        retype(window, "city", "Rome")
        window.actions_.save.trigger()
        await idle(window)
        assert box().text() == "The customer was not saved."
        assert box().informativeText() == "The service of commands cannot be reached; nothing was sent."
        press(box(), "OK")
        assert "cannot be reached" in window._trouble.text()
        assert window.form.values()["city"] == "Rome"
        window.show_filter(text="turing")  # reading goes on
        QTest.keyClick(window.list.search, Qt.Key.Key_Down)
        assert window.list.proxy.rowCount() == 1


async def test_token_that_the_service_does_not_know_is_told(serving, path, tmp_path):
    backend = await open_remote(path, serving.url, "no-such-token", own=tmp_path / "own.db")
    assert await backend.trouble() == "The service does not accept this token."
    await backend.close()


async def test_remote_service_needs_its_file_a_safe_address_and_a_token(qapp, path, tmp_path, monkeypatch, capsys):
    with pytest.raises(BackendError, match="Start the service"):
        await open_remote(tmp_path / "nowhere.db", "http://127.0.0.1:9", "t", own=tmp_path / "own.db")
    with pytest.raises(BackendError, match="https"):
        await open_remote(path, "http://example.com", "t", own=tmp_path / "own.db")
    monkeypatch.delenv(TOKEN, raising=False)
    with pytest.raises(SystemExit):
        main(["--service", "http://127.0.0.1:9"])
    assert TOKEN in capsys.readouterr().err


async def test_application_with_a_service_carries_out_a_request(serving, path, tmp_path):
    delete = calls("customer_delete", {"customer": "Alan Turing"})
    async with ReplayServer(delete, says("Alan Turing is deleted."), chat_only=True) as server:
        environment = {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_MODEL": "played",
            "XDG_DATA_HOME": str(tmp_path / "data"),
            TOKEN: serving.token,
        }
        wanted = ("--headless", "Delete Alan Turing", "--approve", "all", "--db", str(path), "--service", serving.url)
        code, out, err = await run_python(tmp_path, "-m", "examples.crm", *wanted, environment=environment)
    assert (code, err) == (0, "")
    assert "customers 3: removed" in out
    assert serving.token not in out


class Killed:
    """The application, killed while an approval waits at its terminal."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    async def run(self):
        ours, theirs = pty.openpty()
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "AGENTIC_"))}
        try:
            async with ReplayServer(UPDATE, says("Never said."), chat_only=True) as server:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "examples.crm", "--headless", "Set it", "--db", str(self.path)),
                    cwd=ROOT,
                    env={**environment, "OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "played"},
                    stdin=theirs,
                    stdout=asyncio.subprocess.PIPE,
                )
                async with asyncio.timeout(SECONDS):
                    while b"Approve?" not in await process.stdout.readline():
                        assert process.returncode is None
                process.send_signal(signal.SIGKILL)
                await process.wait()
        finally:
            os.close(ours)
            os.close(theirs)


async def test_approval_that_waited_when_the_application_was_killed_is_offered_again(
    qapp, path, tmp_path, settings, monkeypatch
):
    """FC-38, FC-39"""
    await Killed(path, tmp_path).run()
    backend = await open_backend(path)
    async with application(backend, settings, monkeypatch) as parts:
        assert backend.store.customer(ADA).version == 1
        recovery = Recovery(parts.desk)
        (waiting,) = (await recovery.look()).waiting
        assert (waiting.type, waiting.data()) == (
            "customer.update",
            {"id": ADA, "changes": {"email": "ada@example.com"}},
        )
        assert parts.assistant.registry.approvals.pending == ()  # nothing runs or asks by itself
        asked = approve_all(parts.assistant.registry)
        outcome = await asyncio.wait_for(recovery.resume(waiting.proposal_id), SECONDS)
        assert outcome.status is Status.OK
        assert asked[0].facts["changes"]["email"]["new"] == "ada@example.com"
        assert backend.store.customer(ADA).email == "ada@example.com"
        assert (await recovery.look()).waiting == ()
        await until(lambda: parts.window.form.values()["email"] == "ada@example.com")
