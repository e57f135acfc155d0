"""How customers and orders are told to the chat model and to the person who approves."""

from typing import Any

from examples.crm.domain import Customer, Order, amount_text


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


def customer_title(customer: Customer) -> str:
    """Return name and id."""
    return f"{customer.name} ({customer.id})"


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
