"""``agentic-qt designer``: starts Qt Designer with the plugin, and with everything that the plugin needs."""

import argparse
import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

DONE, FAILED = 0, 1

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_START: Final = "from PySide6.scripts.pyside_tool import designer; designer()"
"""What the script pyside6-designer runs; it may be missing from PATH, and this is not."""


def main(arguments: Sequence[str]) -> int:
    """Start Designer and wait for its end; returns its exit code, 1 when it could not be started."""
    options = _parser().parse_args(arguments)
    lost = next((name for name in options.file if not Path(name).is_file()), None)
    if lost is not None:  # Designer would say so in a dialog, and stay open
        print(f"agentic-qt designer: {lost}: there is no such file", file=sys.stderr)
        return FAILED
    plugin = plugin_folder()
    missing = missing_library()
    if plugin is None or missing:
        print(f"agentic-qt designer: {missing or 'the plugin is not installed'}", file=sys.stderr)
        return FAILED
    given = dict(os.environ)
    if needs_offscreen(given):
        print("agentic-qt designer: there is no display; Designer runs where nobody sees it", file=sys.stderr)
    command = [sys.executable, "-c", _START, *options.file]
    return subprocess.call(command, env=environment(given, plugin))  # noqa: S603 - our own interpreter


def environment(given: Mapping[str, str], plugin: Path) -> dict[str, str]:
    """Return an environment in which Designer finds the plugin, this Python and this library."""
    made = dict(given)
    made["PATH"] = _before(Path(sys.executable).parent, given.get("PATH"))
    made["PYTHONPATH"] = _before(_PACKAGE.parent, given.get("PYTHONPATH"))
    made["PYSIDE_DESIGNER_PLUGINS"] = _before(plugin, given.get("PYSIDE_DESIGNER_PLUGINS"))
    if sys.prefix != sys.base_prefix:
        made["VIRTUAL_ENV"] = sys.prefix  # its embedded Python would take the system's packages
    if needs_offscreen(given):
        made["QT_QPA_PLATFORM"] = "offscreen"
    return made


def needs_offscreen(given: Mapping[str, str]) -> bool:
    """Return whether Qt would abort, since there is no display and no platform is named."""
    named = any(given.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
    return sys.platform.startswith("linux") and not named


def plugin_folder() -> Path | None:
    """Return the folder that Designer loads: in the installed library, or beside it in a copy of the source."""
    places = (_PACKAGE / "designer", _PACKAGE.parent / "designer")
    return next((place for place in places if (place / "register_agentic_qt.py").is_file()), None)


def missing_library() -> str:
    """Return what to do when this Python has no shared library, which Designer embeds; empty when it is there."""
    if not sys.platform.startswith("linux"):
        return ""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = f"libpython{version}{sys.abiflags}.so"
    if any((folder / name).exists() for folder in _library_folders()):
        return ""
    if sys.base_prefix == "/usr":
        return f"Designer needs {name}: apt-get install libpython{version}-dev"
    return f"Designer needs {name}, which the Python in {sys.base_prefix} lacks: build it with --enable-shared"


def _library_folders() -> list[Path]:
    named = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    multiarch = sysconfig.get_config_var("MULTIARCH")
    folders = [sysconfig.get_config_var("LIBDIR"), "/usr/lib", "/usr/lib64", "/lib", "/usr/local/lib", *named]
    if multiarch:
        folders += [f"/usr/lib/{multiarch}", f"/lib/{multiarch}"]
    return [Path(folder) for folder in folders if folder]


def _before(first: Path, others: str | None) -> str:
    return f"{first}{os.pathsep}{others}" if others else str(first)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentic-qt designer", description="Qt Designer, with the assistant in its widget box and its menus."
    )
    parser.add_argument("file", nargs="*", metavar="FILE.ui", help="forms to open")
    return parser
