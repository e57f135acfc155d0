"""One form as a capability: what is registered for it, and when it is registered anew."""

from typing import Any

import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from agentic_qt.core.capability import Capability, Risk
from agentic_qt.core.registry import Registry
from agentic_qt.qt.binder import Binding, binder_of
from agentic_qt.qt.forms.buttons import buttons_of
from agentic_qt.qt.forms.form_calls import FormCalls, GestureSettings
from agentic_qt.qt.forms.options import FormOptions
from agentic_qt.qt.forms.port import FormPort
from agentic_qt.qt.forms.review import Ending
from agentic_qt.qt.forms.submission import Submission
from agentic_qt.qt.forms.watching import WindowWatcher


class FormTool(FormCalls):
    """The capability of one form; a child of its widget, and gone with it.

    Attributes:
        in_code: It was named in code, and not by its properties.
        watcher: Tells it of changes, where nobody else does.
    """

    def __init__(
        self,
        port: FormPort,
        options: FormOptions,
        *,
        registry: Registry | None,
        gestures: GestureSettings,
        in_code: bool,
    ) -> None:
        super().__init__(port, options, gestures)
        self.in_code = in_code
        self.watcher: WindowWatcher | None = None
        self._fixed_registry = registry
        self._binding: Binding | None = None
        self._listening: list[QAbstractButton] = []
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self.refresh)
        if options.reset:
            port.note_first()
        self._bind()

    @property
    def registration(self) -> Any:
        """The living registration; None while the form was never shown or no window has a registry."""
        return None if self._binding is None else self._binding.registration

    @property
    def registry(self) -> Registry | None:
        """The registry in force, or None."""
        return binder_of(self.form, self._fixed_registry).registry

    def change_later(self) -> None:
        """Read the form again in the next turn of the loop: something about it may have changed."""
        self._later.start()

    def refresh(self) -> None:
        """Register the form as it is now, when its fields, options or words changed; a call under way goes first."""
        if self.is_active or self._binding is None:
            return
        self._listen()
        old = self._binding.capability
        new = self._capability()
        changes = {name: getattr(new, name) for name in _REPLACEABLE if getattr(new, name) != getattr(old, name)}
        if new.name != old.name:
            self._unbind()
            self._bind()
        elif changes:
            self._binding.capability = new
            registration = self._binding.registration
            if registration is not None:
                registration.replace(**changes)

    def set_options(self, options: FormOptions) -> None:
        """Take what is said of the form now; a call under review that was planned on something else is cancelled."""
        if options != self.options:
            self.options = options
            if self.review is not None:
                self.review.end(Ending.CHANGED)
            self.change_later()

    def dispose(self) -> None:
        """Take the capability back; a review ends, and the form stays as ever."""
        if self.review is not None:
            self.review.end(Ending.CHANGED)
        self._unbind()
        self._listening.clear()
        if self.watcher is not None:
            self.watcher.stop()
            self.watcher = None
        if shiboken6.isValid(self):
            self.setParent(None)
            self.deleteLater()

    # What is registered

    def _bind(self) -> None:
        binder = binder_of(self.form, self._fixed_registry)
        self._binding = binder.add(self._capability())
        self._listen()
        binder.resolve()

    def _unbind(self) -> None:
        binding, self._binding = self._binding, None
        if binding is None:
            return
        if shiboken6.isValid(self.port.form):
            binder_of(self.form, self._fixed_registry).drop(binding)
        else:
            binding.withdraw()

    def _capability(self) -> Capability:
        options, reads = self.options, self.options.risk is Risk.READ
        reviewed = self.is_reviewed
        return Capability(
            name=options.name,
            description=options.description,
            input_schema=self.port.schema(),
            risk=options.risk,
            handler=self.run,
            available=self._available,
            preview=None if reads else self.preview,
            approver=self.approve if reviewed and not reads else None,
            egress=options.egress,
            examples=options.examples,
            # A read that is reviewed waits for the person in its handler.
            timeout=options.timeout + (self.gestures.expiry if reviewed and reads else 0.0),
            title=options.title,
            undoable=None if self._submits() else True,
        )

    def _submits(self) -> bool:
        return self.options.on_submit is not None or bool(buttons_of(self.form).submit)

    def _available(self) -> bool | str:
        if self.is_active or self._binding is None or self.registration is None:
            return True
        # Read from Qt each time: a note of our own that somebody drags may never be taken back.
        if QApplication.mouseButtons() != Qt.MouseButton.NoButton and self.form.isActiveWindow():
            return "the user is interacting with it"
        if self.port.schema() == self._binding.capability.input_schema:
            return True
        self.change_later()
        return "its fields have just changed; list it again"

    def _listen(self) -> None:
        """Hear the submissions of a person alone."""
        for button in buttons_of(self.form).submit:
            if button not in self._listening:
                self._listening.append(button)
                button.clicked.connect(self._clicked)

    def _clicked(self) -> None:
        if self.submission is not None:
            return  # pressed by us, for a call
        pressed = self.sender()
        name = pressed.objectName() if isinstance(pressed, QObject) else ""
        values = self.port.values(secret=True)
        self.tell(Submission(self.form, values, agent_invoked=False, button=name, make=self.port.typed))


_REPLACEABLE = (
    "description",
    "input_schema",
    "risk",
    "preview",
    "approver",
    "egress",
    "examples",
    "timeout",
    "title",
    "undoable",
)


def find_form_tool(form: QWidget) -> FormTool | None:
    """Return the tool of exactly this widget, or None."""
    found = form.findChildren(FormTool, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return found[0] if found else None


def current_submission(form: QWidget) -> Submission:
    """Return the submission that the slot of a form's submit button is called for.

    A person's own one when no call is being submitted; also when the form is no tool, so that a slot may always ask.
    """
    tool = find_form_tool(form)
    if tool is not None and tool.submission is not None:
        return tool.submission
    port = tool.port if tool is not None else FormPort(form)
    return Submission(form, port.values(secret=True), agent_invoked=False, make=port.typed)
