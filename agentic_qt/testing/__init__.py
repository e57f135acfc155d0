"""For tests of applications: a chat model that plays a script, and the whole pipeline in one call."""

from agentic_qt.testing.calls import call_capability
from agentic_qt.testing.requests import forbid_real_requests
from agentic_qt.testing.scripted import ScriptedModel, ScriptedRequest, tool

__all__ = ["ScriptedModel", "ScriptedRequest", "call_capability", "forbid_real_requests", "tool"]
