"""What all declarations share: the desk that they work at, and pieces of schemas and errors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from agentic_qt.core.errors import CapabilityError
from examples.crm.domain import RuleError
from examples.crm.store import Store


class Desk(Protocol):
    """What the capabilities need of the window: what it shows. What is written is written by commands."""

    store: Store

    @property
    def edited_customer(self) -> int | None:
        """The id of the customer whose form holds unsaved input (0: a new one), or None."""

    def show_customer(self, customer_id: int) -> None: ...
    def show_orders(self, customer_id: int) -> None: ...
    def show_filter(self, *, text: str | None = None, status: str | None = None) -> int: ...
    def show_sorted(self, column: str, direction: str) -> None: ...
    def show_theme(self, theme: str) -> None: ...


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
