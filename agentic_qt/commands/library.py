"""Which SQLite library a store uses, and whether write-ahead logging is safe with it.

SQLite 3.7.0 to 3.51.2 can corrupt a database in WAL mode when several connections reset the log at once (the
"WAL-reset bug"). The system's library is often older than the fix; pysqlite3 brings its own.
"""

import sqlite3
from dataclasses import dataclass
from types import ModuleType

try:
    import pysqlite3
except ImportError:  # the wheel exists for Linux only
    pysqlite3 = None

_FIXED = (3, 51, 3)


@dataclass(frozen=True, kw_only=True, slots=True)
class SqliteLibrary:
    """A DBAPI module and what may be done with it.

    Args:
        module: ``sqlite3`` or ``pysqlite3``.
        version: Of the SQLite library inside.
        wal_safe: Whether it has the fix; without it the journal mode is DELETE, at about a third of the speed.
    """

    module: ModuleType
    version: str
    wal_safe: bool

    @property
    def journal_mode(self) -> str:
        """The journal mode to use."""
        return "wal" if self.wal_safe else "delete"


def choose_library(candidates: tuple[ModuleType | None, ...] = (sqlite3, pysqlite3)) -> SqliteLibrary:
    """Return the first library with the fix, or the first of all."""
    found = [
        SqliteLibrary(module=module, version=module.sqlite_version, wal_safe=_parts(module.sqlite_version) >= _FIXED)
        for module in candidates
        if module is not None
    ]
    return next((library for library in found if library.wal_safe), found[0])


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3])
