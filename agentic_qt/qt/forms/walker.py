"""Finds the fields of a form: which controls, which keys, which description."""

from PySide6.QtWidgets import QWidget

from agentic_qt.qt.forms.adapters.base import Profile
from agentic_qt.qt.forms.fields import FormFields


def walk(form: QWidget, profile: Profile = "strict") -> FormFields:
    """Return the fields of a form that can be used now, and what was left out for a reason worth telling."""
    raise NotImplementedError
