"""Numbers, dates and yes or no, read from the words of a request. Pure functions of their arguments."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from agentic_qt.client.decoding_words import Kind, keys_of, words_in

_SMALL_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_SMALL = _SMALL_WORDS.split()
_HAN_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}
_MONTH_WORDS = "january february march april may june july august september october november december"
_MONTHS = _MONTH_WORDS.split()
_NAMED_DAY = re.compile(
    rf"\b(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m1>{'|'.join(_MONTHS)})"
    rf"|(?P<m2>{'|'.join(_MONTHS)})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?),?\s+(?P<year>\d{{4}})\b",
    re.IGNORECASE,
)
_NUMERIC_DAY = re.compile(
    r"\b(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})\b|\b(?P<day2>\d{1,2})\.(?P<month2>\d{1,2})\.(?P<year2>\d{4})\b"
    r"|(?P<year3>\d{4})年(?P<month3>\d{1,2})月(?P<day3>\d{1,2})日"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NEGATIONS = frozenset({"not", "no", "without", "never", "không", "不", "非"})


def numbers_in(text: str, schema: Mapping[str, Any]) -> list[int | float]:
    """Return the numbers of a text that a schema allows, in order; those of dates are not among them.

    Args:
        text: The words.
        schema: Of an ``integer`` or a ``number``; ``minimum`` and ``maximum`` are minded.
    """
    plain = _NUMERIC_DAY.sub(" ", _NAMED_DAY.sub(" ", text))
    found: list[int | float] = []
    for word in words_in(plain):
        value = _number(plain, word.text, word.kind, word.start, is_han=word.is_han)
        if value is not None and _is_allowed(value, schema):
            found.append(int(value) if float(value).is_integer() else value)
    return list(dict.fromkeys(found))


def dates_in(text: str) -> list[str]:
    """Return the dates of a text in the form of RFC 3339, in order; a date that does not exist is none."""
    found = []
    for match in _NAMED_DAY.finditer(text):
        month = _MONTHS.index((match["m1"] or match["m2"]).casefold()) + 1
        found.append((match.start(), _day(match["year"], month, match["d1"] or match["d2"])))
    for match in _NUMERIC_DAY.finditer(text):
        year, month_text, day = next(
            (match[f"year{n}"], match[f"month{n}"], match[f"day{n}"]) for n in ("", "2", "3") if match[f"year{n}"]
        )
        found.append((match.start(), _day(year, int(month_text), day)))
    return list(dict.fromkeys(day for _, day in sorted(found) if day))


def boolean_in(text: str, words: frozenset[str]) -> bool | None:
    """Return what a text says of a property; None: it does not speak of it.

    Args:
        text: The request.
        words: The words of the property's name and title.
    """
    said = keys_of(text)
    if words.isdisjoint(said):
        return None
    spoken = [word.key for word in words_in(text)]
    place = next((index for index, word in enumerate(spoken) if word in words), 0)
    return not any(word in _NEGATIONS for word in spoken[max(0, place - 2) : place])


def _number(text: str, word: str, kind: Kind, start: int, *, is_han: bool) -> float | None:
    if is_han:
        return _HAN_DIGITS.get(word)
    if kind is Kind.WORD:
        return _SMALL.index(word.casefold()) if word.casefold() in _SMALL else None
    if kind is not Kind.NUMBER:
        return None
    plain = word.replace(",", "") if _THOUSANDS.fullmatch(word) else word.replace(",", ".")
    if plain.count(".") > 1:
        return None
    is_negative = start and text[start - 1] in "-\u2212" and (start == 1 or text[start - 2].isspace())
    return float(f"-{plain}" if is_negative else plain)


def _is_allowed(value: float, schema: Mapping[str, Any]) -> bool:
    if schema.get("type") == "integer" and not float(value).is_integer():
        return False
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    return bool(low <= value <= high)


def _day(year: str, month: int, day: str) -> str:
    try:
        return date(int(year), month, int(day)).isoformat()
    except ValueError:
        return ""
