"""Which capabilities fit a request in plain words, by what their programmers wrote of them.

An index is made of capabilities and never changes; when the catalogue's revision has changed there is a new one.
"""

import heapq
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from agentic_qt.core.capability import Capability
from agentic_qt.core.ranking import FieldTerms, Ranking
from agentic_qt.core.registration import closed
from agentic_qt.core.registry import Registry
from agentic_qt.core.terms import STOP_WORDS, query_terms, terms

_log = logging.getLogger("agentic_qt.core.search")

Scorer = Callable[[str, Sequence[Capability]], Sequence[float]]
"""Says how near each capability is to a query (higher is nearer), in the order given; such as cosines of vectors."""

MAX_SCHEMA = 2048
"""Characters of JSON up to which a schema travels with a search result."""

MAX_QUERY = 2000
"""Characters of a query that are read."""

_WEIGHTS = (2.0, 1.0, 0.5, 1.0)  # name and title, description, parameters, example requests
_RANK_OFFSET = 60  # of reciprocal rank fusion: Cormack, Clarke and Buettcher (2009)
_FUSED = 100  # places of either ranking that count
_MAX_SCHEMA_DEPTH = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchHit:
    """One result.

    Args:
        capability: What was found; the first of its name, when several targets share it.
        score: Higher is better; comparable within one search only.
        targets: The capabilities of that name, one for each target; `capability` is the first.
    """

    capability: Capability
    score: float
    targets: tuple[Capability, ...]

    @property
    def name(self) -> str:
        """The capability's name."""
        return self.capability.name

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The input's schema as calls are judged by it, or None when it is longer than `MAX_SCHEMA`."""
        return self.common_schema()[0]

    def common_schema(self) -> tuple[Mapping[str, Any] | None, int]:
        """Return a copy of the one schema that all targets share, and its characters of JSON.

        The schema is None when it is longer than `MAX_SCHEMA`, or when the targets have different ones.
        """
        texts = {_as_text(capability) for capability in self.targets}
        text = texts.pop()
        copy: dict[str, Any] | None = json.loads(text) if not texts and len(text) <= MAX_SCHEMA else None
        return copy, len(text)


class CapabilityIndex:
    """A search index over capabilities.

    Args:
        capabilities: Those that can be found; several targets of one name are one result.
        scorer: A second opinion, such as by vectors; its ranking and ours are fused by rank. When it fails, ours
            counts alone.
        earlier: An index whose reading of the capabilities that both have is taken over.
    """

    def __init__(
        self,
        capabilities: Iterable[Capability],
        *,
        scorer: Scorer | None = None,
        earlier: "CapabilityIndex | None" = None,
    ) -> None:
        by_name: dict[str, list[Capability]] = {}
        for capability in capabilities:
            by_name.setdefault(capability.name, []).append(capability)
        self.scorer = scorer
        self._entries = [tuple(found) for found in by_name.values()]
        self._firsts = tuple(entry[0] for entry in self._entries)
        known: dict[Capability, tuple[FieldTerms, ...]] = {}
        if earlier is not None:
            known = earlier._read  # noqa: SLF001 - the same class
        self._read: dict[Capability, tuple[FieldTerms, ...]] = {
            capability: known.get(capability) or _fields(capability) for capability in self._firsts
        }
        self._ranking = Ranking(list(self._read.values()), _WEIGHTS)

    @classmethod
    def of(cls, registry: Registry, *, scorer: Scorer | None = None) -> "CapabilityIndex":
        """Return the index of what a registry shows: the same object as long as its revision and the scorer stay."""
        revision, index = _latest.get(registry, (-1, None))
        if index is None or revision != registry.revision or index.scorer is not scorer:
            visible = [registration.capability for registration in registry.visible]
            index = cls(visible, scorer=scorer, earlier=index)
            _latest[registry] = (registry.revision, index)
        return index

    def search(self, query: str, limit: int = 5) -> list[SearchHit]:
        """Return the best results for a request, best first; equal ones in the catalogue's order.

        Args:
            query: A request or key words, in any language that the capabilities are described in.
            limit: How many at most; nothing is returned for fewer than one.
        """
        if limit < 1:
            return []
        query = query[:MAX_QUERY]
        ranked = self._fused(query)[:limit] if self.scorer else self._ranking.best(query_terms(query), limit)
        return [SearchHit(capability=self._firsts[at], score=score, targets=self._entries[at]) for at, score in ranked]

    def __len__(self) -> int:
        return len(self._entries)

    def _fused(self, query: str) -> list[tuple[int, float]]:
        """Rank by the sum of the reciprocal places in both rankings."""
        own = self._ranking.best(query_terms(query), _FUSED)
        scores = self._second_opinion(query)
        if scores is None:
            return own
        totals = {at: 1.0 / (_RANK_OFFSET + place) for place, (at, _score) in enumerate(own, start=1)}
        other = heapq.nlargest(_FUSED, range(len(scores)), key=scores.__getitem__)
        for place, at in enumerate(other, start=1):
            totals[at] = totals.get(at, 0.0) + 1.0 / (_RANK_OFFSET + place)
        return sorted(totals.items(), key=lambda item: (-item[1], item[0]))

    def _second_opinion(self, query: str) -> list[float] | None:
        try:
            scores = [float(score) for score in self.scorer(query, self._firsts)] if self.scorer else []
        except Exception:
            _log.exception("The scorer failed; the words alone decide")
            return None
        if len(scores) != len(self._firsts) or not all(map(math.isfinite, scores)):
            _log.error("The scorer must return one finite number for each of %d capabilities", len(self._firsts))
            return None
        return scores


_latest: WeakKeyDictionary[Registry, tuple[int, CapabilityIndex]] = WeakKeyDictionary()


def _as_text(capability: Capability) -> str:
    return json.dumps(closed(capability.input_schema), ensure_ascii=False, separators=(",", ":"))


def _fields(capability: Capability) -> tuple[FieldTerms, ...]:
    title = f" {capability.title}" if capability.title else ""
    parameters = " ".join(_texts(capability.input_schema, _MAX_SCHEMA_DEPTH))
    requests = " ".join(request for request, _input in capability.examples)
    return tuple(map(_counted, (capability.name + title, capability.description, parameters, requests)))


def _counted(text: str) -> FieldTerms:
    found = terms(text)
    counts = Counter(found.words)
    counts.update(found.variants)
    return FieldTerms(counts=counts, length=sum(word not in STOP_WORDS for word in found.words))


_WORDS = frozenset({"title", "description", "const", "enum"})
_BY_NAME = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_INNER = frozenset({"items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems"})


def _texts(schema: Any, depth: int) -> Iterator[str]:
    """Yield what a schema says in words: names of properties, descriptions, titles and choices."""
    if depth == 0:
        return
    if isinstance(schema, list | tuple):
        for inner in schema:
            yield from _texts(inner, depth - 1)
    elif isinstance(schema, Mapping):
        for key, value in schema.items():
            yield from _texts_under(key, value, depth - 1)


def _texts_under(key: str, value: Any, depth: int) -> Iterator[str]:
    if key in _WORDS:
        yield from (word for word in (value if isinstance(value, list | tuple) else [value]) if isinstance(word, str))
    elif key in _INNER:
        yield from _texts(value, depth)
    elif key in _BY_NAME and isinstance(value, Mapping):
        for name, inner in value.items():
            if key == "properties":
                yield str(name)
            yield from _texts(inner, depth)
