"""Splitting a growing text into what is finished and what is open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_qt.ui.markdown import CodeClose, CodeOpen, CodeText, Prose, Splitter, split

LINES = st.sampled_from(
    ["", "word", "  more", "- item", "1. item", "```", "```py", "~~~", "````", "    code", "# Head", "x`y", "\t", "> q"]
)


def joined(parts):
    """The same parts whatever the pieces were: code slices are joined."""
    found = []
    for part in parts:
        if isinstance(part, CodeText) and found and isinstance(found[-1], CodeText):
            found[-1] = CodeText(text=found[-1].text + part.text)
        else:
            found.append(part)
    return found


@given(st.lists(LINES, max_size=30), st.lists(st.integers(1, 9), min_size=1, max_size=10))
def test_the_pieces_in_which_a_text_arrives_make_no_difference(lines, sizes):
    text = "\n".join(lines)
    splitter, parts, place, turn = Splitter(), [], 0, 0
    while place < len(text):
        size = sizes[turn % len(sizes)]
        parts += splitter.feed(text[place : place + size])
        place, turn = place + size, turn + 1
    parts += splitter.finish()
    assert parts == split(text)


@given(st.lists(LINES, max_size=40))
def test_no_word_is_lost_and_every_code_block_is_closed(lines):
    parts = split("\n".join(lines))
    kept = "".join(part.text for part in parts if isinstance(part, Prose | CodeText))
    for word in ("word", "item", "Head", "q"):
        assert kept.count(word) == "\n".join(lines).count(word)
    assert sum(isinstance(part, CodeOpen) for part in parts) == sum(isinstance(part, CodeClose) for part in parts)


def test_a_paragraph_is_finished_when_the_next_one_begins():
    splitter = Splitter()
    assert splitter.feed("One.\n\n") == []
    assert splitter.feed("Two.\n") == [Prose(text="One.\n\n")]
    assert splitter.tail == "Two.\n"


def test_a_list_with_blank_lines_stays_one_list():
    assert split("1. a\n\n2. b\n\n   more of b\n\nEnd.") == [
        Prose(text="1. a\n\n2. b\n\n   more of b\n\n"),
        Prose(text="End."),
    ]


def test_code_keeps_its_blank_lines_and_its_language():
    assert split("```python\na\n\nb\n```\nafter") == [
        CodeOpen(language="python"),
        CodeText(text="a\n\nb\n"),
        CodeClose(),
        Prose(text="after"),
    ]


def test_a_shorter_fence_inside_does_not_close_the_code():
    assert joined(split("````\n```\n````\n")) == [CodeOpen(language=""), CodeText(text="```\n"), CodeClose()]


def test_a_closing_fence_that_is_still_arriving_is_not_shown_as_code():
    splitter = Splitter()
    splitter.feed("```\ncode\n```")
    assert splitter.in_code
    assert splitter.tail == "code\n"


def test_the_rest_of_an_open_code_block_is_code():
    assert split("```\nhalf") == [CodeOpen(language=""), CodeText(text="half"), CodeClose()]


@pytest.mark.parametrize(("line", "before"), [("x = 1\n", "```\n"), ("- item\n", "")])
def test_the_open_tail_of_a_long_listing_stays_short(line, before):
    splitter = Splitter()
    splitter.feed(before)
    longest = 0
    for _ in range(2000):
        splitter.feed(line)
        longest = max(longest, splitter.tail.count("\n"))
    assert longest <= 31
