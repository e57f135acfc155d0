"""What changed in the database between two moments: found by comparing tables, not by believing anybody."""

from dataclasses import asdict
from typing import Any

from examples.crm.store import Store

Tables = dict[str, dict[int, dict[str, Any]]]


def tables(store: Store) -> Tables:
    """Return every row of every table, by id."""
    return {
        "customers": {customer.id: asdict(customer) for customer in store.customers()},
        "orders": {order.id: asdict(order) for order in store.orders()},
    }


def changes(before: Tables, after: Tables) -> list[dict[str, Any]]:
    """Return the rows that were added, removed or changed, with the old and the new value of each field."""
    found: list[dict[str, Any]] = []
    for table, old_rows in before.items():
        new_rows = after[table]
        for key in sorted(old_rows.keys() | new_rows.keys()):
            old, new = old_rows.get(key, {}), new_rows.get(key, {})
            fields = {
                field: {"old": old.get(field), "new": new.get(field)}
                for field in old | new
                if old.get(field) != new.get(field)
            }
            if fields:
                kind = "added" if not old else "removed" if not new else "changed"
                found.append({"table": table, "id": key, "change": kind, "fields": fields})
    return found


def in_words(change: dict[str, Any]) -> list[str]:
    """Return lines for a person."""
    head = f"{change['table']} {change['id']}: {change['change']}"
    if change["change"] == "removed":
        names = (f"{f} {v['old']!r}" for f, v in change["fields"].items() if f in ("name", "email", "item"))
        return [f"{head} ({', '.join(names)})"]
    return [head, *(f"  {f}: {v['old']!r} -> {v['new']!r}" for f, v in change["fields"].items())]
