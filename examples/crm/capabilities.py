"""What the assistant may do in the customer application: one declaration for each thing.

The handlers use the same methods as the buttons and menus (`Desk`), so that the person sees what happens. What changes
something is declared in `changes`.
"""

from dataclasses import replace
from typing import Any

from agentic_qt.commands.desk import CommandDesk
from agentic_qt.core.capability import Capability
from examples.crm.changes import change_capabilities
from examples.crm.desk import (
    Desk,
    choice,
    customer_name,
    object_schema,
    refuse_if_edited,
    text,
)
from examples.crm.domain import CUSTOMER_COLUMNS, CUSTOMER_STATUSES, ORDER_STATUSES
from examples.crm.lookup import find_customer
from examples.crm.other_languages import IN_OTHER_LANGUAGES
from examples.crm.telling import customer_row, order_row

MOST_ROWS = 20
THEMES = ("system", "light", "dark")


def capabilities(desk: Desk, commands: CommandDesk) -> tuple[Capability, ...]:
    """Return everything that the assistant may do at `desk`, what changes nothing first; `commands` does the rest."""
    makers = (_search, _open, _list_orders, _set_filter, _sort, _set_theme)
    declared = (*(make(desk) for make in makers), *change_capabilities(desk, commands))
    return tuple(
        replace(capability, examples=(*capability.examples, *IN_OTHER_LANGUAGES[capability.name]))
        for capability in declared
    )


def _search(desk: Desk) -> Capability:
    def search(query: str = "", status: str = "all") -> dict[str, Any]:
        found = desk.store.find_customers(query, status)
        desk.show_filter(text=query, status=status)
        return {"total": len(found), "customers": [customer_row(customer) for customer in found[:MOST_ROWS]]}

    return Capability(
        name="customers.search",
        title="Search customers",
        description=(
            "Find customers by name, e-mail, company, city or country, and show them in the table. "
            f"Returns at most {MOST_ROWS} rows with their ids, and the total."
        ),
        input_schema=object_schema(
            required=("query",),
            query=text("Search", "Words to look for, such as a name, a company or a city."),
            status=choice("Status", "Only customers with this status.", ("all", *CUSTOMER_STATUSES)),
        ),
        risk="read",
        handler=search,
        examples=(
            ("Find the customers in London", {"query": "London"}),
            ("Search for Nguyễn", {"query": "Nguyễn"}),
            ("Which customers are from Germany?", {"query": "Germany"}),
            ("Look for active customers in Paris", {"query": "Paris", "status": "active"}),
        ),
    )


def _open(desk: Desk) -> Capability:
    def open_customer(customer: str) -> dict[str, Any]:
        found = find_customer(desk.store, customer)
        refuse_if_edited(desk, found.id, any_customer=True)
        desk.show_customer(found.id)
        return {
            **customer_row(found),
            "phone": found.phone,
            "notes": found.notes,
            "orders": len(desk.store.orders(found.id)),
        }

    return Capability(
        name="customer.open",
        title="Open customer",
        description="Open one customer in the form beside the table and return all its details.",
        input_schema=object_schema(required=("customer",), customer=customer_name()),
        risk="read",
        handler=open_customer,
        examples=(
            ("Open Grace Hopper", {"customer": "Grace Hopper"}),
            ("Show me Marie Curie", {"customer": "Marie Curie"}),
            ("What is the phone number of Emmy Noether?", {"customer": "Emmy Noether"}),
        ),
    )


def _list_orders(desk: Desk) -> Capability:
    def list_orders(customer: str, status: str = "all") -> dict[str, Any]:
        found = find_customer(desk.store, customer)
        orders = [order for order in desk.store.orders(found.id) if status in ("all", order.status)]
        if desk.edited_customer is None:
            desk.show_orders(found.id)
        return {
            "customer": found.name,
            "total": len(orders),
            "orders": [order_row(order) for order in orders[:MOST_ROWS]],
        }

    return Capability(
        name="orders.list",
        title="List orders",
        description="List the orders of one customer, newest first: number, item, amount and status.",
        input_schema=object_schema(
            required=("customer",),
            customer=customer_name(),
            status=choice("Status", "Only orders with this status.", ("all", *ORDER_STATUSES)),
        ),
        risk="read",
        handler=list_orders,
        examples=(
            ("List the orders of Grace Hopper", {"customer": "Grace Hopper"}),
            ("What did Marie Curie order?", {"customer": "Marie Curie"}),
            ("Show the open orders of Trần Thị Mai", {"customer": "Trần Thị Mai", "status": "open"}),
        ),
    )


def _set_filter(desk: Desk) -> Capability:
    def set_filter(status: str) -> dict[str, Any]:
        return {"status": status, "shown": desk.show_filter(text="", status=status)}

    return Capability(
        name="view.set_filter",
        title="Filter the table",
        description="Show only the customers with one status in the table, or all of them.",
        input_schema=object_schema(
            required=("status",),
            status=choice("Status", "Which customers to show.", ("all", *CUSTOMER_STATUSES)),
        ),
        risk="read",
        handler=set_filter,
        examples=(
            ("Show only the inactive customers", {"status": "inactive"}),
            ("Filter by leads", {"status": "lead"}),
            ("Show all customers again", {"status": "all"}),
        ),
    )


def _sort(desk: Desk) -> Capability:
    def sort(column: str, direction: str = "ascending") -> dict[str, Any]:
        desk.show_sorted(column, direction)
        return {"column": column, "direction": direction}

    return Capability(
        name="view.sort",
        title="Sort the table",
        description="Sort the table of customers by one column.",
        input_schema=object_schema(
            required=("column",),
            column=choice("Column", "The column to sort by.", CUSTOMER_COLUMNS),
            direction=choice("Direction", "A to Z or Z to A.", ("ascending", "descending")),
        ),
        risk="read",
        handler=sort,
        examples=(
            ("Sort the customers by city", {"column": "city"}),
            ("Sort by name from Z to A", {"column": "name", "direction": "descending"}),
            ("Order the table by company", {"column": "company"}),
        ),
    )


def _set_theme(desk: Desk) -> Capability:
    def set_theme(theme: str) -> dict[str, Any]:
        desk.show_theme(theme)
        return {"theme": theme}

    return Capability(
        name="app.set_theme",
        title="Change the theme",
        description="Switch the look of the application: light, dark, or as the system says.",
        input_schema=object_schema(required=("theme",), theme=choice("Theme", "The look.", THEMES)),
        risk="read",
        handler=set_theme,
        examples=(
            ("Switch to dark mode", {"theme": "dark"}),
            ("Make it light again", {"theme": "light"}),
        ),
    )
