"""Bearer tokens: who a request comes from, and what that actor may do. Only hashes of tokens are kept."""

import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.values import Actor

Authenticate = Callable[[str], Actor | Awaitable[Actor | None] | None]
"""``authenticate(token)``: the actor of a bearer token, or None; sync or async."""


class Tokens:
    """Knows tokens by their SHA-256; an instance is an `Authenticate`.

    The file is JSON: ``{"tokens": [{"sha256": HEX, "actor": NAME, "permissions": [NAME, ...]}, ...]}``. A random token
    of `new_token` cannot be guessed from its plain hash; a password could be, so it is none.

    Args:
        actors: Actors by the lower-case hexadecimal SHA-256 of their tokens.
    """

    def __init__(self, actors: Mapping[str, Actor]) -> None:
        self._actors = dict(actors)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file of tokens.

        Raises:
            CommandError: It cannot be read, or is no such file; code ``bad_tokens``.
        """
        try:
            entries = json.loads(path.read_text(encoding="utf-8"))["tokens"]
            return cls({_hash_of(entry): _actor_of(entry) for entry in entries})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise CommandError("bad_tokens", f"{path.name} is no file of tokens: {type(error).__name__}.") from error

    def __call__(self, token: str) -> Actor | None:
        """Return the actor of a token; the look-up is by hash, so its time tells nothing of a near miss."""
        return self._actors.get(hash_token(token))


def new_token() -> str:
    """Return a new random token (256 bits)."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return what is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", errors="surrogatepass")).hexdigest()


def token_entry(token: str, actor: str, permissions: Iterable[str] = ()) -> dict[str, Any]:
    """Return the entry of a token for the file."""
    return {"sha256": hash_token(token), "actor": actor, "permissions": sorted(permissions)}


def _hash_of(entry: Any) -> str:
    text = entry["sha256"]
    if len(bytes.fromhex(text)) != hashlib.sha256().digest_size:
        raise ValueError("sha256")
    return str(text).lower()


def _actor_of(entry: Any) -> Actor:
    name, permissions = entry["actor"], entry.get("permissions", [])
    if not isinstance(name, str) or not name or not isinstance(permissions, list):
        raise TypeError("actor")
    if not all(isinstance(each, str) for each in permissions):
        raise TypeError("permissions")
    return Actor(name=name, permissions=frozenset(permissions))
