"""The last step of a call: what a handler returned becomes plain, bounded JSON."""

import json
import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

from agentic_qt.schema.canonical import MAX_DEPTH

MAX_DATA_BYTES = 1024 * 1024
"""Results above this are refused: a handler that has more pages it."""


class SealError(ValueError):
    """A result cannot become JSON; `code` says why: ``result_not_json`` or ``result_too_large``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def _default(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Enum):
        return value.value
    if _is_one_of(value, "datetime", "date", "time"):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, PurePath) or _is_one_of(value, "decimal", "Decimal") or _is_one_of(value, "uuid", "UUID"):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, AbstractSet):
        return sorted(value, key=repr)
    raise TypeError(f"a {type(value).__name__} is not JSON")


def _is_one_of(value: Any, module_name: str, *types: str) -> bool:
    """Whether a value is of a type of a module; only who made the value has paid for loading that module."""
    module = sys.modules.get(module_name)
    return module is not None and isinstance(value, tuple(getattr(module, name) for name in types))


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_default).encode
_PLAIN = frozenset({type(None), bool, int})


def seal(value: Any) -> Any:
    """Return `value` as plain JSON data that shares nothing with the application.

    Dataclasses, enums, dates, decimals, paths, UUIDs, sets and mappings are understood; keys that are numbers become
    their text. It may be nested 64 levels deep, as all JSON here.

    Raises:
        SealError: It is not JSON (``result_not_json``) or larger than a mebibyte (``result_too_large``).
    """
    if type(value) in _PLAIN:
        return value
    try:
        text = _encode(value)
        size = len(text) if text.isascii() else len(text.encode())  # a lone surrogate is not text
        if size <= MAX_DATA_BYTES:
            data = json.loads(text)
            if text.count("[") + text.count("{") > MAX_DEPTH:
                _check_depth(data)
            return data
    except Exception as error:  # whatever the values of an application raise when they are looked at
        raise SealError("result_not_json", f"the result is not JSON: {type(value).__name__}") from error
    raise SealError("result_too_large", f"the result has {size} bytes; {MAX_DATA_BYTES} are allowed")


def _check_depth(data: Any) -> None:
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return
        level = below
    raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
