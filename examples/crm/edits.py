"""What a person can undo: one command for each write, pushed after the write was done.

A command checks that the row still is what it left behind; if not, it gives up and says so.
"""

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from examples.crm.domain import CUSTOMER_FIELDS, Customer, Order, RuleError, Store


class _Edit(QUndoCommand):
    """A write that has already happened: the first `redo`, which comes from the push, does nothing.

    Args:
        text: For the Undo menu.
        report: Told why, in words for a person, when undoing or redoing is not possible any more.
    """

    def __init__(self, text: str, report: Callable[[str], None]) -> None:
        super().__init__(text)
        self._report = report
        self._done = True

    def redo(self) -> None:
        if self._done:
            self._done = False
            return
        self._try(self._apply)

    def undo(self) -> None:
        self._try(self._take_back)

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except RuleError as error:
            self.setObsolete(True)
            self._report(error.message)

    def _apply(self) -> None:
        raise NotImplementedError

    def _take_back(self) -> None:
        raise NotImplementedError


class CustomerChanged(_Edit):
    """Fields of one customer were changed from `before` to `after`."""

    def __init__(self, store: Store, before: Customer, after: Customer, report: Callable[[str], None]) -> None:
        super().__init__(f"Change {after.name}", report)
        self._store, self._before, self._after = store, before, after
        self._fields = [f for f in CUSTOMER_FIELDS if getattr(before, f) != getattr(after, f)]

    def _apply(self) -> None:
        self._move(self._before, self._after)

    def _take_back(self) -> None:
        self._move(self._after, self._before)

    def _move(self, source: Customer, goal: Customer) -> None:
        now = self._store.customer(source.id)
        if any(getattr(now, field) != getattr(source, field) for field in self._fields):
            raise RuleError("version_conflict", f"{now.name} was changed since; nothing was undone.")
        changes = {field: getattr(goal, field) for field in self._fields}
        self._store.update_customer(now.id, changes, version=now.version)


class CustomerCreated(_Edit):
    """A customer was added; undoing deletes it, redoing adds it under a new id."""

    def __init__(self, store: Store, customer: Customer, report: Callable[[str], None]) -> None:
        super().__init__(f"Add {customer.name}", report)
        self._store, self._customer = store, customer

    def _apply(self) -> None:
        values = {field: getattr(self._customer, field) for field in CUSTOMER_FIELDS}
        self._customer = self._store.create_customer(values)

    def _take_back(self) -> None:
        self._store.delete_customer(self._customer.id, version=self._customer.version)


class OrderStatusChanged(_Edit):
    """The status of one order was changed from `before` to `after`."""

    def __init__(self, store: Store, before: Order, after: Order, report: Callable[[str], None]) -> None:
        super().__init__(f"Set order {after.id} to {after.status}", report)
        self._store, self._before, self._after = store, before, after

    def _apply(self) -> None:
        self._store.set_order_status(self._after.id, self._after.status, expected=self._before.status)

    def _take_back(self) -> None:
        self._store.set_order_status(self._after.id, self._before.status, expected=self._after.status)
