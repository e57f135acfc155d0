"""Making the forms of a window capabilities: those that declare themselves, and those named in code."""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict, Unpack

import shiboken6
from PySide6.QtWidgets import QWidget, QWizard

from agentic_qt.core.capability import Risk
from agentic_qt.core.errors import DeclarationError
from agentic_qt.core.registry import Registry
from agentic_qt.qt.forms.form_calls import GestureSettings
from agentic_qt.qt.forms.form_tool import FormTool, find_form_tool
from agentic_qt.qt.forms.lint import lint_form
from agentic_qt.qt.forms.models import port_for
from agentic_qt.qt.forms.options import FormOptions, OnSubmit, declared_options
from agentic_qt.qt.forms.port import FormPort
from agentic_qt.qt.forms.review import Validate
from agentic_qt.qt.forms.synthesise import TOOL_NAME
from agentic_qt.qt.forms.walker import is_form
from agentic_qt.qt.forms.watching import WindowWatcher
from agentic_qt.qt.forms.wizard import WizardPort
from agentic_qt.qt.scope import find_scope


class ExposedForms:
    """The declared forms of one window, as long as the window lives or until `dispose`."""

    def __init__(self, window: QWidget, registry: Registry | None, gestures: GestureSettings) -> None:
        self._window = window
        self._registry = registry
        self._gestures = gestures
        self._tools: list[FormTool] = []
        self._linted: set[str] = set()
        self._watcher = WindowWatcher(window, self.scan)
        self.scan()

    @property
    def tools(self) -> tuple[FormTool, ...]:
        """The forms that are capabilities now, in the order in which they were found."""
        return tuple(tool for tool in self._tools if shiboken6.isValid(tool))

    def find(self, name: str) -> FormTool | None:
        """Return the first form with a tool name, or None."""
        return next((tool for tool in self.tools if tool.options.name == name), None)

    def scan(self) -> None:
        """Look for forms now; it happens by itself when something changes."""
        if not shiboken6.isValid(self._window):
            return
        self._tools = [tool for tool in self._tools if shiboken6.isValid(tool)]
        widgets = (self._window, *self._window.findChildren(QWidget))
        forms = [widget for widget in widgets if is_form(widget)]
        for tool in self.tools:
            if tool.form not in forms:
                tool.dispose()
                self._tools.remove(tool)
        for form in forms:
            self._take(form)

    def dispose(self) -> None:
        """Take every capability back; the forms stay as ever. The second time does nothing."""
        self._watcher.stop()
        for tool in self.tools:
            tool.dispose()
        self._tools.clear()

    def _take(self, form: QWidget) -> None:
        tool = find_form_tool(form)
        if tool is not None and tool.in_code:
            self._lint(form, f"{form.objectName()!r} is a tool by its properties and in code: one of them must go")
            return
        options = declared_options(form)
        if TOOL_NAME.fullmatch(options.name) is None:
            self._lint(form, f"{options.name!r} is no tool name: only letters, digits, '_', '.' and '-'")
            if tool is not None:
                tool.dispose()
                self._tools.remove(tool)
            return
        if tool is None or tool.options != options:
            for finding in lint_form(form):
                self._lint(form, finding.message)
        if tool is None:
            tool = FormTool(_port(form), options, registry=self._registry, gestures=self._gestures, in_code=False)
            self._tools.append(tool)
        tool.set_options(options)
        tool.change_later()
        self._watcher.follow(tool.port.controls())

    def _lint(self, form: QWidget, text: str) -> None:
        if text in self._linted:
            return
        self._linted.add(text)
        scope = find_scope(form)
        if scope is not None:
            scope.lint(text)


class FormToolOptions(TypedDict):
    """What may be said of a form in code besides name, description and risk; everything has a default.

    Attributes:
        title: For people.
        auto_submit: Submit after the approval that the risk demands, without a review; ignored for destructive ones.
        on_submit: Called with each `Submission`, in place of a press of the submit button for a call.
        validate: Called with the values before a submission; returns what is wrong, by field.
        reset: Put the form to what it first held before each fill.
        egress: Talks to the outside.
        timeout: Seconds that the application may take after the submission.
        examples: Pairs of a request in plain words and the input that it means.
    """

    title: NotRequired[str]
    auto_submit: NotRequired[bool]
    on_submit: NotRequired[OnSubmit | None]
    validate: NotRequired[Validate | None]
    reset: NotRequired[bool]
    egress: NotRequired[bool]
    timeout: NotRequired[float]
    examples: NotRequired[Sequence[tuple[str, Any]]]


def expose_forms(
    window: QWidget, *, registry: Registry | None = None, gestures: GestureSettings | None = None
) -> ExposedForms:
    """Make every form of a window a capability, those that come later too.

    A form is any widget with the dynamic properties ``toolName`` and ``toolDescription``: of a .ui file, or set in
    code. Its fields are its input; a person presses its submit button unless it has ``toolAutoSubmit``.

    Args:
        window: Its widgets, docks and dialogs are looked at.
        registry: Where to register; None: that of the nearest window that has an assistant, waited for if need be.
        gestures: How a press of Submit is judged, and how long a form waits for it.
    """
    return ExposedForms(window, registry, gestures or GestureSettings())


def form_tool(
    form: QWidget,
    *,
    name: str,
    description: str,
    risk: Risk | str = Risk.MUTATING,
    model: Any = None,
    registry: Registry | None = None,
    gestures: GestureSettings | None = None,
    **options: Unpack[FormToolOptions],
) -> FormTool:
    """Make one form a capability in code.

    Args:
        form: The form's widget.
        name: Of the capability.
        description: For the model.
        risk: Of submitting it: ``"read"``, ``"mutating"`` or ``"destructive"``.
        model: A dataclass, a TypedDict or a pydantic model: the schema comes from it, and its fields, nested ones
            included, are found among those of the form; or a QDataWidgetMapper, which is told to submit.
        registry: As for `expose_forms`.
        gestures: As for `expose_forms`.
        **options: See `FormToolOptions`.

    Raises:
        DeclarationError: The form is a tool already, the risk is none, or the type and the form do not fit.
    """
    if is_form(form) or find_form_tool(form) is not None:
        said = form.property("toolName")
        raise DeclarationError(f"{form.objectName()!r} is the tool {said!r} already: it cannot be {name!r} too")
    try:
        judged = Risk(risk)
    except ValueError as error:
        raise DeclarationError(f"{name!r}: {error}") from None
    said_of_it = FormOptions(name=name, description=description, risk=judged, **options)
    port = _port(form) if model is None else port_for(form, model)
    tool = FormTool(port, said_of_it, registry=registry, gestures=gestures or GestureSettings(), in_code=True)
    tool.watcher = WindowWatcher(form, tool.change_later)
    tool.watcher.follow(port.controls())
    return tool


def _port(form: QWidget) -> FormPort:
    return WizardPort(form) if isinstance(form, QWizard) else FormPort(form)
