"""Customers and orders: values and the rules of their fields, and nothing of databases, windows or assistants."""

import re
import unicodedata
from dataclasses import dataclass

CUSTOMER_STATUSES = ("lead", "active", "inactive")
ORDER_STATUSES = ("open", "paid", "shipped", "cancelled")
CUSTOMER_FIELDS = ("name", "email", "phone", "company", "city", "country", "status", "notes")
CUSTOMER_COLUMNS = ("name", "company", "status", "city", "email", "country")  # of the table
FIRST_VERSION = 1
"""Of a row that was never changed."""

_FIELD_LIMITS = {
    "name": 120, "email": 200, "phone": 40, "company": 120, "city": 80, "country": 80, "status": 20,
    "notes": 4000,
}  # fmt: skip
_EMAIL = re.compile(r"[^@\s,;<>\"]+@[^@\s,;<>\"]+\.[^@\s,;<>\".]{2,}")
_STROKED = str.maketrans("đłø", "dlo")  # letters that do not decompose


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
    """One row of the customers; `id` 0 means not stored yet. Each change makes the version greater by 1."""

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
    version: int = 0


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


def searchable(customer: Customer) -> str:
    """Return the text of a customer that a search looks at."""
    parts = (
        customer.name, customer.email, customer.company, customer.city, customer.country, customer.phone,
    )  # fmt: skip
    return fold(" ".join(parts))


def amount_text(cents: int) -> str:
    """Return an amount for people: 123456 is "1,234.56 €"."""
    return f"{cents / 100:,.2f} €"
