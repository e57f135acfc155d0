"""Colours for code: pygments reads it, the palette colours it. Knows nothing of documents."""

from collections.abc import Iterator, Mapping
from functools import cache

from pygments.lexer import Lexer
from pygments.lexers import get_all_lexers, get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator, String, Token, _TokenType
from PySide6.QtGui import QColor

from agentic_qt.ui.theme import Tones, readable

_HUES: Mapping[_TokenType, tuple[str, str]] = {  # for light and for dark palettes
    Keyword: ("#8a3ab9", "#c792ea"),
    Operator.Word: ("#8a3ab9", "#c792ea"),
    String: ("#1a7f4b", "#8fd19e"),
    Literal: ("#1a7f4b", "#8fd19e"),
    Number: ("#a85a00", "#f0b06a"),
    Name.Function: ("#1f5fbf", "#7cb7ff"),
    Name.Class: ("#1f5fbf", "#7cb7ff"),
    Name.Builtin: ("#0f7285", "#6fd0df"),
    Name.Decorator: ("#0f7285", "#6fd0df"),
    Name.Tag: ("#1f5fbf", "#7cb7ff"),
    Name.Attribute: ("#0f7285", "#6fd0df"),
    Generic.Inserted: ("#1a7f4b", "#8fd19e"),
    Generic.Deleted: ("#b3261e", "#ff9b93"),
}


@cache
def _aliases() -> frozenset[str]:
    # Without plug-ins: the search for them reads the metadata of everything that is installed, and runs foreign code.
    return frozenset(alias for _, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases)


@cache  # bounded by the aliases; a lexer has no state between texts
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


def warm_up(language: str = "python") -> None:
    """Load a lexer now: the first one costs tens of milliseconds, which a stream should not pay."""
    list(_lexer(language).get_tokens("x = 1"))


def coloured(code: str, language: str, tones: Tones) -> Iterator[tuple[str, QColor]]:
    """Yield the pieces of `code` in order, each with its colour; an unknown language is one plain piece."""
    if language.lower() not in _aliases():
        yield code, tones.text
        return
    colours: dict[_TokenType, QColor] = {}
    for kind, piece in _lexer(language.lower()).get_tokens(code):
        if kind not in colours:
            colours[kind] = _colour(kind, tones)
        yield piece, colours[kind]


def _colour(kind: _TokenType, tones: Tones) -> QColor:
    step: _TokenType | None = kind
    while step is not None and step is not Token:
        if step is Comment:
            return tones.muted
        if step in _HUES:
            return readable(QColor(_HUES[step][tones.dark]), tones.code)
        step = step.parent
    return tones.text
