"""The customer application for tests: a filled file of its own, its service, a window with settings of its own."""

import asyncio
import shutil

import pytest
from PySide6.QtCore import QSettings
from sqlalchemy import create_engine

from agentic_qt.commands.library import choose_library
from examples.crm import chat_model, commands, rows
from examples.crm.app import build
from examples.crm.backend import open_backend
from examples.crm.store import url_of
from examples.crm.window import CrmWindow


class Elsewhere:
    """Another program that writes to the same file, at once and by no command."""

    def __init__(self, path):
        self.engine = create_engine(url_of(path), module=choose_library().module)

    def do(self, function, *arguments):
        with self.engine.begin() as connection:
            return function(connection, *arguments)

    def update_customer(self, customer_id, changes):
        return self.do(rows.update_customer, customer_id, changes)

    def delete_customer(self, customer_id):
        return self.do(rows.delete_customer, customer_id)

    def set_order_status(self, order_id, status):
        return self.do(rows.set_order_status, order_id, status)


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "customers.db"

    async def make():
        async with commands.service(url_of(path)):
            pass

    asyncio.run(make())
    return path


@pytest.fixture
def path(tmp_path, filled):
    return shutil.copy(filled, tmp_path / "customers.db")


@pytest.fixture
def elsewhere(path):
    made = Elsewhere(path)
    yield made
    made.engine.dispose()


@pytest.fixture
def db(elsewhere):
    """A connection to the file, in a transaction that is never committed."""
    with elsewhere.engine.connect() as connection:
        yield connection


@pytest.fixture
async def backend(path, anyio_backend):
    made = await open_backend(path)
    yield made
    await made.close()


@pytest.fixture
def store(backend):
    return backend.store


@pytest.fixture
def settings(tmp_path):
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def window(qapp, backend, settings):
    made = CrmWindow(backend.store, settings, service=backend.service, actor=backend.actor)
    made.show()
    made.activateWindow()
    yield made
    made.form.show_customer(None)  # nothing unsaved keeps it open
    made.close()
    made.deleteLater()


@pytest.fixture
async def built(qapp, backend, settings, monkeypatch, anyio_backend):
    """The window with its assistant, as the application puts them together."""
    monkeypatch.setattr(chat_model, "embedded_available", lambda: False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    parts = build(backend, settings)
    parts.window.show()
    parts.window.activateWindow()
    yield parts
    parts.assistant.detach()
    parts.window.form.show_customer(None)
    parts.window.close()
    await parts.desk.close()
