"""Splits a growing markdown text into finished blocks and an open tail. Pure text: no Qt, no rendering.

Only the tail has to be rendered again when a stream goes on, so a long answer costs no more per chunk than a short one.
"""

import re
from dataclasses import dataclass

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\s`{]*)[^`]*$")
_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])(\s|$)")
SLICE_LINES = 30
"""Code and lists are finished in slices of so many lines, so that no long one is rendered at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prose:
    """Markdown that stands on its own: everything but top-level fenced code."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeOpen:
    """A fenced code block begins."""

    language: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeText:
    """Some lines of the code block that is open, each with its line end."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeClose:
    """The code block that was open ends."""


Part = Prose | CodeOpen | CodeText | CodeClose


class Splitter:
    """Takes markdown in pieces; tells which parts are finished and what is still open.

    A block ends at a blank line outside of fences, unless what follows still belongs to it (an indented line, the next
    item of a list).
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial = ""
        self._fence = ""
        self._blank = False
        self._list = False

    @property
    def in_code(self) -> bool:
        """Whether the open tail is code."""
        return bool(self._fence)

    @property
    def tail(self) -> str:
        """What may still change its meaning: the unfinished block."""
        if self._fence and self._partial and self._closes(self._partial):
            return "".join(self._lines)
        return "".join(self._lines) + self._partial

    def feed(self, text: str) -> list[Part]:
        """Take the next piece; returns the parts that are finished with it."""
        parts: list[Part] = []
        *complete, self._partial = (self._partial + text).split("\n")
        for line in complete:
            self._take(line.removesuffix("\r") + "\n", parts)
        return parts

    def finish(self) -> list[Part]:
        """The text is complete: returns everything that was open."""
        parts: list[Part] = []
        if self._partial:
            self._take(self._partial, parts)
            self._partial = ""
        self._flush(parts)
        if self._fence:
            self._fence = ""
            parts.append(CodeClose())
        return parts

    def _take(self, line: str, parts: list[Part]) -> None:
        if self._fence:
            self._take_code(line, parts)
        elif (opening := _FENCE.match(line)) and not self._list:
            self._flush(parts)
            self._fence = opening[1]
            parts.append(CodeOpen(language=opening[2]))
        else:
            self._take_prose(line, parts)

    def _take_code(self, line: str, parts: list[Part]) -> None:
        if self._closes(line):
            self._flush(parts)
            self._fence = ""
            parts.append(CodeClose())
            return
        self._lines.append(line)
        if len(self._lines) >= SLICE_LINES:
            self._flush(parts)

    def _take_prose(self, line: str, parts: list[Part]) -> None:
        if not line.strip():
            self._blank = bool(self._lines)
            self._lines.append(line)
            return
        if (self._blank and not self._belongs(line)) or self._is_next_slice(line):
            self._flush(parts)
            self._take(line, parts)  # a fence after a list is a fence again
            return
        if not self._lines:
            self._list = bool(_ITEM.match(line))
        self._blank = False
        self._lines.append(line)

    def _is_next_slice(self, line: str) -> bool:
        """A long list is finished in slices too; an item carries its own number."""
        return self._list and len(self._lines) >= SLICE_LINES and bool(_ITEM.match(line))

    def _belongs(self, line: str) -> bool:
        indented = line.startswith(("  ", "\t"))
        return self._list and (indented or bool(_ITEM.match(line)))

    def _closes(self, line: str) -> bool:
        stripped = line.strip()
        return len(stripped) >= len(self._fence) and set(stripped) == {self._fence[0]}

    def _flush(self, parts: list[Part]) -> None:
        text = "".join(self._lines)
        self._lines.clear()
        self._blank = self._list = False
        if self._fence and text:
            parts.append(CodeText(text=text))
        elif text.strip():
            parts.append(Prose(text=text))


def split(text: str) -> list[Part]:
    """Return the parts of a complete text."""
    splitter = Splitter()
    return [*splitter.feed(text), *splitter.finish()]
