"""Brings a store to this version's tables, in one transaction and once, however many processes start together."""

import logging
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text

from agentic_qt.commands.errors import CommandError

_log = logging.getLogger("agentic_qt.commands.migrate")
_LOCK = 0x61676E74  # any number that nobody else uses as an advisory lock
VERSION_TABLE = "agentic_schema"

OnStart = Callable[[Connection], None]
"""Makes the application's own tables in the same transaction; runs at every start."""


def migrate(engine: Engine, *, sqlite_module: ModuleType | None, on_start: OnStart | None) -> Path | None:
    """Upgrade the tables and return where a SQLite file was backed up, if it had to be.

    Args:
        engine: Of the store.
        sqlite_module: The DBAPI module to make the backup with; None for other databases.
        on_start: The application's own part.

    Raises:
        CommandError: The store was written by a newer version; code ``store_too_new``.
    """
    config = _config()
    scripts = ScriptDirectory.from_config(config)
    head = scripts.get_current_head()
    backup = None
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            # a serialisable snapshot would be older than the lock that it waits for
            connection = connection.execution_options(isolation_level="READ COMMITTED")  # noqa: PLW2901 - the same one
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
            current = context.get_current_revision()
            if current is not None and current not in {script.revision for script in scripts.walk_revisions()}:
                raise CommandError("store_too_new", f"The store has revision {current}, which this version lacks.")
            if current != head:
                if sqlite_module is not None and inspect(connection).get_table_names():
                    backup = _back_up(sqlite_module, Path(str(engine.url.database)), str(head))
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
                _log.info("The store went from revision %s to %s", current, head)
            if on_start is not None:
                on_start(connection)
    return backup


def _config() -> Config:
    config = Config()
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    return config


def _back_up(module: ModuleType, file: Path, head: str) -> Path:
    """Copy a database that others may be reading; the caller's transaction keeps writers out."""
    copy = file.with_name(f"{file.name}.before-{head}")
    unfinished = copy.with_name(copy.name + ".part")
    unfinished.unlink(missing_ok=True)
    source, target = module.connect(str(file)), module.connect(str(unfinished))
    try:
        source.backup(target)
    finally:
        target.close()
        source.close()
    unfinished.replace(copy)
    _log.info("The store was backed up to %s", copy.name)
    return copy
