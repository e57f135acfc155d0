"""Fills a form as a user would, or not at all: everything is checked first, and any failure puts everything back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtWidgets import QWidget

from agentic_qt.schema.issues import Issue


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One field that was set to another value: JSON values."""

    key: str
    label: str
    old: Any
    new: Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """What stood in the fields that could be used, and how to put it back; equal when the same stands there.

    Args:
        values: The JSON value of each field.
        states: What each adapter needs to put it back.
    """

    values: Mapping[str, Any]
    states: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Filled:
    """What filling did.

    Args:
        changes: The fields that have another value now, in the order of the form.
        before: For undo: `restore(form, before)`.
        after: The whole form as it stands now; `after.values` is what would be submitted.
    """

    changes: tuple[Change, ...]
    before: Snapshot
    after: Snapshot


class FillError(Exception):
    """The form was not filled, and holds what it held before.

    Args:
        code: ``invalid_input`` (the input is wrong: `issues`), ``not_taken`` (a widget did not take a valid value:
            `issues` say the actual ones), ``form_changed`` (a field vanished or was disabled meanwhile).
        issues: All that is wrong, with JSON pointers.
    """

    def __init__(self, code: str, issues: tuple[Issue, ...]) -> None:
        super().__init__("; ".join(f"{issue.pointer or 'the input'} {issue.message}" for issue in issues))
        self.code = code
        self.issues = issues


def check(form: QWidget, values: Mapping[str, Any]) -> tuple[Issue, ...]:
    """Return everything that is wrong with an input now, without touching a widget; empty when it can be filled.

    Fields that depend on others in the same input are judged by their schema only: `fill` judges the rest.
    """
    raise NotImplementedError


def preview(form: QWidget, values: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return what filling would change, without touching a widget."""
    raise NotImplementedError


def fill(form: QWidget, values: Mapping[str, Any], *, reset: bool = False) -> Filled:
    """Set the fields, as a user would, in the order of the input, each after those it depends on.

    Args:
        form: The form's widget.
        values: A part of the form is enough; the other fields keep their values.
        reset: Put the fields to what they held when the form was first seen (`remember_initial`) before.

    Raises:
        FillError: Nothing was changed; why.
    """
    raise NotImplementedError


def take_snapshot(form: QWidget) -> Snapshot:
    """Return what stands in the form now."""
    raise NotImplementedError


def restore(form: QWidget, snapshot: Snapshot) -> tuple[str, ...]:
    """Put a snapshot back; returns the keys of the fields that could not be put back."""
    raise NotImplementedError


def remember_initial(form: QWidget) -> None:
    """Note what the form holds now as that to which ``reset`` goes back; the second time does nothing."""
    raise NotImplementedError
