"""What goes wrong around commands and is not the result of one: for programmers and operators."""

from agentic_qt.core.errors import AgenticQtError


class CommandError(AgenticQtError):
    """The service cannot work: the store is closed, cannot be opened, or is newer than this program.

    Args:
        code: ``store_closed``, ``store_unusable``, ``store_too_new``, ``store_error``, ``bad_transition``,
            ``no_proposal``, ``changed``, ``other_session``, ``no_intent``, ``has_command``, or the code of a refusal
            (`values.Code`); stable.
        message: One English sentence without SQL.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class EffectUnknown(Exception):  # noqa: N818 - an answer, not an error
    """Raised by a handler or resolver of an external effect: nobody can say yet whether it happened."""
