"""The command line of the customer application, and how its parts are put together."""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path
from PySide6.QtCore import QMessageLogContext, QSettings, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from agentic_qt.commands.desk import CommandDesk
from agentic_qt.core.registry import Registry
from agentic_qt.qt.expose import expose_capability
from agentic_qt.qt.forms.exposing import expose_forms
from agentic_qt.qt.loop import on_shutdown, run, spawn
from agentic_qt.ui.assistant import Assistant
from examples.crm.backend import Backend, BackendError, open_backend, open_remote
from examples.crm.capabilities import capabilities
from examples.crm.chat_model import Chosen, NoModelNameError, choose_chat_model, with_model_name
from examples.crm.commands import DATABASE, NAME, database_file
from examples.crm.dialogs import tell
from examples.crm.headless import FAILED, Errand, run_errand
from examples.crm.prompts import INSTRUCTIONS, SUGGESTED
from examples.crm.window import CrmWindow

TOKEN = "AGENTIC_QT_CRM_TOKEN"  # noqa: S105 - the variable's name


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The window and what belongs to it."""

    window: CrmWindow
    assistant: Assistant
    chosen: Chosen
    desk: CommandDesk


def main(arguments: Sequence[str]) -> int:
    """Run the application; returns its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.service and not os.environ.get(TOKEN):
        parser.error(f"--service needs a token in the environment variable {TOKEN}")
    if options.headless is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        qInstallMessageHandler(_without_window_manager)
    app = QApplication(["crm"])
    app.setApplicationName(NAME)
    app.setApplicationDisplayName("Customers")
    if options.headless is None:
        return run(lambda: _show(options))
    errand = Errand(
        request=options.headless,
        approve=options.approve,
        screenshot=options.screenshot,
        approval_screenshot=options.approval_screenshot,
        report=options.json,
    )
    return run(lambda: _carry_out(errand, options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="crm", description="A customer application with an assistant.")
    parser.add_argument("--db", type=Path, help=f"the SQLite file (default: {DATABASE}, or the user's data folder)")
    parser.add_argument(
        "--service",
        metavar="URL",
        default="",
        help=f"submit all changes to a service of commands on the same file; its token is read from {TOKEN}",
    )
    parser.add_argument("--theme", choices=("system", "light", "dark"), help="how it looks (default: as last time)")
    headless = parser.add_argument_group("one request without a window")
    headless.add_argument("--headless", metavar="REQUEST", help="carry out REQUEST and leave: 0 done, 3 nothing done")
    headless.add_argument(
        "--approve",
        choices=("ask", "all", "none"),
        default="ask",
        help="who answers approvals: the person at the terminal (default), always yes, or always no",
    )
    headless.add_argument("--screenshot", type=Path, metavar="PNG", help="put a picture of the window there")
    headless.add_argument(
        "--approval-screenshot", type=Path, metavar="PNG", help="put a picture of the first approval that waits there"
    )
    headless.add_argument("--json", type=Path, metavar="FILE", help="put a report of everything there")
    return parser


async def _open(options: argparse.Namespace) -> Backend:
    path = options.db or database_file()
    if not options.service:
        return await open_backend(path)
    return await open_remote(
        path, options.service, os.environ.get(TOKEN, ""), own=user_data_path(NAME) / "assistant.db"
    )


def build(backend: Backend, settings: QSettings, environment: Mapping[str, str] = os.environ) -> Parts:
    """Return the window with its assistant attached, not shown yet."""
    actor = backend.actor
    window = CrmWindow(backend.store, settings, service=backend.service, actor=actor)
    registry = Registry(journal=backend.own.journal)
    desk = CommandDesk(
        registry,
        backend.service,
        actor_of=lambda name: actor if name == actor.name else None,
        proposals=backend.own.proposals,
    )
    chosen = choose_chat_model(registry, environment)
    assistant = Assistant.attach(
        window,
        registry=registry,
        chat_model=chosen.chat_model,
        badge=chosen.badge,
        actor=actor.name,
        instructions=INSTRUCTIONS,
        suggestions=SUGGESTED,
        desk=desk,
        settings=settings,
    )
    declare(window, desk)
    return Parts(window=window, assistant=assistant, chosen=chosen, desk=desk)


def declare(window: CrmWindow, desk: CommandDesk) -> None:
    """Let the assistant of `window` use what `capabilities` declares, for as long as the window can be used."""
    for declared in capabilities(window, desk):
        expose_capability(window, declared)
    expose_forms(window)  # the dialog for a new order declares itself by its properties


async def _show(options: argparse.Namespace) -> int | None:
    problem = ""
    environment: Mapping[str, str] = os.environ
    try:
        backend = await _open(options)
    except BackendError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    on_shutdown(backend.close)
    try:
        environment = await with_model_name()
    except NoModelNameError as error:
        problem = str(error)
        print(f"error: {problem}", file=sys.stderr)
    parts = build(backend, QSettings(NAME, NAME), environment)
    on_shutdown(parts.desk.close)
    on_shutdown(parts.chosen.chat_model.aclose)
    if options.theme is not None:
        parts.window.show_theme(options.theme)
    parts.window.show()
    if backend.url:
        spawn(_tell_trouble(backend, parts.window), name="crm: look for the service")
    if problem:
        parts.assistant.chat_model = None
        tell(parts.window, "The assistant has no chat model.", problem)
    return None


async def _tell_trouble(backend: Backend, window: CrmWindow) -> None:
    window.show_trouble(await backend.trouble())


async def _carry_out(errand: Errand, options: argparse.Namespace) -> int:
    async with AsyncExitStack() as ending:
        try:
            backend = await _open(options)
            ending.push_async_callback(backend.close)
            # A picture of a headless run does not depend on how the person left the window, nor the other way round.
            folder = Path(ending.enter_context(tempfile.TemporaryDirectory()))
            settings = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
            parts = build(backend, settings, await with_model_name())
            ending.push_async_callback(parts.desk.close)
            ending.callback(parts.window.close)
            ending.push_async_callback(parts.chosen.chat_model.aclose)
            agent = parts.assistant.agent
            assert agent is not None  # noqa: S101 - there is one as soon as there is a chat model
            parts.window.show_theme(options.theme or "light")
            parts.window.show()
            return await run_errand(
                errand,
                window=parts.window,
                assistant=parts.assistant,
                agent=agent,
                chosen=parts.chosen,
                say=_say,
            )
        except (BackendError, NoModelNameError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return FAILED


def _without_window_manager(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    """Print what Qt has to say, but not that nobody takes size hints, which offscreen it says of every dialog."""
    if kind != QtMsgType.QtDebugMsg and "propagateSizeHints" not in text:
        print(text, file=sys.stderr)


def _say(line: str) -> None:
    print(line, flush=True)
