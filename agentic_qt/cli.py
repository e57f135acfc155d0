"""The command line: ``agentic-qt COMMAND``; each command lives where its work is and is loaded when it is asked for."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

_COMMANDS = {
    "bench": ("agentic_qt.devtools.bench.command", "what a call costs, as multiples of the bare work"),
    "commands": ("agentic_qt.devtools.commands_command", "what a store of commands holds; serve it over HTTP"),
    "designer": ("agentic_qt.devtools.designer_command", "Qt Designer, with the assistant in its box and its menus"),
    "model": ("agentic_qt.devtools.model_command", "the weights of embedded chat models: fetch, list"),
    "eval": ("agentic_qt.devtools.evaluation.command", "what a chat model gets done in an application, counted"),
    "lint": ("agentic_qt.devtools.lint_command", "what to mend in the forms of a .ui file or a class"),
    "forms": ("agentic_qt.devtools.forms_command", "the tools that the forms of a .ui file declare"),
}

BROKEN_PIPE = 128 + 13
"""What a shell reports of a program that SIGPIPE ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code (2: wrong usage; 141: nobody reads any more what it prints)."""
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None:  # a program without a console has none
                sys.stdout.flush()  # here, and not when the interpreter ends: then the error could not be caught
    except BrokenPipeError:
        _drop_broken_streams()
        return BROKEN_PIPE


def _run(arguments: Sequence[str] | None) -> int:
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
    try:
        command = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith(__package__ or ""):
            raise
        print(f"agentic-qt {name}: {error.name} is not installed; see the extras of agentic-qt", file=sys.stderr)
        return 2
    return int(command.main(given[1:]))


def _drop_broken_streams() -> None:
    """Lead what nobody reads to nowhere, as Python's documentation says.

    What could not be written may still be in a stream, and Python would try once more, and complain, when it ends.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _usage() -> str:
    width = max(map(len, _COMMANDS))
    lines = "\n".join(f"  {name:{width}}  {purpose}" for name, (_, purpose) in _COMMANDS.items())
    return f"usage: agentic-qt COMMAND [--help] ...\n\ncommands:\n{lines}"
