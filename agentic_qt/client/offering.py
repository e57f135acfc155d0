"""Which tools are offered in a request: all, only those that find others, or the few that fit the request."""

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from enum import StrEnum
from typing import Any

from agentic_qt.client.context import CONTEXT_HEAD
from agentic_qt.client.tokens import TokenMeter, estimate
from agentic_qt.core.meta import CALL_STATUS, META_NAMES, register_meta
from agentic_qt.core.registration import Registration
from agentic_qt.core.registry import Registry
from agentic_qt.core.search import CapabilityIndex
from agentic_qt.protocol.results import READ_MORE
from agentic_qt.protocol.snapshot import Snapshot
from agentic_qt.protocol.trimming import newest_turn

_log = logging.getLogger("agentic_qt.client.offering")

MAX_TOOLS = 128
"""Tools that providers take in one request."""

TOOL_TOKENS = 8_000
"""What the tools may take in a request before ``auto`` narrows them."""

NARROWED = 8
"""Tools that ``narrow`` finds for a request, beside those of this run and the meta-tools."""


class Mode(StrEnum):
    """What the chat model is shown.

    ``all``: every tool. ``meta``: only the tools that find, describe and execute the others. ``narrow``: those that
    fit the request best, and the meta-tools. ``auto``: all as long as they are few and short, else ``narrow``.
    """

    ALL = "all"
    META = "meta"
    NARROW = "narrow"
    AUTO = "auto"


class Offering:
    """Chooses the snapshot of each request; calls of what is not shown are judged by the gates all the same.

    Args:
        registry: Of what there is.
        mode: How to choose.
        tool_tokens: The limit of ``auto``.
        meter: Counts.
    """

    def __init__(self, registry: Registry, mode: Mode, *, tool_tokens: int, meter: Callable[[], TokenMeter]) -> None:
        self._registry = registry
        self._mode = mode
        self._tool_tokens = tool_tokens
        self._meter = meter
        self._meta: list[Registration] = []
        self._everything: tuple[Snapshot, Snapshot] | None = None

    def snapshot(self, history: Sequence[Mapping[str, Any]], used: Container[str]) -> Snapshot:
        """Return what is shown now.

        Args:
            history: The conversation: the newest words of the person say what is wanted.
            used: Names of the capabilities that this run has called; they stay visible.

        Raises:
            WireNameError: Two visible capability names become the same name on the wire.
        """
        mode = self._mode
        snapshot = Snapshot.of(self._registry)
        if mode is Mode.AUTO:
            mode = Mode.ALL if self._is_small(snapshot) else Mode.NARROW
        if mode is Mode.ALL:
            return self._without_meta(snapshot)
        self.need_meta()
        names = {*META_NAMES, READ_MORE}
        if mode is Mode.NARROW:
            names |= self._narrowed(_wish(history), used)
        return Snapshot.of(self._registry).only(names)

    def need_meta(self) -> None:
        """Have the meta-tools from now on, such as after an ``unknown`` outcome: one tells what became of it."""
        if not any(self._registry.places(name) for name in META_NAMES):  # another agent's do as well
            self._meta += register_meta(self._registry)

    def close(self) -> None:
        """Take the meta-tools away that this registered."""
        for registration in self._meta:
            registration.dispose()
        self._meta = []

    def _is_small(self, snapshot: Snapshot) -> bool:
        tools = snapshot.tools
        if len(tools) > MAX_TOOLS:
            return False
        # A token is never more than a few bytes: most applications need no counting.
        size = len(tools.json)
        return size <= self._tool_tokens or self._meter().tokens(estimate(tools.json.decode())) <= self._tool_tokens

    def _without_meta(self, snapshot: Snapshot) -> Snapshot:
        """Show everything; the tools that find others would only cost, and everything has its limit."""
        known = self._everything
        if known is not None and known[0] is snapshot:
            return known[1]
        names = [tool.name for tool in snapshot.entries.values()]
        shown = [name for name in names if name not in _FINDING]
        if len(shown) > MAX_TOOLS:
            _log.warning("%d tools are visible, the first %d are offered", len(shown), MAX_TOOLS)
        self._everything = (snapshot, snapshot.only(frozenset(shown[:MAX_TOOLS])))
        return self._everything[1]

    def _narrowed(self, wish: str, used: Container[str]) -> set[str]:
        found = {hit.name for hit in CapabilityIndex.of(self._registry).search(wish, NARROWED)}
        visible = {registration.name for registration in self._registry.visible}
        recent = [name for name in visible if name in used]
        return found | set(sorted(recent)[: MAX_TOOLS // 2])


_FINDING = META_NAMES - {CALL_STATUS}


def _wish(history: Sequence[Mapping[str, Any]]) -> str:
    """Return the newest words of the person."""
    place = newest_turn(history)
    content = history[place].get("content") if place < len(history) else ""
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return "" if not isinstance(content, str) or content.startswith(CONTEXT_HEAD) else content
