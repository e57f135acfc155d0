"""The steps of one request: its clauses, each decided alone, with what earlier steps were about and gave back."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentic_qt.client.decoding import Decision, Decoder
from agentic_qt.client.decoding_verbs import says_what_to_do
from agentic_qt.client.decoding_words import clauses_of, words_in

_DEEPEST = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a request is.

    Args:
        clauses: What it asks for, one after the other.
        done: The arguments of the steps that were made.
        outcome: The last outcome, as the model reads it; None: nothing was done yet.
        returned: Texts that outcomes of this request held, by their field; of several different ones none is kept.
    """

    clauses: tuple[str, ...]
    done: tuple[Mapping[str, Any], ...] = ()
    outcome: str | None = None
    returned: Mapping[str, str] | None = None

    @classmethod
    def of(cls, messages: Sequence[Mapping[str, Any]], commands: frozenset[str]) -> "Progress":
        """Read a conversation from its last request on.

        Args:
            messages: OpenAI Chat Completions messages.
            commands: Words that say what to do.
        """
        start = next((place for place in reversed(range(len(messages))) if messages[place]["role"] == "user"), -1)
        rest = messages[start + 1 :]
        calls = [call for message in rest for call in message.get("tool_calls") or ()]
        outcomes = [str(message.get("content")) for message in rest if message["role"] == "tool"]
        return cls(
            clauses=clauses_of(last_words(messages), commands),
            done=tuple(_mapping(call["function"]["arguments"]) for call in calls),
            outcome=outcomes[-1] if outcomes and rest[-1]["role"] == "tool" else None,
            returned=_returned(outcomes),
        )

    @property
    def earlier(self) -> list[Mapping[str, Any]]:
        """The values that the next clause may speak of, the latest first."""
        return [*reversed(self.done), *([self.returned] if self.returned else [])]


async def decide_step(decoder: Decoder, progress: Progress) -> Decision:
    """Return what the next clause asks for; one without a verb ("and order 1090") may go on with the last.

    Raises:
        ChatModelError: The process failed.
    """
    place = len(progress.done)
    clause = progress.clauses[place]
    decision = await decoder.decide(clause, progress.earlier)
    if place == 0 or (says_what_to_do(clause) and decision.tool and not decision.guessed):
        return decision
    first = words_in(progress.clauses[place - 1])[0]
    if first.is_han:
        return decision
    other = await decoder.decide(f"{first.text} {clause}", progress.earlier)
    return other if other.tool and (not decision.tool or other.score > decision.score) else decision


def last_words(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the user's last words; a message of several parts is read for its text."""
    content: Any = next((message["content"] for message in reversed(messages) if message["role"] == "user"), "")
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part.get("type") == "text")


def _mapping(text: Any) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _returned(outcomes: Sequence[str]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for outcome in outcomes:
        for name, value in _texts(_mapping(outcome).get("data"), _DEEPEST):
            found.setdefault(name, set()).add(value)
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def _texts(data: Any, depth: int) -> Iterator[tuple[str, str]]:
    if depth == 0:
        return
    if isinstance(data, list):
        for entry in data:
            yield from _texts(entry, depth - 1)
    elif isinstance(data, dict):
        for name, value in data.items():
            if isinstance(value, str):
                yield name, value
            else:
                yield from _texts(value, depth - 1)
