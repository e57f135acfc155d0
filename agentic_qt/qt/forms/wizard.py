"""A QWizard as one tool: each page is a group of fields, filled and validated in the order of the pages."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from PySide6.QtWidgets import QWidget, QWizard, QWizardPage

from agentic_qt.qt.forms.adapters.base import JsonSchema
from agentic_qt.qt.forms.fields import Field, FormFields
from agentic_qt.qt.forms.fill import (
    FillError,
    application_code,
    check,
    fill,
    preview,
    remember_initial,
    restore,
    take_snapshot,
)
from agentic_qt.qt.forms.port import Changes, FormPort, PortFilled
from agentic_qt.qt.forms.properties import for_people
from agentic_qt.qt.forms.synthesise import schema_of
from agentic_qt.qt.forms.walker import walk
from agentic_qt.schema.canonical import pointer_token
from agentic_qt.schema.issues import Issue


class WizardPort(FormPort):
    """The pages of a wizard as nested objects, by the objectName of the page."""

    @property
    def wizard(self) -> QWizard:
        """The wizard."""
        return cast("QWizard", self.form)

    def walk(self) -> FormFields:
        """Return the fields of all pages."""
        walked = [walk(page) for _key, page in self._pages()]
        return FormFields(
            fields=tuple(field for one in walked for field in one.fields),
            dropped=tuple(dropped for one in walked for dropped in one.dropped),
        )

    def schema(self) -> JsonSchema:
        """Return an object of objects: one for each page that has fields."""
        properties, required = {}, []
        for key, page in self._pages():
            fields = walk(page).fields
            if not fields:
                continue
            inner = schema_of(fields, defaults=False)
            title = " ".join(filter(None, (for_people(page.title()), for_people(page.subTitle()))))
            properties[key] = inner | ({"description": title} if title else {})
            if inner["required"]:
                required.append(key)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def check(self, values: Mapping[str, Any]) -> tuple[Issue, ...]:
        """Return everything that is wrong on any page."""
        return tuple(
            _within(key, issue) for key, page in self._pages() if key in values for issue in check(page, values[key])
        )

    def changes(self, values: Mapping[str, Any]) -> Changes:
        """Return what filling would change, by ``page/field``."""
        return {
            f"{key}/{change.key}": {"old": change.old, "new": change.new}
            for key, page in self._pages()
            if key in values
            for change in preview(page, values[key])
        }

    def fill(self, values: Mapping[str, Any], *, reset: bool = False) -> PortFilled:
        """Go from page to page as a user does: fill, validate, next; the first page that refuses takes all back."""
        old, before = self.values(), self.remember()
        try:
            self._walk_through(values, reset=reset)
        except FillError as error:
            left = self.put_back(before)
            raise FillError(error.code, error.issues, left) from None
        except Exception:
            self.put_back(before)
            raise
        return PortFilled(before=before, old=old, shown=None)

    def _walk_through(self, values: Mapping[str, Any], *, reset: bool) -> None:
        wizard = self.wizard
        with application_code():
            wizard.restart()
        left = set(values)
        while True:
            page = wizard.currentPage()
            key = next((name for name, known in self._pages() if known is page), "")
            left.discard(key)
            if key in values:
                _fill_page(key, page, values[key], reset=reset)
            with application_code(pointer_token(key)):
                is_last = _turn(wizard, key)
            if is_last:
                break
        if left:
            raise FillError("invalid_input", tuple(map(_not_reached, sorted(left))))

    def values(self, *, secret: bool = False) -> dict[str, Any]:
        """Return what stands on the pages."""
        result = {}
        for key, page in self._pages():
            inner = {
                field.key: field.adapter.get(field.control)
                for field in walk(page).fields
                if secret or not field.sensitive
            }
            if inner:
                result[key] = inner
        return result

    def pointers(self) -> Iterator[tuple[str, Field]]:
        """Yield the JSON pointer of each field: its page, then its key."""
        for key, page in self._pages():
            for field in walk(page).fields:
                yield pointer_token(key) + pointer_token(field.key), field

    def put_back(self, before: Any) -> tuple[str, ...]:
        """Put every page back, and the wizard to the page it was on."""
        current, snapshots = before
        left = tuple(
            f"{key}/{name}" for key, page in self._pages() if key in snapshots for name in restore(page, snapshots[key])
        )
        wizard = self.wizard
        while wizard.currentId() != current and wizard.currentId() != wizard.startId():
            here = wizard.currentId()
            wizard.back()
            if wizard.currentId() == here:
                break
        return left

    def remember(self) -> Any:
        """Return the page that is shown, and a snapshot of each."""
        return self.wizard.currentId(), {key: take_snapshot(page) for key, page in self._pages()}

    def note_first(self) -> None:
        """Note what stands on each page."""
        for _key, page in self._pages():
            remember_initial(page)

    def _pages(self) -> Iterator[tuple[str, QWizardPage]]:
        for number, page_id in enumerate(self.wizard.pageIds(), 1):
            page = self.wizard.page(page_id)
            yield page.objectName() or f"page_{number}", page


def _turn(wizard: QWizard, key: str) -> bool:
    """Go on from the page that is shown, or tell that it is the last; a page that is not complete refuses."""
    page = wizard.currentPage()
    is_last = wizard.nextId() < 0
    accepted = page.isComplete() and (not is_last or page.validatePage())
    if accepted and not is_last:
        wizard.next()  # which validates the page
        accepted = wizard.currentPage() is not page
    if not accepted:
        raise FillError("page_refused", (_refused(key, page),))
    return is_last


def _fill_page(key: str, page: QWidget, values: Mapping[str, Any], *, reset: bool) -> None:
    try:
        fill(page, values, reset=reset)
    except FillError as error:
        raise FillError(error.code, tuple(_within(key, issue) for issue in error.issues)) from None


def _within(key: str, issue: Issue) -> Issue:
    place = pointer_token(key)
    return replace(issue, pointer=place + issue.pointer)


def _refused(key: str, page: QWidget) -> Issue:
    title = for_people(page.title()) if isinstance(page, QWizardPage) else ""
    said = f"the page {title or key!r} is not complete with these values"
    return Issue(pointer=pointer_token(key), keyword="page", message=said, expected="a complete page")


def _not_reached(key: str) -> Issue:
    said = "this page is not reached with the values of the others"
    return Issue(pointer=pointer_token(key), keyword="page", message=said, expected="a page that is reached")
