"""What an approval shows, made by our code from the request alone: titles, rows, notes. Knows texts, not widgets.

**The convention for preview facts.** ``preview`` may return any JSON. Two keys of an object are understood:

- ``"changes"``: ``{field: {"old": value, "new": value}}``, what will change; shown as "field: old -> new";
- ``"old"``: ``{field: value}``, the present values of input properties of the same name; shown likewise.

Every other key becomes a row of its own, or a section of rows when its value is an object of plain values; facts that
are no object become one row. A field whose ``new`` is the very
input property of the same name is shown once; otherwise both are shown, so that facts can hide no input.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from PySide6.QtCore import QCoreApplication

from agentic_qt.core.approvals import ApprovalRequest
from agentic_qt.core.capability import Risk
from agentic_qt.ui.approval.text import as_json, exact, exact_value, mixed_scripts
from agentic_qt.ui.words import label_of

translate = QCoreApplication.translate  # this very call is what lupdate collects

FOLD_CHARACTERS = 600
FOLD_LINES = 12
_HEAD, _TAIL = 240, 120
_SHORT_DIGEST = 12
_BUTTON = 32  # characters


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """One value as it is shown.

    Args:
        full: All of it; `read_back_value` gives the value again.
        head: Its beginning when it is long, else empty.
        tail: Its end when it is long, else empty.
        characters: The length of the value's text, in code points.
        lines: Line breaks in it, plus one.
        mixed: Words of it that mix look-alike scripts, revealed.
    """

    full: str
    head: str
    tail: str
    characters: int
    lines: int
    mixed: tuple[str, ...]

    @property
    def is_long(self) -> bool:
        """Whether it is folded at first."""
        return bool(self.head)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A label and a value; `old` is there when the call replaces it."""

    label: str
    value: Shown
    old: Shown | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """Rows that belong together, under a heading for people or none."""

    heading: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """Everything that is shown of one request, safe to show as plain text.

    Args:
        title: Verb and object.
        risk: Never ``read``.
        risk_word: The risk, for people.
        sections: The rows.
        undo: Whether it can be undone, in words.
        reason: The model's own words, or empty.
        short_digest: The first 12 hexadecimal digits.
        digest: All of it.
        json: The canonical text whose digest is signed, exactly.
    """

    title: str
    risk: Risk
    risk_word: str
    sections: tuple[Section, ...]
    undo: str
    reason: str
    short_digest: str
    digest: str
    json: str


class Content(Protocol):
    """What a call would do: its input with the schema, and what its preview found. An `ApprovalRequest` is one."""

    @property
    def input(self) -> Mapping[str, Any]:
        """The input."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """Its schema, for labels."""
        ...

    @property
    def facts(self) -> Any:
        """What the preview returned, or None."""
        ...


def describe(request: ApprovalRequest) -> Payload:
    """Return what a person must see of `request`."""
    sections = (Section(heading="", rows=tuple(_origin_rows(request))), *content_sections(request))
    return Payload(
        title=exact(request.title or request.name),
        risk=request.risk,
        risk_word=risk_word(request.risk),
        sections=tuple(section for section in sections if section.rows),
        undo=_undo_words(request.undoable),
        reason=exact(request.reason),
        short_digest=request.digest[:_SHORT_DIGEST],
        digest=request.digest,
        json=exact(request.payload),
    )


def content_sections(content: Content) -> tuple[Section, ...]:
    """Return what would change, the rest of the input, and what the application found; a section may be empty."""
    changes, others = _split_facts(content)
    merged = {name for name, (_, new) in changes.items() if _same(content.input, name, new)}
    details = tuple(
        Row(label=_label(content, name), value=shown_value(value))
        for name, value in content.input.items()
        if name not in merged
    )
    return (
        Section(heading=translate("agentic_qt", "What changes"), rows=tuple(_change_rows(content, changes))),
        Section(heading=translate("agentic_qt", "Details"), rows=details),
        *_fact_sections(others),
    )


def shown_value(value: Any) -> Shown:
    """Return how a JSON value is shown, folded when it is long."""
    full = exact_value(value)
    source = value if isinstance(value, str) else as_json(value)
    lines = source.count("\n") + 1
    is_long = len(source) > FOLD_CHARACTERS or lines > FOLD_LINES
    mixed = () if source.isascii() else tuple(word for text in _texts(value) for word in mixed_scripts(text))
    return Shown(
        full=full,
        head=_ends(source[:_HEAD], keep_first=True) if is_long else "",
        tail=_ends(source[-_TAIL:], keep_first=False) if is_long else "",
        characters=len(source),
        lines=lines,
        mixed=mixed,
    )


def risk_word(risk: Risk) -> str:
    """Return a risk for people."""
    return {
        Risk.READ: translate("agentic_qt", "Only reads"),
        Risk.MUTATING: translate("agentic_qt", "Makes a change"),
        Risk.DESTRUCTIVE: translate("agentic_qt", "Destructive"),
    }[risk]


def shortened(words: str) -> str:
    """Return shown text for a button or a menu, on one line; all of it stands elsewhere on the card."""
    line = " ".join(words.split())
    return line if len(line) <= _BUTTON else line[: _BUTTON - 1] + "…"


def target_words(request: ApprovalRequest) -> str:
    """Return the target's label and its stable id, or nothing when there is only one owner."""
    if request.target is None:
        return ""
    label, identity = exact(request.target.label), exact(request.target.id)
    return f"{label}  [{identity}]" if label and label != identity else identity


def _origin_rows(request: ApprovalRequest) -> Iterator[Row]:
    if request.target is not None:
        words = request.target.label or request.target.id
        yield Row(label=translate("agentic_qt", "Target"), value=shown_value(words))
        if request.target.label and request.target.label != request.target.id:
            yield Row(label=translate("agentic_qt", "Target id"), value=shown_value(request.target.id))
    if request.client is not None:
        yield Row(label=translate("agentic_qt", "Asked by"), value=shown_value(_client_words(request.client)))


def _client_words(client: str) -> str:
    """What an earlier session left is asked by the person who resumed it; other clients go by their names."""
    return translate("agentic_qt", "you, resumed from last time") if client == "resumed" else client


def _change_rows(content: Content, changes: Mapping[str, tuple[Any, Any]]) -> Iterator[Row]:
    for name, (old, new) in changes.items():
        # Names that are no input are the application's own words.
        label = _label(content, name) if name in content.input else exact(label_of(name, content.input_schema))
        yield Row(label=label, value=shown_value(new), old=shown_value(old))


def _fact_sections(facts: Mapping[str, Any]) -> Iterator[Section]:
    heading = translate("agentic_qt", "Found by the application")
    loose = {name: value for name, value in facts.items() if not _is_flat(value)}
    yield Section(heading=heading, rows=_fact_rows(loose))
    for name, value in facts.items():
        if _is_flat(value):
            yield Section(heading=f"{heading}: {exact(label_of(name, {}))}", rows=_fact_rows(value))


def _fact_rows(facts: Mapping[str, Any]) -> tuple[Row, ...]:
    return tuple(Row(label=exact(label_of(name, {})), value=shown_value(value)) for name, value in facts.items())


def _is_flat(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and not any(isinstance(item, (Mapping, list, tuple)) for item in value.values())
    )


def _split_facts(content: Content) -> tuple[dict[str, tuple[Any, Any]], dict[str, Any]]:
    """Return the changes, and the facts that are none."""
    if content.facts is None:
        return {}, {}
    if not isinstance(content.facts, Mapping):
        return {}, {translate("agentic_qt", "Preview"): content.facts}
    changes: dict[str, tuple[Any, Any]] = {}
    others: dict[str, Any] = {}
    for name, value in content.facts.items():
        if name == "old" and _is_old(value, content.input):
            changes.update({field: (old, content.input[field]) for field, old in value.items()})
        elif name == "changes" and _is_changes(value):
            changes.update({field: (pair["old"], pair["new"]) for field, pair in value.items()})
        else:
            others[str(name)] = value
    return changes, others


def _is_old(value: Any, given: Mapping[str, Any]) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(field in given for field in value)


def _is_changes(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(pair, Mapping) and set(pair) == {"old", "new"} for pair in value.values())
    )


def _same(given: Mapping[str, Any], name: str, new: Any) -> bool:
    return name in given and type(given[name]) is type(new) and bool(given[name] == new)


def _label(content: Content, name: str) -> str:
    properties = content.input_schema.get("properties", {})
    # A name that is not declared is the model's word: it is shown to the letter.
    declared = isinstance(properties, Mapping) and name in properties
    if not declared:
        return exact(name)
    label = exact(label_of(name, content.input_schema))
    if isinstance(properties[name], Mapping) and properties[name].get("x-free-text") is True:
        return translate("agentic_qt", "{label} (written by the model)").format(label=label)
    return label


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _ends(piece: str, *, keep_first: bool) -> str:
    lines = piece.split("\n")
    kept = lines[: FOLD_LINES // 3] if keep_first else lines[-(FOLD_LINES // 3) :]
    return exact("\n".join(kept))


def _undo_words(undoable: bool | None) -> str:  # noqa: FBT001 - a three-valued declaration, not a switch
    if undoable is None:
        return translate("agentic_qt", "Not known whether this can be undone")
    return translate("agentic_qt", "Can be undone") if undoable else translate("agentic_qt", "Cannot be undone")
