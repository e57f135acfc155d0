"""Finds the files of ``resources/``: in an installed package and in a checkout. Reads nothing but our own files."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable


def resource(*parts: str) -> Traversable:
    """Return a file of ours, such as ``resource("icons", "send.svg")``.

    A wheel holds the folder inside the package; a checkout has it beside the package.

    Raises:
        FileNotFoundError: There is no such file.
    """
    for root in _roots():
        found = root.joinpath("resources", *parts)
        if found.is_file():
            return found
    raise FileNotFoundError("/".join(("resources", *parts)))


@cache  # the look-up costs over a millisecond
def _roots() -> tuple[Traversable, Traversable]:
    package = files("agentic_qt")
    return package, package.joinpath("..")
