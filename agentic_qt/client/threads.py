"""Conversations and their branches: where messages live. Knows no run, no chat model, no registry."""

import copy
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class BranchKind(StrEnum):
    """Why a branch was begun."""

    START = "start"
    EDIT = "edit"
    RETRY = "retry"
    COMPACTION = "compaction"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Branch:
    """One course of a conversation.

    Args:
        id: Unique.
        kind: Why it was begun.
        parent: The id of the branch that it was begun from; empty for the first.
        messages: As they are sent, without the system message; change them only while nothing runs in it.
    """

    id: str
    kind: BranchKind
    parent: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)


class Thread:
    """A conversation: one branch at first, another one for each edit, retry and compaction; none is ever lost.

    Attributes:
        id: Unique; every event of a run and its end carry it.
    """

    def __init__(self) -> None:
        self.id = f"thread-{uuid.uuid4().hex[:16]}"
        self._branches = [Branch(id=f"{self.id}.1", kind=BranchKind.START)]
        self._current = self._branches[0]

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All branches, in the order in which they were begun."""
        return tuple(self._branches)

    @property
    def branch(self) -> Branch:
        """The branch that is shown and continued."""
        return self._current

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the current branch."""
        return self._current.messages

    def fork(self, kind: BranchKind, messages: list[dict[str, Any]]) -> Branch:
        """Begin a branch with a copy of these messages and make it the current one."""
        branch = Branch(
            id=f"{self.id}.{len(self._branches) + 1}",
            kind=kind,
            parent=self._current.id,
            messages=copy.deepcopy(messages),
        )
        self._branches.append(branch)
        self._current = branch
        return branch

    def switch(self, branch: Branch | str) -> Branch:
        """Make a branch the current one.

        Raises:
            ValueError: It is not a branch of this thread.
        """
        wanted = branch if isinstance(branch, str) else branch.id
        found = next((known for known in self._branches if known.id == wanted), None)
        if found is None:
            raise ValueError(f"{wanted!r} is no branch of {self.id!r}")
        self._current = found
        return found
