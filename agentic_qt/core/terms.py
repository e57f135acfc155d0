"""Text becomes search terms: for names of programs and for what people write, in any script.

Words are split at camelCase, digits, dots and underscores and stemmed lightly; neighbours in one name count joined as
well, so that "GitHub" is found by "github" and by "git hub". Accented words count with and without their accents,
whichever way they are typed. Scripts without spaces become single characters and pairs.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby, pairwise

_LITTLE_WORDS = """
    a an and are as at be but by can could do does for from had has have how i if in into is it its me my of on or our
    please should so some than that the their them then there these they this to us was we were what when where which
    who will with would you your
"""
STOP_WORDS = frozenset(_LITTLE_WORDS.split())
"""English words that say nothing of what is wanted."""

_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
# Han, kana, Hangul, Thai, Lao, Burmese, Khmer: words are not set apart, or only together with what they govern.
_UNSPACED = re.compile(
    "[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\uac00-\ud7a3\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_SUFFIXES = ("ations", "ation", "ing", "ed", "ment", "er", "or", "ion", "ly")
_MIN_STEM = 4
_NO_DECOMPOSITION = str.maketrans({"đ": "d", "ð": "d", "ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "\u0131": "i"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What a text can be found by.

    Args:
        words: In order, with repetitions; stop words are among them.
        variants: Other forms of the same words, which make the text no longer: joined, or without accents.
    """

    words: tuple[str, ...]
    variants: tuple[str, ...]


def terms(text: str) -> Terms:
    """Return the terms of a text."""
    found = [_of_word(word) for word in _split(text)]
    return Terms(
        words=tuple(chain.from_iterable(words for words, _variants in found)),
        variants=tuple(chain.from_iterable(variants for _words, variants in found)),
    )


def query_terms(text: str) -> list[str]:
    """Return each term of a query once, without stop words unless it has nothing else."""
    words = _split(text)
    return list(_of_query(words, STOP_WORDS) or _of_query(words, frozenset()))


def _of_query(words: list[str], left_out: frozenset[str]) -> dict[str, None]:
    found: dict[str, None] = {}
    before = ""
    for word in words:
        lower = word.lower()
        if lower in left_out:
            before = ""
            continue
        own, variants = _of_word(word)
        for term in own:
            found[term] = None
        for term in variants:
            found[term] = None
        if before and len(lower) > 1:  # "copy editing" is what somebody else wrote as one word
            found[before + own[-1]] = None
        before = lower if len(lower) > 1 else ""
    return found


def _split(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    # NFKC: full-width letters become plain ones, and letters typed as base and accent become one.
    text = unicodedata.normalize("NFKC", text)
    # Not \w: the vowel signs of Indic scripts are marks, and no part of a word for a regular expression.
    return ["".join(run) for is_word, run in groupby(text, _is_word_character) if is_word]


def _is_word_character(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM"


@lru_cache(maxsize=16384)
def _of_word(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the terms of one word and their variants."""
    if word.isascii():
        return _of_ascii(word)
    words: list[str] = []
    variants: list[str] = []
    position = 0
    for run in _UNSPACED.finditer(word):
        _add(_of_spaced(word[position : run.start()]), words, variants)
        words += run.group()
        variants += map("".join, pairwise(run.group()))
        position = run.end()
    _add(_of_spaced(word[position:]), words, variants)
    return tuple(words), tuple(variants)


def _add(found: tuple[tuple[str, ...], tuple[str, ...]], words: list[str], variants: list[str]) -> None:
    words += found[0]
    variants += found[1]


def _of_ascii(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    parts = _PART.findall(word)
    stems = tuple(_stem(part.lower()) for part in parts)
    return stems, tuple({parts[at].lower() + stems[at + 1] for at in range(len(parts) - 1)})


def _of_spaced(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if word.isascii():
        return _of_ascii(word)
    word = word.casefold()
    plain = _without_accents(word)
    plain = _stem(plain) if plain.isascii() else plain
    # "thể" is no "the": without its accents it would be lost among the stop words.
    return (word,), () if plain == word or plain in STOP_WORDS else (plain,)


def _without_accents(word: str) -> str:
    """Drop the accents of Latin, Greek and Cyrillic letters; elsewhere marks are what tells words apart."""
    if any(character >= "\u0530" and not "\u1e00" <= character <= "\u1fff" for character in word):
        return word
    decomposed = unicodedata.normalize("NFKD", word.translate(_NO_DECOMPOSITION))
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _stem(word: str) -> str:
    """Cut endings of English words so that "deleted", "deleting" and "deletes" meet "delete"; rough on purpose."""
    if len(word) < _MIN_STEM or not word.isalpha():
        return word
    word = _singular(word)
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            word = word[: -len(suffix)]
            break
    if len(word) > _MIN_STEM and word[-1] in "ey":
        word = word[:-1]
    if len(word) > _MIN_STEM and word[-1] == word[-2]:
        word = word[:-1]
    return word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > _MIN_STEM:
        return f"{word[:-3]}y"
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word[-1] == "s" and word[-2] not in "us" else word
