"""The event stream decoder: bytes cut anywhere give the same events."""

import itertools

import pytest

from agentic_qt.client.sse import ServerEvent, SseDecoder


def decode(*pieces: bytes) -> list[ServerEvent]:
    decoder = SseDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [*events, *decoder.end()]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_any_line_end_of_the_standard_ends_a_line(newline: bytes) -> None:
    body = newline.join([b": comment", b"event: error", b"data: one", b"data:two", b"id: 7", b"", b"data: x", b""])
    assert decode(body) == [ServerEvent(data="one\ntwo", event="error"), ServerEvent(data="x")]


def test_where_the_bytes_are_cut_changes_nothing() -> None:
    first = "\ufeffdata: \u00e9\u2028\u00fc\r\ndata: two\r\n\r\n: comment\r\n\r\n"
    body = f"{first}event: error\rdata: {{}}\r\rdata: [DONE]\n\n".encode()
    expected = [
        ServerEvent(data="\u00e9\u2028\u00fc\ntwo"),
        ServerEvent(data="{}", event="error"),
        ServerEvent(data="[DONE]"),
    ]
    for one, two in itertools.combinations_with_replacement(range(len(body) + 1), 2):
        assert decode(body[:one], body[one:two], body[two:]) == expected, (one, two)
    assert decode(*(bytes([byte]) for byte in body)) == expected


def test_an_event_is_told_as_soon_as_its_blank_line_is_there() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: 1\n") == []
    assert decoder.feed(b"\nda") == [ServerEvent(data="1")]


def test_the_last_event_needs_no_blank_line() -> None:
    assert decode(b"data: 1\n\ndata: [DONE]") == [ServerEvent(data="1"), ServerEvent(data="[DONE]")]


def test_a_bare_json_line_is_an_event() -> None:
    assert decode(b'data: 1\n\n{"error": "gone"}\n') == [
        ServerEvent(data="1"),
        ServerEvent(data='{"error": "gone"}'),
    ]
