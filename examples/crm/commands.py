"""The commands of the customer application: everything that writes, and nothing of windows.

Each handler is one transaction of the service with the rules, the rows, the result and the audit in it. The same
service runs inside the application, or on its own for several of them::

    agentic-qt commands serve --app examples.crm.commands:service --tokens tokens.json
"""

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from platformdirs import user_data_path
from sqlalchemy import Connection
from sqlalchemy.orm import Session

from agentic_qt.commands.service import CommandService
from agentic_qt.commands.values import Actor
from agentic_qt.core.errors import CapabilityError
from examples.crm import rows
from examples.crm.domain import CUSTOMER_FIELDS, ORDER_STATUSES, Order, RuleError
from examples.crm.sample_data import sample_customers, sample_orders
from examples.crm.store import url_of
from examples.crm.telling import customer_row, customer_title, order_line, order_row

NAME = "agentic-qt-crm"
DATABASE = "AGENTIC_QT_CRM_DB"
PERMISSIONS = frozenset({
    "customer.create", "customer.update", "customer.merge", "customer.delete", "order.add", "order.set_status",
})  # fmt: skip
"""One for each type of command, of the same name."""

Input = dict[str, Any]
_ID = {"type": "integer", "minimum": 1}
_TEXT = {"type": "string", "maxLength": 4000}
_FIELDS = dict.fromkeys(CUSTOMER_FIELDS, _TEXT)


def database_file() -> Path:
    """Return the file that is used when none is named."""
    return Path(os.environ.get(DATABASE) or user_data_path(NAME) / "customers.db")


def service(url: str | None = None) -> CommandService:
    """Return the service with its types of commands, not started yet.

    Args:
        url: Of the store; by default the file of the environment variable, or in the user's data folder.
    """
    if url is None:
        path = database_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        url = url_of(path)
    made = CommandService(url, on_start=prepare)
    for declare in (_update, _create, _merge, _delete, _add_order, _set_order_status):
        declare(made)
    return made


def prepare(connection: Connection) -> None:
    """Make the tables, and fill them with the samples on the first start."""
    rows.make_tables(connection)
    if not rows.was_filled(connection):
        rows.fill(connection, sample_customers(), sample_orders())


def _ruled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a rule that says no end the command, with its code and its words."""

    @wraps(function)
    def ruled(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except RuleError as error:
            raise CapabilityError(error.code, error.message) from error

    return ruled


def _schema(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _customer_version(session: Session, given: Input) -> int | None:
    return rows.customer_version(session, given["id"])


def _update(made: CommandService) -> None:
    changes = {**_schema((), **_FIELDS), "minProperties": 1}

    @_ruled
    def preview(session: Session, given: Input) -> Any:
        now = rows.customer(session, given["id"])
        return {"customer": customer_title(now), "changes": _differences(now, given["changes"])}

    @made.command(
        "customer.update",
        schema=_schema(("id", "changes"), id=_ID, changes=changes),
        permission="customer.update",
        version_of=_customer_version,
        preview_of=preview,
    )
    @_ruled
    def update(session: Session, given: Input, _actor: Actor) -> Any:
        before = rows.customer(session, given["id"])
        after = rows.update_customer(session, given["id"], given["changes"])
        stored = {field: getattr(after, field) for field in given["changes"]}
        return {"customer": customer_row(after), "changes": _differences(before, stored)}


def _create(made: CommandService) -> None:
    def preview(_session: Session, given: Input) -> Any:
        return {"changes": {field: {"old": None, "new": value} for field, value in given.items()}}

    @made.command(
        "customer.create",
        schema=_schema(("name", "email"), **_FIELDS),
        permission="customer.create",
        preview_of=preview,
    )
    @_ruled
    def create(session: Session, given: Input, _actor: Actor) -> Any:
        return {"customer": customer_row(rows.add_customer(session, given))}


def _merge(made: CommandService) -> None:
    def version(session: Session, given: Input) -> str:
        return merge_version(*(rows.customer_version(session, given[key]) for key in ("id", "into")))

    @_ruled
    def preview(session: Session, given: Input) -> Any:
        plan = rows.plan_merge(session, given["id"], given["into"])
        changes = {field: {"old": getattr(plan.kept, field), "new": new} for field, new in plan.changes.items()}
        return {
            "into": customer_title(plan.kept),
            **({"changes": changes} if changes else {}),
            "customer that is deleted": f"{customer_title(plan.gone)}, {plan.gone.email}",
            **{f"order {order.id} that moves": order_line(order) for order in plan.orders},
        }

    @made.command(
        "customer.merge",
        schema=_schema(("id", "into"), id=_ID, into=_ID),
        permission="customer.merge",
        version_of=version,
        preview_of=preview,
    )
    @_ruled
    def merge(session: Session, given: Input, _actor: Actor) -> Any:
        plan = rows.merge_customers(session, given["id"], given["into"])
        return {
            "deleted": customer_row(plan.gone),
            "into": customer_row(rows.customer(session, given["into"])),
            "filled": list(plan.changes),
            "orders_moved": len(plan.orders),
        }


def merge_version(gone: int | None, kept: int | None) -> str:
    """Return the version of two customers together."""
    return f"{gone or '-'}/{kept or '-'}"


def _delete(made: CommandService) -> None:
    @_ruled
    def preview(session: Session, given: Input) -> Any:
        found = rows.check_deletable(session, given["id"])
        return {
            "customer": customer_title(found),
            "email": found.email,
            "company": ", ".join(part for part in (found.company, found.city, found.country) if part),
            **{f"order {order.id}": order_line(order) for order in rows.orders(session, found.id)},
        }

    @made.command(
        "customer.delete",
        schema=_schema(("id",), id=_ID),
        permission="customer.delete",
        version_of=_customer_version,
        preview_of=preview,
    )
    @_ruled
    def delete(session: Session, given: Input, _actor: Actor) -> Any:
        orders = len(rows.orders(session, given["id"]))
        return {"deleted": customer_row(rows.delete_customer(session, given["id"])), "orders_deleted": orders}


def _add_order(made: CommandService) -> None:
    amount = {"type": "integer", "minimum": 0}

    @made.command(
        "order.add",
        schema=_schema(
            ("customer", "item", "amount_cents", "ordered_on"),
            customer=_ID,
            item=_TEXT,
            amount_cents=amount,
            ordered_on=_TEXT,
        ),
        permission="order.add",
    )
    @_ruled
    def add(session: Session, given: Input, _actor: Actor) -> Any:
        values = {**given, "customer_id": given["customer"]}
        del values["customer"]
        added = rows.add_order(session, Order(**values))
        return {"order": order_row(added), "customer": customer_row(rows.customer(session, added.customer_id))}


def _set_order_status(made: CommandService) -> None:
    @_ruled
    def preview(session: Session, given: Input) -> Any:
        found = rows.order(session, given["id"])
        return {
            "order": f"{found.id}: {order_line(found)}",
            "customer": customer_title(rows.customer(session, found.customer_id)),
            "changes": {"status": {"old": found.status, "new": given["status"]}},
        }

    @made.command(
        "order.set_status",
        schema=_schema(("id", "status"), id=_ID, status={"type": "string", "enum": list(ORDER_STATUSES)}),
        permission="order.set_status",
        version_of=lambda session, given: rows.order_version(session, given["id"]),
        preview_of=preview,
    )
    @_ruled
    def set_status(session: Session, given: Input, _actor: Actor) -> Any:
        old = rows.order(session, given["id"]).status
        return {"order": order_row(rows.set_order_status(session, given["id"], given["status"])), "old": old}


def _differences(now: Any, wanted: Input) -> dict[str, Any]:
    return {field: {"old": getattr(now, field), "new": new} for field, new in wanted.items()}
