"""``agentic-qt forms schema FILE.ui``: prints the tools that the forms of a .ui file declare."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import shiboken6
from PySide6.QtWidgets import QApplication, QWidget

from agentic_qt.devtools.ui_file import UiFileError, load
from agentic_qt.qt.forms.synthesise import synthesise

_NOTHING_FOUND: Final = 1
_WRONG_USAGE: Final = 2


def main(arguments: Sequence[str]) -> int:
    """Run the command.

    Returns:
        0: tools were printed; 1: the file declares none; 2: it cannot be read.
    """
    options = _parser().parse_args(arguments)
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    _application = QApplication.instance() or QApplication([])
    try:
        loaded = load(options.file)
    except UiFileError as error:
        print(f"agentic-qt forms: {error}", file=sys.stderr)
        return _WRONG_USAGE
    found = list(tools_of(loaded, options.profile))
    shiboken6.delete(loaded)  # before the application, which goes with this function
    print(json.dumps(found, indent=2, ensure_ascii=False))
    return 0 if found else _NOTHING_FOUND


def tools_of(root: QWidget, profile: str) -> Iterator[dict[str, Any]]:
    """Yield the tool of each form in a window, the outer ones first."""
    for widget in (root, *root.findChildren(QWidget)):
        tool = synthesise(widget, "chromium" if profile == "chromium" else "strict")
        if tool is not None:
            yield tool


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentic-qt forms", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    schema = commands.add_parser("schema", help="print the tools of a .ui file as JSON")
    schema.add_argument("file", type=Path, help="the .ui file")
    schema.add_argument(
        "--profile", choices=("chromium", "strict"), default="strict", help="how the schema says it (strict)"
    )
    return parser
