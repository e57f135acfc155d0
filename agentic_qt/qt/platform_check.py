"""Refuses combinations of Python and PySide6 that are known to crash; loads no library of Qt."""

import sys

import PySide6

BROKEN_PYSIDE = "6.12.0"
FIXED_BY_PYTHON = (3, 12)


def check_platform(pyside: str | None = None, python: tuple[int, int] | None = None) -> None:
    """Refuse PySide6 6.12.0 on Python older than 3.12.

    That build drops a reference to None in every call that an event drives, and aborts after some thousands.

    Args:
        pyside: Version of PySide6; the installed one when None.
        python: Major and minor version of Python; the running one when None.

    Raises:
        ImportError: The pair is the broken one; the message says what to install.
    """
    found = PySide6.__version__ if pyside is None else pyside
    running = sys.version_info[:2] if python is None else python
    if found == BROKEN_PYSIDE and running < FIXED_BY_PYTHON:
        raise ImportError(
            f"PySide6 {found} crashes on Python {running[0]}.{running[1]} (it loses references to None). Install "
            f'another version (pip install "PySide6-Essentials!={BROKEN_PYSIDE}") or use Python 3.12 or newer.'
        )
