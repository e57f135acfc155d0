"""Statements that never change: compiled once for each kind of database, and then run as plain text.

It halves what a statement costs in Python; the statements of every command are such.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, CursorResult
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler


class Prepared:
    """One statement whose values are texts and numbers only.

    Args:
        statements: The statement by dialect; ``""`` is for every other one.
        columns: The columns of an INSERT, in any order.
    """

    def __init__(self, statements: Mapping[str, ClauseElement], *, columns: Sequence[str] | None = None) -> None:
        self._statements = statements
        self._columns = columns
        self._compiled: dict[str, tuple[str, dict[str, Any], Sequence[str] | None]] = {}

    def run(self, connection: Connection, values: Mapping[str, Any]) -> CursorResult[Any]:
        """Run it with the values of its columns and parameters."""
        name = connection.dialect.name
        text, fixed, order = self._compiled.get(name) or self._compile(connection)
        merged = {**fixed, **values}
        if order is None:
            return connection.exec_driver_sql(text, merged)
        return connection.exec_driver_sql(text, tuple(merged[each] for each in order))

    def _compile(self, connection: Connection) -> tuple[str, dict[str, Any], Sequence[str] | None]:
        dialect = connection.dialect
        statement = self._statements[dialect.name if dialect.name in self._statements else ""]
        compiled = statement.compile(
            dialect=dialect, column_keys=self._columns, compile_kwargs={"render_postcompile": True}
        )
        assert isinstance(compiled, SQLCompiler)  # noqa: S101 - all statements of this layer are SQL
        made = str(compiled), dict(compiled.params), compiled.positiontup if compiled.positional else None
        self._compiled[dialect.name] = made
        return made
