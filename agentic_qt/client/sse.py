"""Bytes of an event stream become events. Without I/O, and without knowing what an event means.

The client library's own decoder swallows ``[DONE]``, which is what tells a complete stream from a cut one.
Lines are split as bytes, because ``str.splitlines`` breaks JSON that holds U+2028.
Source: WHATWG HTML, "Server-sent events".
"""

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerEvent:
    """One event: its data lines joined by a newline, and its name where one was given."""

    data: str
    event: str | None = None


class SseDecoder:
    """Feed bytes as they come, cut anywhere; take complete events out.

    One leniency beyond the standard: a line that begins with ``{`` is an event of its own, because some
    servers write a bare JSON error into a stream that has begun.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanned = 0
        self._data: list[str] = []
        self._event: str | None = None
        self._first = True

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """Take a piece of the body and return the events that it completes."""
        self._buffer += piece
        events: list[ServerEvent] = []
        start = 0
        # The scan goes on where the last one ended, so that a long line in small pieces costs no square.
        for match in _LINE_END.finditer(self._buffer, self._scanned):
            if match.end() == len(self._buffer) and match.group() == b"\r":
                break  # its newline may be in the next piece
            events += self._line(bytes(self._buffer[start : match.start()]))
            start = match.end()
        del self._buffer[:start]
        self._scanned = max(len(self._buffer) - 1, 0)
        return events

    def end(self) -> list[ServerEvent]:
        """Return what is left when the body has ended, also without the blank line that should close it."""
        rest = bytes(self._buffer).rstrip(b"\r")
        self._buffer.clear()
        self._scanned = 0
        events = self._line(rest) if rest else []
        return events + self._dispatch()

    def _line(self, raw: bytes) -> list[ServerEvent]:
        if self._first:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
            self._first = False
        line = raw.decode("utf-8", errors="replace")
        if not line:
            return self._dispatch()
        if line.startswith("{"):
            return [ServerEvent(data=line, event=self._event)]
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        return []  # comments, ids, retry times and unknown fields say nothing to us

    def _dispatch(self) -> list[ServerEvent]:
        data, event = self._data, self._event
        self._data, self._event = [], None
        return [ServerEvent(data="\n".join(data), event=event)] if data else []
