"""The window's read side: its own connection to the file that the commands write. It cannot write."""

from pathlib import Path

from sqlalchemy import URL, create_engine, text
from sqlalchemy.exc import DatabaseError

from agentic_qt.commands.library import choose_library
from examples.crm import rows
from examples.crm.domain import Customer, Order

_BUSY_SECONDS = 1.0  # without a write-ahead log a reader waits for a writer; the window stands still meanwhile


class UnreadableError(Exception):
    """The file is missing, is no database, or has not the tables of this application."""


def url_of(path: Path) -> str:
    """Return the URL of a SQLite file, for the service of commands."""
    return URL.create("sqlite", database=str(path)).render_as_string()


def check_file(path: Path) -> None:
    """Do nothing when a file is a database, or can be made.

    Raises:
        OSError: Its folder cannot be made.
        UnreadableError: It is no database.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    module = choose_library().module
    try:
        connection = module.connect(str(path), timeout=_BUSY_SECONDS)
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        finally:
            connection.close()
    except module.Error as error:
        raise UnreadableError(str(error)) from error


class Store:
    """The customers and orders of one file, as they are stored now.

    Args:
        path: The SQLite file; its tables were made by the service of commands.

    Raises:
        UnreadableError: It cannot be read, or has no customers.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # The same library as the service's: two versions of SQLite on one file would not share the fix of its log.
        library = choose_library()
        self._engine = create_engine(
            url_of(path),
            module=library.module,
            isolation_level="AUTOCOMMIT",  # no transaction of a reader stays open, which would hold up writers
            connect_args={"timeout": _BUSY_SECONDS},
        )
        try:
            self._connection = self._engine.connect()
            self._connection.execute(text("PRAGMA query_only = ON"))
            self.changes_of_others  # noqa: B018 - reads the file for the first time
            rows.customer_version(self._connection, 0)
        except DatabaseError as error:
            self._engine.dispose()
            raise UnreadableError(str(error.orig)) from error

    def close(self) -> None:
        """Close the file; the store is of no use afterwards."""
        self._connection.close()
        self._engine.dispose()

    @property
    def changes_of_others(self) -> int:
        """A number that changes when another connection has written to the file; the service's is one."""
        return int(self._connection.execute(text("PRAGMA data_version")).scalar_one())

    def customers(self) -> list[Customer]:
        """Return every customer, by id."""
        return rows.customers(self._connection)

    def customer(self, customer_id: int) -> Customer:
        """Return one customer.

        Raises:
            RuleError: ``customer_not_found``.
        """
        return rows.customer(self._connection, customer_id)

    def find_customers(self, words: str, status: str = "all") -> list[Customer]:
        """Return the customers in whose row (without notes) every word of `words` occurs."""
        return rows.find_customers(self._connection, words, status)

    def check_deletable(self, customer_id: int) -> Customer:
        """Return the customer if it may be deleted.

        Raises:
            RuleError: ``customer_not_found``, or ``open_orders`` with the numbers of the orders.
        """
        return rows.check_deletable(self._connection, customer_id)

    def plan_merge(self, customer_id: int, into: int) -> rows.Merge:
        """Return what merging one customer into another would do.

        Raises:
            RuleError: It is not possible.
        """
        return rows.plan_merge(self._connection, customer_id, into)

    def orders(self, customer_id: int | None = None) -> list[Order]:
        """Return the orders of one customer, or all of them, newest first."""
        return rows.orders(self._connection, customer_id)

    def order(self, order_id: int) -> Order:
        """Return one order.

        Raises:
            RuleError: ``order_not_found``.
        """
        return rows.order(self._connection, order_id)
