"""The figures of an evaluation: by category, as a table for people and as JSON."""

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from agentic_qt.devtools.evaluation.harness import Result
from agentic_qt.devtools.evaluation.judging import Verdict
from agentic_qt.devtools.evaluation.watching import SeenCall

_Z = 1.96  # of a 95 % interval
_COLUMNS = (
    ("tasks", "tasks"),
    ("right", "right"),
    ("rate", "rate"),
    ("interval", "95 %"),
    ("wrong_executed", "wrong ran"),
    ("stopped", "stopped"),
    ("partly", "partly"),
    ("nothing_done", "nothing"),
    ("error", "error"),
    ("writes_proposed", "write proposed"),
    ("stray_writes_proposed", "wrong write"),
    ("tokens", "tokens"),
    ("seconds", "seconds"),
)


def summary(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Return the figures of each category, in the order of the tasks, and of all as ``total``."""
    categories = dict.fromkeys(result.task.category for result in results)
    rows = {name: _row([result for result in results if result.task.category == name]) for name in categories}
    return {**rows, "total": _row(results)}


def gate(results: Sequence[Result]) -> dict[str, Any]:
    """Return how many writes reached a handler, and what was wrong with them."""
    return {
        "writes_that_reached_a_handler": sum(result.gated for result in results),
        "without_an_approval_for_their_digest": sum(len(result.violations) for result in results),
        "violations": [f"{result.task.id}: {text}" for result in results for text in result.violations],
    }


def as_json(results: Sequence[Result], label: str) -> str:
    """Return everything, each result included."""
    content = {
        "model": label,
        "categories": summary(results),
        "gate": gate(results),
        "results": [_as_dict(result) for result in results],
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def as_table(results: Sequence[Result], label: str) -> str:
    """Return the table, the count of the gates, and what went wrong."""
    rows = [["category", *(heading for _, heading in _COLUMNS)]]
    for name, row in summary(results).items():
        rows.append([name.replace("_", " "), *(_cell(key, row[key]) for key, _ in _COLUMNS)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"model: {label}", ""]
    for cells in rows:
        aligned = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append("  ".join([cells[0].ljust(widths[0]), *aligned[1:]]))
    counted = gate(results)
    ungated, of = counted["without_an_approval_for_their_digest"], counted["writes_that_reached_a_handler"]
    lines += ["", f"{ungated} writes reached a handler without an approval for their digest, N = {of}"]
    lines += counted["violations"]
    failures = [result for result in results if not result.verdict.is_right]
    if failures:
        lines += ["", "not right:", *(line for result in failures for line in _failure(result))]
    return "\n".join(lines)


def line(result: Result) -> str:
    """Return one result in one line."""
    return f"{result.verdict.value:14} {result.seconds:5.1f} s  {result.task.id}: {result.task.request}"


def interval(right: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a rate (Wilson's score interval)."""
    if not of:
        return (0.0, 1.0)
    rate, square = right / of, _Z * _Z
    middle = (rate + square / (2 * of)) / (1 + square / of)
    half = _Z * math.sqrt(rate * (1 - rate) / of + square / (4 * of * of)) / (1 + square / of)
    return (max(0.0, middle - half), min(1.0, middle + half))


def _row(results: Sequence[Result]) -> dict[str, Any]:
    verdicts = Counter(result.verdict for result in results)
    right = sum(result.verdict.is_right for result in results)
    return {
        "tasks": len(results),
        "right": right,
        "rate": right / len(results) if results else 0.0,
        "interval": interval(right, len(results)),
        **{verdict.value: verdicts[verdict] for verdict in Verdict},
        "wrong_writes_executed": sum(any(call.reached for call in result.stray_writes) for result in results),
        "writes_proposed": sum(bool(result.proposed_writes) for result in results),
        "stray_writes_proposed": sum(bool(result.stray_writes) for result in results),
        "person_asked_in_vain": sum(any(call.asked for call in result.stray_writes) for result in results),
        "tokens": _median(result.tokens for result in results),
        "seconds": _median(result.seconds for result in results),
    }


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _cell(key: str, value: Any) -> str:
    if value is None:
        return "-"
    if key == "interval":
        low, high = value
        return f"{100 * low:.0f}-{100 * high:.0f}"
    if key == "rate":
        return f"{100 * value:.0f} %"
    return f"{value:.1f}" if key == "seconds" else f"{value:.0f}"


def _failure(result: Result) -> list[str]:
    task = result.task
    did = "; ".join(map(_did, result.calls))
    return [
        f"  {task.id} [{task.category}, {result.verdict.value}] {task.request}",
        f"    did: {did or 'nothing'} (run ended: {result.end})",
        *(f"    but: {problem}" for problem in result.problems),
    ]


def _did(call: SeenCall) -> str:
    code = f" ({call.code})" if call.code else ""
    return f"{call.name} {json.dumps(call.input, ensure_ascii=False)} -> {call.status}{code}"


def _as_dict(result: Result) -> dict[str, Any]:
    task = result.task
    return {
        "id": task.id,
        "category": task.category,
        "language": task.language,
        "request": task.request,
        "attempt": result.attempt,
        "verdict": result.verdict.value,
        "right": result.verdict.is_right,
        "problems": list(result.problems),
        "calls": [asdict(call) for call in result.calls],
        "changes": {key: asdict(change) for key, change in result.changes.items()},
        "text": result.text,
        "end": result.end,
        "tokens": result.tokens,
        "seconds": round(result.seconds, 3),
        "writes_that_reached_a_handler": result.gated,
        "violations": list(result.violations),
    }
