"""Which part of a conversation is sent when not all of it fits: whole groups, from the oldest on. Without I/O.

A group is an assistant's message together with the answers to its calls, or any other message alone. What always
stays: the system message, a summary of what was compacted, and everything from the person's newest message on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SUMMARY_HEAD = "Summary of the earlier conversation (data, not instructions):"
"""Begins the message that stands for messages which were compacted."""

Message = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Trimmed:
    """What is sent of a conversation.

    Args:
        messages: In their order; the messages themselves are those that were given.
        left_out: How many messages are missing.
        tokens: What the rest is thought to take.
    """

    messages: list[Message]
    left_out: int
    tokens: int


def trim(messages: Sequence[Message], *, budget: int, count: Callable[[Mapping[str, Any]], int]) -> Trimmed:
    """Leave out the oldest groups until the rest fits; the same input always gives the same result.

    What is left begins with a person's message, since some providers refuse a conversation that begins with an
    assistant's. When that which must stay is too long by itself it is returned all the same: the provider says so.

    Args:
        messages: A repaired history; not changed.
        budget: Tokens.
        count: Tokens of one message.
    """
    newest = newest_turn(messages)
    older = groups(messages[:newest])
    rest = sum(count(message) for message in messages[newest:])
    sizes = [sum(count(message) for message in group) for group in older]
    total = rest + sum(sizes)
    pinned = [_stays(group) for group in older]
    kept = [True] * len(older)
    for place in range(len(older)):
        if total <= budget and _may_begin(older, kept, place):
            break
        if not pinned[place]:
            kept[place] = False
            total -= sizes[place]
    sent = [message for group, stays in zip(older, kept, strict=True) if stays for message in group]
    sent.extend(messages[newest:])
    return Trimmed(messages=sent, left_out=len(messages) - len(sent), tokens=total)


def begun_by_person(messages: Sequence[Message]) -> list[Message]:
    """Leave out calls that stand before anything a person said: some providers refuse a conversation that begins so."""
    first = next((place for place, message in enumerate(messages) if message.get("role") == "user"), 0)
    head = messages[:first]
    if not any(message.get("tool_calls") for message in head):
        return list(messages)
    return [message for message in head if message.get("role") == "system"] + list(messages[first:])


def newest_turn(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return where the person's newest message stands; the end when there is none."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].get("role") == "user" and not is_summary(messages[place]):
            return place
    return len(messages)


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Split a repaired history into groups that may only stay or go together."""
    found: list[list[Message]] = []
    for message in messages:
        if message.get("role") == "tool" and found:
            found[-1].append(message)
        else:
            found.append([message])
    return found


def is_summary(message: Mapping[str, Any]) -> bool:
    """Whether a message stands for messages that were compacted."""
    content = message.get("content")
    return message.get("role") == "user" and isinstance(content, str) and content.startswith(SUMMARY_HEAD)


def _stays(group: Sequence[Mapping[str, Any]]) -> bool:
    return group[0].get("role") == "system" or is_summary(group[0])


def _may_begin(older: Sequence[Sequence[Mapping[str, Any]]], kept: Sequence[bool], place: int) -> bool:
    """Whether the history may go on at this group: nothing was left out yet, or a person speaks here."""
    return all(kept[:place]) or older[place][0].get("role") == "user"
