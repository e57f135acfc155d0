"""``agentic-qt bench``: runs the rows and prints them as a table or as JSON."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec

from agentic_qt.devtools.bench import calls, digests, forms, paint, peers, registering, searching, streaming, tools
from agentic_qt.devtools.bench.measuring import Row
from agentic_qt.devtools.bench.scripts import run_script
from agentic_qt.qt.loop import run

LEAST_COMMANDS = 0.8
"""Commands/s divided by the fdatasync/s of the same run."""
IN_FLIGHT = 8
"""As in `commanding`, which this module may not import."""


def main(arguments: Sequence[str]) -> int:
    """Run the benchmark; 0 whatever the figures are, since they depend on the machine."""
    options = _parser().parse_args(arguments)
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    rows = [row for name in options.names or _MEASUREMENTS for row in _MEASUREMENTS[name](options)]
    print(_as_json(rows) if options.json else _as_table(rows))
    return 0


def _calls(options: argparse.Namespace) -> list[Row]:
    on_the_gui_loop = _calls_on_the_gui_loop(options.rounds, options.repetitions)
    return on_the_gui_loop + calls.measure_plain(options.rounds, options.repetitions)


def _calls_on_the_gui_loop(rounds: int, repetitions: int) -> list[Row]:
    rows: list[Row] = []

    async def measure() -> None:
        rows.extend(await calls.measure(rounds, repetitions, "GUI loop"))

    run(measure)
    return rows


def _few(options: argparse.Namespace) -> int:
    """Return how often the slow rows take turns."""
    rounds: int = options.rounds
    return max(3, rounds // 3)


def _commands(options: argparse.Namespace) -> list[Row]:
    if find_spec("sqlalchemy") is None:
        print("commands: not measured, the extra of that name is not installed", file=sys.stderr)
        return []
    script = "from agentic_qt.devtools.bench.commanding import main; main()"  # it imports what this module may not
    page, *measured = run_script(script, _few(options), max(IN_FLIGHT, options.repetitions // 5))
    names = ("one at a time", f"{IN_FLIGHT} in flight")
    return [
        Row(name="write 4 kB and fdatasync (wall time)", value=page * 1e6, unit="us"),
        *(_command_row(*each) for each in zip(names, measured[:2], measured[2:], strict=True)),
    ]


def _command_row(how: str, seconds: float, ratio: float) -> Row:
    rate = f"commands/s by fdatasync/s {1 / ratio:.2f}, should be {LEAST_COMMANDS:g} or more"
    name, limit = f"a command on SQLite, one writer, {how} ({rate})", 1 / LEAST_COMMANDS
    return Row(name=name, value=seconds * 1e6, unit="us", ratio=ratio, base="fdatasync", limit=limit)


_MEASUREMENTS: Mapping[str, Callable[[argparse.Namespace], list[Row]]] = {
    "calls": _calls,
    "paint": lambda options: paint.measure(_few(options)),
    "stream": lambda _: streaming.measure(),
    "tools": lambda options: tools.measure(options.rounds, options.repetitions),
    "register": lambda options: registering.measure(_few(options), peers.environment() if options.peers else None),
    "digest": lambda options: digests.measure(options.rounds),
    "search": lambda options: searching.measure(_few(options)),
    "forms": lambda options: forms.measure(_few(options)),
    "commands": _commands,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentic-qt bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=_count, default=15, help="how often the rows take turns (15)")
    parser.add_argument("--repetitions", type=_count, default=1000, help="calls in each turn (1000)")
    parser.add_argument("names", nargs="*", type=_name, metavar="NAME", help=f"only these: {', '.join(_MEASUREMENTS)}")
    parser.add_argument("--peers", action="store_true", help="compare with app-model too, in a folder of its own")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def _name(text: str) -> str:
    if text not in _MEASUREMENTS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(_MEASUREMENTS)}")
    return text


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
