"""The tools array of a request, and its JSON text, each made once and then only passed on.

An application shows the same hundred tools in every request of a conversation: writing them out again each time
would cost more than everything else that is done between two requests.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode_json(value: Any) -> bytes:
    """Return the compact JSON of a value, UTF-8.

    Raises:
        TypeError: It holds something that is no JSON value.
        ValueError: It holds a number that JSON does not have, or text that is no Unicode.
    """
    return _encoder.encode(value).encode()


class Definition(dict[str, Any]):
    """One OpenAI function tool, never changed once it was made; `json` is its text."""

    @cached_property
    def json(self) -> bytes:
        """The compact JSON of the definition."""
        return encode_json(self)


class ToolList(tuple[Mapping[str, Any], ...]):  # noqa: SLOT001 - its text is kept in its __dict__
    """OpenAI function tools in a fixed order; `json` is the text of the whole array."""

    @cached_property
    def json(self) -> bytes:
        """The compact JSON of the array, joined from the texts of its definitions."""
        return _joined(self)


def encode_tools(tools: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the JSON text of a tools array; what was written out before is not written out again."""
    return tools.json if isinstance(tools, ToolList) else _joined(tools)


def _joined(tools: Iterable[Mapping[str, Any]]) -> bytes:
    return b"[%b]" % b",".join(tool.json if isinstance(tool, Definition) else encode_json(tool) for tool in tools)
