"""Turns a request into one that a very small chat model can answer: worked examples, and values from the user's words.

A model of some hundred million parameters cannot follow a list of tools, and it invents values. It does follow a
pattern, so the capabilities' own examples become turns of the conversation, the nearest last; and a grammar can hold
it to the words of the request, so each free string of a tool becomes an enum of the pieces of that request. The model
still chooses the tool and the values. Pure functions of their arguments: nothing is sent, nothing is remembered.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentic_qt.core.registry import Registry
from agentic_qt.protocol.names import to_wire

Example = tuple[str, str, Mapping[str, Any]]
"""The wire name of a tool, a request in plain words, and the arguments that it means."""

MOST_EXAMPLES = 8
"""Examples in a request. More gained nothing and cost 0.1 s each."""

_WORD = re.compile(r"\w+(?:-\w+)*")
_TOKEN = re.compile(r"\S+")
_QUOTED = re.compile(r"[\"'“‘«]([^\"'“”‘’«»]+)[\"'”’»]")
_BREAKS = ",;:"
_TRIM = ".,;:!?\"'()“”‘’«»"
_FREE_STRING = {"type", "title", "description", "minLength", "maxLength", "default", "examples"}
_LONGEST_PLAIN_SPAN = 6
_SAME_STEM = 4
_TELLING_WORDS = 2
_GLUE = frozenset(
    {"a", "an", "and", "as", "at", "by", "for", "from", "in", "is", "me", "of", "on", "please", "the", "to", "with"}
)


def examples_of(registry: Registry) -> tuple[Example, ...]:
    """Return the examples of all visible capabilities, by the names that the model sees."""
    return tuple(
        (to_wire(registration.name), request, arguments)
        for registration in registry.visible
        for request, arguments in registration.capability.examples
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class FewShot:
    """What to send in place of a conversation and its tools."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)


def prepare(
    request: str, tools: Sequence[Mapping[str, Any]], examples: Sequence[Example], *, instructions: str
) -> FewShot:
    """Return the messages and tools that let a small model turn one request into one tool call.

    Args:
        request: The user's words; what was said before is left out, since a small model mixes it up with them.
        tools: OpenAI function tools.
        examples: Those of tools that are not in `tools` are passed over.
        instructions: The system message.
    """
    by_name = {tool["function"]["name"]: tool["function"] for tool in tools}
    known = [example for example in examples if example[0] in by_name]
    nearest = _by_nearness(request, known, by_name)[-MOST_EXAMPLES:]
    messages: list[dict[str, Any]] = [{"role": "system", "content": instructions}]
    for number, (name, words, arguments) in enumerate(nearest):
        messages += _turn(f"example{number}", name, words, arguments)
    messages.append({"role": "user", "content": request})
    parts = _Request.of(
        request,
        command_words=_command_words(by_name.values(), known),
        choice_words=_choice_words(by_name.values()),
    )
    grounded = [
        _grounded(function, parts, [example for example in known if example[0] == name])
        for name, function in by_name.items()
    ]
    return FewShot(messages=messages, tools=grounded)


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
        _words(words) - _free_values(arguments, functions[name]["parameters"]) for name, words, arguments in examples
    ]
    frequency = Counter(word for text in texts for word in text)
    wanted = _words(request)

    def nearness(text: frozenset[str]) -> float:
        weights = {word: math.log(1 + len(texts) / frequency[word]) for word in text}
        shared = sum(weight for word, weight in weights.items() if word in wanted)
        return shared / math.sqrt(sum(weights.values()) or 1.0)

    order = sorted(range(len(examples)), key=lambda index: (nearness(texts[index]), -index))
    return [examples[index] for index in order]


def _grounded(
    function: Mapping[str, Any], request: "_Request", examples: Sequence[Example]
) -> dict[str, Any]:
    """Return a tool whose strings can only be pieces of the request, and which lacks what it does not speak of."""
    parameters = function["parameters"]
    schemas = parameters.get("properties", {})
    required = set(parameters.get("required", ()))
    to_spare = len(request.values) - sum(1 for name in required if _is_free(schemas.get(name, {})))
    properties: dict[str, Any] = {}
    for name, schema in schemas.items():
        free = _is_free(schema)
        spoken_of = _is_spoken_of(name, schema, request, examples)
        if spoken_of and not free:
            required.add(name)
        if name in required or spoken_of or (free and to_spare > 0):
            properties[name] = _of_pieces(schema, request) if free else _of_mentioned(schema, request)
    # In the order of the properties, so that the same request always becomes the same grammar.
    narrowed = {**parameters, "properties": properties, "required": [name for name in properties if name in required]}
    return {"type": "function", "function": {**function, "parameters": narrowed}}


def _is_free(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and set(schema) <= _FREE_STRING


def _of_pieces(schema: Mapping[str, Any], request: "_Request") -> dict[str, Any]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    for pieces in ((*request.values, *request.choices), _all_spans(request.text)):
        fitting = [piece for piece in pieces if shortest <= len(piece) <= longest]
        if fitting:
            return {"type": "string", "enum": fitting}
    return dict(schema)


def _of_mentioned(schema: Mapping[str, Any], request: "_Request") -> dict[str, Any]:
    """Keep of an enum the values that the request names, if it names any."""
    named = [value for value in schema.get("enum", ()) if _names(request.words, value)]
    return {**schema, "enum": named} if named else dict(schema)


def _is_spoken_of(
    name: str, schema: Mapping[str, Any], request: "_Request", examples: Sequence[Example]
) -> bool:
    """Tell whether a request gives cause to fill in an optional property."""
    if _names(request.words, name) or any(_names(request.words, value) for value in schema.get("enum", ())):
        return True
    with_it = [_words(words) - _values(arguments) for _, words, arguments in examples if name in arguments]
    without = [_words(words) for _, words, arguments in examples if name not in arguments]
    telling = frozenset().union(*with_it) - frozenset().union(*without)
    return len(telling & request.words) >= _TELLING_WORDS


@dataclass(frozen=True, kw_only=True, slots=True)
class _Request:
    """A request, taken apart.

    Args:
        text: All of it.
        words: In a form in which they can be compared.
        values: Quoted text, and the runs of words between the words of command.
        choices: Words that are values of an enum; they may also be values.
    """

    text: str
    words: frozenset[str]
    values: tuple[str, ...]
    choices: tuple[str, ...]

    @classmethod
    def of(cls, text: str, *, command_words: frozenset[str], choice_words: frozenset[str]) -> "_Request":
        values = [match.group(1).strip() for match in _QUOTED.finditer(text)]
        choices = []
        run: list[str] = []
        for index, token in enumerate([*text.split(), ""]):
            word = token.strip(_TRIM)
            said = _words(word)
            # A capital within a sentence marks a name, whatever the word.
            common = bool(said) and not (index and word[:1].isupper())
            is_value = bool(word) and not (common and said <= command_words | choice_words)
            if is_value:
                run.append(token)
            elif common and said <= choice_words:
                choices.append(word)
            if run and (not is_value or token[-1] in _BREAKS):
                values += [" ".join(run).strip(_TRIM), " ".join(filter(_is_name, run)).strip(_TRIM)]
                run = []
        return cls(
            text=text,
            words=_words(text),
            values=tuple(dict.fromkeys(value for value in values if value)),
            choices=tuple(dict.fromkeys(choices)),
        )


def _is_name(token: str) -> bool:
    return not token.strip(_TRIM)[:1].islower()


def _all_spans(text: str) -> list[str]:
    tokens = list(_TOKEN.finditer(text))
    spans = (
        text[tokens[start].start() : tokens[end].end()].strip(_TRIM)
        for start in range(len(tokens))
        for end in range(start, min(len(tokens), start + _LONGEST_PLAIN_SPAN))
    )
    return list(dict.fromkeys(span for span in spans if span))


def _command_words(functions: Iterable[Mapping[str, Any]], examples: Sequence[Example]) -> frozenset[str]:
    words = set(_GLUE)
    for function in functions:
        words |= _words(function["name"].replace("_", " "))
        for name, schema in function["parameters"].get("properties", {}).items():
            words |= _words(f"{name} {schema.get('title', '')}".replace("_", " "))
    for _, request, arguments in examples:
        words |= _words(request) - _values(arguments)
    return frozenset(words)


def _choice_words(functions: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    schemas = [schema for function in functions for schema in function["parameters"].get("properties", {}).values()]
    return frozenset().union(*(_words(str(value)) for schema in schemas for value in schema.get("enum", ())))


def _words(text: str) -> frozenset[str]:
    """Return the words of a text in a form in which they can be compared: ``E-mails`` is ``email``."""
    return frozenset(_stem(word) for word in _WORD.findall(text))


def _stem(word: str) -> str:
    plain = word.replace("-", "").casefold()
    return plain[:-1] if len(plain) >= _SAME_STEM and plain.endswith("s") and not plain.endswith("ss") else plain


def _free_values(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> frozenset[str]:
    schemas = parameters.get("properties", {})
    return _values({name: value for name, value in arguments.items() if _is_free(schemas.get(name, {}))})


def _values(arguments: Mapping[str, Any]) -> frozenset[str]:
    return frozenset().union(*(_words(str(value)) for value in arguments.values()))


def _names(mentioned: frozenset[str], value: Any) -> bool:
    """Tell whether words name a value, be it in another form: "cancel" names ``cancelled``."""
    words = _words(str(value).replace("_", " "))
    return bool(words) and all(
        any(
            word == other or (min(len(word), len(other)) >= _SAME_STEM and _begins(word, other))
            for other in mentioned
        )
        for word in words
    )


def _begins(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
