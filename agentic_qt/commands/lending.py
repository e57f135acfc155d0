"""The session that code of the application is lent: it reads and changes rows, and whose transaction it is stays ours.

That code is trusted; this catches habits, such as a commit at the end, which would tear effect and result apart.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from sqlalchemy import Connection, Engine, event
from sqlalchemy.orm import Session

_LENT: Final = "agentic_qt_lent"
_ENDS: Final = re.compile(
    r"(?:[\s;]|--[^\n]*\n|/\*.*?\*/)*(?:COMMIT|END|BEGIN|START|ABORT|ROLLBACK(?!\s+(?:\w+\s+)?TO\b))\b",
    re.IGNORECASE | re.DOTALL,
)


class NotYoursError(RuntimeError):
    """Code of the application tried to begin or end a transaction that is not its own."""

    def __init__(self) -> None:
        super().__init__("The service begins and ends the transaction; raise CapabilityError to undo what was done.")


class LentSession(Session):
    """A session in a savepoint of somebody else's transaction; `begin_nested` is the borrower's to use."""

    def begin(self, nested: bool = False) -> Any:  # noqa: FBT001, FBT002 - SQLAlchemy's own signature
        """Begin a savepoint; nothing else.

        Raises:
            NotYoursError: A transaction was asked for.
        """
        return super().begin(nested=True) if nested else _refuse()

    def commit(self) -> None:
        """Refuse.

        Raises:
            NotYoursError: Always; so do `rollback`, `close`, `reset` and `invalidate`.
        """
        _refuse()

    rollback = close = reset = invalidate = commit

    def release(self) -> None:
        """Let what was done be part of the transaction."""
        super().commit()

    def undo(self) -> None:
        """Take back what was done since the savepoint."""
        super().rollback()

    def give_back(self) -> None:
        """End the session; what was not released is taken back."""
        super().close()


@contextmanager
def lend(connection: Connection) -> Iterator[LentSession]:
    """Yield a session in a savepoint of the connection's transaction."""
    if not connection.in_transaction():
        connection.begin()
    session = LentSession(bind=connection, join_transaction_mode="create_savepoint")
    info = connection.info
    info[_LENT] = True
    try:
        yield session
    finally:
        info.pop(_LENT, None)
        if not connection.closed:
            session.give_back()


def watch(engine: Engine) -> None:
    """Refuse, on every connection that is lent, what would begin or end its transaction."""
    event.listen(engine, "commit", _check_lent)
    event.listen(engine, "rollback", _check_lent)
    event.listen(engine, "before_cursor_execute", _check_statement)


def _is_lent(connection: Connection) -> bool:
    return not connection.invalidated and _LENT in connection.info


def _check_lent(connection: Connection) -> None:
    if _is_lent(connection):
        # SQLAlchemy would take the transaction for ended and give the connection back with it still open.
        connection.invalidate()
        _refuse()


def _check_statement(connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
    if _ENDS.match(statement) is not None and _is_lent(connection):
        _refuse()


def _refuse() -> NoReturn:
    raise NotYoursError
