"""What only a window with a remote service needs, loaded when it is asked for (PEP 562).

The HTTP client takes a tenth of a second to load, which every other window would wait for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_qt.commands.client import CommandClient

__all__ = ["CommandClient"]


def __getattr__(name: str) -> Any:
    if name != "CommandClient":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = import_module("agentic_qt.commands.client").CommandClient
    return value
