"""Let a language model operate a Qt application safely, through the application's own capabilities.

The Qt-free names are here at once; those that need Qt are fetched when they are first asked for (PEP 562), so that
importing this package, or any of its Qt-free modules, loads no Qt.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentic_qt.core.approvals import Approval, ApprovalQueue, ApprovalRequest
from agentic_qt.core.call import Call, Outcome, Status
from agentic_qt.core.capability import Capability, Risk, Target
from agentic_qt.core.errors import AgenticQtError, CapabilityError, DeclarationError, WireNameError
from agentic_qt.core.flight import CallContext
from agentic_qt.core.policy import Decision, Policy
from agentic_qt.core.registration import Registration
from agentic_qt.core.registry import Registry

if TYPE_CHECKING:
    from agentic_qt.qt.expose import expose
    from agentic_qt.qt.forms.exposing import expose_forms, form_tool
    from agentic_qt.qt.forms.form_tool import current_submission
    from agentic_qt.qt.loop import run
    from agentic_qt.qt.mixin import AgentMixin, capability
    from agentic_qt.ui.assistant import Assistant

__version__ = "0.1.0"

__all__ = [
    "AgentMixin",
    "AgenticQtError",
    "Approval",
    "ApprovalQueue",
    "ApprovalRequest",
    "Assistant",
    "Call",
    "CallContext",
    "Capability",
    "CapabilityError",
    "Decision",
    "DeclarationError",
    "Outcome",
    "Policy",
    "Registration",
    "Registry",
    "Risk",
    "Status",
    "Target",
    "WireNameError",
    "capability",
    "current_submission",
    "expose",
    "expose_forms",
    "form_tool",
    "run",
]

_QT_NAMES = {
    "AgentMixin": "agentic_qt.qt.mixin",
    "Assistant": "agentic_qt.ui.assistant",
    "capability": "agentic_qt.qt.mixin",
    "current_submission": "agentic_qt.qt.forms.form_tool",
    "expose": "agentic_qt.qt.expose",
    "expose_forms": "agentic_qt.qt.forms.exposing",
    "form_tool": "agentic_qt.qt.forms.exposing",
    "run": "agentic_qt.qt.loop",
}


def __getattr__(name: str) -> Any:
    module = _QT_NAMES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
