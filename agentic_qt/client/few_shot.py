"""Turns a request into one that a very small chat model can answer: worked examples, and values from the user's words.

Such a model cannot follow a list of tools, and a list draws it to its first names. It does follow a pattern: the
capabilities' own examples become turns of the conversation, the nearest last, and `grounding` sees to the values.
Pure functions of their arguments: nothing is sent, nothing is remembered.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentic_qt.client.grounding import (
    Example,
    Request,
    choice_words,
    command_words,
    free_values,
    ground,
    has_words_for,
    words_of,
)
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.names import to_wire

MOST_EXAMPLES = 6
"""Examples in a request; 5 to 8 did equally well, 12 did worse."""

# Without any example a small model answers in words. These show the form and are no tools of anybody.
_FORM: tuple[Example, ...] = (
    ("volume_set", "Set the volume to 7", {"level": 7}),
    ("phone_call", "Call Tom Reed", {"person": "Tom Reed"}),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FewShot:
    """What to send in place of a conversation and its tools."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]


def examples_of(registry: Registry) -> tuple[Example, ...]:
    """Return the examples of all visible capabilities, by the names that the model sees."""
    return tuple(
        (to_wire(registration.name), request, arguments)
        for registration in registry.visible
        for request, arguments in registration.capability.examples
    )


def prepare(
    request: str, tools: Sequence[Mapping[str, Any]], examples: Sequence[Example], *, instructions: str
) -> FewShot:
    """Return the messages and tools that let a small model turn one request into one tool call.

    Args:
        request: The user's words; what was said before is left out, since a small model mixes it up with them.
        tools: OpenAI function tools.
        examples: Those of tools that are not in `tools` are passed over.
        instructions: The system message; tools without an example are listed in it.
    """
    functions = {tool["function"]["name"]: tool["function"] for tool in tools}
    known = [example for example in examples if example[0] in functions]
    listed = [_signature(function) for name, function in functions.items() if not _examples_for(name, known)]
    system = "\n".join([instructions, *listed])
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
    nearest = _by_nearness(request, known, functions)[-MOST_EXAMPLES:]
    shown = nearest if len(nearest) >= len(_FORM) or not tools else [*_FORM, *nearest]
    for number, (name, words, arguments) in enumerate(shown):
        messages += _turn(f"example{number}", name, words, arguments)
    # A person's words are no marks of the chat format.
    messages.append({"role": "user", "content": request.replace("<|", "< |")})
    parts = Request.of(
        request,
        command_words=command_words(functions.values(), known),
        choice_words=choice_words(functions.values()),
    )
    possible = [function for function in functions.values() if has_words_for(function, parts)]
    grounded = [
        ground(function, parts, _examples_for(function["name"], known)) for function in possible or functions.values()
    ]
    return FewShot(messages=messages, tools=grounded)


def _examples_for(name: str, examples: Sequence[Example]) -> list[Example]:
    return [example for example in examples if example[0] == name]


def _signature(function: Mapping[str, Any]) -> str:
    return f"{function['name']}({', '.join(function['parameters'].get('properties', {}))})"


def _turn(call_id: str, name: str, request: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    call = {"id": call_id, "type": "function", "function": function}
    return [
        {"role": "user", "content": request},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]


def _by_nearness(
    request: str, examples: Sequence[Example], functions: Mapping[str, Mapping[str, Any]]
) -> list[Example]:
    """Order by shared words, the rare ones weighing more; the free values in an example are not its words."""
    texts = [
        words_of(words) - free_values(arguments, functions[name]["parameters"]) for name, words, arguments in examples
    ]
    frequency = Counter(word for text in texts for word in text)
    wanted = words_of(request)

    def nearness(text: frozenset[str]) -> float:
        weights = {word: math.log(1 + len(texts) / frequency[word]) for word in text}
        shared = sum(weight for word, weight in weights.items() if word in wanted)
        return shared / math.sqrt(sum(weights.values()) or 1.0)

    order = sorted(range(len(examples)), key=lambda index: (nearness(texts[index]), -index))
    return [examples[index] for index in order]
