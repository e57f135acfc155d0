"""One request without a window: a process of its own, an endpoint on loopback, a file, a report, an exit code."""

import asyncio
import json
import os
import pty
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from examples.crm.store import Store
from tests.support.http_server import ReplayServer, Reply

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
REQUEST = "Set the email of Ada Lovelace to ada@example.com"
SECONDS = 40

START_AND_CLOSE = """
import sys
from PySide6.QtCore import QTimer
from examples.crm import app

show = app._show

async def show_and_close(*arguments):
    await show(*arguments)
    for window in app.QApplication.topLevelWidgets():
        QTimer.singleShot(0, window.close)

app._show = show_and_close
sys.exit(app.main([]))
"""


@pytest.fixture
def anyio_backend():
    return "asyncio"  # the application runs in another process


def stream(*deltas, finish):
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return Reply(body="".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n")


def calls(name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return stream({"tool_calls": [{"index": 0, "id": "c1", "function": function}]}, finish="tool_calls")


def says(text):
    return stream({"content": text}, finish="stop")


UPDATE = calls("customer_update", {"customer": "Ada Lovelace", "field": "email", "value": "ada@example.com"})


class Run:
    """What one run of the application left behind."""

    def __init__(self, code, out, err, folder):
        self.code, self.out, self.err = code, out, err
        report = folder / "run.json"
        self.report = json.loads(report.read_text()) if report.exists() else None
        store = Store(folder / "customers.db")
        self.email = store.customer(1).email
        store.close()


async def run_app(folder, *arguments, server=None, request=REQUEST, stdin=asyncio.subprocess.DEVNULL):
    environment = {"AGENTIC_QT_CRM_DB": str(folder / "customers.db")}
    if server is not None:
        environment |= {"OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "played"}
    wanted = ("--headless", request, "--json", str(folder / "run.json"), *arguments)
    return Run(*await run_python(folder, "-m", "examples.crm", *wanted, environment=environment, stdin=stdin), folder)


async def run_python(folder, *arguments, environment, stdin=asyncio.subprocess.DEVNULL):
    theirs = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "AGENTIC_", "XDG_"))}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=ROOT,
        env={**theirs, "HOME": str(folder), **environment},
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out.decode(), err.decode()


async def test_approved_request_is_done_reported_and_seen_in_the_file(tmp_path):
    async with ReplayServer(UPDATE, says("The address is changed."), chat_only=True) as server:
        picture = tmp_path / "out.png"
        run = await run_app(tmp_path, "--approve", "all", "--screenshot", str(picture), server=server)
    assert (run.code, run.err) == (0, "")
    assert run.email == "ada@example.com"
    (change,) = run.report["changes"]
    assert (change["table"], change["id"], change["change"]) == ("customers", 1, "changed")
    assert change["fields"]["email"] == {"old": "ada.lovelace@example.org", "new": "ada@example.com"}
    (call,) = run.report["calls"]
    assert (call["name"], call["risk"], call["status"]) == ("customer.update", "mutating", "ok")
    (approval,) = run.report["approvals"]
    assert approval["granted"]
    assert approval["input"] == call["input"]
    kinds = [event["kind"] for event in run.report["audit"]]
    assert kinds.index("confirmation_requested") < kinds.index("confirmed") < kinds.index("executing")
    assert run.report["end"]["reason"] == "completed"
    assert run.report["exit_code"] == 0
    for line in ("call customer.update", "approval a1: approved", "outcome ok", "'ada@example.com'"):
        assert line in run.out
    image = QImage(str(picture))
    assert image.width() > 800
    assert not image.isGrayscale()
    answer = server.requests[1].body["messages"][-1]
    assert (answer["role"], json.loads(answer["content"])["status"]) == ("tool", "ok")
    assert len(server.requests) == 2


async def test_request_that_nobody_approves_changes_nothing(tmp_path):
    """FC-16"""
    async with ReplayServer(UPDATE, says("It was not approved."), chat_only=True) as server:
        run = await run_app(tmp_path, "--approve", "none", server=server)
    assert run.code == 3
    assert run.email == "ada.lovelace@example.org"
    assert run.report["changes"] == []
    assert run.report["approvals"][0]["code"] == "policy"
    assert run.report["calls"][0]["status"] == "denied"


async def test_ask_without_a_terminal_denies(tmp_path):
    """G04, FC-31"""
    async with ReplayServer(UPDATE, says("It was not approved."), chat_only=True) as server:
        run = await run_app(tmp_path, "--approve", "ask", server=server)
    assert run.code == 3
    assert run.email == "ada.lovelace@example.org"
    assert run.report["approvals"][0]["code"] == "no_approver"


@pytest.mark.parametrize(
    ("typed", "code", "email"),
    [("yes", 0, "ada@example.com"), ("not today", 3, "ada.lovelace@example.org")],
)
async def test_ask_reads_the_answer_from_the_terminal(tmp_path, typed, code, email):
    ours, theirs = pty.openpty()
    os.write(ours, f"{typed}\n".encode())
    try:
        async with ReplayServer(UPDATE, says("So be it."), chat_only=True) as server:
            run = await run_app(tmp_path, server=server, stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert (run.code, run.email) == (code, email)
    assert "ada.lovelace@example.org" in run.out  # what would be replaced was shown before the answer
    if code:
        assert run.report["approvals"][0]["reason"] == "not today"
        assert "not today" in run.report["calls"][0]["hint"]


async def test_look_up_counts_as_done_and_needs_no_approval(tmp_path):
    async with ReplayServer(
        calls("customers_search", {"query": "London"}), says("Here they are."), chat_only=True
    ) as server:
        run = await run_app(tmp_path, "--approve", "none", server=server, request="Find London")
    assert run.code == 0
    assert run.report["approvals"] == []
    assert run.report["calls"][0]["data"]["total"] > 0


async def test_rule_that_refuses_is_not_done(tmp_path):
    async with ReplayServer(
        calls("customer_delete", {"customer": "2"}), says("Open orders."), chat_only=True
    ) as server:
        run = await run_app(tmp_path, "--approve", "all", server=server, request="Delete Grace Hopper")
    assert run.code == 3
    assert run.report["calls"][0]["code"] == "open_orders"
    assert run.report["approvals"] == []


async def test_mere_words_are_nothing_done(tmp_path):
    async with ReplayServer(says("I have changed the address!"), chat_only=True) as server:
        run = await run_app(tmp_path, "--approve", "all", server=server)
    assert run.code == 3
    assert "changed in the database: nothing" in run.out


async def test_provider_that_refuses_is_an_error(tmp_path):
    body = json.dumps({"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
    async with ReplayServer(Reply(body=body, status=401, content_type="application/json"), chat_only=True) as server:
        run = await run_app(tmp_path, "--approve", "all", server=server)
    assert run.code == 1
    assert run.report["end"]["error"] == "authentication"
    assert "error: authentication" in run.out


async def test_file_that_cannot_be_written_is_an_error(tmp_path):
    async with ReplayServer(says("Hello."), chat_only=True) as server:
        run = await run_app(tmp_path, "--screenshot", "/proc/none/out.png", server=server)
    assert run.code == 1
    assert "error:" in run.err


async def test_file_that_is_no_database_is_an_error(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be read as one. " * 9)
    wanted = ("--headless", "Hello", "--db", str(tmp_path / "notes.txt"))
    code, _out, err = await run_python(tmp_path, "-m", "examples.crm", *wanted, environment={})
    assert code == 1
    assert "notes.txt cannot be opened" in err
    assert "Traceback" not in err


async def test_terminal_is_shown_no_control_characters(tmp_path):
    """FC-20"""
    poison = calls("customer_update", {"customer": "1", "field": "notes", "value": "a\x1b[2Jb\u202ec"})
    async with ReplayServer(poison, says("\x1b]0;owned\x07"), chat_only=True) as server:
        run = await run_app(tmp_path, "--approve", "none", server=server)
    assert run.report["approvals"][0]["input"]["value"] == "a\x1b[2Jb\u202ec"
    assert "\x1b" not in run.out
    assert "\u202e" not in run.out


async def test_endpoint_that_names_no_model_is_an_error_that_says_what_to_set(tmp_path):
    """FC-56"""
    async with ReplayServer(Reply(body='{"object": "list", "data": []}'), chat_only=True) as server:
        wanted = ("--headless", "Hello", "--db", str(tmp_path / "customers.db"))
        environment = {"OPENAI_BASE_URL": server.url}
        code, _out, err = await run_python(tmp_path, "-m", "examples.crm", *wanted, environment=environment)
    assert code == 1
    assert "Set OPENAI_MODEL" in err


async def test_window_without_a_model_says_what_to_set(tmp_path):
    """FC-56"""
    async with ReplayServer(Reply(body='{"object": "list", "data": []}'), chat_only=True) as server:
        environment = {"OPENAI_BASE_URL": server.url, "XDG_DATA_HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
        code, _out, err = await run_python(tmp_path, "-c", START_AND_CLOSE, environment=environment)
    assert code == 0
    assert "Set OPENAI_MODEL" in err


async def test_pictures_are_taken_when_everything_is_shown(tmp_path):
    async with ReplayServer(UPDATE, says("The address is changed."), chat_only=True) as server:
        waiting, end = tmp_path / "waiting.png", tmp_path / "end.png"
        run = await run_app(
            tmp_path,
            *("--approve", "all", "--theme", "dark", "--screenshot", str(end), "--approval-screenshot", str(waiting)),
            server=server,
        )
    assert run.code == 0
    first, last = QImage(str(waiting)), QImage(str(end))
    assert first.size() == last.size()
    assert first != last
    assert last.pixelColor(5, last.height() // 2).lightness() < 80


async def test_program_makes_its_file_in_the_data_folder_and_ends_with_its_window(tmp_path):
    environment = {"XDG_DATA_HOME": str(tmp_path / "data"), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    environment["OPENAI_MODEL"] = "nobody"  # named, so that nobody is asked for it
    code, out, err = await run_python(tmp_path, "-c", START_AND_CLOSE, environment=environment)
    said = [line for line in err.splitlines() if "propagateSizeHints" not in line]  # offscreen's own
    assert (code, out, said) == (0, "", [])
    assert [path.name for path in (tmp_path / "data").rglob("*.db")] == ["customers.db"]
