"""The engine that this platform has, loaded when the first schema needs it (PEP 562): a window need not wait for it.

jsonschema-rs where there is a wheel of it; the slower jsonschema elsewhere.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_qt.schema.engine_rust import Engine, check_meta

__all__ = ["Engine", "check_meta"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module("agentic_qt.schema.engine_rust")
    except ImportError:  # no wheel of jsonschema-rs for this platform
        module = import_module("agentic_qt.schema.engine_python")
    value = globals()[name] = getattr(module, name)
    return value
