"""Reads and writes the tool properties in the text of a .ui file; knows nothing of Qt.

Names are written with ``notr="true"``: without it, uic would translate them and set them again at each change of the
language.
"""

from collections.abc import Iterator, Mapping
from typing import Final
from xml.etree import ElementTree as ET

PropertyValue = str | bool | tuple[str, ...]
Changes = Mapping[str, Mapping[str, PropertyValue | None]]
"""By the name of the object and that of the property; None takes the property away."""

FOR_PEOPLE: Final = frozenset({"toolTitle"})
"""The texts that people read, and that are translated; all others are for the model or are names."""

_HOLDERS: Final = frozenset({"widget", "buttongroup", "action"})
_SWITCHES: Final = frozenset({"true", "false"})


class UiTextError(ValueError):
    """The text is no .ui file, or an object that should change is not in it."""


def read_properties(ui: str) -> dict[str, dict[str, PropertyValue]]:
    """Return the tool properties of each object that has one: texts, lists of texts, and switches.

    Raises:
        UiTextError: The text is no .ui file.
    """
    found: dict[str, dict[str, PropertyValue]] = {}
    for holder in _holders(_parse(ui)):
        for element in _tool_properties(holder):
            value = _value(element)
            if value is not None:
                found.setdefault(holder.get("name", ""), {})[element.get("name", "")] = value
    return found


def with_properties(ui: str, changes: Changes) -> str:
    """Return the text with other tool properties, each name in it marked as not to be translated.

    Raises:
        UiTextError: The text is no .ui file, or has no such object.
    """
    root = _parse(ui)
    holders = {holder.get("name", ""): holder for holder in _holders(root)}
    for name, properties in changes.items():
        if name not in holders:
            raise UiTextError(f"the form has no object {name!r}")
        for key, value in properties.items():
            _write(holders[name], key, value)
    for holder in holders.values():
        for element in _tool_properties(holder):
            if element.get("name") in FOR_PEOPLE:
                continue
            for text in (*element.findall("string"), *element.findall("stringlist")):
                text.set("notr", "true")
    return ET.tostring(root, encoding="unicode")


def normal(ui: str) -> str:
    """Return the same text as `with_properties` writes it; equal texts have equal properties.

    Raises:
        UiTextError: The text is no .ui file.
    """
    return ET.tostring(_parse(ui), encoding="unicode")


def _parse(ui: str) -> ET.Element:
    try:
        root = ET.fromstring(ui)  # noqa: S314 - the form that its programmer has open
    except ET.ParseError as error:
        raise UiTextError(f"this is no .ui file: {error}") from error
    if root.tag != "ui":
        raise UiTextError(f"this is no .ui file: it begins with <{root.tag}>")
    return root


def _holders(root: ET.Element) -> Iterator[ET.Element]:
    return (element for element in root.iter() if element.tag in _HOLDERS)


def _tool_properties(holder: ET.Element) -> list[ET.Element]:
    return [element for element in holder.findall("property") if element.get("name", "").startswith("tool")]


def _value(element: ET.Element) -> PropertyValue | None:
    text, texts, switch = element.find("string"), element.find("stringlist"), element.find("bool")
    if text is not None:
        return text.text or ""
    if texts is not None:
        return tuple(one.text or "" for one in texts.findall("string"))
    word = (switch.text or "").strip() if switch is not None else ""
    return word == "true" if word in _SWITCHES else None


def _write(holder: ET.Element, key: str, value: PropertyValue | None) -> None:
    for old in [element for element in holder.findall("property") if element.get("name") == key]:
        holder.remove(old)
    if value is None:
        return
    element = ET.Element("property", {"name": key, "stdset": "0"})
    if isinstance(value, bool):
        ET.SubElement(element, "bool").text = "true" if value else "false"
    elif isinstance(value, str):
        ET.SubElement(element, "string").text = value
    else:
        texts = ET.SubElement(element, "stringlist")
        for text in value:
            ET.SubElement(texts, "string").text = text
    holder.insert(len(holder.findall("property")), element)
