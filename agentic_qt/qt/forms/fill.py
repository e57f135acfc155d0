"""Fills a form as a user would, or not at all: everything is checked first, and any failure puts everything back."""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import shiboken6
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from agentic_qt.qt.forms.fields import Field
from agentic_qt.qt.forms.input_check import check_fields, check_one, normal_input, not_taken, raised, vanished
from agentic_qt.qt.forms.slot_errors import SlotErrors
from agentic_qt.qt.forms.walker import walk
from agentic_qt.schema.canonical import pointer_token
from agentic_qt.schema.issues import Issue

_log = logging.getLogger("agentic_qt.qt.forms")
_PASSES: Final = 3
"""Putting one field back may change another: country and state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One field that was set to another value.

    Args:
        key: The field.
        label: What stands beside it.
        old: The value before, as JSON; None for a sensitive field.
        new: The value now.
    """

    key: str
    label: str
    old: Any
    new: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """What stood in the fields that could be used, and how to put it back; equal when the same stands there.

    Args:
        values: The JSON value of each field; sensitive ones are left out.
        states: What each adapter needs to put it back.
        fields: Whose they are: a field may be read-only, renamed or out of sight when it is put back.
    """

    values: Mapping[str, Any]
    states: Mapping[str, Any]
    fields: tuple[Field, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Filled:
    """What filling did.

    Args:
        changes: The fields that have another value now, in the order of the form: those that were set, and those
            that followed.
        before: For undo: `restore(form, before)`.
        after: The whole form as it stands now; `after.values` is what would be submitted.
    """

    changes: tuple[Change, ...]
    before: Snapshot
    after: Snapshot


class FillError(Exception):
    """The form was not filled.

    Args:
        code: ``invalid_input`` (the input is wrong: `issues`), ``not_taken`` (a widget did not take a valid value:
            `issues` say the actual ones), ``form_changed`` (a field vanished or was disabled meanwhile),
            ``handler_error`` (the application's own code raised when a field was set: a slot, or an override).
        issues: All that is wrong, with JSON pointers.
        left: The keys of the fields that could not be put back; empty when the form holds what it held before.
    """

    def __init__(self, code: str, issues: tuple[Issue, ...], left: tuple[str, ...] = ()) -> None:
        said = (f"{issue.pointer or 'the input'} {issue.message.rstrip('.')}" for issue in issues)
        super().__init__("; ".join(said))
        self.code = code
        self.issues = issues
        self.left = left


def check(form: QWidget, values: Mapping[str, Any]) -> tuple[Issue, ...]:
    """Return everything that is wrong with an input now, without touching a widget; empty when it can be filled.

    Fields that depend on others in the same input are judged by their schema only: `fill` judges the rest.
    """
    return check_fields(walk(form).fields, values)


def preview(form: QWidget, values: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return what filling would change by itself, without touching a widget; of a valid input."""
    fields = walk(form).fields
    wanted = normal_input(fields, values)
    changes = []
    for one in fields:
        if one.key in wanted:
            old = one.adapter.get(one.control)
            if not same(old, wanted[one.key]):
                changes.append(_change(one, old, wanted[one.key]))
    return tuple(changes)


def fill(form: QWidget, values: Mapping[str, Any], *, reset: bool = False) -> Filled:
    """Set the fields, as a user would, in the order of the input, each after those it depends on.

    Args:
        form: The form's widget.
        values: A part of the form is enough; the other fields keep their values.
        reset: Put the fields to what they held when the form was first seen (`remember_initial`) before.

    Raises:
        FillError: Why not; the form holds what it held before.
    """
    fields = walk(form).fields
    issues = check_fields(fields, values)
    if issues:
        raise FillError("invalid_input", issues)
    initial = remember_initial(form)
    before = _snapshot(fields)
    try:
        if reset:
            with application_code():
                _restore(fields, initial)
        _set_all(form, fields, normal_input(fields, values))
        now = walk(form).fields
        after = _snapshot(now)
    except FillError as error:
        error.left = _put_back(form, before)
        raise
    except Exception:  # of an adapter that an application registered
        _put_back(form, before)
        raise
    return Filled(changes=tuple(_changes(now, before, after)), before=before, after=after)


def take_snapshot(form: QWidget) -> Snapshot:
    """Return what stands in the form now."""
    return _snapshot(walk(form).fields)


def restore(form: QWidget, snapshot: Snapshot) -> tuple[str, ...]:
    """Put a snapshot back; returns the keys of the fields that could not be put back."""
    left = _restore(walk(form).fields, snapshot)
    if left:  # a field that was disabled or hidden by another one is back only now
        left = _restore(walk(form).fields, snapshot)
    return _restore_others(form, snapshot) if left else ()


def remember_initial(form: QWidget) -> Snapshot:
    """Note what the form holds now as that to which ``reset`` goes back; the second time nothing is noted.

    Returns:
        What was noted the first time.
    """
    options = Qt.FindChildOption.FindDirectChildrenOnly
    memory = form.findChild(_Initial, options=options) or _Initial(form)
    return memory.snapshot


@contextlib.contextmanager
def application_code(pointer: str = "") -> Iterator[None]:
    """Turn what the application's own code raises meanwhile, in a slot or in an override, into a `FillError`.

    The error itself goes where errors of slots always go, or to the log, and no further.

    Args:
        pointer: The field or page that is worked on.
    """
    with SlotErrors() as errors:
        try:
            yield
        except FillError:
            raise
        except Exception:
            _log.exception("The application failed while %s was filled", pointer or "a form")
            raise FillError("handler_error", (raised(pointer),)) from None
    if errors.first is not None:
        raise FillError("handler_error", (raised(pointer),))


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


class _Initial(QObject):
    """What a form held when it was first seen; a child of it, and gone with it."""

    def __init__(self, form: QWidget) -> None:
        super().__init__(form)
        self.snapshot = take_snapshot(form)


def _set_all(form: QWidget, fields: tuple[Field, ...], wanted: Mapping[str, Any]) -> None:
    by_key = {field.key: field for field in fields}
    order = list(_in_order(by_key, wanted))
    for key in order:
        field = by_key[key]
        _require(form, field)
        issue = check_one(field, wanted[key])
        if issue is not None:
            raise FillError("invalid_input", (issue,))
        with application_code(pointer_token(key)):
            field.adapter.set(field.control, wanted[key])
    if not shiboken6.isValid(form):
        raise FillError("form_changed", (vanished(""),))
    # At the end, since setting one field may have changed another that was set before.
    issues = []
    for key in order:
        _require(form, by_key[key])
        actual = by_key[key].adapter.get(by_key[key].control)
        if not same(actual, wanted[key]):
            issues.append(not_taken(by_key[key], wanted[key], actual))
    if issues:
        raise FillError("not_taken", tuple(issues))


def _put_back(form: QWidget, before: Snapshot) -> tuple[str, ...]:
    return restore(form, before) if shiboken6.isValid(form) else tuple(before.states)


def _require(form: QWidget, field: Field) -> None:
    """Refuse a field that a handler of another one deleted, disabled or made read-only."""
    if not shiboken6.isValid(form) or not all(map(shiboken6.isValid, field.widgets)):
        raise FillError("form_changed", (vanished(field.key),))
    usable = all(not isinstance(widget, QWidget) or _is_enabled(widget, form) for widget in field.widgets)
    if not usable or not field.adapter.usable(field.control, "strict"):
        raise FillError("form_changed", (vanished(field.key),))


def _is_enabled(widget: QWidget, form: QWidget) -> bool:
    # isEnabledTo does not see an unchecked box, which disables without saying so; a disabled form is no reason.
    return widget.isEnabledTo(form) and (widget.isEnabled() or not form.isEnabled())


def _in_order(fields: Mapping[str, Field], wanted: Iterable[str]) -> Iterable[str]:
    """Yield keys in their order, each after those in the input that it depends on; a circle is cut somewhere."""
    keys = list(wanted)
    done: set[str] = set()
    for key in keys:
        stack = [key]
        while stack:
            top = stack[-1]
            missing = [name for name in fields[top].depends_on if name in keys and name not in done | set(stack)]
            if missing:
                stack.append(missing[0])
                continue
            stack.pop()
            if top not in done:
                done.add(top)
                yield top


def _snapshot(fields: Iterable[Field]) -> Snapshot:
    known = tuple(fields)
    return Snapshot(
        values={one.key: one.adapter.get(one.control) for one in known if not one.sensitive},
        states={one.key: one.adapter.snapshot(one.control) for one in known},
        fields=known,
    )


def _restore(fields: Iterable[Field], snapshot: Snapshot) -> tuple[str, ...]:
    by_key = {field.key: field for field in fields}
    order = list(_in_order(by_key, [key for key in snapshot.states if key in by_key]))
    left = [key for key in snapshot.states if key not in by_key]
    for _ in range(_PASSES):
        wrong = [key for key in order if not _holds(by_key[key], snapshot)]
        if not wrong:
            return tuple(left)
        for key in wrong:
            if _is_alive(by_key[key]):
                with _whatever_happens(key):
                    by_key[key].adapter.restore(by_key[key].control, snapshot.states[key])
    return tuple(left + [key for key in order if not _holds(by_key[key], snapshot)])


@contextlib.contextmanager
def _whatever_happens(key: str) -> Iterator[None]:
    """Go on with the other fields when one cannot be put back: whether it holds its value is looked at afterwards."""
    try:
        yield
    except Exception:
        _log.exception("The application failed while %s was put back", key)


def _restore_others(form: QWidget, snapshot: Snapshot) -> tuple[str, ...]:
    """Put back what cannot be used any more but is still there; returns the keys of all that could not be."""
    usable = {one.key: one for one in walk(form).fields}
    others = {one.key: one for one in snapshot.fields if one.key not in usable}
    for key, other in others.items():
        if _is_alive(other) and not _holds(other, snapshot):
            with _whatever_happens(key):
                other.adapter.restore(other.control, snapshot.states[key])
    by_key = usable | others
    return tuple(key for key in snapshot.states if key not in by_key or not _holds(by_key[key], snapshot))


def _holds(field: Field, snapshot: Snapshot) -> bool:
    return _is_alive(field) and bool(field.adapter.snapshot(field.control) == snapshot.states[field.key])


def _is_alive(field: Field) -> bool:
    return all(map(shiboken6.isValid, field.widgets))


def _changes(fields: Iterable[Field], before: Snapshot, after: Snapshot) -> Iterable[Change]:
    for one in fields:
        key = one.key
        if one.sensitive:
            if before.states.get(key) != after.states[key]:
                yield _change(one, None, None)
        elif key not in before.values or not same(before.values[key], after.values[key]):
            yield _change(one, before.values.get(key), after.values[key])


def _change(field: Field, old: Any, new: Any) -> Change:
    if field.sensitive:
        old = new = None
    return Change(key=field.key, label=field.label, old=old, new=new)
