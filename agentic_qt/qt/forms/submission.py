"""What a form's own code learns of a submission: who pressed, with which values, and how to answer the caller."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from PySide6.QtWidgets import QWidget

from agentic_qt.core.errors import CapabilityError
from agentic_qt.schema.canonical import pointer_token


class Submission:
    """One submission of a form, by a person alone or for a call of an agent.

    Attributes:
        form: The form's widget.
        values: What stands in the form: JSON values by field.
        agent_invoked: Whether the form was filled for a call. A person pressed all the same, unless the form submits
            by itself.
        call_id: Of that call; empty when a person submits alone.
        button: The objectName of the button that was pressed; empty when there is none.
        responded: Whether somebody gave a result.
    """

    def __init__(
        self,
        form: QWidget,
        values: Mapping[str, Any],
        *,
        agent_invoked: bool,
        call_id: str = "",
        button: str = "",
        make: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        self.form = form
        self.values = values
        self.agent_invoked = agent_invoked
        self.call_id = call_id
        self.button = button
        self.responded = False
        self._make = make
        self._answer: Any = None
        self._error: CapabilityError | None = None

    @property
    def typed(self) -> Any:
        """The values as an object of the type that the form is bound to; the values themselves where there is none.

        Raises:
            ValueError: They do not make one, as what a person submits alone may not.
        """
        return self.values if self._make is None else self._make(self.values)

    def respond_with(self, answer: Awaitable[Any] | Any) -> None:
        """Give the caller a result: JSON, or an awaitable of it that is awaited within the capability's time.

        The last answer counts; when a person submits alone, nobody reads it.
        """
        self.forget()
        self._answer, self.responded = answer, True

    def fail(
        self,
        code: str,
        hint: str = "",
        *,
        fields: Mapping[str, str] | None = None,
        retryable: bool = False,
        applied: Any = False,
    ) -> None:
        """Tell the caller that it did not work, and which fields are to blame.

        Args:
            code: A stable machine word, such as ``"taken"``.
            hint: One English sentence for the model.
            fields: What is wrong, by field.
            retryable: Whether the same call may succeed later.
            applied: What was changed all the same.
        """
        parts = [hint] if hint else []
        parts += [f"{pointer_token(key)}: {problem}" for key, problem in (fields or {}).items()]
        self._error = CapabilityError(code, "; ".join(parts), retryable=retryable, applied=applied)

    @property
    def failed(self) -> bool:
        """Whether somebody said that it did not work."""
        return self._error is not None

    def forget(self) -> None:
        """Drop the answer: nobody will wait for it."""
        if inspect.iscoroutine(self._answer):
            self._answer.close()
        self._answer = None

    async def answer(self) -> Any:
        """Return the result, awaited; None when nobody responded.

        Raises:
            CapabilityError: The submission failed.
        """
        answer, self._answer = self._answer, None
        if inspect.isawaitable(answer):
            answer = await answer
        if self._error is not None:
            raise self._error
        return answer
