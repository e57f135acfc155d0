"""JSON in and out: canonical bytes (RFC 8785), their digest, and a strict parser for text of a model.

Owns the limits of every JSON value that enters the library: depth, size, key types, number range. It knows
nothing of schemas and of capabilities.
"""

import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from json import encoder as json_encoder
from typing import Any, Final

import rfc8785

MAX_DEPTH: Final = 64
"""How many containers may stand in each other; ``[]`` has depth 1."""
MAX_BYTES: Final = 64 * 1024
"""How long canonical bytes, or a text to parse, may be unless the caller says otherwise."""
MAX_SAFE_INTEGER: Final = 2**53 - 1
"""Beyond it a JSON number is no longer exact in every reader (RFC 7493, section 2.2)."""


class InputError(ValueError):
    """A value that is refused before any schema is asked.

    Args:
        code: ``too_deep``, ``too_large``, ``not_finite``, ``unsafe_integer``, ``bad_key``, ``not_json``,
            ``bad_text`` or ``duplicate_key``; stable.
        message: One English sentence for the model.
        pointer: JSON Pointer (RFC 6901) of the place in the value; empty for the whole of it, and where no
            place is known.
    """

    def __init__(self, code: str, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.pointer = pointer


def pointer_token(key: object) -> str:
    """Return one step of a JSON Pointer, escaped and with its slash (RFC 6901, section 3)."""
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def canonical(value: Any, *, max_bytes: int | None = MAX_BYTES) -> bytes:
    """Return the canonical JSON of a value (RFC 8785); 1 and 1.0 give the same bytes.

    Args:
        value: Mappings with str keys, lists, tuples, str, int, float, bool, None; subclasses count as their
            plain value.
        max_bytes: The longest result in bytes; None sets no limit.

    Raises:
        InputError: The value is not JSON, or beyond a limit.
    """
    budget = sys.maxsize if max_bytes is None else max_bytes
    if _easy_cost(value, 0, budget) >= 0:
        try:
            data = "".join(_encode_easy(value, 0)).encode()
        except UnicodeEncodeError:
            data = rfc8785.dumps(_plain(value, 0, [budget]))  # finds the place; it raises
    else:
        data = rfc8785.dumps(_plain(value, 0, [budget]))
    if max_bytes is not None and len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


def canonical_of_easy(value: Any, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the canonical JSON of a value that the caller knows to be easy, as `_easy_cost` has it.

    Raises:
        InputError: A text has half of a surrogate pair, or the result is too long.
    """
    try:
        data = "".join(_encode_easy(value, 0)).encode()
    except UnicodeEncodeError:
        return canonical(value, max_bytes=max_bytes)  # finds the place; it raises
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def freeze(value: Any, *, max_bytes: int | None = MAX_BYTES) -> tuple[bytes, Any]:
    """Return the canonical bytes of a value, and the value that those bytes say: the one that may run.

    Raises:
        InputError: As `canonical`.
    """
    data = canonical(value, max_bytes=max_bytes)
    return data, _DECODE_OWN(data.decode())[0]


def parse(text: str | bytes, *, max_bytes: int | None = MAX_BYTES) -> Any:
    """Parse JSON that a stranger wrote; size and depth are judged before anything is built.

    Args:
        text: One JSON text; bytes are UTF-8.
        max_bytes: The longest text in bytes of UTF-8; None sets no limit.

    Raises:
        InputError: The text is no JSON, or beyond a limit; duplicate keys are refused.
    """
    if isinstance(text, bytes):
        size = len(text)
    else:
        size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    if max_bytes is not None and size > max_bytes:
        raise _too_large(max_bytes)
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise InputError("bad_text", "The text is not UTF-8.") from error
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise InputError("not_json", f"The text is not valid JSON: {error.msg} at {where}.") from error
    if not text.isascii() or "\\ud" in text or "\\uD" in text:
        _check_text(value)
    return value


def _make_easy_encoder() -> Callable[[Any, int], Iterable[str]]:
    """Build the sorted encoder of the standard library once; json.dumps would build it at every call."""
    make_c_encoder = getattr(json_encoder, "c_make_encoder", None)
    if make_c_encoder is None:  # an interpreter without the C accelerator
        plain = json.JSONEncoder(
            ensure_ascii=False, check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")
        )
        return lambda value, _level: plain.encode(value)
    encoder: Callable[[Any, int], Iterable[str]] = make_c_encoder(
        None,  # no cycle check: the walk before has bounded the depth
        _refuse,
        json_encoder.encode_basestring,
        None,
        ":",
        ",",
        True,  # noqa: FBT003 - sort_keys; the C function takes positions only
        False,  # noqa: FBT003 - skipkeys
        False,  # noqa: FBT003 - allow_nan
    )
    return encoder


def _refuse(value: Any) -> Any:
    raise InputError("not_json", f"A value of type {type(value).__name__} is not JSON.")


def _easy_cost(value: Any, depth: int, budget: int) -> int:  # noqa: C901 - in line: calls would double its cost
    """Return what an easy value leaves of the budget; a negative number when it is not easy.

    Easy: exact built-in types, ASCII keys, safe integers, floats that are not integral and between 1e-4 and
    1e16 (where Python and ECMAScript print alike), depth in bounds. `_plain` judges the rest.
    Every element costs one: no more than the bytes it takes.
    """
    kind = type(value)
    if kind is dict:
        if depth == MAX_DEPTH:
            return -1
        try:
            if not "".join(value).isascii():
                return -1
        except TypeError:  # a key that is no str
            return -1
        items = value.values()
    elif kind is list or kind is tuple:
        if depth == MAX_DEPTH:
            return -1
        items = value
    else:
        items = (value,)
    budget -= len(items)
    if budget < 0:
        return -1
    for item in items:
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is int:
            if -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER:
                continue
            return -1
        if kind is float:
            if (1e-4 <= item < 1e16 or -1e16 < item <= -1e-4) and not item.is_integer():
                continue
            return -1
        if kind is not dict and kind is not list and kind is not tuple:
            return -1
        budget = _easy_cost(item, depth + 1, budget)
        if budget < 0:
            return -1
    return budget


def _plain(value: Any, depth: int, budget: list[int]) -> Any:
    """Rebuild a value of exact built-in types for rfc8785; refuse what is not JSON, with its place."""
    if isinstance(value, str):
        return _plain_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _plain_number(value)
    if isinstance(value, Mapping):
        _enter(depth, len(value), budget)
        return {_plain_key(key): _plain_item(key, item, depth, budget) for key, item in value.items()}
    if isinstance(value, list | tuple):
        _enter(depth, len(value), budget)
        return [_plain_item(index, item, depth, budget) for index, item in enumerate(value)]
    return _refuse(value)


def _enter(depth: int, size: int, budget: list[int]) -> None:
    if depth >= MAX_DEPTH:
        raise _too_deep()
    budget[0] -= size
    if budget[0] < 0:
        raise InputError("too_large", "The value has too many elements.")


def _plain_item(key: Any, item: Any, depth: int, budget: list[int]) -> Any:
    try:
        return _plain(item, depth + 1, budget)
    except InputError as error:
        error.pointer = pointer_token(key) + error.pointer
        raise


def _plain_key(key: Any) -> str:
    if not isinstance(key, str):
        raise InputError("bad_key", f"A key of type {type(key).__name__} is not a string.")
    return _plain_text(key)


def _plain_text(value: str) -> str:
    text = str.__str__(value)  # the plain value of a StrEnum member and of other subclasses
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError("bad_text", "A text has half of a surrogate pair.") from error
    return text


def _plain_number(value: float) -> int | float:
    if isinstance(value, int):
        number: int | float = int(value)
    else:
        number = float(value)
        if not math.isfinite(number):
            raise InputError("not_finite", "NaN and infinity are not JSON.")
        if not number.is_integer():
            return number
    if not -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER:
        raise _unsafe_integer()
    return int(number)


_BRACKETS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)
"""A whole string (an open one runs to the end, so that the search stays linear), or one bracket."""


def _check_depth(text: str) -> None:
    depth = 0
    for match in _BRACKETS.finditer(text):
        first = text[match.start()]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep()
        elif first in "]}":
            depth -= 1


def _check_text(value: Any) -> None:
    try:
        "".join(_encode_easy(value, 0)).encode()
    except UnicodeEncodeError:
        _plain(value, 0, [sys.maxsize])  # finds the place; it raises


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError("duplicate_key", f"The key {json.dumps(key)[:80]} stands twice in one object.")
    return result


def _parse_int(text: str) -> int:
    if len(text) > len("-9007199254740991"):
        raise _unsafe_integer()
    value = int(text)
    if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        raise _unsafe_integer()
    return value


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InputError("not_finite", "A number is too large.")
    if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER and value.is_integer():
        raise _unsafe_integer()
    return value


def _parse_constant(text: str) -> Any:
    raise InputError("not_finite", f"{text} is not JSON.")


def _too_deep() -> InputError:
    return InputError("too_deep", f"The value is nested deeper than {MAX_DEPTH} levels.")


def _too_large(max_bytes: int) -> InputError:
    return InputError("too_large", f"The value is larger than {max_bytes} bytes.")


def _unsafe_integer() -> InputError:
    return InputError("unsafe_integer", "An integer is beyond 2^53-1; pass it as a string.")


_encode_easy: Final = _make_easy_encoder()
_DECODE_OWN: Final = json.JSONDecoder().raw_decode
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_parse_object,
    parse_float=_parse_float,
    parse_int=_parse_int,
    parse_constant=_parse_constant,
)
