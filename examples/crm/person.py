"""What the person at the window changes, by buttons, menus and dialogs: each becomes a command.

The version is the one that the person sees. What nobody can say is told so, with a way to ask again.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from agentic_qt.commands.values import Code, CommandResult, CommandStatus
from examples.crm.clerk import Clerk, Then
from examples.crm.commands import merge_version
from examples.crm.dialogs import NewOrderDialog, ask_again, ask_delete, tell
from examples.crm.domain import Customer, Order, RuleError
from examples.crm.merge_dialog import MergeDialog

if TYPE_CHECKING:
    from examples.crm.window import CrmWindow

# Not found is no answer either: the question may have overtaken the command.
_NOT_KNOWN = (CommandStatus.UNKNOWN, CommandStatus.EXECUTING, CommandStatus.NOT_FOUND)
_UNREACHABLE = "unreachable"  # the client's own code; to import it from there would load the client
_CONFLICT = "It was changed meanwhile by another window."


class Person:
    """The changes of the person at one window.

    Args:
        window: Whose form and dialogs.
        clerk: Submits the commands.
    """

    def __init__(self, window: "CrmWindow", clerk: Clerk) -> None:
        self._window = window
        self._clerk = clerk

    def save(self, then: Callable[[], None] = lambda: None) -> None:
        """Save what is in the form; `then` is called when it is stored."""
        form = self._window.form
        customer = form.customer
        if customer is None or not form.savable:
            return
        given: dict[str, Any]
        if customer.id == 0:
            values: Mapping[str, str] = {field: value for field, value in form.values().items() if value}
            type_, given, version = "customer.create", dict(values), None
        else:
            values = dict(form.changes())
            type_, given, version = "customer.update", {"id": customer.id, "changes": values}, customer.version

        def saved(result: CommandResult) -> None:
            shown = form.customer
            if shown is not None and shown.id == customer.id:
                stored = self._window.store.customer(int(result.data["customer"]["id"]))
                form.take_saved(stored, values)
                self._window.show_saved(stored)
            self._window.say("Saved.")
            then()

        told = self._told("save", "the customer", "saved", saved)
        self._clerk.submit("save", type_, given, version=version, target=_customer(customer.id), then=told)

    def ask_delete(self) -> None:
        """Ask whether to delete the customer in the form."""
        customer, store = self._window.form.customer, self._window.store
        if customer is None or customer.id == 0:
            return
        try:
            store.check_deletable(customer.id)
        except RuleError as error:
            tell(self._window, f"{customer.name} cannot be deleted.", error.message)
            return
        ask_delete(self._window, customer, len(store.orders(customer.id)), partial(self._delete, customer))

    def _delete(self, customer: Customer) -> None:
        told = self._told("delete", customer.name, "deleted")
        self._clerk.submit(
            "delete",
            "customer.delete",
            {"id": customer.id},
            version=customer.version,
            target=_customer(customer.id),
            then=told,
        )

    def ask_merge(self) -> None:
        """Ask into whom the customer in the form is merged."""
        customer = self._window.form.customer
        if customer is not None and customer.id and not self._window.form.dirty:
            MergeDialog(self._window, self._window.store, customer, self._merge).open()

    def _merge(self, gone: Customer, kept: Customer) -> None:
        self._clerk.submit(
            "merge",
            "customer.merge",
            {"id": gone.id, "into": kept.id},
            version=merge_version(gone.version, kept.version),
            target=_customer(gone.id),
            then=self._told("merge", gone.name, "merged"),
        )

    def set_order_status(self, order: Order, status: str) -> None:
        """Set the status of an order as it is shown."""
        self._clerk.submit(
            "order",
            "order.set_status",
            {"id": order.id, "status": status},
            version=order.version,
            target=f"order:{order.id}",
            then=self._told("order", "the order", "changed"),
        )

    def ask_new_order(self) -> None:
        """Open the dialog for a new order of the customer in the form."""
        customer = self._window.form.customer
        if customer is not None and customer.id:
            self.close_order_dialogs()
            NewOrderDialog(self._window, customer, self._add_order).show()

    def close_order_dialogs(self) -> None:
        """Close what `ask_new_order` opened."""
        for dialog in self._window.findChildren(NewOrderDialog):
            dialog.close()

    def _add_order(self, order: Order) -> "asyncio.Task[CommandResult] | None":
        given = {
            "customer": order.customer_id,
            "item": order.item,
            "amount_cents": order.amount_cents,
            "ordered_on": order.ordered_on,
        }
        told = self._told("add order", "the order", "added")
        return self._clerk.submit("add order", "order.add", given, target=_customer(order.customer_id), then=told)

    def _told(self, work: str, what: str, verb: str, done: Then = lambda _result: None) -> Then:
        """Return what tells the person of an end that is no success, and calls `done` for one that is."""

        def told(result: CommandResult) -> None:
            if result.ok:
                done(result)
            elif result.status in _NOT_KNOWN:
                again = partial(self._clerk.look, work, result.command_id, told)
                words = f"{what[0].upper()}{what[1:]} may have been {verb}."
                ask_again(self._window, words, "The answer was lost, and nobody can say yet.", again)
            else:
                if result.code == _UNREACHABLE:
                    self._window.show_trouble(result.hint)
                tell(self._window, f"{what[0].upper()}{what[1:]} was not {verb}.", self._reason(result))

        return told

    def _reason(self, result: CommandResult) -> str:
        if result.code != Code.VERSION_CONFLICT:
            return result.hint
        look = "Revert to see what is stored." if self._window.form.dirty else "What is stored now is shown."
        return f"{_CONFLICT} {look}"


def _customer(number: int) -> str | None:
    return f"customer:{number}" if number else None
