"""What the assistant may change: customers and orders. A person approves each of these calls.

The rules are checked in the preview too: nobody is asked to approve what cannot be done.
"""

from collections.abc import Mapping
from typing import Any

from agentic_qt.core.capability import Capability
from agentic_qt.core.errors import CapabilityError
from examples.crm.desk import (
    Desk,
    allowed,
    choice,
    customer_name,
    customer_row,
    object_schema,
    order_line,
    order_row,
    refuse_if_edited,
    text,
)
from examples.crm.domain import CUSTOMER_FIELDS, ORDER_STATUSES, Customer, check_field
from examples.crm.lookup import find_customer, find_order


def change_capabilities(desk: Desk) -> tuple[Capability, ...]:
    """Return what changes something, what cannot be undone last."""
    return (_update(desk), _create(desk), _set_order_status(desk), _delete(desk))


def _update(desk: Desk) -> Capability:
    def plan(customer: str, field: str, value: str) -> tuple[Customer, str]:
        found = find_customer(desk.store, customer)
        refuse_if_edited(desk, found.id)
        return found, allowed(check_field, field, value)

    def preview(customer: str, field: str, value: str) -> dict[str, Any]:
        found, new = plan(customer, field, value)
        changes = {field: {"old": getattr(found, field), "new": new}}
        return {"customer": f"{found.name} ({found.id})", "changes": changes, "version": found.version}

    def update(customer: str, field: str, value: str) -> dict[str, Any]:
        found, new = plan(customer, field, value)
        changed = allowed(desk.change_customer, found.id, {field: new}, found.version)
        return {
            "customer": customer_row(changed),
            "field": field,
            "old": getattr(found, field),
            "new": getattr(changed, field),
        }

    return Capability(
        name="customer.update",
        title="Change customer",
        description="Change one field of one customer. Call it once for each field.",
        input_schema=object_schema(
            required=("customer", "field", "value"),
            customer=customer_name(),
            field=choice("Field", "Which field to change.", CUSTOMER_FIELDS),
            value={"type": "string", "title": "New value", "description": "The new value.", "maxLength": 4000},
        ),
        risk="mutating",
        handler=update,
        preview=preview,
        undoable=True,
        examples=(
            (
                "Set the email of Grace Hopper to grace@example.com",
                {"customer": "Grace Hopper", "field": "email", "value": "grace@example.com"},
            ),
            (
                "Change the city of Marie Curie to Lyon",
                {"customer": "Marie Curie", "field": "city", "value": "Lyon"},
            ),
            (
                "Make Linus Pauling active",
                {"customer": "Linus Pauling", "field": "status", "value": "active"},
            ),
            (
                "Katherine Johnson has a new phone number: +1 202 555 0199",
                {"customer": "Katherine Johnson", "field": "phone", "value": "+1 202 555 0199"},
            ),
        ),
    )


def _create(desk: Desk) -> Capability:
    def plan(values: Mapping[str, str]) -> dict[str, str]:
        refuse_if_edited(desk, 0, any_customer=True)
        checked = {field: allowed(check_field, field, value) for field, value in values.items()}
        twins = [known for known in desk.store.customers() if known.email.casefold() == checked["email"].casefold()]
        if twins:
            raise CapabilityError(
                "customer_exists", f"{twins[0].name} (id {twins[0].id}) already has this e-mail address."
            )
        return checked

    def preview(**values: str) -> dict[str, Any]:
        return {"changes": {field: {"old": None, "new": value} for field, value in plan(values).items()}}

    def create(**values: str) -> dict[str, Any]:
        return {"customer": customer_row(allowed(desk.create_customer, plan(values)))}

    return Capability(
        name="customer.create",
        title="Add customer",
        description="Add a new customer with a name and an e-mail address.",
        input_schema=object_schema(
            required=("name", "email"),
            name=text("Name", "Full name."),
            email=text("E-mail", "E-mail address."),
            company=text("Company", "Company, if known."),
            city=text("City", "City, if known."),
        ),
        risk="mutating",
        handler=create,
        preview=preview,
        undoable=True,
        examples=(
            (
                "Add a customer named Barbara Liskov with the email barbara@example.com",
                {"name": "Barbara Liskov", "email": "barbara@example.com"},
            ),
            (
                "Create the customer Edsger Dijkstra, edsger@example.org, in Rotterdam",
                {"name": "Edsger Dijkstra", "email": "edsger@example.org", "city": "Rotterdam"},
            ),
        ),
    )


def _set_order_status(desk: Desk) -> Capability:
    def preview(order: str, status: str) -> dict[str, Any]:
        found = find_order(desk.store, order)
        customer = desk.store.customer(found.customer_id)
        return {
            "order": f"{found.id}: {order_line(found)}",
            "customer": f"{customer.name} ({customer.id})",
            "changes": {"status": {"old": found.status, "new": status}},
        }

    def set_status(order: str, status: str) -> dict[str, Any]:
        found = find_order(desk.store, order)
        return {"order": order_row(allowed(desk.change_order_status, found.id, status)), "old": found.status}

    return Capability(
        name="order.set_status",
        title="Change the status of an order",
        description="Set the status of one order, given by its number.",
        input_schema=object_schema(
            required=("order", "status"),
            order=text("Order", "The number of the order, such as 1001."),
            status=choice("Status", "The new status.", ORDER_STATUSES),
        ),
        risk="mutating",
        handler=set_status,
        preview=preview,
        undoable=True,
        examples=(
            ("Mark order 1004 as shipped", {"order": "1004", "status": "shipped"}),
            ("Order 1005 is paid", {"order": "1005", "status": "paid"}),
            ("Cancel order 1010", {"order": "1010", "status": "cancelled"}),
        ),
    )


def _delete(desk: Desk) -> Capability:
    def plan(customer: str) -> Customer:
        found = find_customer(desk.store, customer)
        refuse_if_edited(desk, found.id)
        checked: Customer = allowed(desk.store.check_deletable, found.id)
        return checked

    def preview(customer: str) -> dict[str, Any]:
        found = plan(customer)
        orders = {f"order {order.id}": order_line(order) for order in desk.store.orders(found.id)}
        return {
            "customer": f"{found.name} ({found.id})",
            "email": found.email,
            "company": ", ".join(part for part in (found.company, found.city, found.country) if part),
            **orders,
            "version": found.version,
        }

    def delete(customer: str) -> dict[str, Any]:
        found = plan(customer)
        orders = len(desk.store.orders(found.id))
        allowed(desk.delete_customer, found.id, found.version)
        return {"deleted": customer_row(found), "orders_deleted": orders}

    return Capability(
        name="customer.delete",
        title="Delete customer",
        description=(
            "Delete one customer and its closed orders for good. A customer with open orders cannot be deleted."
        ),
        input_schema=object_schema(required=("customer",), customer=customer_name()),
        risk="destructive",
        handler=delete,
        preview=preview,
        undoable=False,
        examples=(
            ("Delete the customer Hypatia Theon", {"customer": "Hypatia Theon"}),
            ("Remove Tim Berners", {"customer": "Tim Berners"}),
        ),
    )
