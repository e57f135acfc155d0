"""Statements that fail, for the tests of commands."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from agentic_qt.commands.service import CommandService


class Breaker:
    """Fails the statement of a number, once or from then on; counts them all.

    Args:
        service: Whose statements.
    """

    def __init__(self, service: CommandService) -> None:
        self.count = 0
        self.failing: Callable[[int], bool] = lambda _number: False
        self.words = ""
        event.listen(service.store.engine, "before_cursor_execute", self._before)

    def _before(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self.count += 1
        if self.failing(self.count):
            raise OperationalError(statement, None, sqlite3.OperationalError(self.words))

    @contextmanager
    def broken(self, number: int, words: str, *, for_good: bool) -> Iterator[None]:
        """Let it fail for a while."""
        self.count, self.words = 0, words
        self.failing = (lambda count: count >= number) if for_good else (lambda count: count == number)
        yield
        self.failing = lambda _number: False
