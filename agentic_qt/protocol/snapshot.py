"""What a model was shown: tools and their revision. The only translator between wire and core.

A snapshot is a value: it holds neither the registry nor any handler, and never looks at what lives by now;
that is for the gates to judge, by the revision that the decoded call carries.
"""

import difflib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from agentic_qt.core.call import RETRY, Call, Outcome, Status
from agentic_qt.core.capability import Target
from agentic_qt.core.registration import Registration
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.messages import ToolCall
from agentic_qt.protocol.names import wire_names
from agentic_qt.protocol.tool_list import Definition, ToolList
from agentic_qt.protocol.tool_schema import TARGET_PROPERTY, expectation, parameters_of
from agentic_qt.schema.canonical import InputError, parse

MAX_DESCRIPTION = 1024
"""Characters of a tool's description that providers take."""

MAX_ARGUMENTS = 65536
"""Bytes of the arguments of one call."""

_NEAR_NAMES = 3
_MAX_SHOWN_NAME = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One entry of the tools array and the capability behind it.

    Args:
        name: The capability's.
        definition: What the model is shown.
        source: What the definition was made of: the same source gives the same definition.
    """

    name: str
    definition: Definition
    source: tuple[Any, ...] = ()

    def is_made_of(self, source: tuple[Any, ...]) -> bool:
        """Whether the definition would come out the same; schemas are compared by identity, as nobody changes them."""
        return len(source) == len(self.source) and all(
            ours is theirs or (not isinstance(ours, Mapping) and ours == theirs)
            for ours, theirs in zip(self.source, source, strict=True)
        )


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The catalogue as a model sees it, in the catalogue's own stable order.

    Args:
        revision: The registry's revision that this was made at.
        entries: The tools by their exact wire names.
        hidden: Tools that live but were not shown; a call of one is decoded all the same, since it is for the gates
            and not for a list to say what may run.
    """

    revision: int
    entries: Mapping[str, Tool]
    hidden: Mapping[str, Tool] = field(default_factory=dict)

    @classmethod
    def of(cls, registry: Registry) -> "Snapshot":
        """Return the snapshot of a registry; the same object as long as its revision stays.

        Several targets of one name become one tool, described by the first of them.

        Raises:
            WireNameError: Two visible capability names become the same name on the wire.
        """
        known = _latest.get(registry)
        if known is None or known.revision != registry.revision:
            known = _latest[registry] = cls._build(registry, {} if known is None else known.entries)
        return known

    @classmethod
    def _build(cls, registry: Registry, before: Mapping[str, Tool]) -> "Snapshot":
        """Make the snapshot of now; entries that stayed the same are those of the one before."""
        by_name: dict[str, list[Registration]] = {}
        for registration in registry.visible:
            by_name.setdefault(registration.name, []).append(registration)
        entries = {wire: _tool(wire, by_name[name], before.get(wire)) for wire, name in wire_names(by_name).items()}
        return cls(revision=registry.revision, entries=entries)

    def only(self, names: Container[str]) -> "Snapshot":
        """Return a snapshot that shows only the capabilities of these names, in the same order and revision."""
        shown = {wire: tool for wire, tool in self.entries.items() if tool.name in names}
        if len(shown) == len(self.entries):
            return self
        hidden = {wire: tool for wire, tool in self.entries.items() if wire not in shown}
        return Snapshot(revision=self.revision, entries=shown, hidden={**self.hidden, **hidden})

    @cached_property
    def tools(self) -> ToolList:
        """The tools array of a request: OpenAI function tools."""
        return ToolList(tool.definition for tool in self.entries.values())

    def decode(
        self,
        tool_call: ToolCall,
        *,
        run: str | None = None,
        actor: str | None = None,
        client: str | None = None,
        call_id: str | None = None,
        reason: str = "",
    ) -> Call | Outcome:
        """Turn what the model wrote into a call, or into the outcome that says why it is none.

        Args:
            tool_call: As the model made it.
            run: The agent run.
            actor: Who acts, from the trusted session.
            client: Which client calls.
            call_id: Our own id of the call; providers repeat theirs.
            reason: The model's own words around the call.
        """
        tool = self.entries.get(tool_call.name) or self.hidden.get(tool_call.name)
        if tool is None:
            return self._no_such(tool_call.name, call_id)
        parameters = tool.definition["function"]["parameters"]
        try:
            arguments = _arguments(tool_call.arguments)
            target_id = _target_id(arguments.pop(TARGET_PROPERTY, None))
        except InputError as error:
            problem = f"The arguments of {tool_call.name} could not be read: {error.message.rstrip('.')}."
            hint = f"{problem} {expectation(parameters)}"
            return self._outcome(Status.INVALID, error.code, hint, call_id)
        return Call(
            name=tool.name,
            input=arguments,
            target_id=target_id,
            revision=self.revision,
            id=call_id,
            run=run,
            actor=actor,
            client=client,
            reason=reason,
        )

    def _no_such(self, wire: str, call_id: str | None) -> Outcome:
        shown = wire if len(wire) <= _MAX_SHOWN_NAME else f"{wire[:_MAX_SHOWN_NAME]}…"
        near = difflib.get_close_matches(wire[:_MAX_SHOWN_NAME], self.entries, n=_NEAR_NAMES)
        advice = f"Did you mean {', '.join(near)}?" if near else "Use only the tools that are listed."
        hint = f"There is no tool named {shown!r}. {advice}"
        return self._outcome(Status.UNAVAILABLE, "no_such_capability", hint, call_id)

    def _outcome(self, status: Status, code: str, hint: str, call_id: str | None) -> Outcome:
        return Outcome(
            status=status,
            code=code,
            hint=hint,
            retry=RETRY[status],
            applied=False,
            call_id=call_id or "",
            revision=self.revision,
        )


# One per registry: a snapshot refers to no registry, so each goes when its registry goes.
_latest: WeakKeyDictionary[Registry, Snapshot] = WeakKeyDictionary()


def _tool(wire: str, registrations: Sequence[Registration], before: Tool | None) -> Tool:
    first = registrations[0]
    targets: list[Target] = []
    if len(registrations) > 1:
        targets = [registration.target for registration in registrations if registration.target is not None]
    # As declared, since the order of properties tells a model something; closed as the registry closes it.
    schemas = [registration.input_schema for registration in registrations]
    source = (first.name, first.capability.description, *schemas, *targets)
    if before is not None and before.is_made_of(source):
        return before
    function = {
        "name": wire,
        "description": _shortened(first.capability.description),
        "parameters": parameters_of(schemas, targets),
    }
    return Tool(name=first.name, definition=Definition(type="function", function=function), source=source)


def _shortened(text: str) -> str:
    if len(text) <= MAX_DESCRIPTION:
        return text
    cut = text[: MAX_DESCRIPTION - 1]
    head, space, _ = cut.rpartition(" ")
    # A single word of a thousand characters, or a script without spaces, is cut where it stands.
    return f"{(head if space else cut).rstrip()}…"


def _target_id(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError("invalid_target", f"{TARGET_PROPERTY} must be a string", f"/{TARGET_PROPERTY}")
    return value


def _arguments(text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    arguments = parse(text, max_bytes=MAX_ARGUMENTS)
    if not isinstance(arguments, dict):
        raise InputError("not_object", "they are not a JSON object", "")
    return arguments
