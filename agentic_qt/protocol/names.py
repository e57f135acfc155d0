"""Capability names on the wire and back. Owns the dialect; knows nothing of tools, schemas or registries."""

import hashlib
import re
from collections.abc import Iterable

from agentic_qt.core.errors import WireNameError

MAX_WIRE_NAME = 63
"""Characters of a name on the wire."""

WIRE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
"""What every provider takes: OpenAI and Anthropic refuse dots, Gemini wants a letter or underscore first."""

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_HASH_LENGTH = 8


def to_wire(name: str) -> str:
    """Return the wire name of a capability: ``form.save`` becomes ``form_save``.

    A name that fits already is returned unchanged. One that is too long, empty or not ASCII gets a suffix
    made of its SHA-256, since cutting or replacing alone would let different names meet; the suffix is the
    same in every process.
    """
    wire = _FOREIGN.sub("_", name)
    if not wire or not (wire[0].isalpha() or wire[0] == "_"):
        wire = f"_{wire}"
    if name and name.isascii() and len(wire) <= MAX_WIRE_NAME:
        return wire
    suffix = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{wire[: MAX_WIRE_NAME - _HASH_LENGTH - 1]}_{suffix}"


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Return the real name of each wire name; equal names count once, the order is kept.

    Raises:
        WireNameError: Two different names become the same wire name.
    """
    real_names: dict[str, str] = {}
    for name in names:
        wire = to_wire(name)
        taken = real_names.setdefault(wire, name)
        if taken != name:
            raise WireNameError(
                f"capabilities {taken!r} and {name!r} both become {wire!r} on the wire: rename one of them"
            )
    return real_names
