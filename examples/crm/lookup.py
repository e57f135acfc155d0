"""From the words of a request to one customer or one order."""

from collections.abc import Sequence
from difflib import get_close_matches

from agentic_qt.core.errors import CapabilityError
from examples.crm.domain import Customer, Order, RuleError, fold
from examples.crm.store import Store

_MOST_CANDIDATES = 8


def find_customer(store: Store, text: str) -> Customer:
    """Return the customer that `text` means: an id, a full name, an e-mail address, or part of one name.

    Raises:
        CapabilityError: ``customer_not_found``, or ``customer_ambiguous`` with the candidates and their ids.
    """
    wanted = fold(text).removeprefix("customer ").lstrip("#").strip()
    if wanted.isdecimal():
        try:
            return store.customer(int(wanted))
        except RuleError as error:
            raise CapabilityError(error.code, f"{error.message} Search for the name first.") from error
    everyone = store.customers()
    words = wanted.split()
    ways = (
        [known for known in everyone if wanted in (fold(known.name), known.email.casefold())],
        [known for known in everyone if words and all(_starts_a_word(word, known.name) for word in words)],
        [known for known in everyone if words and all(word in fold(known.name) for word in words)],
    )
    for found in ways:
        if len(found) == 1:
            return found[0]
        if found:
            raise CapabilityError(
                "customer_ambiguous",
                f"{len(found)} customers match {text!r}. Call again with one of these ids: {_candidates(found)}.",
            )
    near = get_close_matches(wanted, [fold(known.name) for known in everyone], n=3, cutoff=0.6)
    similar = [known for known in everyone if fold(known.name) in near]
    advice = f"Similar: {_candidates(similar)}." if similar else "Search with fewer letters."
    raise CapabilityError("customer_not_found", f"No customer matches {text!r}. {advice}")


def find_order(store: Store, text: str) -> Order:
    """Return the order with the number in `text`.

    Raises:
        CapabilityError: ``order_not_found``.
    """
    number = fold(text).removeprefix("order ").lstrip("#").strip()
    try:
        return store.order(int(number) if number.isdecimal() else -1)
    except RuleError as error:
        raise CapabilityError(
            "order_not_found",
            f"There is no order {text!r}. List the orders of the customer to see their numbers.",
        ) from error


def _starts_a_word(word: str, name: str) -> bool:
    return any(part.startswith(word) for part in fold(name).split())


def _candidates(customers: Sequence[Customer]) -> str:
    shown = "; ".join(
        f"{known.id} ({known.name}, {known.company}, {known.city})" for known in customers[:_MOST_CANDIDATES]
    )
    return shown if len(customers) <= _MOST_CANDIDATES else f"{shown}; and {len(customers) - _MOST_CANDIDATES} more"
