"""Opening a store: which library, which journal, migrations with a backup, one at a time, and clear refusals."""

import asyncio
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.library import SqliteLibrary, choose_library
from agentic_qt.commands.migrate import REVISIONS
from agentic_qt.commands.service import CommandService
from agentic_qt.commands.store import data_folder_url
from agentic_qt.commands.tables import metadata
from agentic_qt.commands.upgrade import configuration
from tests.support.command_kit import ANN, Inspector, add_entry, make_service

pytestmark = pytest.mark.anyio


def library(version: str) -> Any:
    return types.SimpleNamespace(sqlite_version=version)


@pytest.mark.parametrize(
    ("system", "bundled", "chosen", "mode"),
    [
        ("3.40.1", "3.53.4", "3.53.4", "wal"),
        ("3.51.3", "3.53.4", "3.51.3", "wal"),
        ("3.51.2", None, "3.51.2", "delete"),
        ("3.40.1", "3.51.2", "3.40.1", "delete"),
    ],
)
def test_write_ahead_logging_is_used_only_with_a_library_that_has_the_fix(
    system: str, bundled: str | None, chosen: str, mode: str
) -> None:
    found = choose_library((library(system), None if bundled is None else library(bundled)))
    assert (found.version, found.journal_mode) == (chosen, mode)


async def test_a_library_with_the_bug_works_with_a_delete_journal_and_says_so(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    here = choose_library()
    old = SqliteLibrary(module=here.module, version="3.40.1", wal_safe=False)
    async with make_service(sqlite_url, library=old) as service:
        assert service.facts.journal_mode == "delete"
        assert (await service.submit(add_entry("a"), ANN)).ok
    assert "WAL-reset bug" in caplog.text
    assert Inspector(sqlite_url).entries() == {"a": 1}


async def test_a_sqlite_store_is_opened_so_that_what_was_committed_stays(sqlite_url: str) -> None:
    async with make_service(sqlite_url) as service:

        def pragmas() -> list[Any]:
            with service.store.engine.connect() as connection:
                names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
                return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]

        mode = choose_library().journal_mode
        assert await service._io(pragmas) == [mode, 2, 1, 20000]


async def test_the_migrations_make_the_tables_of_the_code(url: str) -> None:
    async with make_service(url) as service:

        def differences() -> list[Any]:
            with service.store.engine.connect() as connection:
                context = MigrationContext.configure(
                    connection,
                    opts={
                        "compare_type": True,
                        "include_name": lambda name, kind, _: kind != "table" or str(name).startswith("agentic_"),
                        "include_object": lambda thing, name, *_: name != "agentic_schema",
                    },
                )
                return list(compare_metadata(context, metadata))

        assert await service._io(differences) == []


def test_the_revisions_that_are_known_are_those_of_the_scripts() -> None:
    scripts = ScriptDirectory.from_config(configuration())
    assert tuple(reversed([script.revision for script in scripts.walk_revisions()])) == REVISIONS


async def test_a_store_of_this_version_is_opened_without_loading_alembic(sqlite_url: str) -> None:
    async with make_service(sqlite_url):
        pass
    code = """
import asyncio, sys
from agentic_qt.commands.service import CommandService
async def main():
    async with CommandService(sys.argv[1]) as service:
        assert (await service.status("a")).status == "not_found"
asyncio.run(main())
assert "alembic" not in sys.modules
"""
    ran = await asyncio.create_subprocess_exec(sys.executable, "-c", code, sqlite_url)
    assert await asyncio.wait_for(ran.wait(), 60) == 0


async def test_a_store_that_had_tables_is_backed_up_before_it_is_migrated(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite3"
    url = f"sqlite:///{file}"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE old (n INTEGER)")
        connection.exec_driver_sql("INSERT INTO old VALUES (7)")
    engine.dispose()
    async with make_service(url) as service:
        backup = service.store.backup
    assert backup is not None
    assert backup.parent == tmp_path
    assert Inspector(f"sqlite:///{backup}").rows("SELECT name FROM sqlite_master") == [("old",)]
    assert Inspector(f"sqlite:///{backup}").rows("SELECT n FROM old") == [(7,)]
    async with make_service(url) as service:
        assert service.store.backup is None  # nothing to do, nothing to back up
    assert sorted(os.listdir(tmp_path)) == ["shop.sqlite3", backup.name]  # noqa: PTH208 - in an async test


async def test_a_new_store_needs_no_backup(sqlite_url: str, tmp_path: Path) -> None:
    async with make_service(sqlite_url) as service:
        assert service.store.backup is None


async def test_services_that_start_together_migrate_once(url: str) -> None:
    services = [make_service(url) for _ in range(6)]
    await asyncio.gather(*(service.start() for service in services))
    results = await asyncio.gather(*(service.submit(add_entry("a"), ANN) for service in services))
    assert len({result.encode() for result in results}) == 1
    await asyncio.gather(*(service.close() for service in services))
    assert Inspector(url).entries() == {"a": 1}


async def test_a_migration_that_fails_leaves_the_store_as_it_was(url: str) -> None:
    def fail(_connection: Any) -> None:
        raise RuntimeError("the application's tables")

    with pytest.raises(RuntimeError):
        await make_service(url, on_start=fail).start()
    async with make_service(url) as service:
        assert (await service.submit(add_entry("a"), ANN)).ok


async def test_a_store_of_a_newer_version_is_left_alone(url: str) -> None:
    async with make_service(url):
        pass
    Inspector(url).change("UPDATE agentic_schema SET version_num = '9999'")
    with pytest.raises(CommandError, match="store_too_new"):
        await make_service(url).start()


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://localhost/x", "nonsense", "postgresql+asyncpg://localhost/x"]
)
def test_a_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(CommandError, match="store_unusable"):
        CommandService(url)


@pytest.mark.parametrize("url", ["sqlite:////nowhere/at/all.sqlite3", "postgresql://127.0.0.1:1/x"])
async def test_a_store_that_cannot_be_reached_is_said_to_be_unusable_without_details(url: str) -> None:
    with pytest.raises(CommandError, match="store_unusable") as refused:
        await CommandService(url).start()
    assert "nowhere" not in str(refused.value)


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_file_that_was_taken_away_takes_nothing_more(
    sqlite_url: str, tmp_path: Path, *, replaced: bool
) -> None:
    """SQLite would go on writing into the deleted file: a success that nobody finds again."""
    async with make_service(sqlite_url) as service:
        assert (await service.submit(add_entry("a"), ANN)).ok
        (tmp_path / "store.sqlite3").rename(tmp_path / "moved.sqlite3")
        if replaced:
            async with make_service(sqlite_url):
                pass
        result = await service.submit(add_entry("b"), ANN)
        assert (result.status, result.code) == ("refused", "store_error")
        assert (await service.status("a", ANN)).code == "store_error"
        if not replaced:
            (tmp_path / "moved.sqlite3").rename(tmp_path / "store.sqlite3")
            assert (await service.submit(add_entry("b"), ANN)).ok
    assert Inspector(sqlite_url).entries() == ({} if replaced else {"a": 1, "b": 1})


async def test_starting_twice_at_once_starts_once(sqlite_url: str) -> None:
    service = make_service(sqlite_url)
    first, second = await asyncio.gather(service.start(), service.start())
    assert first == second
    assert (await service.submit(add_entry("a"), ANN)).ok
    await service.close()


def test_the_data_folder_is_the_applications_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert data_folder_url("shop") == f"sqlite:///{tmp_path / 'shop' / 'commands.sqlite3'}"
    assert (tmp_path / "shop").is_dir()
