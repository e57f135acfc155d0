"""``agentic-qt eval``: what a chat model gets done in an application, counted.

Without ``--tasks``: those of the examples, where the command runs in a copy of the source.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from agentic_qt.client.chat_model import ChatModelError
from agentic_qt.devtools.evaluation import report
from agentic_qt.devtools.evaluation.chat_models import Source, UnknownModelError, choose
from agentic_qt.devtools.evaluation.harness import Result, evaluate, unreachable
from agentic_qt.devtools.evaluation.tasks import Task, TaskFileError, load
from agentic_qt.qt.loop import run

DONE, FAILED, USAGE = 0, 1, 2
_ROOT = Path(__file__).resolve().parents[3]


def main(arguments: Sequence[str]) -> int:
    """Run the evaluation; 0 when it ran, whatever the figures are; 2: wrong usage, 1: it could not be run."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        tasks = _chosen(load(options.tasks or default_files()), options.category, options.limit)
        source = choose(options.model, options.name)
    except (TaskFileError, UnknownModelError) as error:
        print(f"agentic-qt eval: {error}", file=sys.stderr)
        return USAGE
    # Applications live where the command is run, or beside the library in a copy of the source.
    sys.path[:0] = [place for place in (str(Path.cwd()), str(_ROOT)) if place not in sys.path]
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    qInstallMessageHandler(_without_window_manager)
    results: list[Result] = []
    code = run(lambda: _evaluate(tasks, source, options, results))
    if code == DONE:
        print(report.as_json(results, source.label) if options.json else report.as_table(results, source.label))
    return code


def default_files() -> list[Path]:
    """Return the task files of the examples.

    Raises:
        TaskFileError: They are not there: the library was installed without its source.
    """
    found = sorted((_ROOT / "examples").glob("*/tasks*.json"))
    if not found:
        raise TaskFileError("there are no examples here; say which tasks with --tasks FILE")
    return found


async def _evaluate(tasks: Sequence[Task], source: Source, options: argparse.Namespace, results: list[Result]) -> int:
    total = len(tasks) * options.repeat

    def tell(result: Result) -> None:
        results.append(result)
        print(f"{len(results):4}/{total} {report.line(result)}", file=sys.stderr, flush=True)

    try:
        await evaluate(tasks, source, repeat=options.repeat, seconds=options.seconds, tell=tell)
    except TaskFileError as error:
        print(f"agentic-qt eval: {error}", file=sys.stderr)
        return USAGE
    except ChatModelError as error:
        print(f"agentic-qt eval: {unreachable(error)}", file=sys.stderr)
        return FAILED
    finally:
        await source.aclose()
    return DONE


def _chosen(tasks: Sequence[Task], categories: Sequence[str] | None, limit: int | None) -> list[Task]:
    known = {task.category for task in tasks}
    unknown = set(categories or ()) - known
    if unknown:
        raise TaskFileError(f"there is no category {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return [task for task in tasks if not categories or task.category in categories][:limit]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentic-qt eval", description=__doc__)
    parser.add_argument(
        "--model", help="embedded (default), openai (OPENAI_BASE_URL, _API_KEY, _MODEL), a base URL, or scripted:FILE"
    )
    parser.add_argument("--name", help="the model's name at an endpoint")
    parser.add_argument("--tasks", action="append", type=Path, metavar="FILE", help="a task file; may be repeated")
    parser.add_argument("--category", action="append", help="only tasks of this category; may be repeated")
    parser.add_argument("--limit", type=_positive, help="only the first so many tasks")
    parser.add_argument("--repeat", type=_positive, default=1, help="run each task so often (1)")
    parser.add_argument("--seconds", type=_positive, default=120, help="stop a run after so many seconds (120)")
    parser.add_argument("--json", action="store_true", help="print JSON, each result included")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _without_window_manager(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    """Print what Qt has to say, but not that nobody takes size hints, which offscreen it says of every dialog."""
    if kind != QtMsgType.QtDebugMsg and "propagateSizeHints" not in text:
        print(text, file=sys.stderr)
