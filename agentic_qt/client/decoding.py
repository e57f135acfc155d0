"""Grounded decoding: turns one clause of a request into one call, for chat models too small to be trusted with words.

The model is asked for two things only, and as probabilities: which tool's line it would begin, and which of the
arguments that the request allows it would write. Everything else is read from the request: texts are pieces of it or
values of earlier steps, numbers and dates are parsed, choices are named. Where this does not add up, the answer is
that the request was not understood.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_qt.client.decoding_catalogue import Catalogue, Example, Tool, kind_of, named
from agentic_qt.client.decoding_engine import Engine, Tokens
from agentic_qt.client.decoding_fit import Clause, Fit, fits_of
from agentic_qt.client.decoding_prompt import NEUTRAL, STOP, asking, line_of, opening, part_of, verb_first
from agentic_qt.client.decoding_spans import Span, marked_words, spans_of
from agentic_qt.client.decoding_verbs import HAN_VERBS, VERBS, Lead, is_light, lead_of, speaks_of, suits
from agentic_qt.client.decoding_words import FUNCTION_WORDS, PRONOUNS, Kind, keys_of, language_of, words_in

HABIT, LIKENESS, FIT = 0.5, 1.5, 1.0
"""Weights of what a model does by habit, of likeness to an example, and of the fit, beside the model's choice."""
STRANGE = -0.5
LEADS = {Lead.SUITS: 1.5, Lead.OPEN: 0.0, Lead.OTHER: -1.0, Lead.STRANGE: -1.0}
SURE_ENOUGH = 0.3
"""Probability among all tools below which a change is not proposed, nor anything done after a strange beginning."""
_CLEAR = 3.0
_COMPARED = 6
_MOST_STRANGE, _MOST_COUNTED = 1, 3
_TELLING = 2.5
_CERTAIN, _LIFTED = 0.9, 1.0
_MOST_WRITTEN = 96


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What a clause was taken for.

    Args:
        tool: The wire name; ``""``: it was not understood.
        arguments: In the order of the schema.
        missing: What a tool that was understood would need.
        about: The tool that lacks something.
        guessed: The model made a choice for which the words give no reason.
        score: For comparing two readings of the same clause.
    """

    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    about: str = ""
    guessed: bool = False
    score: float = -math.inf


@dataclass(frozen=True, kw_only=True, slots=True)
class _Candidate:
    tool: Tool
    fits: tuple[Fit, ...]
    lead: Lead
    lift: float
    score: float


class Decoder:
    """Decides clauses with one catalogue.

    Args:
        catalogue: Tools and examples.
        engine: Answers about the model.
        habits: Remembers what the model does by habit, by the beginning of the prompt; kept by the owner.
    """

    def __init__(self, catalogue: Catalogue, engine: Engine, habits: dict[str, dict[str, float]]) -> None:
        self._catalogue = catalogue
        self._engine = engine
        self._habits = habits

    async def decide(self, text: str, earlier: Sequence[Mapping[str, Any]] = ()) -> Decision:
        """Return what a clause asks for.

        Args:
            text: The clause.
            earlier: Values of earlier steps of the same request that it may speak of, the latest first.

        Raises:
            ChatModelError: The process failed.
        """
        clause = await self._taken_apart(text, earlier)
        begun = opening(self._examples(text), self._catalogue.tools)
        candidates = await self._candidates(clause, begun)
        if not candidates:
            return Decision()
        best = self._preferred(candidates, clause)
        sure = 1.0 / sum(math.exp(other.score - best.score) for other in candidates)
        if best.fits[0].missing and self._is_unheard(best, text):
            return Decision(score=best.score)
        if best.fits[0].missing:
            return Decision(missing=best.fits[0].missing, about=best.tool.name, score=best.score)
        fit = await self._best_fit(best, begun, text)
        if not self._is_understood(best, fit, clause, sure):
            return Decision(score=best.score)
        arguments = await self._written(best.tool, fit, begun, text)
        return Decision(tool=best.tool.name, arguments=arguments, guessed=bool(fit.guessed), score=best.score)

    def _examples(self, text: str) -> tuple[Example, ...]:
        """Return the examples in the language of a text, or all where there is none."""
        language = language_of(text)
        same = tuple(example for example in self._catalogue.examples if language_of(example.request) == language)
        return same or self._catalogue.examples

    async def _taken_apart(self, text: str, earlier: Sequence[Mapping[str, Any]]) -> Clause:
        everyday = {
            word.text.casefold()
            for word in words_in(text)
            if word.kind is Kind.WORD and not word.is_han and await self._is_everyday(word.text.casefold())
        }
        commands, choices = self._catalogue.commands | HAN_VERBS | ({lead_of(text)} & VERBS), self._catalogue.choices
        marked = marked_words(text, commands, choices, is_common=everyday.__contains__)
        return Clause(
            text=text,
            keys=keys_of(text),
            spans=(
                *spans_of(text, commands, choices, is_common=everyday.__contains__),
                *self._earlier_spans(earlier),
            ),
            marks=tuple(word.start for word in marked if word.start or word.kind is not Kind.WORD),
        )

    async def _is_everyday(self, word: str) -> bool:
        """Tell whether a word is so frequent that the model has a token for it: a verb, and no name."""
        return len(await self._engine.tokens(f" {word}")) == 1

    def _earlier_spans(self, earlier: Iterable[Mapping[str, Any]]) -> list[Span]:
        found: list[Span] = []
        for values in earlier:
            for name, value in values.items():
                if isinstance(value, str) and value and name in self._catalogue.things:
                    place = -2 * (len(found) + 1)
                    kind = kind_of(value, self._catalogue.choices)
                    found.append(Span(text=value, start=place, end=place + 1, kind=kind, weight=0, earlier=name))
        return found

    async def _candidates(self, clause: Clause, begun: str) -> list[_Candidate]:
        tools = [tool for tool in self._catalogue.tools if _can_be_filled_in(tool)]
        if not tools:
            return []
        odds = await self._odds(begun, clause.text)
        habit = await self._habit(begun)
        likeness = self._catalogue.likeness(clause.keys)
        lead = lead_of(clause.text)
        known = lead in self._catalogue.commands or not await self._is_everyday(lead)
        found = []
        for tool in tools:
            fits = fits_of(tool, clause, self._catalogue)
            how = suits(tool, lead, known=known)
            score = odds[tool.name] - HABIT * habit[tool.name] + LIKENESS * likeness[tool.name]
            score += FIT * fits[0].score + LEADS[how]
            score += STRANGE * min(len(_strange_words(tool, fits[0], clause)), _MOST_COUNTED)
            lift = odds[tool.name] - habit[tool.name]
            found.append(_Candidate(tool=tool, fits=fits, lead=how, lift=lift, score=score))
        return sorted(found, key=lambda candidate: -candidate.score)

    def _preferred(self, candidates: Sequence[_Candidate], clause: Clause) -> _Candidate:
        """Return the best; before a change that nothing speaks of, one that does what the request begins with."""
        best = candidates[0]
        if not best.tool.writes or _is_asked_for(best, best.fits[0], clause):
            return best
        suited = [
            other
            for other in candidates
            if not other.fits[0].missing
            and (other.lead is Lead.SUITS or (other.tool.writes and _is_asked_for(other, other.fits[0], clause)))
        ]
        return suited[0] if suited else best

    async def _odds(self, begun: str, text: str) -> dict[str, float]:
        prompt = await self._prompt(begun, text)
        lines = {tool.name: await self._engine.tokens(verb_first(tool.name)) for tool in self._catalogue.tools}
        return await self._engine.weigh(prompt, lines, among=False)

    async def _habit(self, begun: str) -> dict[str, float]:
        if begun not in self._habits:
            rows = [await self._odds(begun, request) for request in NEUTRAL]
            self._habits[begun] = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
        return self._habits[begun]

    async def _prompt(self, begun: str, text: str) -> Tokens:
        return (*await self._engine.tokens(begun), *await self._engine.tokens(asking(text)))

    async def _best_fit(self, candidate: _Candidate, begun: str, text: str) -> Fit:
        """Return the best way to fill in a tool; where several are near each other, the model is asked."""
        whole = [fit for fit in candidate.fits if not fit.missing]
        near = [fit for fit in whole if fit.score > whole[0].score - _CLEAR][:_COMPARED]
        if len(near) == 1:
            return near[0]
        name = candidate.tool.name
        prompt = (*await self._prompt(begun, text), *await self._engine.tokens(verb_first(name)))
        lines = {
            str(place): await self._engine.tokens(line_of(name, fit.arguments).removeprefix(verb_first(name)) + STOP)
            for place, fit in enumerate(near)
        }
        odds = await self._engine.weigh(prompt, lines, among=True)
        return max(enumerate(near), key=lambda row: row[1].score + odds[str(row[0])])[1]

    def _is_understood(self, candidate: _Candidate, fit: Fit, clause: Clause, sure: float) -> bool:
        tool = candidate.tool
        strange = _strange_words(tool, fit, clause)
        unheard = self._is_unheard(candidate, clause.text)
        if tool.writes:
            guessed = bool(fit.guessed) and bool(strange)
            told = candidate.lead is Lead.OPEN and sure >= _CERTAIN and candidate.lift >= _LIFTED
            told = told and all(_is_striking(span) for span in fit.spans.values())
            said = told or (_is_asked_for(candidate, fit, clause) and not guessed)
            return said and sure >= SURE_ENOUGH and not unheard and len(strange) <= _MOST_STRANGE
        if (fit.guessed and strange) or (unheard and (candidate.lead is Lead.OTHER or sure < 2 * SURE_ENOUGH)):
            return False
        said = any(named(key, tool.words) for key in clause.keys - FUNCTION_WORDS)
        return said or any(_is_striking(span) for span in fit.spans.values()) or candidate.lift >= _TELLING

    def _is_unheard(self, candidate: _Candidate, text: str) -> bool:
        """Tell whether a clause begins with a verb for which there is no tool."""
        if candidate.lead is not Lead.OTHER:
            return candidate.lead is Lead.STRANGE
        lead = lead_of(text)
        return all(suits(tool, lead, known=True) is not Lead.SUITS for tool in self._catalogue.tools)

    async def _written(self, tool: Tool, fit: Fit, begun: str, text: str) -> dict[str, Any]:
        """Return the arguments; texts that the model may write itself are written now."""
        arguments = dict(fit.arguments)
        for parameter in tool.parameters:
            if parameter.is_free_text and parameter.required and parameter.name not in arguments:
                line = line_of(tool.name, arguments) + part_of(parameter.name, "").rstrip()
                prompt = (*await self._prompt(begun, text), *await self._engine.tokens(line))
                answer = await self._engine.write(prompt, most=_MOST_WRITTEN, stop=["<|im_end|>", " | ", "\n"])
                arguments[parameter.name] = answer.strip()
        return arguments


def _can_be_filled_in(tool: Tool) -> bool:
    return all(parameter.type or not parameter.required for parameter in tool.parameters)


def _is_asked_for(candidate: _Candidate, fit: Fit, clause: Clause) -> bool:
    return candidate.lead is Lead.SUITS or _is_spoken_of(candidate.tool, fit, clause)


def _is_striking(span: Span) -> bool:
    """Tell whether a piece is a value on the face of it; any rest of a Chinese sentence could be one."""
    return not span.plain and not words_in(span.text)[0].is_han


def _is_spoken_of(tool: Tool, fit: Fit, clause: Clause) -> bool:
    """Tell whether a request gives a reason for a change: a verb, a choice that it names, or an address."""
    chosen = any(item.choices and item.name in fit.arguments for item in tool.parameters) and not fit.guessed
    looks = any(span.kind not in (Kind.WORD, Kind.NUMBER, Kind.CHOICE) for span in fit.spans.values())
    return chosen or looks or speaks_of(tool, clause.keys)


def _strange_words(tool: Tool, fit: Fit, clause: Clause) -> list[str]:
    """Return the words of a clause that neither the tool nor its arguments account for."""
    used = fit.spans.values()
    lead = lead_of(clause.text)
    passed = {lead} if suits(tool, lead, known=True) is Lead.SUITS else set()
    numbers = {str(value) for value in fit.arguments.values() if isinstance(value, int | float)}
    dated = any(isinstance(value, str) and kind_of(value, frozenset()) is Kind.DATE for value in fit.arguments.values())
    return [
        word.text
        for word in words_in(clause.text)
        if word.key not in FUNCTION_WORDS
        and word.key not in PRONOUNS
        and word.key not in passed
        and not is_light(word.key)
        and not word.is_han
        and not any(span.start <= word.start < span.end for span in used)
        and not any(named(known, frozenset({word.key})) for known in tool.words)
        and word.text.lstrip("0") not in numbers
        and not dated
    ]
