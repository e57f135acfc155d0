"""What a search among many capabilities costs, against SQLite's FTS5 on the same tools and queries.

The tools are the public sets under ``$AGENTIC_QT_VECTORS/toolsearch`` where they are at hand, and a made-up catalogue.
Both sides rank by weighted BM25 over the same three fields, leave out the same stop words and return five results.
"""

import gc
import itertools
import json
import os
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentic_qt.core.capability import Capability
from agentic_qt.core.search import CapabilityIndex
from agentic_qt.core.terms import STOP_WORDS, terms
from agentic_qt.devtools.bench.measuring import Row

LIMIT = 0.5
_SETS = (("BFCL", "bfcl"), ("Seal-Tools", "sealtools"), ("MetaTool", "metatool"))
_RESULTS = 5
_VERBS = "archive copy create delete export find import list merge move open print share"
_NOUNS = """
    account address album appointment booking calendar camera comment contact contract country course currency customer
    department discount document employee flight folder grade hotel image ingredient invoice layer lesson machine map
    measurement meeting message order patient payment photo playlist prescription price product project rating recipe
    report review route sensor shipment song station student subscription supplier task tax team ticket train video
    warehouse window workflow yard zone badge basket batch branch budget cabinet channel cluster column
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalogue:
    """Tools and what is asked of them.

    Args:
        name: For the table.
        capabilities: What can be found.
        queries: A request and the name that is meant.
    """

    name: str
    capabilities: Sequence[Capability]
    queries: Sequence[tuple[str, str]]


def measure(rounds: int) -> list[Row]:
    """Measure a search and the making of the index, for each catalogue."""
    return [row for catalogue in _catalogues() for row in _rows(catalogue, rounds)]


def _rows(catalogue: Catalogue, rounds: int) -> Iterator[Row]:
    begun = time.process_time()
    index = CapabilityIndex(catalogue.capabilities)
    made = time.process_time() - begun
    recall = _recall(lambda query: [hit.name for hit in index.search(query, _RESULTS)], catalogue)
    sides: dict[str, Callable[[str], object]] = {"own": lambda query: index.search(query, _RESULTS)}
    count = len(catalogue.capabilities)
    try:
        fts = _fts5(catalogue.capabilities)
    except sqlite3.OperationalError:  # this SQLite was built without it: nothing to compare with
        fts = None
    if fts is not None:
        sides["fts"] = fts
    times = _take_turns(sides, catalogue, rounds)
    name = f"search among {count:,} tools ({catalogue.name})"
    if fts is None:
        yield Row(name=f"{name}, R@5 {recall:.3f}", value=statistics.median(times["own"]), unit="us")
    else:
        ratio = statistics.median(own / other for own, other in zip(times["own"], times["fts"], strict=True))
        base = f"{name}, SQLite FTS5, R@5 {_recall(fts, catalogue):.3f}"
        yield Row(name=base, value=statistics.median(times["fts"]), unit="us", ratio=1.0, base=base)
        own = f"{name}, R@5 {recall:.3f}"
        yield Row(name=own, value=statistics.median(times["own"]), unit="us", ratio=ratio, base=base, limit=LIMIT)
    yield Row(name=f"index of {count:,} tools ({catalogue.name})", value=made * 1000, unit="ms")


def _take_turns(sides: dict[str, Callable[[str], object]], catalogue: Catalogue, rounds: int) -> dict[str, list[float]]:
    """Return the CPU microseconds a query of each side in each round."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    gc.collect()
    for number in range(rounds + 1):
        for name, search in sides.items():
            begun = time.process_time()
            for query, _gold in catalogue.queries:
                search(query)
            if number:  # the first round warms both
                times[name].append((time.process_time() - begun) / len(catalogue.queries) * 1e6)
    return times


def _recall(search: Callable[[str], Sequence[str]], catalogue: Catalogue) -> float:
    return sum(gold in search(query) for query, gold in catalogue.queries) / len(catalogue.queries)


def _fts5(capabilities: Sequence[Capability]) -> Callable[[str], list[str]]:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE tools USING fts5(name, description, parameters, tokenize='porter')")
    database.execute("INSERT INTO tools (tools, rank) VALUES ('rank', 'bm25(2.0, 1.0, 0.5)')")
    database.executemany(
        "INSERT INTO tools (rowid, name, description, parameters) VALUES (?, ?, ?, ?)",
        [(at, *_texts(capability)) for at, capability in enumerate(capabilities)],
    )

    def search(query: str) -> list[str]:
        words = dict.fromkeys(word for word in _words(query) if word not in STOP_WORDS)
        expression = " OR ".join(f'"{word}"' for word in words) or '""'
        found = database.execute(
            "SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY rank LIMIT ?", (expression, _RESULTS)
        )
        return [capabilities[at].name for (at,) in found]

    return search


def _words(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text.lower()).split()


def _texts(capability: Capability) -> tuple[str, str, str]:
    parameters = capability.input_schema["properties"]
    # Names in pieces: FTS5's tokenizers know nothing of camelCase.
    name = " ".join(terms(capability.name).words)
    said = " ".join(f"{' '.join(terms(key).words)} {value['description']}" for key, value in parameters.items())
    return name, capability.description, said


def _catalogues() -> Iterator[Catalogue]:
    folder = Path(os.environ.get("AGENTIC_QT_VECTORS", "")) / "toolsearch"
    for title, file in _SETS:
        path = folder / f"{file}.json"
        if path.is_file():
            data = json.loads(path.read_text(encoding="utf-8"))
            capabilities = [_capability(tool["name"], tool["description"], tool["params"]) for tool in data["tools"]]
            yield Catalogue(
                name=title, capabilities=capabilities, queries=[(each["q"], each["gold"]) for each in data["queries"]]
            )
    yield _made_up()


def _made_up() -> Catalogue:
    pairs = list(itertools.product(_NOUNS.split(), _VERBS.split()))
    capabilities = [
        _capability(
            f"{noun}.{verb}",
            f"{verb.capitalize()} one {noun} of those that the application knows.",
            [("id", f"Which {noun}"), ("note", f"A word on why to {verb} it")],
        )
        for noun, verb in pairs
    ]
    queries = [(f"Could you please {verb} the {noun} from last week?", f"{noun}.{verb}") for noun, verb in pairs[::4]]
    return Catalogue(name="made up", capabilities=capabilities, queries=queries)


def _capability(name: str, description: str, parameters: Sequence[Sequence[str]]) -> Capability:
    properties = {key: {"type": "string", "description": said or ""} for key, said in parameters}
    return Capability(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": properties},
        risk="read",
        handler=_nothing,
    )


def _nothing(**given: str) -> None: ...
