"""``agentic-qt bench``: runs the rows and prints them as a table or as JSON."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict

from agentic_qt.devtools.bench import calls, paint, streaming
from agentic_qt.devtools.bench.measuring import Row
from agentic_qt.qt.loop import run


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 whatever the figures are, since they depend on the machine."""
    options = _parser().parse_args(arguments)
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    chosen = options.only or ["calls", "paint", "stream"]
    rows: list[Row] = []
    if "calls" in chosen:
        rows += _calls_on_the_gui_loop(options.rounds, options.repetitions)
        rows += calls.measure_plain(options.rounds, options.repetitions)
    if "paint" in chosen:
        rows += paint.measure(max(3, options.rounds // 3))
    if "stream" in chosen:
        rows += streaming.measure()
    print(_as_json(rows) if options.json else _as_table(rows))
    return 0


def _calls_on_the_gui_loop(rounds: int, repetitions: int) -> list[Row]:
    rows: list[Row] = []

    async def measure() -> None:
        rows.extend(await calls.measure(rounds, repetitions, "GUI loop"))

    run(measure)
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentic-qt bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=15, help="how often the rows take turns (15)")
    parser.add_argument("--repetitions", type=int, default=1000, help="calls in each turn (1000)")
    parser.add_argument("--only", action="append", choices=["calls", "paint", "stream"], help="only these rows")
    return parser


def _as_json(rows: list[Row]) -> str:
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    return json.dumps({"machine": machine, "rows": [asdict(row) | {"within": row.within} for row in rows]}, indent=1)


def _as_table(rows: list[Row]) -> str:
    width = max(len(row.name) for row in rows)
    lines = [f"{'row':{width}}  {'median':>10}     {'ratio':>6}  limit"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}x"
        limit = "" if row.limit is None else f"{row.limit:g}{'x' if row.ratio is not None else ' ' + row.unit}"
        mark = "" if row.limit is None else "  ok" if row.within else "  OVER"
        lines.append(f"{row.name:{width}}  {row.value:10.2f} {row.unit:3} {ratio:>6}  {limit}{mark}")
    return "\n".join(lines)
