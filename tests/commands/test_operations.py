"""``agentic-qt commands``: what an operator sees of a store, closes in it and serves of it."""

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agentic_qt.cli import main
from agentic_qt.commands.client import CommandClient
from agentic_qt.commands.tokens import Tokens, token_entry
from agentic_qt.commands.values import Command
from tests.support.command_kit import ANN, CHIEF, Inspector, add_entry, make_service


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def store(url: str) -> str:
    """A file with three commands: one succeeded, one failed, one denied."""

    async def fill() -> None:
        async with make_service(url) as service:
            await service.submit(add_entry("a\x1b[31m", "c-1"), ANN)
            conflict = Command.of("customer.delete", {"id": 1}, command_id="c-2", expected_version=3, approved_by="ann")
            await service.submit(conflict, ANN)
            await service.submit(Command.of("customer.create", {"id": 1, "name": "x"}, command_id="c-3"), CHIEF)

    asyncio.run(fill())
    return url.removeprefix("sqlite:///")


def test_list_shows_the_newest_first_and_filters(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["commands", "list", "--store", store]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in printed] == ["failed", "succeeded"]
    assert main(["commands", "list", "--store", store, "--state", "failed", "--json"]) == 0
    (only,) = json.loads(capsys.readouterr().out)
    assert (only["commandId"], only["result"]["code"]) == ("c-2", "version_conflict")


def test_show_tells_command_result_and_audit_and_steers_no_terminal(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["commands", "show", "c-1", "--store", store]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "succeeded ann" in printed
    assert main(["commands", "show", "c-2", "--store", f"sqlite:///{store}"]) == 0
    printed = capsys.readouterr().out
    assert "approved by       ann" in printed
    assert "failed ann version_conflict" in printed
    assert main(["commands", "show", "c-3", "--store", store, "--json"]) == 0  # denied: audited, and no command
    shown = json.loads(capsys.readouterr().out)
    assert (shown["command"], [entry["code"] for entry in shown["audit"]]) == (None, ["denied"])


def test_resolve_closes_an_id_under_the_operators_name(
    store: str, inspector: Inspector, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["commands", "resolve", "c-9", "--abandon", "--actor", "ops", "--store", store, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["code"] == "abandoned"
    assert main(["commands", "resolve", "c-1", "--abandon", "--actor", "ops", "--store", store]) == 0
    assert capsys.readouterr().out.startswith("succeeded")  # what won stays
    assert main(["commands", "resolve", "c-8", "--actor", "ops", "--store", store]) == 1
    assert "no command" in capsys.readouterr().err


def test_resolve_asks_the_other_side_by_the_applications_service(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = tmp_path / "mail_application.py"
    module.write_text(f"""
from agentic_qt.commands.errors import EffectUnknown
from agentic_qt.commands.service import CommandService

def service():
    service = CommandService({url!r})
    async def resolve(effect):
        return "it was sent"
    @service.effect("mail.send", schema={{"type": "object", "additionalProperties": False}}, permission=None,
                    resolve=resolve)
    async def send(effect):
        raise EffectUnknown
    return service
""")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.path.insert(0, str(tmp_path))

    async def send() -> Any:
        async with import_module("mail_application").service() as service:
            return await service.submit(Command.of("mail.send", {}, command_id="m"), ANN)

    assert asyncio.run(send()).status == "unknown"
    assert main(["commands", "resolve", "m", "--actor", "ops", "--app", "mail_application:service", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == "it was sent"


def test_export_writes_the_whole_audit_as_json_lines(
    store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("agentic_qt.devtools.commands_command._PAGE", 2)
    assert main(["commands", "export", "--store", store]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["command_id"], line["event"]) for line in lines] == [
        ("c-3", "refused"),
        ("c-2", "failed"),
        ("c-1", "succeeded"),
    ]


def test_looking_makes_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--store", str(tmp_path / "none.sqlite3")], [], ["--app", "no_such_module:x"]):
        assert main(["commands", "list", *arguments]) == 1
        assert capsys.readouterr().err.startswith("agentic-qt commands: ")
    assert list(tmp_path.iterdir()) == []


def test_a_token_is_printed_once_and_kept_as_a_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tokens.json"
    for actor in ("ann", "bob"):
        assert main(["commands", "token", "--tokens", str(file), "--actor", actor, "--permission", "x"]) == 0
    first, second = capsys.readouterr().out.split()
    tokens = Tokens.load(file)
    found = [tokens(first), tokens(second)]
    assert [actor.name for actor in found if actor is not None] == ["ann", "bob"]
    assert first not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.anyio
async def test_serve_answers_until_it_is_told_to_end(tmp_path: Path, url: str) -> None:
    tokens = tmp_path / "tokens.json"
    token = "t"
    tokens.write_text(json.dumps({"tokens": [token_entry(token, "ann")]}))
    (tmp_path / "served_shop.py").write_text(
        f"from tests.support.command_kit import make_service\ndef service():\n    return make_service({url!r})\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c",
        "import os, sys; sys.path.insert(0, os.getcwd()); os.chdir(sys.argv.pop(1));"
        "from agentic_qt.cli import main; sys.exit(main(sys.argv[1:]))",
        str(tmp_path), "commands", "serve", "--app", "served_shop:service", "--tokens", str(tokens), "--port", "0",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        assert line.startswith("serving 4 types of commands at http://127.0.0.1:")
        async with CommandClient(line.split()[-1], token) as client:
            assert (await client.submit(add_entry("a"), ANN)).ok
        process.terminate()
        _, errors = await asyncio.wait_for(process.communicate(), 30)
        assert (process.returncode, errors.decode()) == (0, "")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def test_a_part_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "agentic_qt.devtools.commands_command", raising=False)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.delitem(sys.modules, "agentic_qt.commands.http", raising=False)
    assert main(["commands", "list"]) == 2
    assert "fastapi is not installed" in capsys.readouterr().err
