"""Brings a store to this version's tables, in one transaction and once, however many processes start together."""

import logging
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from sqlalchemy import Connection, Engine, inspect, text

from agentic_qt.commands.errors import CommandError

_log = logging.getLogger("agentic_qt.commands.migrate")
_LOCK = 0x61676E74  # any number that nobody else uses as an advisory lock
VERSION_TABLE = "agentic_schema"
REVISIONS = ("0001", "0002", "0003")
"""Of the scripts, the newest last: whether there is anything to do is known without them."""

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
    backup = None
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            # a serialisable snapshot would be older than the lock that it waits for
            connection = connection.execution_options(isolation_level="READ COMMITTED")  # noqa: PLW2901 - the same one
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            current = _revision(connection)
            if current not in (None, *REVISIONS):
                raise CommandError("store_too_new", f"The store has revision {current}, which this version lacks.")
            if current != REVISIONS[-1]:
                if sqlite_module is not None and inspect(connection).get_table_names():
                    backup = _back_up(sqlite_module, Path(str(engine.url.database)), REVISIONS[-1])
                _upgrade(connection)
                _log.info("The store went from revision %s to %s", current, REVISIONS[-1])
            if on_start is not None:
                on_start(connection)
    return backup


def _revision(connection: Connection) -> str | None:
    """Return the revision that Alembic wrote down last; None for a store without tables of ours."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 - a constant
    return None if found is None else str(found)


def _upgrade(connection: Connection) -> None:
    # Most starts change no table, and Alembic takes a third of what all of this layer takes to load.
    from agentic_qt.commands.upgrade import upgrade  # the lazy door

    upgrade(connection)


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
