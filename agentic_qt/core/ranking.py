"""BM25F: which of many short texts fit some terms best. Knows texts by their place in a list and nothing else.

Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields" (2004). All but the sum over the
terms of a query is computed when the ranking is made.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_K1 = 1.2  # how soon repetitions of a term stop counting
_B = 0.75  # how much a long text is marked down


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldTerms:
    """One field of one text.

    Args:
        counts: How often each term is in it.
        length: Its words; by this it is marked down as long.
    """

    counts: Counter[str]
    length: int


class Ranking:
    """An index of texts that have the same fields.

    Args:
        documents: For each text its fields.
        weights: What a term in each field counts.
    """

    def __init__(self, documents: Sequence[Sequence[FieldTerms]], weights: Sequence[float]) -> None:
        averages = [_average([fields[number].length for fields in documents]) for number in range(len(weights))]
        frequencies: dict[str, dict[int, float]] = {}
        for document, fields in enumerate(documents):
            for field, weight, average in zip(fields, weights, averages, strict=True):
                norm = weight / (1 - _B + _B * field.length / average)
                for term, count in field.counts.items():
                    of_term = frequencies.setdefault(term, {})
                    of_term[document] = of_term.get(document, 0.0) + count * norm
        # For each term its best score, and its score in each text.
        self._postings = {term: _scored(of_term, len(documents)) for term, of_term in frequencies.items()}

    def best(self, terms: Iterable[str], limit: int) -> list[tuple[int, float]]:
        """Return the places and scores of the texts that fit best, best first; equal ones in their order.

        Args:
            terms: Each once.
            limit: How many at most; at least 1.
        """
        postings = [self._postings[term] for term in terms if term in self._postings]
        postings.sort(key=_best_score, reverse=True)
        rest = sum(best for best, _scores in postings)
        totals: dict[int, float] = {}
        for best, scores in postings:
            # Worth a look only where it can save more than it costs.
            needed = _last_place(totals, limit) - rest if len(scores) > len(totals) >= limit else 0.0
            if needed > 0:
                # No newcomer can reach a place any more, nor can most of those known: an exact short cut.
                get = scores.get
                totals = {at: total + get(at, 0.0) for at, total in totals.items() if total >= needed}
            elif totals:
                get = totals.get
                for at, score in scores.items():
                    totals[at] = get(at, 0.0) + score
            else:
                totals = dict(scores)
            rest -= best
        least = _last_place(totals, limit) if len(totals) > limit else 0.0
        places = sorted((-total, at) for at, total in totals.items() if total >= least)
        return [(at, -total) for total, at in places[:limit]]


def _last_place(totals: dict[int, float], limit: int) -> float:
    """Return the score that the last place needs, less what sums in another order may differ by."""
    return sorted(totals.values())[-limit] - 1e-9


def _best_score(posting: tuple[float, dict[int, float]]) -> float:
    return posting[0]


def _scored(frequencies: dict[int, float], documents: int) -> tuple[float, dict[int, float]]:
    rarity = math.log(1 + (documents - len(frequencies) + 0.5) / (len(frequencies) + 0.5)) * (_K1 + 1)
    scores = {at: rarity * frequency / (_K1 + frequency) for at, frequency in frequencies.items()}
    return max(scores.values()), scores


def _average(lengths: Sequence[int]) -> float:
    filled = [length for length in lengths if length]
    return sum(filled) / len(filled) if filled else 1.0
