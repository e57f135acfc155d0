"""The parts that a window which has just opened does not need yet, loaded when they are first asked for (PEP 562).

The transcript is prepared a moment after the first paint; the approval's views come with the first approval, the
agent and all that presents it with the first chat model. Loading them takes several frames, which the start of an
application would wait for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_qt.ui.approval.card import ApprovalCard
    from agentic_qt.ui.approval.dialog import ApprovalDialog
    from agentic_qt.ui.cards import Card
    from agentic_qt.ui.commands.audit_view import AuditView
    from agentic_qt.ui.commands.leftover_views import LeftoverViews
    from agentic_qt.ui.commands.views import CommandViews
    from agentic_qt.ui.context_bar import ContextBar
    from agentic_qt.ui.edit_bar import EditBar
    from agentic_qt.ui.end_button import EndButton
    from agentic_qt.ui.known_keys import KnownKeys
    from agentic_qt.ui.link_bar import LinkBar
    from agentic_qt.ui.sent_view import SentView
    from agentic_qt.ui.settings import SettingsDialog
    from agentic_qt.ui.talk import Talk
    from agentic_qt.ui.transcript import Transcript
    from agentic_qt.ui.transcript_items import Action, ErrorCard, Note, UserMessage

__all__ = [
    "Action",
    "ApprovalCard",
    "ApprovalDialog",
    "AuditView",
    "Card",
    "CommandViews",
    "ContextBar",
    "EditBar",
    "EndButton",
    "ErrorCard",
    "KnownKeys",
    "LeftoverViews",
    "LinkBar",
    "Note",
    "SentView",
    "SettingsDialog",
    "Talk",
    "Transcript",
    "UserMessage",
]

_MODULES = {
    "Action": "transcript_items",
    "ApprovalCard": "approval.card",
    "ApprovalDialog": "approval.dialog",
    "AuditView": "commands.audit_view",
    "Card": "cards",
    "CommandViews": "commands.views",
    "ContextBar": "context_bar",
    "EditBar": "edit_bar",
    "EndButton": "end_button",
    "ErrorCard": "transcript_items",
    "KnownKeys": "known_keys",
    "LeftoverViews": "commands.leftover_views",
    "LinkBar": "link_bar",
    "Note": "transcript_items",
    "SentView": "sent_view",
    "SettingsDialog": "settings",
    "Talk": "talk",
    "Transcript": "transcript",
    "UserMessage": "transcript_items",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"agentic_qt.ui.{module}"), name)
    globals()[name] = value
    return value
