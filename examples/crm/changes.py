"""What the assistant may change: customers and orders. A person approves each of these calls.

Each call becomes one command (`examples.crm.commands`), which has the rules. What is said here is how a call's words
become the command's input: the customer that a name means, and that nothing is done to what the person is typing.
"""

from collections.abc import Mapping
from typing import Any

from agentic_qt.commands.capability import command_capability
from agentic_qt.commands.desk import CommandDesk
from agentic_qt.core.capability import Capability
from agentic_qt.core.errors import CapabilityError
from examples.crm.desk import Desk, allowed, choice, customer_name, object_schema, refuse_if_edited, text
from examples.crm.domain import CUSTOMER_FIELDS, ORDER_STATUSES, check_field
from examples.crm.lookup import find_customer, find_order

_Given = Mapping[str, Any]


def change_capabilities(desk: Desk, commands: CommandDesk) -> tuple[Capability, ...]:
    """Return what changes something, what cannot be undone last."""
    makers = (_update, _create, _set_order_status, _delete, _merge)
    return tuple(make(desk, commands) for make in makers)


def _customer_of(given: _Given) -> str:
    return f"customer:{given['id']}"


def _update(desk: Desk, commands: CommandDesk) -> Capability:
    def input_of(given: _Given) -> _Given:
        found = find_customer(desk.store, given["customer"])
        refuse_if_edited(desk, found.id)
        return {"id": found.id, "changes": {given["field"]: allowed(check_field, given["field"], given["value"])}}

    return command_capability(
        commands,
        "customer.update",
        title="Change customer",
        description="Change one field of one customer. Call it once for each field.",
        input_schema=object_schema(
            required=("customer", "field", "value"),
            customer=customer_name(),
            field=choice("Field", "Which field to change.", CUSTOMER_FIELDS),
            value={"type": "string", "title": "New value", "description": "The new value.", "maxLength": 4000},
        ),
        risk="mutating",
        input_of=input_of,
        target_of=_customer_of,
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


def _create(desk: Desk, commands: CommandDesk) -> Capability:
    def input_of(given: _Given) -> _Given:
        refuse_if_edited(desk, 0, any_customer=True)
        checked = {field: allowed(check_field, field, value) for field, value in given.items()}
        twins = [known for known in desk.store.customers() if known.email.casefold() == checked["email"].casefold()]
        if twins:
            raise CapabilityError(
                "customer_exists", f"{twins[0].name} (id {twins[0].id}) already has this e-mail address."
            )
        return checked

    return command_capability(
        commands,
        "customer.create",
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
        input_of=input_of,
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


def _set_order_status(desk: Desk, commands: CommandDesk) -> Capability:
    def input_of(given: _Given) -> _Given:
        return {"id": find_order(desk.store, given["order"]).id, "status": given["status"]}

    return command_capability(
        commands,
        "order.set_status",
        title="Change the status of an order",
        description="Set the status of one order, given by its number.",
        input_schema=object_schema(
            required=("order", "status"),
            order=text("Order", "The number of the order, such as 1001."),
            status=choice("Status", "The new status.", ORDER_STATUSES),
        ),
        risk="mutating",
        input_of=input_of,
        target_of=lambda given: f"order:{given['id']}",
        undoable=True,
        examples=(
            ("Mark order 1004 as shipped", {"order": "1004", "status": "shipped"}),
            ("Order 1005 is paid", {"order": "1005", "status": "paid"}),
            ("Cancel order 1010", {"order": "1010", "status": "cancelled"}),
        ),
    )


def _delete(desk: Desk, commands: CommandDesk) -> Capability:
    def input_of(given: _Given) -> _Given:
        found = find_customer(desk.store, given["customer"])
        refuse_if_edited(desk, found.id)
        return {"id": found.id}

    return command_capability(
        commands,
        "customer.delete",
        title="Delete customer",
        description=(
            "Delete one customer and its closed orders for good. A customer with open orders cannot be deleted."
        ),
        input_schema=object_schema(required=("customer",), customer=customer_name()),
        risk="destructive",
        input_of=input_of,
        target_of=_customer_of,
        undoable=False,
        examples=(
            ("Delete the customer Hypatia Theon", {"customer": "Hypatia Theon"}),
            ("Remove Tim Berners", {"customer": "Tim Berners"}),
        ),
    )


def _merge(desk: Desk, commands: CommandDesk) -> Capability:
    def input_of(given: _Given) -> _Given:
        gone, kept = (find_customer(desk.store, given[name]) for name in ("customer", "into"))
        refuse_if_edited(desk, gone.id)
        refuse_if_edited(desk, kept.id)
        return {"id": gone.id, "into": kept.id}

    return command_capability(
        commands,
        "customer.merge",
        title="Merge customers",
        description=(
            "Merge one customer into another one: the orders move, what the other one lacks is filled in, and the "
            "first one is deleted for good."
        ),
        input_schema=object_schema(
            required=("customer", "into"),
            customer={**customer_name(), "description": "Name or id of the customer that is deleted."},
            into={**customer_name(), "title": "Into", "description": "Name or id of the customer that stays."},
        ),
        risk="destructive",
        input_of=input_of,
        target_of=_customer_of,
        undoable=False,
        examples=(("Merge Linus Pauling into Marie Curie", {"customer": "Linus Pauling", "into": "Marie Curie"}),),
    )
