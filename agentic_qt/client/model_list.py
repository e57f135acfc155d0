"""The list of models that an endpoint offers, read from its answer. Without I/O."""

import json
from collections.abc import Mapping

from agentic_qt.client.chat_model import ChatModelError

MAX_BYTES = 4_000_000
"""The longest list that is read; the longest known is a tenth of that."""


def names_in(body: bytes) -> tuple[str, ...]:
    """Return the names in the answer to ``GET /models``.

    Some servers list plain names, say null for none, or have the list under another key.

    Raises:
        ChatModelError: It is something else.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise no_list("it is no JSON") from error
    listed = value.get("data", value.get("models")) if isinstance(value, Mapping) else value
    if listed is None and isinstance(value, Mapping) and value.get("object") == "list":
        listed = []  # a server without models says null
    if not isinstance(listed, list):
        raise no_list("it has no list")
    names = [one.get("id", one.get("name")) if isinstance(one, Mapping) else one for one in listed]
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def no_list(why: str) -> ChatModelError:
    """Return the error for an answer that is no list of models."""
    remedy = "Check the base URL: it usually ends with /v1."
    return ChatModelError("provider", f"The answer is not a list of models: {why}.", remedy=remedy)
