"""``agentic-qt commands``: list, show, resolve and export what a store of commands holds; serve it over HTTP.

It needs the extra ``commands``.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.http import LOOPBACK, create_app
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.serving import serving
from agentic_qt.commands.states import CommandState
from agentic_qt.commands.tokens import Tokens, new_token, token_entry
from agentic_qt.commands.values import OPERATE, Actor, AuditEntry, CommandRecord, CommandResult, CommandStatus
from agentic_qt.commands.wire import encode_record

DONE, FAILED = 0, 1
_STATES: Final = ("executing", "succeeded", "failed", "unknown")
_PAGE: Final = 500


class _Refused(Exception):  # noqa: N818 - an answer
    """Ends the command with a word for the operator."""


def main(arguments: Sequence[str]) -> int:
    """Run one action; 0 when it was done, 1 when it could not be; argparse leaves with 2 on wrong usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.action == "resolve" and (options.happened is None) != (options.note is None):
        parser.error("--happened and --not-happened go with --note, and --note with one of them")
    try:
        if options.action == "token":
            return _token(options)
        return asyncio.run(_ACTIONS[options.action](options))
    except (_Refused, CommandError, OSError) as error:
        print(f"agentic-qt commands: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return DONE


async def _list(options: argparse.Namespace) -> int:
    state = None if options.state is None else CommandState(options.state)
    async with _store(options) as service:
        records = await service.records(state=state, type_=options.type, limit=options.limit)
    if options.json:
        print(json.dumps([_as_data(record) for record in records], ensure_ascii=True))
        return DONE
    for record in records:
        command = record.command
        code = "" if record.result is None else record.result.code
        words = (record.state.value, command.type, command.target or "", record.actor, code, command.command_id)
        print(_time(record.created_at), "  ".join(f"{_shown(word):12}" for word in words).rstrip())
    return DONE


async def _show(options: argparse.Namespace) -> int:
    async with _store(options) as service:
        record = await service.find(options.command_id)
        entries = await service.history(command_id=options.command_id)
    if record is None and not entries:
        raise _Refused(f"there is no command {_shown(options.command_id)}")
    audit = [asdict(entry) for entry in reversed(entries)]
    if options.json:
        print(json.dumps({"command": record and _as_data(record), "audit": audit}, ensure_ascii=True))
        return DONE
    if record is not None:
        for name, value in _rows(record):
            print(f"{name:17} {_shown(value)}")
    for entry in reversed(entries):
        print(_time(entry.at), _audit_line(entry))
    return DONE


async def _resolve(options: argparse.Namespace) -> int:
    operator = Actor(name=options.actor, permissions=frozenset({OPERATE}))
    async with _store(options) as service:
        record = await service.find(options.command_id)
        if record is None and not options.abandon:
            raise _Refused(f"there is no command {_shown(options.command_id)}")
        if options.happened is not None:
            result = await service.settle(options.command_id, operator, happened=options.happened, note=options.note)
        else:
            ask = service.abandon if options.abandon else service.resolve
            result = await ask(options.command_id, operator)
    _tell(result, as_json=options.json)
    return DONE if result.status in (CommandStatus.SUCCEEDED, CommandStatus.FAILED) else FAILED


async def _export(options: argparse.Namespace) -> int:
    async with _store(options) as service:
        before: int | None = None
        while True:
            entries = await service.history(type_=options.type, actor=options.actor, before=before, limit=_PAGE)
            for entry in entries:
                print(json.dumps(asdict(entry), ensure_ascii=True))
            if len(entries) < _PAGE:
                return DONE
            before = entries[-1].entry_id


async def _serve(options: argparse.Namespace) -> int:
    tokens = Tokens.load(Path(options.tokens))
    stop = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # Windows: Ctrl+C only
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with _application(options.app) as service:
        app = create_app(service, tokens, hosts=(*LOOPBACK, *options.allow_host))
        async with serving(app, host=options.host, port=options.port) as url:
            print(f"serving {len(service.types)} types of commands at {url}", flush=True)
            await stop.wait()
    return DONE


def _token(options: argparse.Namespace) -> int:
    path = Path(options.tokens)
    entries: list[Any] = []
    if path.exists():
        Tokens.load(path)
        entries = json.loads(path.read_text(encoding="utf-8"))["tokens"]
    token = new_token()
    entries.append(token_entry(token, options.actor, options.permission))
    _replace(path, json.dumps({"tokens": entries}, indent=2) + "\n")
    print(token)
    return DONE


def _replace(path: Path, text: str) -> None:
    """Write a file that only its owner reads, whole or not at all."""
    unfinished = path.with_name(path.name + ".part")
    with contextlib.suppress(FileNotFoundError):
        unfinished.unlink()
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    unfinished.replace(path)


@contextlib.asynccontextmanager
async def _store(options: argparse.Namespace) -> AsyncIterator[CommandService]:
    """Open a store that is there already; an application's service where its types are needed."""
    if options.app:
        async with _application(options.app) as service:
            yield service
        return
    async with CommandService(_url(options.store)) as service:
        yield service


def _url(store: str | None) -> str:
    """Return the URL of a store; a file must be there: none is made by looking."""
    if not store:
        raise _Refused("say which store, with --store or --app")
    url = store if "://" in store else f"sqlite:///{store}"
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).is_file():
        raise _Refused(f"there is no store {_shown(store)}")
    return url


@contextlib.asynccontextmanager
async def _application(name: str) -> AsyncIterator[CommandService]:
    """Start the service that ``MODULE:FACTORY`` returns; modules of the current folder are found too."""
    module, _, factory = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        service = getattr(import_module(module), factory)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise _Refused(f"{_shown(name)} cannot be used: {error}") from error
    if not isinstance(service, CommandService):
        raise _Refused(f"{_shown(name)} returned no CommandService")
    async with service:
        yield service


def _tell(result: CommandResult, *, as_json: bool) -> None:
    if as_json:
        print(result.encode().decode())
    else:
        print(" ".join(filter(None, (result.status.value, _shown(result.code), _shown(result.hint)))))


def _rows(record: CommandRecord) -> Iterable[tuple[str, str]]:
    command, result = record.command, record.result
    yield "command", command.command_id
    yield "state", record.state.value
    yield "type", command.type
    yield "target", command.target or "-"
    yield "input", command.input.decode()
    yield "expected version", "-" if command.expected_version is None else str(command.expected_version)
    yield "actor", record.actor
    yield "approved by", command.approved_by or "-"
    yield "digest", command.digest
    if result is not None:
        yield "code", result.code or "-"
        yield "data", json.dumps(result.data)


def _audit_line(entry: AuditEntry) -> str:
    words = (entry.event, entry.actor, entry.code)
    return " ".join(_shown(word) for word in words if word)


def _as_data(record: CommandRecord) -> Mapping[str, Any]:
    data: dict[str, Any] = json.loads(encode_record(record))
    return data


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _shown(text: str) -> str:
    """Return a text that cannot steer the terminal: it may come from a model."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentic-qt commands", description=(__doc__ or "").partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    listing = _add(actions, "list", "the newest commands")
    listing.add_argument("--state", choices=_STATES, help="only those in this state")
    listing.add_argument("--type", help="only those of this type")
    listing.add_argument("--limit", type=_positive, default=50, help="at most so many (50)")

    show = _add(actions, "show", "one command with its result and its audit")
    show.add_argument("command_id", metavar="ID")

    resolve = _add(actions, "resolve", "find out what became of an unknown command, or close it")
    resolve.add_argument("command_id", metavar="ID")
    resolve.add_argument("--actor", required=True, help="who you are, for the audit")
    resolve.add_argument("--note", help="how you know that it happened, or did not; kept in the audit")
    end = resolve.add_mutually_exclusive_group()
    end.add_argument("--abandon", action="store_true", help="close it so that it cannot take effect any more")
    end.add_argument("--happened", action="store_true", default=None, help="state that the effect took place")
    end.add_argument("--not-happened", dest="happened", action="store_false", help="state that it did not")

    export = _add(actions, "export", "the audit as JSON lines, the newest first")
    export.add_argument("--type", help="only of commands of this type")
    export.add_argument("--actor", help="only of this actor")

    serve = actions.add_parser("serve", help="an application's commands over HTTP, until interrupted")
    serve.add_argument("--app", required=True, metavar="MODULE:FACTORY", help="returns the service, not yet started")
    serve.add_argument("--tokens", required=True, metavar="FILE", help="who may ask; see the action token")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1); tokens travel as text")
    serve.add_argument("--port", type=int, default=8765, help="port to listen on (8765); 0: any free one")
    serve.add_argument("--allow-host", action="append", default=[], help="a Host header to accept; may be repeated")

    token = actions.add_parser("token", help="make a token for an actor, print it once and keep its hash")
    token.add_argument("--tokens", required=True, metavar="FILE", help="the file to add it to; made if missing")
    token.add_argument("--actor", required=True, help="who the token stands for")
    token.add_argument("--permission", action="append", default=[], help="what it may do; may be repeated")
    return parser


def _add(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, purpose: str
) -> argparse.ArgumentParser:
    action = actions.add_parser(name, help=purpose)
    action.add_argument("--store", help="a SQLite file, sqlite:///FILE or postgresql://HOST/NAME")
    action.add_argument("--app", metavar="MODULE:FACTORY", help="the application's own service, instead of --store")
    action.add_argument("--json", action="store_true", help="print JSON")
    return action


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_ACTIONS: Final[Mapping[str, Callable[[argparse.Namespace], Coroutine[Any, Any, int]]]] = {
    "list": _list,
    "show": _show,
    "resolve": _resolve,
    "export": _export,
    "serve": _serve,
}
