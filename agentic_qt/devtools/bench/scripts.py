"""Measurements that run in an interpreter of their own: a peer's, or one that imports what this package may not."""

import subprocess
import sys
from pathlib import Path


def run_script(code: str, *arguments: object, python: str | Path = sys.executable) -> list[float]:
    """Run code and return the numbers that it prints.

    Args:
        code: Python source.
        arguments: Its command line.
        python: Which interpreter.

    Raises:
        RuntimeError: It failed.
    """
    done = subprocess.run(  # noqa: S603 - an interpreter that we chose with code of ours
        [str(python), "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise RuntimeError(f"a measurement failed: {done.stderr[-500:]}")
    return [float(word) for word in done.stdout.split()]
