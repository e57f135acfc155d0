r"""The exact display of text that nobody vouches for: what is shown can be read back to the very same value.

Everything that cannot be seen, or that would change how its neighbours look, is written as ``\u{2d}`` with the code
point in lower-case hexadecimal. A line break is shown as a mark and a break. Nothing here is cut, and nothing knows Qt.
"""

import json
import re
import unicodedata
from typing import Any

NEWLINE_MARK = "⏎"
_ESCAPE = re.compile(r"\\u\{([0-9a-f]+)\}")
_WORD = re.compile(r"\w{2,}")
_ESCAPED_CATEGORIES = frozenset({"Cf", "Cc", "Co", "Cn", "Cs", "Zl", "Zp"})
_ONE_LINE = 40  # characters
_MAX_MARKS = 2  # combining marks on one letter; more of them run into the lines above and below
# Invisible without being format characters (Default_Ignorable_Code_Point), blank, or taken for an object by Qt.
_INVISIBLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC}
    | set(range(0x180B, 0x1810))
    | set(range(0xFE00, 0xFE10))
    | set(range(0xE0100, 0xE01F0))
)
# Scripts whose letters are taken for each other.
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")


def exact(text: str) -> str:
    """Return `text` as it is shown: injective, in normal form C, without anything that is invisible.

    Line breaks become `NEWLINE_MARK` and a line break. `read_back` is the inverse.
    """
    if text.isascii() and text.isprintable() and "\\u{" not in text:
        return text
    shown: list[str] = []
    cluster = ""  # the last letter as it was shown, with its marks; empty when a mark may not follow
    for index, char in enumerate(text):
        if char == "\n":
            shown.append(NEWLINE_MARK + "\n")
            cluster = ""
        elif _hidden(char) or text.startswith("\\u{", index) or not _joins(cluster, char):
            shown.append(escape(char))
            cluster = ""
        else:
            shown.append(char)
            cluster = cluster + char if _is_mark(char) else char
    return "".join(shown)


def read_back(shown: str) -> str:
    """Return the text that `exact` showed as `shown`."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), shown.replace(NEWLINE_MARK + "\n", "\n"))


def escape(char: str) -> str:
    r"""Return the visible name of one character, such as ``\u{202e}``."""
    return f"\\u{{{ord(char):x}}}"


def exact_value(value: Any) -> str:
    """Return a JSON value as it is shown: bare text for a string where that is unmistakable, else JSON.

    ``"5"`` keeps its quotes, 5 has none, lists and objects are indented JSON. `read_back_value` is the inverse.
    """
    if isinstance(value, str):
        shown = exact(value)
        return f'"{shown}"' if _could_be_mistaken(value) else shown
    return "\n".join(exact(line) for line in as_json(value).split("\n"))


def as_json(value: Any) -> str:
    """Return JSON text, on one line when it is short."""
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= _ONE_LINE else json.dumps(value, ensure_ascii=False, indent=2)


def read_back_value(shown: str) -> Any:
    """Return the JSON value that `exact_value` showed as `shown`."""
    if shown.startswith('"'):
        return read_back(shown[1:-1])
    if shown.startswith(("[", "{")) or _is_json_scalar(shown):
        return json.loads("\n".join(read_back(line) for line in shown.split("\n")))
    return read_back(shown)


def mixed_scripts(text: str) -> tuple[str, ...]:
    """Return the words whose letters come from several scripts that look alike, the odd letters escaped.

    A word wholly in another script is legitimate writing and is not flagged.
    """
    if text.isascii():
        return ()
    return tuple(_reveal(word) for word in _WORD.findall(text) if len(_scripts(word)) > 1)


def runs_right_to_left(shown: str) -> bool:
    """Whether the first letter with a direction runs right to left; JSON and text without any run left to right.

    Left to the toolkit, ``[3, 17]`` would read ``[17 ,3]`` in an application whose layout runs right to left.
    """
    if shown.isascii() or shown.startswith(("[", "{")):
        return False
    directions = (unicodedata.bidirectional(char) for char in shown)
    return next((found for found in directions if found in ("L", "R", "AL")), "L") != "L"


def _hidden(char: str) -> bool:
    if char.isascii():
        return not char.isprintable() or char == NEWLINE_MARK
    return (
        char == NEWLINE_MARK
        or unicodedata.category(char) in _ESCAPED_CATEGORIES
        or unicodedata.category(char) == "Zs"
        or ord(char) in _INVISIBLE
    )


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _joins(cluster: str, char: str) -> bool:
    """Whether `char` may stand after `cluster` as it is: the sum stays in normal form C and can be told from others."""
    if not unicodedata.is_normalized("NFC", cluster + char):
        return False
    if not _is_mark(char):
        return True
    return bool(cluster) and unicodedata.category(cluster[0])[0] in "LN" and len(cluster) <= _MAX_MARKS


def _could_be_mistaken(text: str) -> bool:
    return not text.strip() or text != text.strip(" ") or text[0] in '"[{' or _is_json_scalar(text)


def _is_json_scalar(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _script(char: str) -> str | None:
    name = unicodedata.name(char, "")
    return next((script for script in _SCRIPTS if name.startswith(script)), None) if char.isalpha() else None


def _scripts(word: str) -> list[str]:
    found = [script for script in map(_script, word) if script is not None]
    return sorted(set(found), key=found.count, reverse=True)


def _reveal(word: str) -> str:
    usual = _scripts(word)[0]
    return "".join(escape(char) if _script(char) not in (None, usual) else char for char in word)
