"""What an application can do: frozen values, checked by the registry when they are registered."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Risk(StrEnum):
    """What a call may do to the world; each has its string as an equal.

    ``read``: nothing outlives the view (navigation, selection, filter, theme, looking things up).
    ``mutating``: changes something that can be changed back. ``destructive``: cannot be changed back.
    """

    READ = "read"
    MUTATING = "mutating"
    DESTRUCTIVE = "destructive"


_RISKS = frozenset(risk.value for risk in Risk)


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One of several living owners of the same capability name.

    Args:
        id: Stable and unique among the targets of a name; this is what calls and approvals are bound to.
        label: For people; shown beside the id, never instead of it.
    """

    id: str
    label: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Capability:
    """One thing that the application can do, as declared by its programmer.

    Args:
        name: Lower-case dotted ``noun.verb``, such as ``"customer.delete"``.
        description: English, for the model; at most 1,024 characters travel.
        input_schema: JSON Schema 2020-12 whose root is a plain object.
        risk: A `Risk` or its string.
        handler: Called with the input's properties as keyword arguments, and with ``ctx: CallContext`` if it has a
            parameter of that name; sync or async. None is a result.
        target: Which living owner this is, when several share the name.
        available: Returns True, or the reason (a string) why the capability cannot be used now.
        preview: Called like the handler, before the approval: JSON facts that the person sees (old values, rows,
            versions) and that the approval is bound to.
        approver: Takes the place of the approval queue: called with an `ApprovalRequest`, returns an `Approval`.
        output_schema: JSON Schema of ``outcome.data``.
        egress: Talks to the outside of the application; at least mutating then.
        confirms_itself: The handler asks the person by itself; the pipeline asks for no second approval.
        examples: Pairs of a request in plain words and the input that it means.
        nested: The handler opens dialogs or turns a loop of its own (``exec()``): it is started by the loop, on its
            own, and not inside the calling task.
        timeout: Seconds that the handler may take; the wait for a person does not count.
        title: "Verb object" for people, such as ``"Delete customer"``; from the name when empty.
        undoable: Whether the person can undo it; shown in the approval. None: not said.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    risk: Risk | str
    handler: Callable[..., Any]
    target: Target | None = None
    available: Callable[[], bool | str] | None = None
    preview: Callable[..., Any] | None = None
    approver: Callable[..., Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    egress: bool = False
    confirms_itself: bool = False
    examples: Sequence[tuple[str, Mapping[str, Any]]] = ()
    nested: bool = False
    timeout: float = 60.0
    title: str = ""
    undoable: bool | None = None

    def __post_init__(self) -> None:
        if type(self.risk) is str and self.risk in _RISKS:  # anything else is refused at registration
            object.__setattr__(self, "risk", Risk(self.risk))

    @property
    def effective_risk(self) -> Risk:
        """The risk that policy judges: what talks to the outside is at least mutating."""
        risk = self.risk if type(self.risk) is Risk else Risk(self.risk)
        return Risk.MUTATING if self.egress and risk is Risk.READ else risk

    @property
    def display_title(self) -> str:
        """The title, or one made of the name: ``customer.delete`` reads "Delete customer"."""
        if self.title:
            return self.title
        *noun, verb = self.name.replace("_", " ").split(".")
        return " ".join([verb, *noun]).capitalize()
