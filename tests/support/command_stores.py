"""Empty stores for the long runs of commands, chosen on their command line."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.postgres_server import PostgresServer, missing, postgres_server

STORES = ("sqlite", "postgresql")


@contextmanager
def stores(kind: str) -> Iterator[tuple[Callable[[], str], PostgresServer | None]]:
    """Yield what makes a new store and returns its URL, and the server if there is one.

    Raises:
        SystemExit: PostgreSQL cannot be started here; says why.
    """
    if kind == "postgresql":
        if (reason := missing()) is not None:
            raise SystemExit(reason)
        with postgres_server() as server:
            yield server.new_database, server
        return
    with tempfile.TemporaryDirectory(prefix="agentic-commands-") as folder:
        numbers = iter(range(1_000_000))
        yield (lambda: f"sqlite:///{Path(folder) / f'store-{next(numbers)}.sqlite3'}"), None
