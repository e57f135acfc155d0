"""Which buttons of a form submit it, reset it, or turn it down."""

from dataclasses import dataclass

from PySide6.QtWidgets import QAbstractButton, QDialogButtonBox, QPushButton, QWidget, QWizard

from agentic_qt.qt.forms.properties import declared, words
from agentic_qt.qt.forms.second_gesture import SecondButton

_Role = QDialogButtonBox.ButtonRole
_SUBMIT = (_Role.AcceptRole, _Role.YesRole, _Role.ApplyRole)
_REJECT = (_Role.RejectRole, _Role.NoRole)


@dataclass(frozen=True, kw_only=True, slots=True)
class FormButtons:
    """The buttons of one form.

    Args:
        submit: Those that submit it; code presses the first one.
        reset: Those that put it back.
        reject: Those that turn it down.
    """

    submit: tuple[QAbstractButton, ...] = ()
    reset: tuple[QAbstractButton, ...] = ()
    reject: tuple[QAbstractButton, ...] = ()


def buttons_of(form: QWidget) -> FormButtons:
    """Return the buttons of a form.

    `toolSubmitButton` names the one that submits. Without it: the accepting buttons of its QDialogButtonBox, else the
    default button, else the only push button that there is. What a QDialogButtonBox marks as destructive submits
    nothing.
    """
    if isinstance(form, QWizard):
        return FormButtons(
            submit=(form.button(QWizard.WizardButton.FinishButton),),
            reject=(form.button(QWizard.WizardButton.CancelButton),),
        )
    boxes = [box for box in form.findChildren(QDialogButtonBox) if _belongs(box, form)]
    reset = _with_roles(boxes, (_Role.ResetRole,))
    reject = _with_roles(boxes, _REJECT)
    return FormButtons(submit=_submitting(form, boxes), reset=reset, reject=reject)


def _submitting(form: QWidget, boxes: list[QDialogButtonBox]) -> tuple[QAbstractButton, ...]:
    named = words(declared(form).get("toolSubmitButton"))
    if named:
        root = form.window()
        found = [form.findChild(QAbstractButton, name) or root.findChild(QAbstractButton, name) for name in named]
        return tuple(button for button in found if button is not None)
    accepting = _with_roles(boxes, _SUBMIT)
    if accepting:
        return accepting
    inside = {button for box in boxes for button in box.buttons()}
    push = [
        button
        for button in form.findChildren(QPushButton)
        if button not in inside
        and not isinstance(button, SecondButton)
        and _belongs(button, form)
        and not button.isCheckable()
        and button.menu() is None
    ]
    default = [button for button in push if button.isDefault()]
    if default:
        return (default[0],)
    return (push[0],) if len(push) == 1 else ()


def _with_roles(boxes: list[QDialogButtonBox], roles: tuple[_Role, ...]) -> tuple[QAbstractButton, ...]:
    return tuple(
        button for role in roles for box in boxes for button in box.buttons() if box.buttonRole(button) is role
    )


def _belongs(widget: QWidget, form: QWidget) -> bool:
    """Return whether a widget stands in a form itself, and in no other form inside it."""
    place = widget.parentWidget()
    while place is not None and place is not form:
        inner = declared(place)
        if place.isWindow() or ("toolName" in inner and "toolDescription" in inner):
            return False
        place = place.parentWidget()
    return place is form
