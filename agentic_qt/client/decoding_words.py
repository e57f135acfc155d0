"""Takes a request apart: words with their kinds, clauses, and what is common to all requests of a language.

It knows languages and no application. English and Vietnamese have spaces between words; Chinese is read by the
character. Pure functions of their arguments.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_VIETNAMESE = frozenset("ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ")
_TOKEN = re.compile(
    rf"""(?P<email>[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)
    |(?P<url>https?://[^\s,;]+)
    |(?P<date>\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}\b)
    |(?P<phone>\+\d[\d()/-]*(?:[ ][\d()/-]+)+|\+\d{{6,}})
    |(?P<number>\d+(?:[.,]\d+)*)
    |(?P<han>[{HAN}])
    |(?P<word>[^\W\d_{HAN}](?:[^\W{HAN}]|[-&](?=\w))*)""",
    re.VERBOSE,
)
_POSSESSIVE = re.compile(r"['\u2019]s\b|['\u2019](?=\s|$)")
_ENGLISH = (
    "a about after again all also am an and any anybody anyone are as at back be been before but by can "
    "could did do does everybody everyone everything for from get give go had has have he her here hers "
    "him his how i if in into is it its just let like me mine more must my need needs new no not now of "
    "off ok on only onto or our out over per please put shall she should so some something that the their "
    "them then there these they thing things this those to too up us want was we were what when where "
    "which who whose why will with within without would you your yes"
)
_VIETNAMESE_WORDS = (
    "nó họ ai bạn bị bằng cho chỉ có các cái của cùng cũng do đã đang đây để đến được giúp hãy hay hết kia "
    "không là lên lại mà mình muốn nào này những như nữa ở qua ra rồi sang sau sẽ tại tất cả thành thì "
    "theo tôi trên trong từ tới và vào về vẫn với xem xin xuống"
)
_ONLY_VIETNAMESE = frozenset(word for word in _VIETNAMESE_WORDS.split() if not word.isascii())
FUNCTION_WORDS = frozenset(f"{_ENGLISH} {_VIETNAMESE_WORDS}".split())
"""Words that are in requests of any application; they are no values unless they are written like a name."""

FUNCTION_CHARACTERS = frozenset("的把将为到在了吗和请是给都个与从向被让对里这那我你他她它们就也只要想")
_PRONOUNS = "he her him his it its she their them they this that these those nó họ ấy anh chị"
PRONOUNS = frozenset(_PRONOUNS.split()) | frozenset("他她它")
_JOINING = "a an and for in my of on or the your"
JOINING = frozenset(_JOINING.split())
"""Words that stand within names and titles: "Dark Side of the Moon"."""

_THEN = re.compile(
    r"\s*(?:;|,?\s+and\s+then\s+|,?\s+then\s+|,?\s+after\s+that,?\s+|,?\s+sau\s+đó,?\s+|,?\s+rồi\s+"
    r"|[\uff0c,。\uff1b]\s*(?:然后|接着|再|并且|并)|然后|\uff1b)\s*",
    re.IGNORECASE,
)
_AND = re.compile(r"\s*,?\s+(?:and|và)\s+|\s*[\uff0c,]?\s*(?:并且|并)\s*|\.\s+(?=\w)", re.IGNORECASE)
_SHORTEST_PLURAL = 4
_SAME = dict.fromkeys(("everyone", "everybody", "everything"), "all")


class Kind(StrEnum):
    """What a piece of text looks like; ``choice`` is a word that is a value of an enum."""

    WORD = "word"
    NUMBER = "number"
    PHONE = "phone"
    EMAIL = "email"
    URL = "url"
    DATE = "date"
    CHOICE = "choice"


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """One word, number or address, or one Chinese character.

    Args:
        text: As written, without a possessive ending.
        start: Where it begins in the text.
        end: Where it ends.
        kind: What it looks like.
        key: The form in which words are compared.
        is_han: It is one Chinese character.
    """

    text: str
    start: int
    end: int
    kind: Kind
    key: str
    is_han: bool = False

    @property
    def is_capital(self) -> bool:
        """Whether it is written like a name."""
        return self.text[:1].isupper()


def words_in(text: str) -> tuple[Word, ...]:
    """Return the words of a text, in order."""
    found = []
    for match in _TOKEN.finditer(text):
        group = match.lastgroup or "word"
        piece, end = match.group(), match.end()
        if group == "word":
            piece = piece.rstrip("-&")
            end = match.start() + len(piece)
        if group == "email":
            piece = piece.rstrip(".")
            end = match.start() + len(piece)
        is_han = group == "han"
        kind = Kind.WORD if is_han else Kind(group)
        if kind is Kind.WORD and piece.casefold() == "s" and text[match.start() - 1 : match.start()] in ("'", "\u2019"):
            continue
        found.append(Word(text=piece, start=match.start(), end=end, kind=kind, key=key_of(piece), is_han=is_han))
    return tuple(found)


def key_of(word: str) -> str:
    """Return the form in which a word is compared: ``E-mails`` is ``email``."""
    plain = unicodedata.normalize("NFC", word).replace("-", "").casefold()
    is_plural = len(plain) >= _SHORTEST_PLURAL and plain.endswith("s") and not plain.endswith(("ss", "us", "is"))
    plain = plain[:-1] if is_plural else plain
    return _SAME.get(plain, plain)


def keys_of(text: str) -> frozenset[str]:
    """Return the words of a text in the form in which they are compared; of Chinese, all pairs of characters."""
    words = words_in(text)
    pairs = {
        one.text + other.text
        for one, other in pairwise(words)
        if one.is_han and other.is_han and one.end == other.start
    }
    return frozenset({word.key for word in words if not word.is_han} | pairs)


def language_of(text: str) -> str:
    """Return ``zh``, ``vi`` or ``en``, by the script alone; what is neither Chinese nor Vietnamese counts as ``en``."""
    if re.search(f"[{HAN}]", text):
        return "zh"
    lower = [word for word in unicodedata.normalize("NFC", text).split() if not word[:1].isupper()]
    first = unicodedata.normalize("NFC", text).casefold().split()[:1]
    found = [*lower, *first]
    return "vi" if any(word in _ONLY_VIETNAMESE or not _VIETNAMESE.isdisjoint(word) for word in found) else "en"


def clauses_of(text: str, commands: frozenset[str]) -> tuple[str, ...]:
    """Split a request into the things that it asks for.

    Args:
        text: The request.
        commands: Words that say what to do; "and" splits only before one of them: "bread and butter" stays whole.
    """
    found: list[str] = []
    for part in _THEN.split(_mask_quotes(text)):
        found += _split_at_and(part, commands)
    offset = 0
    clauses = []
    for piece in found:
        start = _mask_quotes(text).index(piece, offset)
        offset = start + len(piece)
        clauses.append(text[start:offset].strip(" ,;.!\uff0c。\uff1b"))
    return tuple(clause for clause in clauses if words_in(clause))


def _mask_quotes(text: str) -> str:
    """Return a text of the same length in which quoted words cannot be taken for ours."""
    return QUOTED.sub(lambda match: match.group()[0] + "_" * (len(match.group()) - 2) + match.group()[-1], text)


QUOTED = re.compile(r"[\"“„«「『]([^\"“”„«»「」『』]+)[\"“”»」』]")
"""Text between quotation marks."""


def _split_at_and(text: str, commands: frozenset[str]) -> list[str]:
    parts, begin = [], 0
    for match in _AND.finditer(text):
        rest = words_in(text[match.end() :])
        if not rest or not words_in(text[begin : match.start()]) or not _begins_clause(rest, commands):
            continue
        parts.append(text[begin : match.start()])
        begin = match.end()
    return [*parts, text[begin:]]


def _begins_clause(words: Sequence[Word], commands: frozenset[str]) -> bool:
    first = words[0]
    if first.is_han:
        return len(words) > 1 and (first.text + words[1].text in commands or first.text in FUNCTION_CHARACTERS)
    return first.key in commands or first.key in PRONOUNS


def joined(words: Iterable[str]) -> frozenset[str]:
    """Return the keys of several texts together."""
    return frozenset().union(*map(keys_of, words))
