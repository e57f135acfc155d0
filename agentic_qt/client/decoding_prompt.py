"""How requests and calls are written for a small chat model: worked examples, calls as lines that begin with a verb.

The examples stand in a fixed order, so that the same catalogue always begins with the same tokens. Pure functions.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_qt.client.decoding_catalogue import Example, Tool

_BEGIN, _END = "<|im_start|>", "<|im_end|>"
_INSTRUCTIONS = "You operate an application. Answer each request with one line: what to do, and with what."
STOP = f"{_END}\n"
NEUTRAL = ("Hello", "Do it", "Please help me with this", "Thank you", "What is this?")
"""Requests that ask for nothing: what a model answers to them is its habit."""

# Without any example a small model answers in words. These show the form and are no tools of anybody.
_FORM = (
    ("Set the volume to 7", "set volume | level = 7"),
    ("Call Tom Reed", "call phone | person = Tom Reed"),
)
_ENOUGH = 2


def verb_first(name: str) -> str:
    """Return how a tool is written: ``customer_update`` is ``update customer``."""
    noun, *verb = name.split("_")
    return " ".join([*verb, noun])


def line_of(name: str, arguments: Mapping[str, Any]) -> str:
    """Return how a call is written: ``update customer | field = city``."""
    return "".join([verb_first(name), *(part_of(key, value) for key, value in arguments.items())])


def part_of(name: str, value: Any) -> str:
    """Return how one argument is written."""
    return f" | {name} = {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def opening(examples: Sequence[Example], tools: Sequence[Tool]) -> str:
    """Return what every prompt begins with; tools without an example are listed."""
    taught = {example.tool for example in examples}
    listed = [f"{verb_first(tool.name)}: {tool.description.split('.')[0]}" for tool in tools if tool.name not in taught]
    turns = [] if len(examples) >= _ENOUGH else [_turn(request, line) for request, line in _FORM]
    turns += [_turn(example.request, line_of(example.tool, example.arguments)) for example in examples]
    return f"{_BEGIN}system\n" + "\n".join([_INSTRUCTIONS, *listed]) + f"{_END}\n" + "".join(turns)


def asking(request: str) -> str:
    """Return how a request is written; a person's words are no marks of the chat format."""
    return f"{_BEGIN}user\n{request.replace('<|', '< |')}{_END}\n{_BEGIN}assistant\n"


def _turn(request: str, line: str) -> str:
    return f"{asking(request)}{line}{_END}\n"
