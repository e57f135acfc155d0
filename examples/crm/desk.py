"""What all declarations share: the desk that they work at, and pieces of schemas, results and errors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from agentic_qt.core.errors import CapabilityError
from examples.crm.domain import Customer, Order, RuleError, Store, amount_text


class Desk(Protocol):
    """What the capabilities need of the window; the person's buttons and menus use the same methods."""

    store: Store

    @property
    def edited_customer(self) -> int | None:
        """The id of the customer whose form holds unsaved input (0: a new one), or None."""

    def show_customer(self, customer_id: int) -> None: ...
    def show_orders(self, customer_id: int) -> None: ...
    def show_filter(self, *, text: str | None = None, status: str | None = None) -> int: ...
    def show_sorted(self, column: str, direction: str) -> None: ...
    def show_theme(self, theme: str) -> None: ...
    def create_customer(self, values: Mapping[str, str]) -> Customer: ...
    def change_customer(self, customer_id: int, changes: Mapping[str, str], version: int) -> Customer: ...
    def delete_customer(self, customer_id: int, version: int) -> Customer: ...
    def change_order_status(self, order_id: int, status: str) -> Order: ...


def allowed(action: Callable[..., Any], *arguments: Any) -> Any:
    """Call `action`; a rule that says no becomes words for the model."""
    try:
        return action(*arguments)
    except RuleError as error:
        raise CapabilityError(error.code, error.message) from error


def refuse_if_edited(desk: Desk, customer_id: int, *, any_customer: bool = False) -> None:
    """Raise when the person is typing into the form that would be refreshed or left."""
    edited = desk.edited_customer
    if edited is not None and (edited == customer_id or any_customer):
        raise CapabilityError(
            "unsaved_changes",
            "The person has unsaved changes in the form. Ask them to save or revert, then try again.",
            retryable=True,
        )


def customer_row(customer: Customer) -> dict[str, Any]:
    """Return a customer as the model reads it."""
    return {
        "id": str(customer.id),
        "name": customer.name,
        "email": customer.email,
        "company": customer.company,
        "city": customer.city,
        "country": customer.country,
        "status": customer.status,
    }


def order_row(order: Order) -> dict[str, Any]:
    """Return an order as the model reads it."""
    return {
        "order": str(order.id),
        "item": order.item,
        "amount": amount_text(order.amount_cents),
        "status": order.status,
        "date": order.ordered_on,
    }


def order_line(order: Order) -> str:
    """Return an order in words, without its number."""
    return f"{order.item}, {amount_text(order.amount_cents)}, {order.status}, {order.ordered_on}"


def object_schema(*, required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def text(title: str, description: str) -> dict[str, Any]:
    return {"type": "string", "title": title, "description": description, "maxLength": 200}


def choice(title: str, description: str, values: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "title": title, "description": description, "enum": list(values)}


def customer_name() -> dict[str, Any]:
    return {
        "type": "string", "title": "Customer", "description": "Name or id of the customer.",
        "minLength": 1, "maxLength": 200,
    }  # fmt: skip
