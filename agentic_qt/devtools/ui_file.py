"""Loads a .ui file, and knows on which line each widget and property of it stands."""

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from PySide6.QtCore import QBuffer, QByteArray, QDir
from PySide6.QtUiTools import QUiLoader
from PySide6.QtWidgets import QWidget


class UiFileError(Exception):
    """The file cannot be read, is no XML, or makes no widget."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UiProperty:
    """A property whose value is a text.

    Args:
        widget: The name of the widget or action that has it.
        name: Of the property.
        line: From 1.
        translatable: Whether uic hands the text to translators.
    """

    widget: str
    name: str
    line: int
    translatable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class UiFile:
    """What a .ui file says, by lines.

    Args:
        widgets: The line of each widget, action and group, by name.
        texts: The properties with texts, in the order of the file.
    """

    widgets: dict[str, int] = field(default_factory=dict)
    texts: list[UiProperty] = field(default_factory=list)


def read_lines(path: Path) -> UiFile:
    """Return where everything stands in a .ui file.

    Raises:
        UiFileError: It cannot be read, is no XML, or describes no widget.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    found = UiFile()
    owners: list[str] = []
    at: list[tuple[str, int]] = []  # the property we are in, and its line
    inside: list[str] = [""]

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        if tag in _OWNERS:
            owners.append(attributes.get("name", ""))
            found.widgets.setdefault(owners[-1], line)
        elif tag == "property":
            at.append((attributes.get("name", ""), line))
        elif tag in ("string", "stringlist") and inside[-1] != "stringlist" and at and owners:
            name, place = at[-1]
            translatable = attributes.get("notr", "").lower() not in ("true", "1")
            found.texts.append(UiProperty(widget=owners[-1], name=name, line=place, translatable=translatable))
        inside.append(tag)

    def end(tag: str) -> None:
        inside.pop()
        if tag in _OWNERS:
            owners.pop()
        elif tag == "property":
            at.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    content = _read(path)
    try:
        parser.Parse(content, True)  # noqa: FBT003 - expat's signature
    except expat.ExpatError as error:
        raise UiFileError(f"{path}: it is no .ui file: {error}") from error
    if not found.widgets:
        raise UiFileError(f"{path}: it is no .ui file: it describes no widget")
    return found


def load(path: Path) -> QWidget:
    """Return the widget of a .ui file, in the application that is running.

    Raises:
        UiFileError: It cannot be read, or makes no widget.
    """
    read_lines(path)  # what is wrong with the file is told by the exception alone, and not by Qt's loader too
    buffer = QBuffer()
    buffer.setData(QByteArray(_read(path)))
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    loader = QUiLoader()
    loader.setWorkingDirectory(QDir(str(path.parent)))
    try:
        widget = loader.load(buffer)
    except RuntimeError as error:
        raise UiFileError(f"{path}: {error}") from error
    if not isinstance(widget, QWidget):
        raise UiFileError(f"{path}: {loader.errorString() or 'it makes no widget'}")
    return widget


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UiFileError(f"{path}: {error.strerror or error}") from error


_OWNERS = frozenset({"widget", "action", "actiongroup", "buttongroup"})
