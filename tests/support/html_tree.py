"""A small tree of HTML elements, enough for forms: void elements, and options that end by themselves."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"input", "br", "hr", "img", "meta", "link", "wbr"}
LABELABLE = {"input", "select", "textarea", "button", "meter", "output", "progress"}


@dataclass(eq=False)
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)
    parent: "Element | None" = None

    def __contains__(self, name):
        return name in self.attributes

    def get(self, name, default=""):
        return self.attributes.get(name, default)

    @property
    def elements(self):
        return [child for child in self.children if isinstance(child, Element)]

    def walk(self):
        """All elements below, in tree order."""
        for child in self.elements:
            yield child
            yield from child.walk()

    def text(self, *, skip=()):
        """The text below, without that of the tags in `skip`."""
        parts = []
        for child in self.children:
            if isinstance(child, str):
                parts.append(child)
            elif child.tag not in skip:
                parts.append(child.text(skip=skip))
        return "".join(parts)

    @property
    def type(self):
        return self.get("type", "text").strip().lower() or "text"

    @property
    def is_labelable(self):
        return self.tag in LABELABLE and not (self.tag == "input" and self.type == "hidden")


class _Parser(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Element("body")
        self.place = self.root

    def handle_starttag(self, tag, attrs):
        if tag in {"option", "optgroup", "hr"}:
            self._end("option")
        if tag == "optgroup":
            self._end("optgroup")
        element = Element(tag, {name: value or "" for name, value in reversed(attrs)}, parent=self.place)
        self.place.children.append(element)
        if tag not in VOID:
            self.place = element

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        if tag in {"select", "optgroup"}:
            self._end("option")
        if tag == "select":
            self._end("optgroup")
        place = self.place
        while place.parent is not None and place.tag != tag:
            place = place.parent
        if place.parent is not None:
            self.place = place.parent

    def handle_data(self, data):
        self.place.children.append(data)

    def _end(self, tag):
        if self.place.tag == tag and self.place.parent is not None:
            self.place = self.place.parent


def parse_html(html):
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return parser.root
