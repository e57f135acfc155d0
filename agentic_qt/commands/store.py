"""One database: how it is opened, so that what was committed stays, and what its errors mean.

Everything here runs in the service's I/O thread. SQLite: WAL (or DELETE), synchronous=FULL, foreign keys, a busy
time-out, BEGIN IMMEDIATE. PostgreSQL: psycopg 3, SERIALIZABLE, a lock time-out.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import platformdirs
from sqlalchemy import Connection, Dialect, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from agentic_qt.commands import lending
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.library import SqliteLibrary, choose_library
from agentic_qt.commands.migrate import OnStart, migrate

_log = logging.getLogger("agentic_qt.commands.store")
_READ = "agentic_qt_read"


class Trouble(StrEnum):
    """What an error of the database means for the transaction that it ended."""

    LOCKED = "locked"  # somebody else is at work; nothing was done
    AGAIN = "again"  # collided with another transaction; run the whole again at once
    LOST = "lost"  # the connection is gone
    RULE = "rule"  # a constraint of the tables refused the data
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreFacts:
    """What a store runs on, for logs and health checks.

    Args:
        dialect: ``sqlite`` or ``postgresql``.
        library: The SQLite library's or the server's version.
        journal_mode: ``wal`` or ``delete`` for SQLite; empty otherwise.
    """

    dialect: str
    library: str
    journal_mode: str = ""


def data_folder_url(application: str) -> str:
    """Return the URL of a SQLite file in the application's own data folder, which is made if missing."""
    folder = platformdirs.user_data_path(application, appauthor=False)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return f"sqlite:///{folder / 'commands.sqlite3'}"


class StoreGoneError(SQLAlchemyError):
    """The file was deleted or replaced while it was open: what is written into it now, nobody would find again."""


class Store:
    """A database file or server.

    Args:
        url: ``sqlite:///file`` or ``postgresql://user@host/name``.
        busy_timeout: Seconds to wait for another writer.
        library: The SQLite library; None chooses.

    Raises:
        CommandError: The URL cannot be used; code ``store_unusable``.
    """

    def __init__(self, url: str, *, busy_timeout: float = 10.0, library: SqliteLibrary | None = None) -> None:
        self._busy_ms = int(busy_timeout * 1000)
        self._library: SqliteLibrary | None = None
        self.backup: Path | None = None
        self._file: tuple[Path, int, int] | None = None  # with its device and number, as it was opened
        self.engine = self._sqlite(url, library) if url.startswith("sqlite:") else self._postgresql(url)
        lending.watch(self.engine)
        _use_plain_savepoints(self.engine.dialect)

    @property
    def is_sqlite(self) -> bool:
        """Whether the store is a SQLite file."""
        return self._library is not None

    def open(self, on_start: OnStart | None = None) -> StoreFacts:
        """Migrate the store and return what it runs on.

        Raises:
            CommandError: It cannot be opened, or is newer than this program.
        """
        try:
            module = None if self._library is None else self._library.module
            self.backup = migrate(self.engine, sqlite_module=module, on_start=on_start)
            facts = self._facts()
            self._remember_file()
        except (SQLAlchemyError, OSError) as error:
            _log.exception("The store cannot be opened")
            raise CommandError("store_unusable", "The store of commands cannot be opened; see the log.") from error
        if self._library is not None and not self._library.wal_safe:
            _log.warning("SQLite %s has the WAL-reset bug: DELETE journal instead of WAL (slower)", facts.library)
        _log.info("Store of commands: %s %s %s", facts.dialect, facts.library, facts.journal_mode)
        return facts

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection whose transaction may write; the caller commits, and anything left is rolled back."""
        self._check_file()
        with self.engine.connect() as connection:
            connection.begin()
            yield connection

    def commit(self, connection: Connection) -> None:
        """Commit what `write` began; after a failure nothing of it stays in the connection.

        SQLAlchemy takes a failed commit for the end of the transaction and hands the connection back as it is, but
        SQLite keeps the transaction open after a deferred constraint or a full disk: a later commit would store it.
        """
        try:
            connection.commit()
        except BaseException:
            connection.invalidate()
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection whose transaction only reads and waits for no writer."""
        self._check_file()
        with self.engine.connect() as connection:
            yield connection.execution_options(**{_READ: True})

    def trouble(self, error: Exception) -> Trouble:
        """Return what an error means for its transaction, which is over in any case."""
        if not isinstance(error, DBAPIError):
            return Trouble.OTHER
        if error.connection_invalidated:
            return Trouble.LOST
        if isinstance(error, DataError):  # refused by psycopg itself: it has no SQLSTATE
            return Trouble.RULE
        if self.is_sqlite:
            return _sqlite_trouble(error.orig)
        return _postgresql_trouble(str(getattr(error.orig, "sqlstate", None) or ""))

    def _remember_file(self) -> None:
        if self.is_sqlite:
            path = Path(str(self.engine.url.database)).absolute()
            found = path.stat()
            self._file = (path, found.st_dev, found.st_ino)

    def _check_file(self) -> None:
        if self._file is None:
            return
        path, device, number = self._file
        try:
            found = path.stat()
        except FileNotFoundError:
            raise StoreGoneError(f"{path.name} was deleted while it was open") from None
        if (found.st_dev, found.st_ino) != (device, number):
            raise StoreGoneError(f"{path.name} was replaced while it was open")

    def _sqlite(self, url: str, library: SqliteLibrary | None) -> Engine:
        parsed = make_url(url)
        if parsed.database in (None, "", ":memory:"):
            raise CommandError("store_unusable", "A store of commands is a file: sqlite:///FILE.")
        self._library = library or choose_library()
        engine = create_engine(parsed, module=self._library.module, pool_size=1, hide_parameters=True)
        event.listen(engine, "connect", self._configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _postgresql(self, url: str) -> Engine:
        try:
            parsed = make_url(url)
            if parsed.drivername in ("postgresql", "postgres"):
                parsed = parsed.set(drivername="postgresql+psycopg")
            if parsed.drivername != "postgresql+psycopg":
                raise CommandError("store_unusable", "Stores are sqlite:///FILE and postgresql://HOST/NAME.")
            return create_engine(
                parsed,
                isolation_level="SERIALIZABLE",
                hide_parameters=True,
                pool_size=1,
                connect_args={"options": f"-c lock_timeout={self._busy_ms}", "connect_timeout": 10},
            )
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise CommandError("store_unusable", f"The store's URL cannot be used: {type(error).__name__}.") from error

    def _configure_sqlite(self, connection: Any, _entry: ConnectionPoolEntry) -> None:
        assert self._library is not None  # noqa: S101 - listens to SQLite only
        connection.isolation_level = None  # transactions are ours (see `_begin_sqlite`)
        connection.execute(f"PRAGMA busy_timeout = {self._busy_ms}")
        self._set_journal_mode(connection, self._library)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    def _set_journal_mode(self, connection: Any, library: SqliteLibrary) -> None:
        """Change the mode if need be, after whoever else is at it: that itself does not heed the busy time-out."""
        wanted = library.journal_mode
        until = time.monotonic() + self._busy_ms / 1000
        while connection.execute("PRAGMA journal_mode").fetchone()[0] != wanted:
            connection.execute("BEGIN IMMEDIATE")  # this one waits
            connection.execute("COMMIT")
            try:
                connection.execute(f"PRAGMA journal_mode = {wanted}")
            except library.module.OperationalError:  # somebody else was faster: most likely to change it, too
                if time.monotonic() > until:
                    raise

    def _facts(self) -> StoreFacts:
        with self.read() as connection:
            if self._library is None:
                version = connection.exec_driver_sql("SHOW server_version").scalar_one()
                return StoreFacts(dialect="postgresql", library=str(version))
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
        return StoreFacts(dialect="sqlite", library=self._library.version, journal_mode=str(mode))


def _use_plain_savepoints(dialect: Dialect) -> None:
    """Let SAVEPOINT and RELEASE be sent as they are: two statements that SQLAlchemy compiles for every command."""

    def savepoint(connection: Connection, name: str) -> None:
        connection.exec_driver_sql(f"SAVEPOINT {name}")

    def release(connection: Connection, name: str) -> None:
        connection.exec_driver_sql(f"RELEASE SAVEPOINT {name}")

    dialect.do_savepoint = savepoint  # type: ignore[method-assign]
    dialect.do_release_savepoint = release  # type: ignore[method-assign]


def _begin_sqlite(connection: Connection) -> None:
    # IMMEDIATE: one that begins by reading and then writes would fail at once when another one wrote meanwhile
    reading = connection.get_execution_options().get(_READ)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _sqlite_trouble(error: BaseException | None) -> Trouble:
    name = str(getattr(error, "sqlite_errorname", ""))
    words = str(error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or "is locked" in words:
        return Trouble.LOCKED
    if name.startswith("SQLITE_CONSTRAINT") or "constraint failed" in words:
        return Trouble.RULE
    return Trouble.OTHER


def _postgresql_trouble(sqlstate: str) -> Trouble:
    # PostgreSQL 15, appendix A
    if sqlstate in ("40001", "40P01"):
        return Trouble.AGAIN
    if sqlstate == "55P03":
        return Trouble.LOCKED
    if sqlstate.startswith(("22", "23")):
        return Trouble.RULE
    return Trouble.LOST if sqlstate.startswith(("08", "57P")) else Trouble.OTHER
