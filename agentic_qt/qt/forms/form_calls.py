"""What a call does to one form: step 6 of the route, where a review takes the approver's place, and step 7.

A form under review has its own approver; the handler then presses the submit button that the person chose. A form that
submits by itself goes the ordinary way. Knows nothing of how a form is registered.
"""

import asyncio
import contextlib
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import shiboken6
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QAbstractButton, QDialog, QWidget

from agentic_qt.core.approvals import DEFAULT_EXPIRY, Approval, ApprovalRequest
from agentic_qt.core.call import AWAITING_SUBMIT, CallCancelled
from agentic_qt.core.capability import Risk
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.events import AuditEvent, AuditKind
from agentic_qt.core.flight import CallContext
from agentic_qt.core.registry import Registry
from agentic_qt.qt.forms.buttons import buttons_of
from agentic_qt.qt.forms.fill import FillError
from agentic_qt.qt.forms.options import FormOptions
from agentic_qt.qt.forms.port import FormPort, PortFilled, difference, kept
from agentic_qt.qt.forms.review import Ending, Review
from agentic_qt.qt.forms.slot_errors import SlotErrors
from agentic_qt.qt.forms.states import FORM_ACTIVE, mark
from agentic_qt.qt.forms.submission import Submission
from agentic_qt.qt.gestures.gesture import GestureTimes
from agentic_qt.qt.loop import spawn
from agentic_qt.schema.canonical import canonical, digest

_DIALOG_RESULTS = {QDialog.DialogCode.Accepted.value: "accepted", QDialog.DialogCode.Rejected.value: "rejected"}
_ENDS = (AuditKind.EXECUTED, AuditKind.REJECTED)

Key = tuple[str | None, str | None, str]
"""Client, run and id: what tells calls apart."""

_SHARE = 0.8  # of the handler's time that a person may take where policy asks nobody
_DENIALS = {Ending.REJECTED: "person", Ending.EXPIRED: "expired"}


@dataclass(frozen=True, kw_only=True, slots=True)
class GestureSettings:
    """How presses on Submit are judged.

    Args:
        times: The two times of the isolated gesture.
        clock: Seconds, monotonic.
        expiry: Seconds until a review ends by itself.
    """

    times: GestureTimes = field(default_factory=GestureTimes)
    clock: Callable[[], float] = time.monotonic
    expiry: float = DEFAULT_EXPIRY


class FormCalls(QObject):
    """The calls on one form; one at a time.

    Args:
        port: The form's fields.
        options: What was said of the form.
        gestures: How presses on Submit are judged.

    Signals:
        tool_activated: The form was filled for a call: its id.
        tool_cancelled: That call ended without a submission: its id.
        submitted: Each `Submission`, by a person alone or for a call.

    Attributes:
        review: The review under way, or None.
        submission: The submission for a call that is under way, or None.
    """

    tool_activated = Signal(str)
    tool_cancelled = Signal(str)
    submitted = Signal(object)

    def __init__(self, port: FormPort, options: FormOptions, gestures: GestureSettings) -> None:
        super().__init__(port.form)
        self.port = port
        self.options = options
        self.review: Review | None = None
        self.submission: Submission | None = None
        self.gestures = gestures
        self._context: CallContext | None = None
        self._active: Key | None = None  # the call that has the form
        self._reviewed: Key | None = None  # the call that a person submitted, until its handler begins
        self._undo: Any = None

    @property
    def form(self) -> QWidget:
        """The form's widget."""
        return self.port.form

    @property
    def is_active(self) -> bool:
        """Whether a call has the form."""
        return self._active is not None

    @property
    def is_reviewed(self) -> bool:
        """Whether a person presses Submit for each call."""
        return not self.options.submits_by_itself and bool(buttons_of(self.form).submit)

    @property
    def registry(self) -> Registry | None:
        """The registry in force; what is registered knows it."""
        return None

    def change_later(self) -> None:
        """Read the form again in the next turn of the loop: something about it may have changed."""

    def undo(self) -> tuple[str, ...]:
        """Put the fields back to what they held before the last call; returns those that could not be.

        What the application did at the submission is its own to take back.
        """
        before, self._undo = self._undo, None
        return () if before is None else self.port.put_back(before)

    # Step 6

    def preview(self, *, ctx: CallContext, **values: Any) -> dict[str, Any]:
        """Return the facts of a call: what it changes, and what is submitted along.

        Raises:
            CapabilityError: Another call has the form, or the widgets would not take the input.
        """
        if self._active and self._active != _key(ctx):
            raise self._busy()
        self._context = ctx
        review = self.review
        if review is None:
            self._refuse_wrong(values)
            return {"changes": self.port.changes(values), "also_submitted": kept(self.port.values(), values)}
        if values == review.given:
            facts = dict(review.facts)
        else:
            old = review.filled.old
            facts = {"changes": difference(old, values), "also_submitted": kept(old, values)}
        if review.submitted and self.port.values(secret=True) != review.submitted:
            facts["changed_after_submit"] = True  # somebody typed on: what was submitted is not there any more
        return facts

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Fill the form and wait for the person; what they submit may be another input.

        Raises:
            CapabilityError: The form could not be filled.
        """
        review = self._open(_key(request), request.input)
        review.facts = request.facts
        ending = Ending.CHANGED
        try:
            ending = await review.wait(self.gestures.expiry)
        finally:
            if ending is not Ending.SUBMITTED:
                self._close(review, ending)
        if ending is not Ending.SUBMITTED:
            code = _DENIALS.get(ending, "cancelled")
            return Approval(request_id=request.id, digest=request.digest, granted=False, code=code)
        self._reviewed = _key(request)
        self._release_with_call(self._reviewed, review)
        new_input = review.edited_input()
        target_id = None if request.target is None else request.target.id
        signed = request.digest
        if new_input is not None:
            signed = digest(canonical({"input": new_input, "name": request.name, "targetId": target_id}))
        return Approval(request_id=request.id, digest=signed, granted=True, input=new_input)

    def _release_with_call(self, key: Key, review: Review) -> None:
        """Let the form go when its call ends before the handler begins: a gate may still refuse it."""
        registry = self.registry
        if registry is None:
            return

        def noted(event: AuditEvent) -> None:
            if event.kind in (AuditKind.EXECUTING, *_ENDS) and _key(event) == key:
                remove()
                if event.kind in _ENDS and self._reviewed == key:
                    self._close(review, Ending.CHANGED)

        remove = registry.audit(noted)

    # Step 7

    async def run(self, *, ctx: CallContext, **values: Any) -> dict[str, Any]:
        """Submit the form; a form that was not reviewed yet is filled first.

        Raises:
            CapabilityError: It was not submitted, or the application says that it did not work.
            CallCancelled: The review ended without a decision.
        """
        if self._active and self._active != _key(ctx):
            raise self._busy()
        self._context = ctx
        review = self.review
        if review is not None and self._reviewed == _key(ctx):
            self._reviewed = None
        elif self.is_reviewed:
            review = await self._review_here(ctx, values)
        else:
            review = None
            self._fill_alone(_key(ctx), values)
        button = review.button if review is not None else None
        try:
            return await self._submit(ctx.call_id, button)
        except asyncio.CancelledError:
            self.tool_cancelled.emit(ctx.call_id)
            raise
        finally:
            self._release()

    async def _review_here(self, ctx: CallContext, values: Mapping[str, Any]) -> Review:
        """The person submits although nobody had to approve: a read, or what policy lets run."""
        expiry = self.gestures.expiry
        if self.options.risk is not Risk.READ:  # within the handler's time, and the lane is held meanwhile
            expiry = min(expiry, self.options.timeout * _SHARE)
        review = self._open(_key(ctx), values)
        ending = Ending.CHANGED
        try:
            ending = await review.wait(expiry)
        finally:
            if ending is not Ending.SUBMITTED:
                self._close(review, ending)
        if ending is Ending.SUBMITTED:
            return review
        if ending in _DENIALS:
            raise CapabilityError(_DENIALS[ending], "The person did not submit the form; nothing was done.")
        raise CallCancelled

    def _fill_alone(self, key: Key, values: Mapping[str, Any]) -> None:
        self._refuse_wrong(values)
        self._fill(key, values)
        mark(self.form, FORM_ACTIVE, value=True)
        self.tool_activated.emit(key[-1])

    async def _submit(self, call_id: str, button: QAbstractButton | None) -> dict[str, Any]:
        form, window, validate = self.form, self.form.window(), self.options.validate
        public, everything = self.port.values(), self.port.values(secret=True)
        problems = (validate(everything) or {}) if validate is not None and button is None else {}
        buttons = buttons_of(form)
        pressed = button or (buttons.submit[0] if buttons.submit else None)
        submission = Submission(
            form,
            everything,
            agent_invoked=True,
            call_id=call_id,
            button=pressed.objectName() if pressed is not None else "",
            make=self.port.typed,
        )
        if problems:
            self._take_back(call_id)
            submission.fail("not_accepted", "The form does not take these values", fields=problems)
            await submission.answer()
        if pressed is not None and not pressed.isEnabled():
            self._take_back(call_id)
            raise self._no_button()
        self.submission = submission
        with SlotErrors() as errors:
            if not self.port.submit():
                raise CapabilityError("not_written", "The data behind the form could not be written.")
            self.tell(submission)
            if self.options.on_submit is None and pressed is not None:
                pressed.click()
        if errors.first is not None and not submission.failed:
            submission.forget()
            raise errors.first  # as if the handler had raised it, which is what the slot is here
        ended = _dialog_end(window)  # a dialog that deletes itself may be gone after the answer
        answer = await submission.answer()
        response = {"response": answer} if submission.responded else {}
        return {"submitted": public, **response, **(ended or _dialog_end(window))}

    def tell(self, submission: Submission) -> None:
        """Tell the application of a submission."""
        self.submitted.emit(submission)
        if self.options.on_submit is not None:
            answer = self.options.on_submit(submission)
            if submission.agent_invoked and answer is not None:
                submission.respond_with(answer)
            elif inspect.iscoroutine(answer):
                spawn(answer)

    # The form in the hands of one call

    def _open(self, key: Key, values: Mapping[str, Any]) -> Review:
        if self._active:
            raise self._busy()
        context = self._context
        filled = self._fill(key, values)
        if not any(button.isEnabled() for button in buttons_of(self.form).submit):
            self.undo()
            self._release()
            raise self._no_button()
        review = self.review = Review(
            self.port,
            buttons_of(self.form),
            given=dict(values),
            filled=filled,
            validate=self.options.validate,
            confirm=(self.options.title or self.options.name) if self.options.risk is Risk.DESTRUCTIVE else "",
            times=self.gestures.times,
            clock=self.gestures.clock,
        )
        if context is not None and _key(context) == key:
            context.progress(0, message=AWAITING_SUBMIT)
        self.tool_activated.emit(key[-1])
        return review

    def _fill(self, key: Key, values: Mapping[str, Any]) -> PortFilled:
        self._active = key
        try:
            with _silent(buttons_of(self.form).submit):
                filled = self.port.fill(values, reset=self.options.reset)
        except FillError as error:
            self._release()
            left = f" These fields could not be put back: {', '.join(error.left)}." if error.left else ""
            raise CapabilityError(
                error.code, f"{error}.{left}", applied={"left": list(error.left)} if error.left else False
            ) from None
        except BaseException:
            self._release()
            raise
        self._undo = filled.before
        return filled

    def _refuse_wrong(self, values: Mapping[str, Any]) -> None:
        issues = self.port.check(values)
        if issues:
            raise CapabilityError("invalid_input", "; ".join(f"{issue.pointer}: {issue.message}" for issue in issues))

    def _close(self, review: Review, ending: Ending) -> None:
        """End a call that was not submitted: the form holds again what it held, unless somebody reset it."""
        key = self._active
        if ending not in (Ending.RESET, Ending.GONE) and shiboken6.isValid(self.port.form):
            self.port.put_back(review.filled.before)
            self._undo = None
        self._release()
        if key is not None and shiboken6.isValid(self):
            self.tool_cancelled.emit(key[-1])

    def _take_back(self, call_id: str) -> None:
        self.undo()
        self.tool_cancelled.emit(call_id)

    def _release(self) -> None:
        self.review = self.submission = self._context = None
        self._active = self._reviewed = None
        if shiboken6.isValid(self) and shiboken6.isValid(self.port.form):
            mark(self.form, FORM_ACTIVE, value=None)
            self.change_later()

    def _no_button(self) -> CapabilityError:
        return CapabilityError("submit_disabled", "The form's submit button is disabled with these values.")

    def _busy(self) -> CapabilityError:
        hint = "Another call has this form. Wait until it is submitted or cancelled."
        return CapabilityError("form_busy", hint, status="busy", retryable=True)


@contextlib.contextmanager
def _silent(buttons: Sequence[QAbstractButton]) -> Iterator[None]:
    """Let the submit buttons say nothing: a change handler that clicks one while we fill is no person."""
    blocked = True
    before = [button.blockSignals(blocked) for button in buttons]
    try:
        yield
    finally:
        for button, was_blocked in zip(buttons, before, strict=True):
            if shiboken6.isValid(button):
                button.blockSignals(was_blocked)


def _key(call: CallContext | ApprovalRequest | AuditEvent) -> Key:
    return call.client, call.run, call.call_id


def _dialog_end(window: QWidget) -> dict[str, Any]:
    """Return how a dialog was closed; nothing when it is open, gone, or no dialog."""
    if not shiboken6.isValid(window) or not isinstance(window, QDialog) or window.isVisible():
        return {}
    return {"result": _DIALOG_RESULTS.get(window.result(), window.result())}
