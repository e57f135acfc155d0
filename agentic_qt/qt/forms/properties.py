"""The dynamic properties that declare a form, and the texts around a widget; reads them, knows nothing of schemas."""

import re
from typing import Any, Final

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import QLabel

_MNEMONIC: Final = re.compile(r"&(.)", re.DOTALL)
_FALSE: Final = frozenset({"false", "0", "no", "off"})


def declared(thing: QObject) -> dict[str, Any]:
    """Return the dynamic properties of a QObject whose names begin with ``tool``."""
    found = {}
    for raw in thing.dynamicPropertyNames():
        name = bytes(raw.data()).decode(errors="replace")
        if name.startswith("tool"):
            found[name] = thing.property(name)
    return found


def is_on(value: Any) -> bool:
    """Return whether a property is set and means yes; a .ui file may hold it as a text."""
    if isinstance(value, str):
        return value.strip().lower() not in _FALSE
    return bool(value)


def words(value: Any) -> tuple[str, ...]:
    """Return the names in a property: a list of texts, or one text with commas or blanks between them."""
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    if not isinstance(value, list | tuple):
        return ()
    return tuple(name.strip() for name in value if isinstance(name, str) and name.strip())


def places(value: Any) -> tuple[str | None, ...]:
    """Return what a property says of each item in turn: a list, or one text with commas or else blanks between them.

    The place counts: an empty text stays one, and None stands where nothing is said.
    """
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",")) if "," in value else tuple(value.split())
    if not isinstance(value, list | tuple):
        return ()
    return tuple(None if item is None or isinstance(item, bool) else str(item) for item in value)


def text_of(value: Any) -> str:
    """Return a property that should be a text; anything else counts as none."""
    return value if isinstance(value, str) else ""


def key_of(thing: QObject, properties: dict[str, Any]) -> str:
    """Return the key of a control: `toolParamName`, else its objectName; empty when it has none of its own."""
    name = properties.get("toolParamName")
    key = (name if isinstance(name, str) else thing.objectName()).strip()
    return "" if key.startswith("qt_") else key


def without_mnemonic(text: str) -> str:
    """Return what is shown of a text with mnemonics: ``&Save`` is Save, ``&&`` an ampersand."""
    return _MNEMONIC.sub(r"\1", text) if "&" in text else text


def label_text(label: QLabel) -> str:
    """Return what a label says: without markup, and without the mnemonic of its buddy."""
    text = label.text()
    if "<" not in text and "&" not in text:
        return text
    kind = label.textFormat()
    if kind == Qt.TextFormat.RichText or (kind == Qt.TextFormat.AutoText and is_rich(text)):
        return without_markup(text)
    return without_mnemonic(text) if label.buddy() is not None else text


def is_rich(text: str) -> bool:
    """Return whether Qt would take a text of unknown format for markup."""
    return "<" in text and bool(GuiQt.mightBeRichText(text))  # a function of QtGui in the namespace of QtCore


def without_markup(text: str) -> str:
    """Return what is shown of a text with markup."""
    return QTextDocumentFragment.fromHtml(text).toPlainText()


def for_people(text: str) -> str:
    """Return a label's text without what only guides the eye: blanks, a final colon, a star for required."""
    return " ".join(text.split()).strip("*: ")
