"""Customers and orders in one SQLite file: the rules, and nothing of windows or assistants.

Every write is one transaction. A customer has a version; a write that names an older one changes nothing.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

CUSTOMER_STATUSES = ("lead", "active", "inactive")
ORDER_STATUSES = ("open", "paid", "shipped", "cancelled")
CUSTOMER_FIELDS = ("name", "email", "phone", "company", "city", "country", "status", "notes")
CUSTOMER_COLUMNS = ("name", "company", "status", "city", "email", "country")  # of the table

_FIELD_LIMITS = {
    "name": 120, "email": 200, "phone": 40, "company": 120, "city": 80, "country": 80, "status": 20,
    "notes": 4000,
}  # fmt: skip
_EMAIL = re.compile(r"[^@\s,;<>\"]+@[^@\s,;<>\"]+\.[^@\s,;<>\".]{2,}")
_STROKED = str.maketrans("đłø", "dlo")  # letters that do not decompose
# Before 3.51.3 a write-ahead log may be corrupted when several connections reset it at once.
_SAFE_WAL = (3, 51, 3)
_BUSY_SECONDS = 1.0  # another program may be writing; the window stands still meanwhile
_SCHEMA = """
CREATE TABLE IF NOT EXISTS customers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL CHECK (name <> ''),
    email TEXT NOT NULL,
    phone TEXT NOT NULL DEFAULT '',
    company TEXT NOT NULL DEFAULT '',
    city TEXT NOT NULL DEFAULT '',
    country TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'lead' CHECK (status IN ('lead', 'active', 'inactive')),
    notes TEXT NOT NULL DEFAULT '',
    version INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE RESTRICT,
    item TEXT NOT NULL CHECK (item <> ''),
    amount_cents INTEGER NOT NULL CHECK (amount_cents >= 0),
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'shipped', 'cancelled')),
    ordered_on TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS orders_customer ON orders (customer_id);
"""


class RuleError(Exception):
    """A rule of the business says no.

    Args:
        code: A stable machine word.
        message: For a person, in plain English.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, kw_only=True, slots=True)
class Customer:
    """One row of the customers; `id` 0 means not stored yet."""

    id: int = 0
    name: str = ""
    email: str = ""
    phone: str = ""
    company: str = ""
    city: str = ""
    country: str = ""
    status: str = "lead"
    notes: str = ""
    version: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One order; `amount_cents` in hundredths of a euro, `ordered_on` an ISO date."""

    id: int = 0
    customer_id: int
    item: str
    amount_cents: int
    status: str = "open"
    ordered_on: str


def fold(text: str) -> str:
    """Return `text` for comparing: no case, no accents ("Nguyễn Đạt" and "nguyen dat" are the same)."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_STROKED))
    return " ".join("".join(c for c in decomposed if not unicodedata.combining(c)).split())


def check_field(field: str, value: str) -> str:
    """Return `value` as it will be stored.

    Raises:
        RuleError: The field is unknown or the value breaks its rule.
    """
    if field not in CUSTOMER_FIELDS:
        raise RuleError("unknown_field", f"There is no field “{field}”. Fields: {', '.join(CUSTOMER_FIELDS)}.")
    value = value.strip()
    if len(value) > _FIELD_LIMITS[field]:
        raise RuleError("too_long", f"The {field} may have at most {_FIELD_LIMITS[field]} characters.")
    if field == "name" and not value:
        raise RuleError("name_missing", "A customer needs a name.")
    if field == "email" and not _EMAIL.fullmatch(value):
        raise RuleError("email_invalid", f"“{value}” is not an e-mail address.")
    if field == "status":
        value = value.casefold()
        if value not in CUSTOMER_STATUSES:
            raise RuleError("status_invalid", f"The status is one of: {', '.join(CUSTOMER_STATUSES)}.")
    return value


class Store:
    """The customers and orders of one file.

    Args:
        path: The SQLite file, made when missing; ``":memory:"`` for none.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA foreign_keys = ON")
        journal = "WAL" if sqlite3.sqlite_version_info >= _SAFE_WAL else "DELETE"
        self._connection.execute(f"PRAGMA journal_mode = {journal}")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file; the store is of no use afterwards."""
        self._connection.close()

    @property
    def changes_of_others(self) -> int:
        """A number that changes when another connection has written to the file."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise RuleError("file_busy", "Another program is writing to the file. Try again.") from error
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    # Customers

    def customers(self) -> list[Customer]:
        """Return every customer, by id."""
        return [Customer(**row) for row in self._connection.execute("SELECT * FROM customers ORDER BY id")]

    def customer(self, customer_id: int) -> Customer:
        """Return one customer.

        Raises:
            RuleError: ``customer_not_found``.
        """
        row = self._connection.execute("SELECT * FROM customers WHERE id = ?", (customer_id,)).fetchone()
        if row is None:
            raise RuleError("customer_not_found", f"There is no customer {customer_id}.")
        return Customer(**row)

    def find_customers(self, text: str, status: str = "all") -> list[Customer]:
        """Return the customers in whose row (without notes) every word of `text` occurs."""
        words = fold(text).split()
        return [
            customer
            for customer in self.customers()
            if status in ("all", customer.status) and all(word in searchable(customer) for word in words)
        ]

    def create_customer(self, values: Mapping[str, str]) -> Customer:
        """Store a new customer.

        Raises:
            RuleError: A value breaks its rule.
        """
        checked = {field: check_field(field, values.get(field, "")) for field in ("name", "email")}
        checked |= {field: check_field(field, value) for field, value in values.items()}
        columns = ", ".join(checked)  # keys were checked against CUSTOMER_FIELDS
        marks = ", ".join("?" for _ in checked)
        with self._transaction() as connection:
            cursor = connection.execute(
                f"INSERT INTO customers ({columns}) VALUES ({marks})",  # noqa: S608 - names from CUSTOMER_FIELDS
                tuple(checked.values()),
            )
        return self.customer(int(cursor.lastrowid or 0))

    def update_customer(self, customer_id: int, changes: Mapping[str, str], *, version: int) -> Customer:
        """Change fields of one customer, if it still has `version`.

        Raises:
            RuleError: A value breaks its rule, ``customer_not_found`` or ``version_conflict``.
        """
        checked = {field: check_field(field, value) for field, value in changes.items()}
        if not checked:
            return self.customer(customer_id)
        columns = ", ".join(f"{field} = ?" for field in checked)
        with self._transaction() as connection:
            cursor = connection.execute(
                f"UPDATE customers SET {columns}, version = version + 1 WHERE id = ? AND version = ?",  # noqa: S608 - as above
                (*checked.values(), customer_id, version),
            )
            if cursor.rowcount == 0:
                self.customer(customer_id)
                raise RuleError("version_conflict", "The customer was changed meanwhile.")
        return self.customer(customer_id)

    def check_deletable(self, customer_id: int) -> Customer:
        """Return the customer if it may be deleted.

        Raises:
            RuleError: ``customer_not_found``, or ``open_orders`` with the numbers of the orders.
        """
        customer = self.customer(customer_id)
        still_open = [str(order.id) for order in self.orders(customer_id) if order.status == "open"]
        if still_open:
            raise RuleError(
                "open_orders",
                f"{customer.name} has open orders: {', '.join(still_open)}. Ship or cancel them first.",
            )
        return customer

    def delete_customer(self, customer_id: int, *, version: int) -> Customer:
        """Delete a customer without open orders, with its closed orders.

        Raises:
            RuleError: ``customer_not_found``, ``open_orders`` or ``version_conflict``.
        """
        with self._transaction() as connection:
            customer = self.check_deletable(customer_id)
            if customer.version != version:
                raise RuleError("version_conflict", "The customer was changed meanwhile.")
            connection.execute("DELETE FROM orders WHERE customer_id = ?", (customer_id,))
            connection.execute("DELETE FROM customers WHERE id = ?", (customer_id,))
        return customer

    # Orders

    def orders(self, customer_id: int | None = None) -> list[Order]:
        """Return the orders of one customer, or all of them, newest first."""
        where, values = ("", ()) if customer_id is None else (" WHERE customer_id = ?", (customer_id,))
        rows = self._connection.execute(
            f"SELECT * FROM orders{where} ORDER BY ordered_on DESC, id DESC",  # noqa: S608 - one of two constants
            values,
        )
        return [Order(**row) for row in rows]

    def order(self, order_id: int) -> Order:
        """Return one order.

        Raises:
            RuleError: ``order_not_found``.
        """
        row = self._connection.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
        if row is None:
            raise RuleError("order_not_found", f"There is no order {order_id}.")
        return Order(**row)

    def create_order(self, order: Order) -> Order:
        """Store a new order; its `id` is given by the file.

        Raises:
            RuleError: ``customer_not_found`` or a value that breaks its rule.
        """
        self.customer(order.customer_id)
        if not order.item.strip() or order.amount_cents < 0 or order.status not in ORDER_STATUSES:
            raise RuleError("order_invalid", "An order needs an item, an amount and a known status.")
        values = (order.customer_id, order.item.strip(), order.amount_cents, order.status, order.ordered_on)
        with self._transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO orders (customer_id, item, amount_cents, status, ordered_on) VALUES (?, ?, ?, ?, ?)",
                values,
            )
        return self.order(int(cursor.lastrowid or 0))

    def set_order_status(self, order_id: int, status: str, *, expected: str) -> Order:
        """Change the status of one order, if it still is `expected`.

        Raises:
            RuleError: ``order_not_found``, ``status_invalid`` or ``version_conflict``.
        """
        if status not in ORDER_STATUSES:
            raise RuleError("status_invalid", f"The status of an order is one of: {', '.join(ORDER_STATUSES)}.")
        with self._transaction() as connection:
            cursor = connection.execute(
                "UPDATE orders SET status = ? WHERE id = ? AND status = ?", (status, order_id, expected)
            )
            if cursor.rowcount == 0:
                self.order(order_id)
                raise RuleError("version_conflict", f"Order {order_id} was changed meanwhile.")
        return self.order(order_id)

    def fill(self, customers: Sequence[Customer], orders: Sequence[Order]) -> bool:
        """Fill a file that was never filled, in one transaction, with the ids of the values; returns whether it was."""
        with self._transaction() as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0]:
                return False
            for table, rows in (("customers", customers), ("orders", orders)):
                for row in rows:
                    values = asdict(row)
                    marks = ", ".join("?" for _ in values)
                    connection.execute(
                        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})",  # noqa: S608 - field names
                        tuple(values.values()),
                    )
            connection.execute("PRAGMA user_version = 1")
        return True


def searchable(customer: Customer) -> str:
    """Return the text of a customer that a search looks at."""
    parts = (
        customer.name, customer.email, customer.company, customer.city, customer.country, customer.phone,
    )  # fmt: skip
    return fold(" ".join(parts))


def amount_text(cents: int) -> str:
    """Return an amount for people: 123456 is "1,234.56 €"."""
    return f"{cents / 100:,.2f} €"
