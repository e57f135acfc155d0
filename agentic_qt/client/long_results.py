"""Results that were too long for one message: kept for a while, and read on by an ordinary read capability."""

from collections import OrderedDict
from dataclasses import dataclass
from secrets import token_hex
from typing import Any
from weakref import WeakKeyDictionary

from agentic_qt.core.capability import Capability, Risk
from agentic_qt.core.errors import CapabilityError
from agentic_qt.core.flight import CallContext
from agentic_qt.core.registration import Registration
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.results import READ_MORE, page

MAX_KEPT = 8_000_000
"""Characters that are kept for one registry; the oldest results go first."""

PAGE = 12_288
"""Bytes of one piece as JSON, so that it fits into a message with what stands around it."""

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "The handle that stands in the result that was cut."},
        "offset": {"type": "integer", "minimum": 0, "description": "The character to begin with."},
    },
    "required": ["handle", "offset"],
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kept:
    text: str
    client: str | None
    owner: str


class LongResults:
    """The long results of one registry's runs; the capability is there as long as there is something to read."""

    def __init__(self) -> None:
        # No registration and no registry: a value that referred to its key would keep both alive for ever.
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    @classmethod
    def of(cls, registry: Registry) -> "LongResults":
        """Return the long results of a registry, shared by all who talk through it."""
        found = _known.get(registry)
        if found is None:
            found = _known[registry] = cls()
        return found

    def keep(self, registry: Registry, text: str, *, client: str | None, owner: str) -> str:
        """Keep a text and return its handle; an empty one when the application has taken the capability's name.

        Args:
            registry: Where it can be read from now on.
            text: The whole result.
            client: Who alone may read it.
            owner: Of what it is a part (a thread): `release` lets it go.
        """
        taken = list(registry.places(READ_MORE).values())
        if not taken:
            registry.register(
                Capability(
                    name=READ_MORE,
                    description="Read on in a result that was too long and was cut: returns the next piece of its "
                    "text and the offset after it.",
                    input_schema=_SCHEMA,
                    risk=Risk.READ,
                    handler=self._read,
                    title="Read more of a result",
                )
            )
        elif not self._is_ours(taken[0]):
            return ""
        handle = f"r{token_hex(6)}"
        self._kept[handle] = _Kept(text=text, client=client, owner=owner)
        while len(self._kept) > 1 and sum(len(kept.text) for kept in self._kept.values()) > MAX_KEPT:
            self._kept.popitem(last=False)
        return handle

    def release(self, registry: Registry, owner: str) -> None:
        """Forget the results of an owner; with the last one the capability goes."""
        for handle in [handle for handle, kept in self._kept.items() if kept.owner == owner]:
            del self._kept[handle]
        found = registry.find(READ_MORE)
        if not self._kept and found is not None and self._is_ours(found):
            found.dispose()

    def _is_ours(self, registration: Registration) -> bool:
        return registration.capability.handler == self._read

    def _read(self, handle: str, offset: int, ctx: CallContext) -> dict[str, Any]:
        kept = self._kept.get(handle)
        if kept is None or kept.client != ctx.client:
            hint = "This result is not kept any more. Call the capability again, for less."
            raise CapabilityError("no_such_result", hint, applied=False)
        piece = page(kept.text, offset, limit=PAGE)
        after = offset + len(piece)
        return {
            "text": piece,
            "offset": offset,
            "next_offset": after if after < len(kept.text) else None,
            "total_characters": len(kept.text),
        }


_known: WeakKeyDictionary[Registry, LongResults] = WeakKeyDictionary()
