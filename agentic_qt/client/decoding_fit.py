"""How well a request fits a tool: which of its pieces can be which argument, and what is missing or left over.

Pure functions of their arguments. The figures are weights between kinds of evidence, on the scale of natural
logarithms of probabilities; they know no application.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_qt.client.decoding_catalogue import (
    Catalogue,
    Parameter,
    Tool,
    are_names,
    cues,
    is_name,
    kinds_of,
    named,
    neighbours,
)
from agentic_qt.client.decoding_spans import Span
from agentic_qt.client.decoding_values import boolean_in, dates_in, numbers_in
from agentic_qt.client.decoding_words import FUNCTION_WORDS, PRONOUNS, Kind, key_of

_HARD = frozenset({Kind.EMAIL, Kind.URL, Kind.PHONE, Kind.DATE, Kind.NUMBER, Kind.CHOICE})
_DIALLED = frozenset({Kind.PHONE, Kind.NUMBER})
_MOST_SPANS = 6
_MOST_FITS = 12
_MOST_CHOICES = 12
_KIND, _STRANGE_KIND = 0.5, {Kind.EMAIL: -2.0, Kind.URL: -2.0, Kind.PHONE: -2.0, Kind.DATE: -1.5, Kind.NUMBER: -1.0}
_CHOICE_AS_TEXT = -1.5
_BEFORE, _AFTER, _OWN_WORD = 1.0, 0.5, 1.5
_LEAD, _NAME = -0.7, 0.7
_EARLIER = -1.0
_NAMED, _NAMED_OPTIONAL, _CUE, _GUESSED = 1.0, 0.3, 0.5, -1.5
_MISSING = -3.0
_PLACES = frozenset({"in", "from", "at"})
_SHOWN = 1.0
_LEFT_OVER, _MOST_LEFT_OVER = -0.8, 4
_ENOUGH_CUES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Clause:
    """One thing that a request asks for, taken apart.

    Args:
        text: As written.
        keys: Its words, in the form in which they are compared.
        spans: The pieces that can be values.
        marks: Where each word begins that can only be part of a value.
    """

    text: str
    keys: frozenset[str]
    spans: tuple[Span, ...]
    marks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """One way to fill in a tool.

    Args:
        arguments: In the order of the schema.
        spans: The pieces that were used, by property.
        missing: Required properties that nothing in the request can be.
        guessed: Choices that the request gives no reason for.
        score: The sum of what speaks for it.
    """

    arguments: Mapping[str, Any]
    spans: Mapping[str, Span] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    score: float = 0.0


def fits_of(tool: Tool, clause: Clause, catalogue: Catalogue) -> tuple[Fit, ...]:
    """Return the ways to fill in a tool, the best first; never empty."""
    found: list[Fit] = []
    for picked in _pickings(tool, clause, catalogue):
        found += _filled(tool, clause, catalogue, picked)
    found.sort(key=lambda fit: -fit.score)
    return tuple(found[:_MOST_FITS])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Picked:
    values: Mapping[str, Any]
    missing: tuple[str, ...]
    guessed: tuple[str, ...]
    score: float


def _pickings(tool: Tool, clause: Clause, catalogue: Catalogue) -> Iterator[_Picked]:
    """Yield the ways to fill in everything that is no text."""
    options: list[list[tuple[str, Any, float, str]]] = []
    for parameter in tool.parameters:
        if parameter.type == "text" and parameter.schema.get("format") != "date":
            continue
        options.append(_options(tool, parameter, clause, catalogue))
    for row in itertools.islice(itertools.product(*options), 200):
        yield _Picked(
            values={name: value for name, value, _, state in row if state in ("", "guessed")},
            missing=tuple(name for name, _, _, state in row if state == "missing"),
            guessed=tuple(name for name, _, _, state in row if state == "guessed"),
            score=sum(score for _, _, score, _ in row),
        )


def _options(
    tool: Tool, parameter: Parameter, clause: Clause, catalogue: Catalogue
) -> list[tuple[str, Any, float, str]]:
    """Return the values that a property may have: name, value, what speaks for it, what is wrong with it."""
    name = parameter.name
    if parameter.type == "choice":
        return _choices(tool, parameter, clause, catalogue)
    values: list[Any] = []
    if parameter.type in ("integer", "number"):
        values = numbers_in(clause.text, parameter.schema)
        if not parameter.required and parameter.words.isdisjoint(clause.keys):
            values = []
    elif parameter.type == "boolean":
        said = boolean_in(clause.text, parameter.words)
        values = [] if said is None else [said]
    elif parameter.schema.get("format") == "date":
        values = dates_in(clause.text)
    if values:
        return [(name, value, 0.5, "") for value in values]
    return [(name, None, _MISSING, "missing")] if parameter.required else [(name, None, 0.0, "absent")]


def _choices(
    tool: Tool, parameter: Parameter, clause: Clause, catalogue: Catalogue
) -> list[tuple[str, Any, float, str]]:
    taught = cues(tool, parameter)
    weight = _NAMED if parameter.required else _NAMED_OPTIONAL
    content = clause.keys - FUNCTION_WORDS
    rows = []
    for value in parameter.choices[:_MOST_CHOICES]:
        said = named(value, clause.keys if parameter.required else content)
        heard = [word for word in taught.get(value, ()) if word in content]
        hints = sum(_ENOUGH_CUES if not parameter.required and word in catalogue.peculiar else 1 for word in heard)
        enough = said or hints >= (1 if parameter.required else _ENOUGH_CUES)
        score = (weight if said else 0.0) + _CUE * min(hints, 3)
        if enough:
            rows.append((parameter.name, value, score, ""))
        elif parameter.required:
            rows.append((parameter.name, value, score + _GUESSED, "guessed"))
    if not parameter.required:
        rows = rows or [(parameter.name, None, 0.0, "absent")]
    said_of = [row for row in rows if row[1] is not None and named(row[1], clause.keys)]
    return said_of or rows


def _filled(tool: Tool, clause: Clause, catalogue: Catalogue, picked: _Picked) -> list[Fit]:
    """Return the ways to fill in the texts beside what was picked."""
    texts = [item for item in tool.parameters if item.type == "text" and item.schema.get("format") != "date"]
    partial: list[tuple[dict[str, Span], tuple[str, ...], float]] = [({}, picked.missing, picked.score)]
    for parameter in sorted(texts, key=lambda item: not item.required):
        rated = _rated(tool, parameter, clause, catalogue, picked.values)
        following = []
        for used, missing, score in partial:
            free = [(span, good) for span, good in rated if not any(span.overlaps(other) for other in used.values())]
            following += [({**used, parameter.name: span}, missing, score + good) for span, good in free]
            if not parameter.required or parameter.is_free_text:
                following.append((used, missing, score))
            elif not free:
                following.append((used, (*missing, parameter.name), score + _MISSING))
        partial = sorted(following, key=lambda row: -(row[2] + _left_over(clause, row[0])))[:_MOST_FITS]
    return [_fit(tool, clause, catalogue, picked, used, missing, score) for used, missing, score in partial]


def _fit(
    tool: Tool,
    clause: Clause,
    catalogue: Catalogue,
    picked: _Picked,
    used: Mapping[str, Span],
    missing: tuple[str, ...],
    score: float,
) -> Fit:
    shown = any(_shows_choice(tool, name, span, picked.values, catalogue) for name, span in used.items())
    values = {**picked.values, **{name: span.text for name, span in used.items()}}
    return Fit(
        arguments={item.name: values[item.name] for item in tool.parameters if item.name in values},
        spans=dict(used),
        missing=missing,
        guessed=() if shown else picked.guessed,
        score=score + _left_over(clause, used, picked.values) + (_SHOWN if shown and picked.guessed else 0.0),
    )


def _shows_choice(tool: Tool, name: str, span: Span, chosen: Mapping[str, Any], catalogue: Catalogue) -> bool:
    """Tell whether the look of a piece gives a choice away, as an e-mail address does that of a field."""
    parameter = tool.parameter(name)
    if parameter is None or not chosen:
        return False
    kinds = kinds_of(tool, parameter, chosen, catalogue.choices)
    varied = kinds_of(tool, parameter, {}, catalogue.choices)
    return len(varied) > 1 and kinds <= _HARD and span.kind in kinds


def _left_over(clause: Clause, used: Mapping[str, Span], values: Mapping[str, Any] | None = None) -> float:
    """Return the penalty for words that can only be values and are part of none."""
    left = [start for start in clause.marks if not any(span.start <= start < span.end for span in used.values())]
    counted = sum(1 for value in (values or {}).values() if not isinstance(value, str | bool))
    return _LEFT_OVER * min(max(len(left) - counted, 0), _MOST_LEFT_OVER)


def _rated(
    tool: Tool, parameter: Parameter, clause: Clause, catalogue: Catalogue, chosen: Mapping[str, Any]
) -> list[tuple[Span, float]]:
    """Return the pieces that a property can be, each with what speaks for it."""
    kinds = kinds_of(tool, parameter, chosen, catalogue.choices)
    names = are_names(tool, parameter, chosen)
    around = tuple(neighbours(tool, parameter.name))
    own = parameter.words | frozenset(str(value).casefold() for value in chosen.values())
    rated = []
    for span in clause.spans:
        if not _is_long_enough(parameter, span) or (span.earlier and span.earlier != parameter.name):
            continue
        if span.kind is Kind.CHOICE and key_of(span.text) in own:
            continue
        looks = _looks(span, kinds)
        if looks is None or (names and span.plain):
            continue
        if names and span.kind is Kind.WORD:
            looks += _NAME if is_name(span.text) else -_NAME
        place = _BEFORE if span.before and any(span.before == before for before, _ in around) else 0.0
        place += _AFTER if span.after and any(span.after == after for _, after in around) else 0.0
        place += _OWN_WORD if span.before in own else 0.0
        if not place and span.before in _PLACES and any(before in _PLACES for before, _ in around):
            place = _BEFORE
        if span.earlier:
            spoken_of = not PRONOUNS.isdisjoint(clause.keys)
            place = 0.0 if spoken_of else _EARLIER
        if not parameter.required and not (place >= _BEFORE or (kinds and kinds <= _HARD)):
            continue
        rated.append((span, looks + place + (_LEAD if span.lead else 0.0)))
    return sorted(rated, key=lambda row: -(row[1] - _LEFT_OVER * min(row[0].weight, _MOST_LEFT_OVER)))[:_MOST_SPANS]


def _looks(span: Span, kinds: frozenset[Kind]) -> float | None:
    """Return what the look of a piece says for it; None: it cannot be."""
    if span.kind in kinds or (span.kind in _DIALLED and kinds & _DIALLED and Kind.PHONE in kinds):
        return _KIND
    if kinds and kinds <= _HARD:
        return None
    if span.kind is Kind.CHOICE:
        return None if kinds else _CHOICE_AS_TEXT
    return _STRANGE_KIND.get(span.kind, 0.0) if kinds else 0.0


def _is_long_enough(parameter: Parameter, span: Span) -> bool:
    shortest, longest = parameter.schema.get("minLength", 0), parameter.schema.get("maxLength", len(span.text))
    return bool(shortest <= len(span.text) <= longest)
