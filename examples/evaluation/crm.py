"""The customer application under evaluation: a file and settings of its own for each task."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from agentic_qt.ui.theme import current_theme
from examples.crm.app import declare
from examples.crm.domain import CUSTOMER_COLUMNS
from examples.crm.prompts import INSTRUCTIONS
from examples.crm.sample_data import open_store
from examples.crm.window import CrmWindow

_UNSAID = "version"  # counts changes, and says nothing about them


class CrmStage:
    """One window on a fresh file."""

    instructions = INSTRUCTIONS

    def __init__(self, folder: Path) -> None:
        self.store = open_store(folder / "customers.db")
        settings = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
        self.window = CrmWindow(self.store, settings)
        declare(self.window)

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

    def close(self) -> None:
        """Close the file."""
        self.store.close()


def open_stage(folder: Path, setup: Mapping[str, Any]) -> CrmStage:
    """Return a fresh window.

    Args:
        folder: Where the file goes.
        setup: ``customers`` (fields by id), ``orders`` (status by number), ``search``, ``status`` (the filter),
            ``customer`` (the id of the one that is open) and ``theme``.

    Raises:
        ValueError: The set-up holds something else.
    """
    unknown = setup.keys() - {"customers", "orders", "search", "status", "customer", "theme"}
    if unknown:
        raise ValueError(f"the customer application knows no {', '.join(sorted(unknown))}")
    stage = CrmStage(folder)
    for number, changes in setup.get("customers", {}).items():
        stage.store.update_customer(int(number), changes, version=stage.store.customer(int(number)).version)
    for number, status in setup.get("orders", {}).items():
        stage.store.set_order_status(int(number), status, expected=stage.store.order(int(number)).status)
    stage.window.refresh()
    stage.window.show_filter(text=setup.get("search"), status=setup.get("status"))
    if "customer" in setup:
        stage.window.show_customer(setup["customer"])
    if "theme" in setup:
        stage.window.show_theme(setup["theme"])
    return stage
