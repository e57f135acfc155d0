"""Customers and orders as rows: every SQL statement, and the rules that need to look at other rows.

Each function works on whatever executes statements: the session of a command, or the connection that the window reads
with. None of them begins or ends a transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from sqlalchemy import Result, TextClause, text

from examples.crm.domain import (
    CUSTOMER_FIELDS,
    FIRST_VERSION,
    ORDER_STATUSES,
    Customer,
    Order,
    RuleError,
    check_field,
    fold,
    searchable,
)

_TABLES = (
    """
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
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS orders (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        customer_id INTEGER NOT NULL REFERENCES customers (id) ON DELETE RESTRICT,
        item TEXT NOT NULL CHECK (item <> ''),
        amount_cents INTEGER NOT NULL CHECK (amount_cents >= 0),
        status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'shipped', 'cancelled')),
        ordered_on TEXT NOT NULL,
        version INTEGER NOT NULL DEFAULT 1
    )
    """,
    "CREATE INDEX IF NOT EXISTS orders_customer ON orders (customer_id)",
)


class Database(Protocol):
    """What executes a statement: an SQLAlchemy session or connection."""

    def execute(self, statement: TextClause, parameters: Any = None, /) -> Result[Any]:
        """Run one statement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    """What merging two customers means.

    Args:
        gone: Who is deleted, as stored now.
        kept: Who stays, as stored now.
        changes: The fields of the one who stays that change, with their new values.
        orders: The orders that move.
    """

    gone: Customer
    kept: Customer
    changes: Mapping[str, str]
    orders: tuple[Order, ...]


def make_tables(db: Database) -> None:
    """Make the tables where they are missing; files of the first version get what was added since."""
    for table in _TABLES:
        db.execute(text(table))
    columns = {row.name for row in db.execute(text("PRAGMA table_info(orders)"))}
    if "version" not in columns:
        db.execute(text("ALTER TABLE orders ADD COLUMN version INTEGER NOT NULL DEFAULT 1"))


def was_filled(db: Database) -> bool:
    """Return whether the file was filled once; a person may have emptied it since."""
    return bool(db.execute(text("PRAGMA user_version")).scalar_one())


def fill(db: Database, customers: Sequence[Customer], orders: Sequence[Order]) -> None:
    """Fill the tables, with the ids of the values."""
    for table, rows in (("customers", customers), ("orders", orders)):
        if rows:
            _insert(db, table, [asdict(row) | {"version": FIRST_VERSION} for row in rows])
    db.execute(text("PRAGMA user_version = 1"))


# Customers


def customers(db: Database) -> list[Customer]:
    """Return every customer, by id."""
    return [Customer(**row) for row in db.execute(text("SELECT * FROM customers ORDER BY id")).mappings()]


def customer(db: Database, customer_id: int) -> Customer:
    """Return one customer.

    Raises:
        RuleError: ``customer_not_found``.
    """
    found = db.execute(text("SELECT * FROM customers WHERE id = :id"), {"id": customer_id}).mappings().one_or_none()
    if found is None:
        raise RuleError("customer_not_found", f"There is no customer {customer_id}.")
    return Customer(**found)


def customer_version(db: Database, customer_id: int) -> int | None:
    """Return the version of a customer; None when there is none."""
    version = db.execute(text("SELECT version FROM customers WHERE id = :id"), {"id": customer_id}).scalar()
    return None if version is None else int(version)


def find_customers(db: Database, words: str, status: str = "all") -> list[Customer]:
    """Return the customers in whose row (without notes) every word of `words` occurs."""
    wanted = fold(words).split()
    return [
        known
        for known in customers(db)
        if status in ("all", known.status) and all(word in searchable(known) for word in wanted)
    ]


def add_customer(db: Database, values: Mapping[str, str]) -> Customer:
    """Store a new customer.

    Raises:
        RuleError: A value breaks its rule.
    """
    checked = {field: check_field(field, values.get(field, "")) for field in ("name", "email")}
    checked |= {field: check_field(field, value) for field, value in values.items()}
    _insert(db, "customers", [checked])
    return customer(db, _last_id(db))


def update_customer(db: Database, customer_id: int, changes: Mapping[str, str]) -> Customer:
    """Change fields of one customer.

    Raises:
        RuleError: A value breaks its rule, or ``customer_not_found``.
    """
    checked = {field: check_field(field, value) for field, value in changes.items()}
    customer(db, customer_id)
    if checked:
        columns = ", ".join(f"{field} = :{field}" for field in checked)  # names out of CUSTOMER_FIELDS
        statement = f"UPDATE customers SET {columns}, version = version + 1 WHERE id = :id"  # noqa: S608 - as said
        db.execute(text(statement), {**checked, "id": customer_id})
    return customer(db, customer_id)


def check_deletable(db: Database, customer_id: int) -> Customer:
    """Return the customer if it may be deleted.

    Raises:
        RuleError: ``customer_not_found``, or ``open_orders`` with the numbers of the orders.
    """
    found = customer(db, customer_id)
    still_open = [str(known.id) for known in orders(db, customer_id) if known.status == "open"]
    if still_open:
        raise RuleError(
            "open_orders", f"{found.name} has open orders: {', '.join(still_open)}. Ship or cancel them first."
        )
    return found


def delete_customer(db: Database, customer_id: int) -> Customer:
    """Delete a customer without open orders, with its closed orders.

    Raises:
        RuleError: ``customer_not_found`` or ``open_orders``.
    """
    gone = check_deletable(db, customer_id)
    db.execute(text("DELETE FROM orders WHERE customer_id = :id"), {"id": customer_id})
    db.execute(text("DELETE FROM customers WHERE id = :id"), {"id": customer_id})
    return gone


def plan_merge(db: Database, customer_id: int, into: int) -> Merge:
    """Return what merging one customer into another would do.

    Raises:
        RuleError: ``same_customer``, ``customer_not_found``, or ``too_long`` for the joined notes.
    """
    if customer_id == into:
        raise RuleError("same_customer", "A customer cannot be merged with itself.")
    gone, kept = customer(db, customer_id), customer(db, into)
    changes = {
        field: getattr(gone, field)
        for field in CUSTOMER_FIELDS
        if field != "notes" and not getattr(kept, field) and getattr(gone, field)
    }
    if gone.notes and gone.notes not in kept.notes:
        joined = "\n".join(part for part in (kept.notes, gone.notes) if part)
        changes["notes"] = check_field("notes", joined)
    return Merge(gone=gone, kept=kept, changes=changes, orders=tuple(orders(db, customer_id)))


def merge_customers(db: Database, customer_id: int, into: int) -> Merge:
    """Give one customer's orders to another, fill what that one lacks, and delete the first.

    Raises:
        RuleError: See `plan_merge`.
    """
    plan = plan_merge(db, customer_id, into)
    move = "UPDATE orders SET customer_id = :into, version = version + 1 WHERE customer_id = :id"
    db.execute(text(move), {"into": into, "id": customer_id})
    update_customer(db, into, plan.changes)
    db.execute(text("DELETE FROM customers WHERE id = :id"), {"id": customer_id})
    return plan


# Orders


def orders(db: Database, customer_id: int | None = None) -> list[Order]:
    """Return the orders of one customer, or all of them, newest first."""
    where = "" if customer_id is None else " WHERE customer_id = :customer"
    statement = f"SELECT * FROM orders{where} ORDER BY ordered_on DESC, id DESC"  # noqa: S608 - one of two constants
    return [Order(**row) for row in db.execute(text(statement), {"customer": customer_id}).mappings()]


def order(db: Database, order_id: int) -> Order:
    """Return one order.

    Raises:
        RuleError: ``order_not_found``.
    """
    found = db.execute(text("SELECT * FROM orders WHERE id = :id"), {"id": order_id}).mappings().one_or_none()
    if found is None:
        raise RuleError("order_not_found", f"There is no order {order_id}.")
    return Order(**found)


def order_version(db: Database, order_id: int) -> int | None:
    """Return the version of an order; None when there is none."""
    version = db.execute(text("SELECT version FROM orders WHERE id = :id"), {"id": order_id}).scalar()
    return None if version is None else int(version)


def add_order(db: Database, new: Order) -> Order:
    """Store a new order; its `id` is given by the file.

    Raises:
        RuleError: ``customer_not_found`` or a value that breaks its rule.
    """
    customer(db, new.customer_id)
    if not new.item.strip() or new.amount_cents < 0 or new.status not in ORDER_STATUSES:
        raise RuleError("order_invalid", "An order needs an item, an amount and a known status.")
    row = asdict(new) | {"item": new.item.strip(), "version": FIRST_VERSION}
    del row["id"]
    _insert(db, "orders", [row])
    return order(db, _last_id(db))


def set_order_status(db: Database, order_id: int, status: str) -> Order:
    """Change the status of one order.

    Raises:
        RuleError: ``order_not_found`` or ``status_invalid``.
    """
    if status not in ORDER_STATUSES:
        raise RuleError("status_invalid", f"The status of an order is one of: {', '.join(ORDER_STATUSES)}.")
    order(db, order_id)
    change = "UPDATE orders SET status = :status, version = version + 1 WHERE id = :id"
    db.execute(text(change), {"status": status, "id": order_id})
    return order(db, order_id)


def _insert(db: Database, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(rows[0])  # field names of the values above
    marks = ", ".join(f":{column}" for column in columns)
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - as said
    db.execute(text(statement), rows[0] if len(rows) == 1 else list(rows))


def _last_id(db: Database) -> int:
    return int(db.execute(text("SELECT last_insert_rowid()")).scalar_one())
