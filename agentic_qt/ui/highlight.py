"""Colours for code: pygments reads it, the palette colours it. Knows nothing of documents.

Pygments is optional: without it code is plain. It is loaded with the first conversation, not when a window opens.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from PySide6.QtGui import QColor

from agentic_qt.ui.theme import Tones, readable

# By the names of pygments' kinds of token, which are tuples of these words.
_HUES: Mapping[tuple[str, ...], tuple[str, str]] = {  # for light and for dark palettes
    ("Keyword",): ("#8a3ab9", "#c792ea"),
    ("Operator", "Word"): ("#8a3ab9", "#c792ea"),
    ("Literal",): ("#1a7f4b", "#8fd19e"),
    ("Literal", "Number"): ("#a85a00", "#f0b06a"),
    ("Name", "Function"): ("#1f5fbf", "#7cb7ff"),
    ("Name", "Class"): ("#1f5fbf", "#7cb7ff"),
    ("Name", "Builtin"): ("#0f7285", "#6fd0df"),
    ("Name", "Decorator"): ("#0f7285", "#6fd0df"),
    ("Name", "Tag"): ("#1f5fbf", "#7cb7ff"),
    ("Name", "Attribute"): ("#0f7285", "#6fd0df"),
    ("Generic", "Inserted"): ("#1a7f4b", "#8fd19e"),
    ("Generic", "Deleted"): ("#b3261e", "#ff9b93"),
}


@cache
def _lexers() -> Any:
    """Return pygments.lexers, or None where it is not installed."""
    try:
        return import_module("pygments.lexers")
    except ModuleNotFoundError:
        return None


@cache
def _aliases() -> frozenset[str]:
    lexers = _lexers()
    if lexers is None:
        return frozenset()
    # Without plug-ins: the search for them reads the metadata of everything that is installed, and runs foreign code.
    return frozenset(alias for _, aliases, _, _ in lexers.get_all_lexers(plugins=False) for alias in aliases)


@cache  # bounded by the aliases; a lexer has no state between texts
def _lexer(language: str) -> Any:
    return _lexers().get_lexer_by_name(language, stripnl=False, ensurenl=False)


def warm_up(language: str) -> None:
    """Load a lexer now: the first one costs tens of milliseconds, which a stream should not pay."""
    if language in _aliases():
        list(_lexer(language).get_tokens("x = 1"))


def coloured(code: str, language: str, tones: Tones) -> Iterator[tuple[str, QColor]]:
    """Yield the pieces of `code` in order, each with its colour; an unknown language is one plain piece."""
    if language.lower() not in _aliases():
        yield code, tones.text
        return
    colours: dict[tuple[str, ...], QColor] = {}
    for kind, piece in _lexer(language.lower()).get_tokens(code):
        if kind not in colours:
            colours[kind] = _colour(kind, tones)
        yield piece, colours[kind]


def _colour(kind: tuple[str, ...], tones: Tones) -> QColor:
    for length in range(len(kind), 0, -1):
        family = kind[:length]
        if family == ("Comment",):
            return tones.muted
        if family in _HUES:
            return readable(QColor(_HUES[family][tones.dark]), tones.code)
    return tones.text
