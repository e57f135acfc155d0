"""The command line: ``agentic-qt COMMAND``; each command lives where its work is and is loaded when it is asked for."""

import sys
from collections.abc import Sequence
from importlib import import_module

_COMMANDS = {
    "bench": ("agentic_qt.devtools.bench.command", "what a call costs, as multiples of the bare work"),
    "eval": ("agentic_qt.devtools.evaluation.command", "what a chat model gets done in an application, counted"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code (2: wrong usage)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given[0] if given else "--help"
    if name in ("--version", "-V"):
        print(f"agentic-qt {import_module('agentic_qt').__version__}")
        return 0
    if name in ("--help", "-h"):
        print(_usage())
        return 0
    if name not in _COMMANDS:
        print(f"agentic-qt: there is no command {name!r}\n\n{_usage()}", file=sys.stderr)
        return 2
    module, _ = _COMMANDS[name]
    return int(import_module(module).main(given[1:]))


def _usage() -> str:
    width = max(map(len, _COMMANDS))
    lines = "\n".join(f"  {name:{width}}  {purpose}" for name, (_, purpose) in _COMMANDS.items())
    return f"usage: agentic-qt COMMAND [--help] ...\n\ncommands:\n{lines}"
