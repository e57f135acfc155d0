"""Sessions: which processes that opened a store are alive, as the system that holds their locks knows; no heartbeats.

A SQLite file has a folder of lock files beside it, a PostgreSQL server an advisory lock on a connection of its own.
Both are freed when the process dies, however it dies. What belongs to a living session is left to it. This spares
people double questions and is no lock on facts: where a lock is lost, the id of the command still binds.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.store import Store
from agentic_qt.schema.canonical import digest

_log = logging.getLogger("agentic_qt.commands.sessions")
Io = Callable[[Callable[[], Any]], Awaitable[Any]]

_SWEPT: Final = 5.0
"""Seconds for a new lock: somebody who takes dead ones away may have come between its making and its holding."""

# A machine that vanished holds its connection until the server notices: after a minute then, instead of two hours.
_SETTINGS: Final = text(
    "SELECT set_config(name, CASE name WHEN 'tcp_keepalives_idle' THEN '30' WHEN 'tcp_keepalives_interval' THEN '10'"
    " WHEN 'tcp_keepalives_count' THEN '3' ELSE '0' END, false) FROM pg_settings WHERE name IN"
    " ('tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'idle_session_timeout')"
)
_HOLD: Final = text("SELECT pg_try_advisory_lock(:key)")
_LET_GO: Final = text("SELECT pg_advisory_unlock(:key)")
# A lock by one 64-bit key is shown as its two halves, with objsubid 1 (PostgreSQL, "pg_locks").
_HELD: Final = text(
    "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
    " AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class Sessions:
    """The sessions of a store; `CommandService.sessions` is one.

    Args:
        store: Whose sessions.
        io: Runs a function in the I/O thread.

    Attributes:
        own: The id of this very session.
    """

    def __init__(self, store: Store, io: Io) -> None:
        self._io = io
        self.own = secrets.token_hex(16)
        self._locks: _Locks = _FileLocks(store.engine) if store.is_sqlite else _ServerLocks(store.engine)

    def open(self) -> None:
        """Show that this session lives; in the I/O thread."""
        try:
            self._locks.hold(self.own)
        except (OSError, SQLAlchemyError):
            _log.warning("Others cannot see that this session lives; they may ask what it asks", exc_info=True)

    def close(self) -> None:
        """Show that this session has ended; in the I/O thread."""
        try:
            self._locks.release()
        except (OSError, SQLAlchemyError):
            _log.warning("The lock of this session could not be given back", exc_info=True)

    async def ended(self, sessions: Iterable[str | None]) -> frozenset[str | None]:
        """Return those that are over: nobody holds their lock. None, which is older than sessions, always is.

        Raises:
            CommandError: The service is closed (``store_closed``), or the server cannot be asked (``store_error``).
        """
        asked = frozenset(sessions)
        others = frozenset(session for session in asked if session is not None) - {self.own}
        living: frozenset[str] = await self._io(lambda: self._living(others))
        return asked - living - {self.own}

    def _living(self, sessions: frozenset[str]) -> frozenset[str]:
        try:
            return self._locks.living(sessions)
        except SQLAlchemyError as error:
            _log.exception("The server cannot say which sessions live")
            raise CommandError("store_error", "It cannot be seen which windows are open; see the log.") from error


class _Locks(Protocol):
    def hold(self, session: str) -> None: ...

    def release(self) -> None: ...

    def living(self, sessions: frozenset[str]) -> frozenset[str]: ...


class _FileLocks:
    """One lock file a session, in a folder beside the database."""

    def __init__(self, engine: Engine) -> None:
        file = Path(str(engine.url.database)).resolve()
        self._folder = file.with_name(f"{file.name}-sessions")
        self._own: FileLock | None = None

    def hold(self, session: str) -> None:
        lock = self._lock(session)
        for patience in range(10, -1, -1):
            try:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                lock.acquire(timeout=_SWEPT)
            except (FileNotFoundError, FileExistsError):  # whoever was the last took the folder away just now
                if not patience:
                    raise
            else:
                break
        self._own = lock
        for left in self._folder.glob("*.lock"):
            if left.stem != session:
                self._is_held(left.stem)  # takes away those of the dead

    def release(self) -> None:
        if self._own is not None:
            _remove(self._own)
            self._own = None
            with suppress(OSError):  # others are in it
                self._folder.rmdir()

    def living(self, sessions: frozenset[str]) -> frozenset[str]:
        return frozenset(session for session in sessions if self._is_held(session))

    def _is_held(self, session: str) -> bool:
        lock = self._lock(session)
        if not Path(lock.lock_file).exists():
            return False
        try:
            lock.acquire()
        except Timeout:  # alive, or somebody else is looking this very moment and will find it dead
            return True
        except OSError:  # a file system without locks
            return False
        _remove(lock)
        return False

    def _lock(self, session: str) -> FileLock:
        # a lock of any other kind than the system's own would outlive a killed process
        return FileLock(self._folder / f"{session}.lock", timeout=0, thread_local=False, fallback_to_soft=False)


def _remove(lock: FileLock) -> None:
    """Remove a lock file that is held, and let go of it."""
    file = Path(lock.lock_file)
    try:
        file.unlink(missing_ok=True)
    except OSError:  # where open files cannot be removed; nor can that of somebody who took it meanwhile
        lock.release()
        with suppress(OSError):
            file.unlink()
    else:
        lock.release()


class _ServerLocks:
    """One advisory lock a session, on a connection that is used for nothing else."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session = ""
        self._connection: Connection | None = None

    def hold(self, session: str) -> None:
        self._session = session
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")  # no transaction stays open
        try:
            connection.detach()  # it may not take the place of the pool's only one
            connection.execute(_SETTINGS)
            connection.execute(_HOLD, {"key": _key(session)})
        except SQLAlchemyError:
            connection.close()
            raise
        self._connection = connection

    def release(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            try:
                connection.execute(_LET_GO, {"key": _key(self._session)})  # the end of a connection is seen later
            finally:
                connection.close()

    def living(self, sessions: frozenset[str]) -> frozenset[str]:
        try:
            held = self._held()
        except SQLAlchemyError:  # the connection was lost, and with it the lock: take it again
            with suppress(SQLAlchemyError):
                self.release()
            held = self._held()
        return frozenset(session for session in sessions if _key(session) in held)

    def _held(self) -> set[int]:
        if self._connection is None:
            self.hold(self._session)
        assert self._connection is not None  # noqa: S101 - held, or it was raised
        return set(self._connection.scalars(_HELD))


def _key(session: str) -> int:
    """Return the number of a session: 64 bits, signed as the server's are."""
    return int(digest(session.encode())[:16], 16) - 2**63
