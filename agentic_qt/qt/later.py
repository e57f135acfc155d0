"""What only declarations without a schema need, loaded when the first of them is looked at (PEP 562).

Reading hints and docstrings takes several milliseconds to load, which a window whose capabilities bring their schemas
would wait for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_qt.schema.infer import infer

__all__ = ["infer"]


def __getattr__(name: str) -> Any:
    if name != "infer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = import_module("agentic_qt.schema.infer").infer
    return value
