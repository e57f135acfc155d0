"""Messages on the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A complete tool call as the model made it: wire name, and arguments as text that may not be JSON.

    Args:
        id: The provider's id; may repeat across turns, so nothing is keyed by it alone.
        name: The name on the wire.
        arguments: JSON text, unchecked.
        extra: Fields of the call that we do not know; kept and sent back.
    """

    id: str
    name: str
    arguments: str
    extra: Mapping[str, Any] = field(default_factory=dict)
