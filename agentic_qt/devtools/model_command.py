"""``agentic-qt model``: the weights of embedded chat models on this computer."""

import argparse
import sys
from collections.abc import Sequence

from agentic_qt.client.weights import (
    SMOLLM2,
    SMOLLM2_SHA256,
    WeightsError,
    checksum,
    fetch_smollm2,
    listed,
    models_folder,
)

DONE, FAILED = 0, 1
_MEGABYTE = 1_000_000


def main(arguments: Sequence[str]) -> int:
    """Fetch or list weights; 0 when that was done, 1 when it was not, 2 on wrong usage."""
    parser = argparse.ArgumentParser(prog="agentic-qt model", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    fetch = commands.add_parser("fetch", help="put weights into your data folder, their checksum verified")
    fetch.add_argument("name", choices=[SMOLLM2], help="which (smollm2: SmolLM2 135M, 98 MB, Apache-2.0)")
    commands.add_parser("list", help="list the weights that are here")
    options = parser.parse_args(arguments)
    return _fetch() if options.command == "fetch" else _list()


def _fetch() -> int:
    shown = -1

    def tell(step: str, done: int, size: int) -> None:
        nonlocal shown
        percent = 100 * done // size if size else -1
        if not size:
            print(step, file=sys.stderr, flush=True)
        elif percent // 10 != shown:
            shown = percent // 10
            print(f"{step} {percent:3} % of {size / _MEGABYTE:.0f} MB", file=sys.stderr, flush=True)

    try:
        path = fetch_smollm2(tell)
    except WeightsError as error:
        print(f"agentic-qt model: {error}", file=sys.stderr)
        return FAILED
    print(path)
    return DONE


def _list() -> int:
    found = listed()
    if not found:
        print(f"No weights are in {models_folder()}; try: agentic-qt model fetch {SMOLLM2}")
    for path in found:
        known = "SmolLM2 135M, verified" if checksum(path) == SMOLLM2_SHA256 else "not known by name"
        print(f"{path}  {path.stat().st_size / _MEGABYTE:.0f} MB  {known}")
    return DONE
