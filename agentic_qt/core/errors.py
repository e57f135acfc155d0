"""What programmers can get wrong, and what a handler may say.

The tree, by who can mend it::

    AgenticQtError
        DeclarationError   a capability is malformed or its place is taken (the programmer, at registration)
        WireNameError      two capability names collide on the wire (the programmer, at the snapshot)
        CapabilityError    raised by handlers: code, hint, retryable; becomes an outcome ``failed``
        ChatModelError     the provider failed: the run ends (see agentic_qt.client.chat_model)
        CommandError       the store of commands cannot work, or a proposal is past that (agentic_qt.commands.errors)

Text of other exceptions never travels to the model: a code and a hint do, the traceback goes to the log.
"""

from typing import Any


class AgenticQtError(Exception):
    """The root of every error this library raises."""


class DeclarationError(AgenticQtError):
    """A capability is malformed, or its name and target are taken; the message quotes both sides."""


class WireNameError(AgenticQtError):
    """Two capability names become the same name on the wire."""


class CapabilityError(AgenticQtError):
    """Raised by a handler or a preview to end its call as ``failed`` with words for the model.

    Args:
        code: A stable machine word, such as ``"open_orders"``.
        hint: One English sentence for the model: what is wrong and what would help.
        retryable: Whether the same call may succeed later.
        applied: What was changed before the failure: False (nothing), True (all) or a JSON fact.
        status: How the call ends where ``failed`` would be wrong: ``busy``, ``stale``, ``forbidden``, or, when nobody
            can say whether a change happened, ``unknown``.
    """

    def __init__(
        self, code: str, hint: str = "", *, retryable: bool = False, applied: Any = False, status: str = "failed"
    ) -> None:
        super().__init__(f"{code}: {hint}" if hint else code)
        self.code = code
        self.hint = hint
        self.retryable = retryable
        self.applied = applied
        self.status = status
