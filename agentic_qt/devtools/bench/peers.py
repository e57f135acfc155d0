"""Other libraries to be compared with, installed into an environment of their own and nowhere else."""

import subprocess
import sys
import venv
from pathlib import Path

from platformdirs import user_cache_path

APP_MODEL = "app-model==0.5.1"


def environment() -> Path:
    """Return the interpreter of an environment in the user's cache that has the peers; made at the first use.

    Raises:
        RuntimeError: They could not be installed.
    """
    folder = user_cache_path("agentic-qt") / "bench-peers"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    installed = folder / "installed"
    if not installed.exists() or installed.read_text() != APP_MODEL:
        venv.create(folder, with_pip=True, clear=True)
        done = subprocess.run(  # noqa: S603 - our own environment's pip
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", APP_MODEL],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{APP_MODEL} could not be installed: {done.stderr[-500:]}")
        installed.write_text(APP_MODEL)
    return python
