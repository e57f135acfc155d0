"""The customer application under evaluation: a file and settings of its own for each task."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from agentic_qt.commands.desk import CommandDesk
from agentic_qt.commands.values import Command, Version
from agentic_qt.core.registry import Registry
from agentic_qt.ui.theme import current_theme
from examples.crm.app import declare
from examples.crm.backend import Backend, open_backend
from examples.crm.domain import CUSTOMER_COLUMNS
from examples.crm.prompts import INSTRUCTIONS
from examples.crm.window import CrmWindow

_UNSAID = "version"  # counts changes, and says nothing about them


class CrmStage:
    """One window on a fresh file."""

    instructions = INSTRUCTIONS

    def __init__(self, backend: Backend, folder: Path, registry: Registry) -> None:
        self.backend = backend
        self.store = backend.store
        settings = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
        self.window = CrmWindow(self.store, settings, service=backend.service, actor=backend.actor)
        self.desk = CommandDesk(registry, backend.service, actor_of=lambda _name: backend.actor)
        declare(self.window, self.desk)

    def records(self) -> dict[str, dict[str, Any]]:
        """Return every row of the file: ``customers/1``, ``orders/1001``."""
        rows = {f"customers/{row.id}": asdict(row) for row in self.store.customers()}
        rows |= {f"orders/{row.id}": asdict(row) for row in self.store.orders()}
        return {
            key: {name: value for name, value in row.items() if name not in ("id", _UNSAID)}
            for key, row in rows.items()
        }

    def view(self) -> dict[str, Any]:
        """Return filter, sorting, selection and theme."""
        window = self.window
        header = window.list.table.horizontalHeader()
        shown = window.form.customer
        app = QApplication.instance()
        return {
            "search": window.list.search.text(),
            "status": window.list.status.currentData(),
            "shown": window.list.proxy.rowCount(),
            "sort": [CUSTOMER_COLUMNS[header.sortIndicatorSection()], header.sortIndicatorOrder().name],
            "customer": None if shown is None else shown.id,
            "tab": "orders" if window.detail.tabs.currentWidget() is window.detail.orders else "details",
            "theme": current_theme(app) if isinstance(app, QApplication) else "system",
        }

    async def change(self, type_: str, input_: Mapping[str, Any], version: Version) -> None:
        """Change the file as a task's set-up says."""
        service = self.backend.service
        command = Command.of(type_, input_, command_id=service.new_id(), expected_version=version)
        result = await service.submit(command, self.backend.actor)
        if not result.ok:
            raise ValueError(f"{type_} {dict(input_)}: {result.hint}")

    async def close(self) -> None:
        """Close the file."""
        await self.desk.close()
        await self.backend.close()


async def open_stage(folder: Path, setup: Mapping[str, Any], registry: Registry) -> CrmStage:
    """Return a fresh window.

    Args:
        folder: Where the file goes.
        setup: ``customers`` (fields by id), ``orders`` (status by number), ``search``, ``status`` (the filter),
            ``customer`` (the id of the one that is open) and ``theme``.
        registry: Of the window's assistant.

    Raises:
        ValueError: The set-up holds something else.
    """
    unknown = setup.keys() - {"customers", "orders", "search", "status", "customer", "theme"}
    if unknown:
        raise ValueError(f"the customer application knows no {', '.join(sorted(unknown))}")
    stage = CrmStage(await open_backend(folder / "customers.db"), folder, registry)
    for number, changes in setup.get("customers", {}).items():
        version = stage.store.customer(int(number)).version
        await stage.change("customer.update", {"id": int(number), "changes": changes}, version)
    for number, status in setup.get("orders", {}).items():
        version = stage.store.order(int(number)).version
        await stage.change("order.set_status", {"id": int(number), "status": status}, version)
    stage.window.refresh()
    stage.window.show_filter(text=setup.get("search"), status=setup.get("status"))
    if "customer" in setup:
        stage.window.show_customer(setup["customer"])
    if "theme" in setup:
        stage.window.show_theme(setup["theme"])
    return stage
