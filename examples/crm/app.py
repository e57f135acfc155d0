"""The command line of the customer application, and how its parts are put together."""

import argparse
import os
import sqlite3
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from platformdirs import user_data_path
from PySide6.QtCore import QMessageLogContext, QSettings, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from agentic_qt.core.registry import Registry
from agentic_qt.qt.expose import expose
from agentic_qt.qt.forms.exposing import expose_forms
from agentic_qt.qt.loop import on_shutdown, run
from agentic_qt.ui.assistant import Assistant
from examples.crm.capabilities import capabilities
from examples.crm.chat_model import Chosen, NoModelNameError, choose_chat_model, with_model_name
from examples.crm.dialogs import tell
from examples.crm.domain import Store
from examples.crm.headless import FAILED, Errand, run_errand
from examples.crm.prompts import INSTRUCTIONS, SUGGESTED
from examples.crm.sample_data import open_store
from examples.crm.window import CrmWindow

_NAME = "agentic-qt-crm"
_DATABASE = "AGENTIC_QT_CRM_DB"


def main(arguments: Sequence[str]) -> int:
    """Run the application; returns its exit code."""
    options = _parser().parse_args(arguments)
    if options.headless is not None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        qInstallMessageHandler(_without_window_manager)
    app = QApplication(["crm"])
    app.setApplicationName(_NAME)
    app.setApplicationDisplayName("Customers")
    path = options.db or Path(os.environ.get(_DATABASE) or user_data_path(_NAME) / "customers.db")
    try:
        store = open_store(path)
    except (OSError, sqlite3.Error) as error:
        print(f"error: {path} cannot be opened: {error}", file=sys.stderr)
        return FAILED
    try:
        if options.headless is None:
            return run(lambda: _show(store, options.theme))
        errand = Errand(
            request=options.headless,
            approve=options.approve,
            screenshot=options.screenshot,
            approval_screenshot=options.approval_screenshot,
            report=options.json,
        )
        return run(lambda: _carry_out(errand, store, options.theme))
    finally:
        store.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="crm", description="A customer application with an assistant.")
    parser.add_argument("--db", type=Path, help=f"the SQLite file (default: {_DATABASE}, or the user's data folder)")
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


def build(
    store: Store, settings: QSettings, environment: Mapping[str, str] = os.environ
) -> tuple[CrmWindow, Assistant, Chosen]:
    """Return the window with its assistant attached, not shown yet."""
    window = CrmWindow(store, settings)
    registry = Registry()
    chosen = choose_chat_model(registry, environment)
    assistant = Assistant.attach(
        window,
        registry=registry,
        chat_model=chosen.chat_model,
        badge=chosen.badge,
        instructions=INSTRUCTIONS,
        suggestions=SUGGESTED,
    )
    declare(window)
    return window, assistant, chosen


def declare(window: CrmWindow) -> None:
    """Let the assistant of `window` use what `capabilities` declares, for as long as the window can be used."""
    for declared in capabilities(window):
        expose(
            window,
            declared.handler,
            name=declared.name,
            title=declared.title,
            description=declared.description,
            schema=declared.input_schema,
            risk=declared.risk,
            preview=declared.preview,
            examples=declared.examples,
            undoable=declared.undoable,
        )
    expose_forms(window)  # the dialog for a new order declares itself by its properties


async def _show(store: Store, theme: str | None) -> None:
    problem = ""
    environment: Mapping[str, str] = os.environ
    try:
        environment = await with_model_name()
    except NoModelNameError as error:
        problem = str(error)
        print(f"error: {problem}", file=sys.stderr)
    window, assistant, chosen = build(store, QSettings(_NAME, _NAME), environment)
    on_shutdown(chosen.chat_model.aclose)
    if theme is not None:
        window.show_theme(theme)
    window.show()
    if problem:
        assistant.chat_model = None
        tell(window, "The assistant has no chat model.", problem)


async def _carry_out(errand: Errand, store: Store, theme: str | None) -> int:
    # A picture of a headless run does not depend on how the person left the window, nor the other way round.
    with tempfile.TemporaryDirectory() as folder:
        settings = QSettings(str(Path(folder) / "window.ini"), QSettings.Format.IniFormat)
        try:
            window, assistant, chosen = build(store, settings, await with_model_name())
        except NoModelNameError as error:
            print(f"error: {error}", file=sys.stderr)
            return FAILED
        agent = assistant.agent
        assert agent is not None  # noqa: S101 - there is one as soon as there is a chat model
        window.show_theme(theme or "light")
        window.show()
        try:
            return await run_errand(
                errand,
                window=window,
                assistant=assistant,
                agent=agent,
                chosen=chosen,
                say=_say,
            )
        except OSError as error:
            print(f"error: {error}", file=sys.stderr)
            return FAILED
        finally:
            await chosen.chat_model.aclose()
            window.close()


def _without_window_manager(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    """Print what Qt has to say, but not that nobody takes size hints, which offscreen it says of every dialog."""
    if kind != QtMsgType.QtDebugMsg and "propagateSizeHints" not in text:
        print(text, file=sys.stderr)


def _say(line: str) -> None:
    print(line, flush=True)
