"""A store for each test: a SQLite file, and a database of one PostgreSQL server where it can be started."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agentic_qt.commands.http import create_app
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.serving import serving
from tests.support.command_kit import TOKENS, Inspector, make_service
from tests.support.postgres_server import PostgresServer, missing, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for the run."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    with postgres_server() as server:
        yield server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'store.sqlite3'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty store of each kind."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("sqlite_url"))
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
async def service(url: str) -> AsyncIterator[CommandService]:
    """A started service of each kind."""
    async with make_service(url) as started:
        yield started


@pytest.fixture
async def base(service: CommandService) -> AsyncIterator[str]:
    """The address of the service over HTTP."""
    async with serving(create_app(service, TOKENS)) as address:
        yield address


@pytest.fixture
def inspector(url: str) -> Inspector:
    """Looks into the store past the service."""
    return Inspector(url)
