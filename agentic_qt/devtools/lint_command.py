"""``agentic-qt lint``: what to mend in the forms of a .ui file or of a class, with lines where there are some."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path

import shiboken6
from PySide6.QtWidgets import QApplication, QWidget

from agentic_qt.devtools.ui_file import UiFile, UiFileError, load, read_lines
from agentic_qt.qt.forms.lint import Finding, lint_window

_NAMES = frozenset({
    "toolName", "toolParamName", "toolParamType", "toolRisk", "toolSubmitButton", "toolValue", "toolItemValues",
    "toolDependsOn",
})  # fmt: skip
"""Properties that are names: in another language they would mean something else."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings; returns 0 for none, 1 for some, 2 when the form cannot be looked at."""
    parser = argparse.ArgumentParser(prog="agentic-qt lint", description=__doc__)
    parser.add_argument("form", help="a .ui file, or module:Class of a widget that is made without arguments")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    given = parser.parse_args(arguments)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # nothing is shown
    _application = QApplication.instance() or QApplication([])
    try:
        findings = lint_file(Path(given.form)) if given.form.endswith(".ui") else lint_class(given.form)
    except (UiFileError, LintError) as error:
        print(f"agentic-qt lint: {error}", file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            place = f"{given.form}:{finding.line}" if finding.line is not None else given.form
            print(f"{place}: {finding.code}: {finding.message}")
    return 1 if findings else 0


def lint_file(path: Path) -> list[Finding]:
    """Return the findings of a .ui file, in the order of its lines.

    Raises:
        UiFileError: It cannot be read, or makes no widget.
    """
    lines = read_lines(path)
    widget = load(path)
    try:
        findings = [replace(finding, line=lines.widgets.get(finding.widget)) for finding in lint_window(widget)]
    finally:
        shiboken6.delete(widget)  # now: no event loop will turn, and it must go before the application
    return sorted([*findings, *_lint_translations(lines)], key=lambda finding: finding.line or 0)


def lint_class(name: str) -> list[Finding]:
    """Return the findings of ``module:Class``, which is made without arguments.

    Raises:
        LintError: There is no such class, or it makes no widget.
    """
    module, _, attribute = name.partition(":")
    if not attribute:
        raise LintError(f"{name!r} is neither a .ui file nor module:Class")
    sys.path.insert(0, str(Path.cwd()))
    try:
        widget = getattr(import_module(module), attribute)()
    except (Exception, SystemExit) as error:  # a module without a guard around its main() ends the program
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise LintError(f"{name} cannot be made: {said}") from error
    finally:
        sys.path.pop(0)
    if not isinstance(widget, QWidget):
        raise LintError(f"{name} makes no widget")
    try:
        return lint_window(widget)
    finally:
        shiboken6.delete(widget)  # now: no event loop will turn, and it must go before the application


class LintError(Exception):
    """There is nothing to look at."""


def _lint_translations(lines: UiFile) -> list[Finding]:
    return [
        Finding(
            code="missing_notr",
            message=f'{text.widget} has the name {text.name} as a text for translators: set notr="true"',
            widget=text.widget,
            line=text.line,
        )
        for text in lines.texts
        if text.translatable and text.name in _NAMES
    ]
