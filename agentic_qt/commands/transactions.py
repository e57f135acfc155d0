"""Runs work in one transaction: again when it collided with another, and honest about a commit without an answer."""

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.store import Store, Trouble

_log = logging.getLogger("agentic_qt.commands.transactions")
_T = TypeVar("_T")

COLLISIONS: Final = 50
"""How often work is run again after collisions; PostgreSQL lets one of the parties win each time."""
_RECONNECTS: Final = 2

Faults = Callable[[str], None]
"""Called with the label of each point passed (see `POINTS`); a test raises there, or ends the process."""

POINTS: Final = (
    "begun", "claimed", "judged", "effect", "result", "audit", "outbox", "before_commit", "committed",
)  # fmt: skip
"""The labels, in the order in which a command passes them."""


class Refusal(Exception):  # noqa: N818 - an answer
    """Ends the work with everything rolled back.

    Args:
        code: Why.
        hint: For the model.
        audited: Whether the attempt is worth a line of the audit.
    """

    def __init__(self, code: str, hint: str, *, audited: bool) -> None:
        super().__init__(code)
        self.code = code
        self.hint = hint
        self.audited = audited


class CommitUncertain(Exception):  # noqa: N818 - an answer
    """The commit was asked for, and failed or had no answer.

    Args:
        trouble: What the error said.
    """

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.value)
        self.trouble = trouble


class Transactions:
    """Runs work in transactions of a store; used by the I/O thread only.

    Args:
        store: The database.
        faults: Called at each labelled point.
    """

    def __init__(self, store: Store, faults: Faults) -> None:
        self.store = store
        self.faults = faults

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Run work and commit it; again when it collided with another transaction, or the connection was lost before.

        Raises:
            Refusal: The work ended so; rolled back.
            CommitUncertain: See there.
            Exception: Anything else the work or the database raised; rolled back.
        """
        collisions = reconnects = 0
        while True:
            try:
                return self.once(work)
            except Refusal:
                raise
            except Exception as error:
                committing = isinstance(error, CommitUncertain)
                trouble = error.trouble if isinstance(error, CommitUncertain) else self.store.trouble(error)
                # A rule broken before the commit is one of our own unique keys, taken by another just now.
                collided = trouble is Trouble.AGAIN or (trouble is Trouble.RULE and not committing)
                lost = trouble is Trouble.LOST and not committing
                collisions += collided
                reconnects += lost
                if not (collided and collisions <= COLLISIONS) and not (lost and reconnects <= _RECONNECTS):
                    raise

    def once(self, work: Callable[[Connection], _T], *, members: int = 1) -> _T:
        """Run work and commit it.

        Args:
            work: What to run.
            members: For how many commands: each passes the labelled points.

        Raises:
            Refusal: The work ended so; rolled back.
            CommitUncertain: See there.
            Exception: Anything else the work or the database raised; rolled back.
        """
        committing = False
        try:
            with self.store.write() as connection:
                self._pass("begun", members)
                value = work(connection)
                self._pass("before_commit", members)
                committing = True
                self.store.commit(connection)
            self._pass("committed", members)
        except Exception as error:
            if committing:
                raise CommitUncertain(self.store.trouble(error)) from error
            raise
        return value

    def _pass(self, label: str, times: int) -> None:
        for _ in range(times):
            self.faults(label)

    def read(self, work: Callable[[Connection], _T]) -> _T:
        """Run work that writes nothing."""
        collisions = reconnects = 0
        while True:
            try:
                with self.store.read() as connection:
                    return work(connection)
            except Exception as error:
                trouble = self.store.trouble(error)
                collisions += trouble is Trouble.AGAIN
                reconnects += trouble is Trouble.LOST
                again = trouble in (Trouble.AGAIN, Trouble.LOST)
                if not again or collisions > COLLISIONS or reconnects > _RECONNECTS:
                    raise

    def note(self, work: Callable[[Connection], _T]) -> _T:
        """Run and commit work that is no command; as `write`, for callers who want to hear of the store's errors.

        Raises:
            CommandError: The store could not do it; code ``store_error``.
        """
        try:
            return self.write(work)
        except (SQLAlchemyError, CommitUncertain) as error:
            raise _store_error() from error

    def ask(self, work: Callable[[Connection], _T]) -> _T:
        """Run work that writes nothing; as `read`, for callers who want to hear of the store's errors.

        Raises:
            CommandError: The store could not do it; code ``store_error``.
        """
        try:
            return self.read(work)
        except SQLAlchemyError as error:
            raise _store_error() from error


def _store_error() -> CommandError:
    _log.exception("The store of commands failed")
    return CommandError("store_error", "The store of commands could not do it; see the log.")
