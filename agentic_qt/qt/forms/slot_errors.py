"""What escapes from slots: Qt gives it to ``sys.excepthook``, and the call that emitted the signal returns normally.

While code of ours presses a button for a call, such an error is the call's. A slot that runs a nested event loop lets
other slots run meanwhile; an error of theirs is counted too, since nobody can tell whose it was.
"""

import sys
import threading
from types import TracebackType
from typing import Self


class SlotErrors:
    """Notes what escapes from slots of this thread inside a ``with``; whoever was told before is told all the same.

    Attributes:
        first: The first error; None when there was none.
    """

    def __init__(self) -> None:
        self.first: BaseException | None = None
        self._thread = threading.get_ident()
        self._before = sys.excepthook
        self._hook = self._note  # one object: each access to a method makes another
        self._active = False

    def __enter__(self) -> Self:
        self._before = sys.excepthook
        sys.excepthook = self._hook
        self._active = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._active = False
        # A hook that was put over ours meanwhile stays; ours only passes on from now.
        if sys.excepthook is self._hook:
            sys.excepthook = self._before

    def _note(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if self._active and self.first is None and threading.get_ident() == self._thread:
            self.first = error
        self._before(kind, error, trace)
