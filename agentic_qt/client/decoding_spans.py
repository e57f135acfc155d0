"""The pieces of a request that can be values: what is quoted, what looks like a value, and what is no word of command.

Pure functions of their arguments.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentic_qt.client.decoding_words import (
    FUNCTION_CHARACTERS,
    FUNCTION_WORDS,
    JOINING,
    QUOTED,
    Kind,
    Word,
    words_in,
)

_MOST_SPANS = 24  # a pasted page must not become thousands of questions
_MOST_JOINED = 3
_DETERMINERS = frozenset({"the", "my", "our", "your", "this", "that"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A piece of a request.

    Args:
        text: As written.
        start: Where it begins.
        end: Where it ends.
        kind: What it looks like.
        before: The word before it, in the form in which words are compared.
        after: The word after it.
        weight: How many of its words can only be part of a value.
        lead: It begins with the first word of the request, which may be a word of command that nobody taught us.
        plain: It is made of everyday words that are not written like names.
        earlier: It is no piece of this request, but a value of an earlier step.
    """

    text: str
    start: int
    end: int
    kind: Kind
    before: str = ""
    after: str = ""
    weight: int = 1
    lead: bool = False
    plain: bool = False
    earlier: str = ""

    def overlaps(self, other: "Span") -> bool:
        """Tell whether two pieces share a word."""
        return self.start < other.end and other.start < self.end


def spans_of(
    text: str,
    commands: frozenset[str],
    choices: frozenset[str],
    *,
    is_common: Callable[[str], bool] = lambda _word: False,
) -> tuple[Span, ...]:
    """Return the pieces of a request that can be values, the likeliest first.

    Args:
        text: The request.
        commands: Words that say what to do.
        choices: Words that are values of an enum.
        is_common: Tells whether a word is an everyday one; a request that begins with one does not begin with a name.
    """
    words = words_in(text)
    marks = [_is_value(words, place, commands, choices, is_common) for place in range(len(words))]
    found = [_quoted(text, words, match.start(1), match.end(1)) for match in QUOTED.finditer(text)]
    runs = _runs(text, words, marks)
    for first, last in [*_joined(text, words, runs), *_capitals(words, runs)]:
        found.append(_span(text, words, first, last, marks, is_common))
        if first == 0 and last > first:
            found.append(_span(text, words, first + 1, last, marks, is_common))
    found += [
        _span(text, words, place, place, marks, is_common, kind=Kind.CHOICE)
        for place, word in enumerate(words)
        if word.key in choices and not word.is_han
    ]
    found += _tails(text, words, marks, is_common)
    return tuple(dict.fromkeys(found))[:_MOST_SPANS]


def marked_words(
    text: str,
    commands: frozenset[str],
    choices: frozenset[str],
    *,
    is_common: Callable[[str], bool] = lambda _word: False,
) -> tuple[Word, ...]:
    """Return the words of a request that can only be part of a value."""
    words = words_in(text)
    return tuple(word for place, word in enumerate(words) if _is_value(words, place, commands, choices, is_common))


def _is_value(
    words: Sequence[Word],
    place: int,
    commands: frozenset[str],
    choices: frozenset[str],
    is_common: Callable[[str], bool],
) -> bool:
    word = words[place]
    if word.kind is not Kind.WORD:
        return True
    if word.is_han:
        return not _is_han_command(words, place, commands | choices)
    known = word.key in commands or word.key in choices or word.key in FUNCTION_WORDS
    if word.is_capital and place:
        return True  # a capital within a sentence marks a name, whatever the word
    if place == 0 and is_common(word.text.casefold()):
        return False
    return not known


def _is_han_command(words: Sequence[Word], place: int, known: frozenset[str]) -> bool:
    word = words[place]
    if word.text in FUNCTION_CHARACTERS:
        return True
    around = (
        (words[place - 1], word) if place else None,
        (word, words[place + 1]) if place + 1 < len(words) else None,
    )
    return any(pair is not None and pair[0].text + pair[1].text in known for pair in around)


def _runs(text: str, words: Sequence[Word], marks: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the first and last word of each run of words that are values."""
    runs: list[tuple[int, int]] = []
    for place, marked in enumerate(marks):
        if not marked:
            continue
        if runs and runs[-1][1] == place - 1 and _belong(text, words[place - 1], words[place]):
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    return runs


def _belong(text: str, one: Word, other: Word) -> bool:
    gap = text[one.end : other.start]
    same = one.kind is other.kind or (other.kind is Kind.NUMBER and one.kind is Kind.WORD)
    same = same or (one.kind is Kind.NUMBER and other.kind is Kind.WORD and other.is_capital)
    return same and one.is_han == other.is_han and not gap.strip(" .'\u2019&-")


def _joined(text: str, words: Sequence[Word], runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the runs, and runs together where only words between them stand that are part of names and titles."""
    found = list(runs)
    for begin in range(len(runs)):
        for end in range(begin + 1, min(begin + _MOST_JOINED, len(runs))):
            gap = words[runs[end - 1][1] + 1 : runs[end][0]]
            together = text[words[runs[end - 1][1]].end : words[runs[end][0]].start]
            kinds = {words[place].kind for place in (runs[end - 1][1], runs[end][0])}
            if any(word.key not in JOINING for word in gap) or set(together) & set(",;:()") or kinds != {Kind.WORD}:
                break
            found.append((runs[begin][0], runs[end][1]))
    return found


def _capitals(words: Sequence[Word], runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the names within runs: "Ada Lovelace" of "Ada Lovelace placed"."""
    found: list[tuple[int, int]] = []
    for first, last in runs:
        for place in range(first, last + 1):
            if not words[place].is_capital:
                continue
            if found and found[-1][1] == place - 1 and place > first:
                found[-1] = (found[-1][0], place)
            else:
                found.append((place, place))
    return [pair for pair in found if pair not in runs]


def _span(
    text: str,
    words: Sequence[Word],
    first: int,
    last: int,
    marks: Sequence[bool],
    is_common: Callable[[str], bool],
    *,
    kind: Kind | None = None,
) -> Span:
    return Span(
        text=text[words[first].start : words[last].end],
        start=words[first].start,
        end=words[last].end,
        kind=kind or (words[first].kind if first == last else Kind.WORD),
        before=words[first - 1].key if first else "",
        after=words[last + 1].key if last + 1 < len(words) else "",
        weight=sum(marks[first : last + 1]),
        lead=first == 0 and not all(word.is_capital for word in words[first + 1 : last + 1]),
        plain=all(
            word.kind is Kind.WORD
            and not word.is_han
            and (first + place == 0 or not word.is_capital)
            and (word.key in FUNCTION_WORDS or is_common(word.text.casefold()))
            for place, word in enumerate(words[first : last + 1])
        ),
    )


def _quoted(text: str, words: Sequence[Word], start: int, end: int) -> Span:
    inside = [word for word in words if start <= word.start < end]
    before = [word for word in words if word.end <= start]
    after = [word for word in words if word.start >= end]
    return Span(
        text=text[start:end].strip(),
        start=start,
        end=end,
        kind=inside[0].kind if len(inside) == 1 else Kind.WORD,
        before=before[-1].key if before else "",
        after=after[0].key if after else "",
        weight=len(inside) + 1,
    )


def _tails(text: str, words: Sequence[Word], marks: Sequence[bool], is_common: Callable[[str], bool]) -> list[Span]:
    """Return what stands after a colon, and after the last "to" or "as", when it is more than one word."""
    colon = text.find(": ")
    starts = [place for place, word in enumerate(words) if colon >= 0 and word.start > colon][:1]
    starts += [
        place + 1
        for place, word in enumerate(words[:-1])
        if word.key in ("to", "as", "thành", "that") and words[place + 1].key not in _DETERMINERS
    ]
    return [
        _span(text, words, start, len(words) - 1, marks, is_common, kind=Kind.WORD)
        for start in starts
        if start < len(words) - 1 and any(marks[start:])
    ]
