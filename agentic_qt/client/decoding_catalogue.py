"""What tools and their examples teach about requests: words of command, cues of choices, where values stand.

It knows the catalogue it is given and no application. Pure functions of their arguments.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from agentic_qt.client.decoding_words import FUNCTION_WORDS, Kind, keys_of, words_in

_LIMITS = frozenset(
    {"type", "title", "description", "minLength", "maxLength", "default", "examples", "format", "x-free-text"}
)
_KINDS_BY_FORMAT = {"email": Kind.EMAIL, "uri": Kind.URL, "date": Kind.DATE}
_KINDS_BY_NAME = {"email": Kind.EMAIL, "phone": Kind.PHONE, "url": Kind.URL}
_SAME_STEM, _PREFIX = 4, 2
_FUNCTION_WEIGHT = 0.3


class Example(NamedTuple):
    """A worked example of a tool.

    Args:
        tool: The wire name.
        request: A request in plain words.
        arguments: What it means.
        writes: The tool changes something.
    """

    tool: str
    request: str
    arguments: Mapping[str, Any]
    writes: bool = True


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One property of a tool's input.

    Args:
        name: Of the property.
        schema: Its schema.
        required: It must be there.
    """

    name: str
    schema: Mapping[str, Any]
    required: bool

    @cached_property
    def choices(self) -> tuple[Any, ...]:
        """The values of an enum; else none."""
        return tuple(self.schema.get("enum", ()))

    @property
    def type(self) -> str:
        """``choice``, ``text``, ``integer``, ``number``, ``boolean``, or ``""``: it cannot be filled in from words."""
        if self.choices:
            return "choice"
        kind = self.schema.get("type")
        if kind == "string" and set(self.schema) <= _LIMITS:
            return "text"
        return kind if kind in ("integer", "number", "boolean") else ""

    @property
    def is_free_text(self) -> bool:
        """Whether the chat model may write it itself."""
        return self.type == "text" and self.schema.get("x-free-text") is True

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name and title."""
        return keys_of(f"{self.name} {self.schema.get('title', '')}".replace("_", " "))


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool and its examples.

    Args:
        name: The wire name.
        description: For the model.
        parameters: In the order of the schema.
        examples: Its own.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    examples: tuple[Example, ...]

    @property
    def writes(self) -> bool:
        """Whether it changes something; one that nobody gave an example of is taken to."""
        return not self.examples or any(example.writes for example in self.examples)

    def parameter(self, name: str) -> Parameter | None:
        """Return the property of that name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that speak of it: of its name, description, properties and examples, without their values."""
        own = keys_of(f"{self.name.replace('_', ' ')} {self.description}")
        own |= frozenset().union(*(parameter.words for parameter in self.parameters))
        own |= frozenset().union(*(keys_of(str(choice)) for item in self.parameters for choice in item.choices))
        return own | frozenset().union(*(plain_keys(self, example) for example in self.examples))


class Catalogue:
    """Tools, in the order in which they are offered.

    Args:
        tools: OpenAI function tools.
        examples: Those of other tools are passed over.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]], examples: Sequence[Example]) -> None:
        self.tools = tuple(_tool(entry["function"], examples) for entry in tools)

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """All of them, in turn from each tool, so that no tool has the last word."""
        rows = [tool.examples for tool in self.tools]
        longest = max(map(len, rows), default=0)
        return tuple(row[place] for place in range(longest) for row in rows if place < len(row))

    @cached_property
    def commands(self) -> frozenset[str]:
        """The words that say what to do: of examples without their values, of names and of titles."""
        found: set[str] = set()
        for tool in self.tools:
            found |= keys_of(tool.name.replace("_", " "))
            for parameter in tool.parameters:
                found |= parameter.words
            for example in tool.examples:
                found |= plain_keys(tool, example)
        return frozenset(found)

    @cached_property
    def choices(self) -> frozenset[str]:
        """The words that are values of an enum."""
        found = [str(choice) for tool in self.tools for parameter in tool.parameters for choice in parameter.choices]
        return frozenset().union(*map(keys_of, found))

    @cached_property
    def things(self) -> frozenset[str]:
        """The properties that several tools share: they name what a request is about, such as ``customer``."""
        often = Counter(item.name for tool in self.tools for item in tool.parameters if item.type == "text")
        return frozenset(name for name, times in often.items() if times > 1)

    @cached_property
    def peculiar(self) -> frozenset[str]:
        """The words that only the examples of one tool use."""
        often = Counter(
            word
            for tool in self.tools
            for word in frozenset().union(*(plain_keys(tool, example) for example in tool.examples))
        )
        return frozenset(word for word, times in often.items() if times == 1)

    def likeness(self, request: frozenset[str]) -> dict[str, float]:
        """Return how near the nearest example of each tool is: by shared words, the rare ones weighing more."""
        texts = [(tool.name, plain_keys(tool, example)) for tool in self.tools for example in tool.examples]
        often = Counter(word for _, text in texts for word in text)
        found = dict.fromkeys((tool.name for tool in self.tools), 0.0)
        for name, text in texts:
            weights = {
                word: math.log(1 + len(texts) / often[word]) * (_FUNCTION_WEIGHT if word in FUNCTION_WORDS else 1.0)
                for word in text
            }
            shared = sum(weight for word, weight in weights.items() if word in request)
            found[name] = max(found[name], shared / math.sqrt(sum(weights.values()) or 1.0))
        return found


def plain_keys(tool: Tool, example: Example) -> frozenset[str]:
    """Return the words of an example without those of its free values."""
    text = example.request
    for name, value in example.arguments.items():
        parameter = tool.parameter(name)
        if parameter is not None and not parameter.choices and not isinstance(value, bool):
            text = text.replace(str(value), " ; ")
    return keys_of(text)


def named(value: Any, mentioned: frozenset[str]) -> bool:
    """Tell whether words name a value, be it in another form: "cancel" names ``cancelled``."""
    words = keys_of(str(value).replace("_", " "))
    return bool(words) and all(any(_same(word, other) for other in mentioned) for word in words)


def cues(tool: Tool, parameter: Parameter) -> dict[Any, frozenset[str]]:
    """Return the words that tell the choices of a property apart, learnt from examples; None: it was not chosen."""
    others = [str(choice) for item in tool.parameters if item is not parameter for choice in item.choices]
    passed = FUNCTION_WORDS | frozenset().union(*map(keys_of, others))
    texts: dict[Any, set[str]] = {}
    for example in tool.examples:
        texts.setdefault(example.arguments.get(parameter.name), set()).update(plain_keys(tool, example) - passed)
    shared = Counter(word for text in texts.values() for word in text)
    leads = {words[0].key for example in tool.examples if (words := words_in(example.request))}
    return {value: frozenset(w for w in text if shared[w] == 1 and w not in leads) for value, text in texts.items()}


def kinds_of(tool: Tool, parameter: Parameter, chosen: Mapping[str, Any], choices: frozenset[str]) -> frozenset[Kind]:
    """Return what values of a property look like, where examples with the same choices show it; empty: unknown."""
    fixed = _KINDS_BY_FORMAT.get(parameter.schema.get("format", "")) or _KINDS_BY_NAME.get(parameter.name)
    if fixed is not None:
        return frozenset({fixed})
    every = frozenset(
        kind_of(example.arguments[parameter.name], choices)
        for example in tool.examples
        if parameter.name in example.arguments
    )
    if len(every) == 1:
        return every
    for _, choice in sorted(chosen.items()):
        by_name = _KINDS_BY_NAME.get(str(choice))
        if by_name is not None:
            return frozenset({by_name})
    alike = [
        example.arguments[parameter.name]
        for example in tool.examples
        if parameter.name in example.arguments
        and all(example.arguments.get(name) == choice for name, choice in chosen.items())
    ]
    return frozenset(kind_of(value, choices) for value in alike)


def kind_of(value: Any, choices: frozenset[str]) -> Kind:
    """Return what a value looks like."""
    words = words_in(str(value))
    if len(words) == 1:
        return Kind.CHOICE if words[0].key in choices else words[0].kind
    return Kind.WORD


def are_names(tool: Tool, parameter: Parameter, chosen: Mapping[str, Any]) -> bool:
    """Tell whether the examples show that values of a property are written like names: "Grace Hopper", "Lyon"."""
    shown = [
        str(example.arguments[parameter.name])
        for example in tool.examples
        if parameter.name in example.arguments
        and all(example.arguments.get(name, choice) == choice for name, choice in chosen.items())
    ]
    plain = [value for value in shown if all(word.kind is Kind.WORD and not word.is_han for word in words_in(value))]
    return bool(plain) and all(is_name(value) for value in plain)


def is_name(text: str) -> bool:
    """Tell whether each word of a text begins with a capital."""
    words = words_in(text)
    return bool(words) and all(word.is_capital or word.is_han for word in words)


def neighbours(tool: Tool, name: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and after the values of a property in examples: the keys of words, or ``""``."""
    for example in tool.examples:
        value = str(example.arguments.get(name, ""))
        start = example.request.find(value) if value else -1
        if start < 0:
            continue
        before, after = words_in(example.request[:start]), words_in(example.request[start + len(value) :])
        yield before[-1].key if before else "", after[0].key if after else ""


def _same(word: str, other: str) -> bool:
    if word == other:
        return True
    shortest = min(len(word), len(other))
    if shortest < _SAME_STEM:
        return False
    if word[:shortest] == other[:shortest]:
        return True
    return abs(len(word) - len(other)) <= _PREFIX and word[-shortest:] == other[-shortest:]  # "rename" speaks of a name


def _tool(function: Mapping[str, Any], examples: Sequence[Example]) -> Tool:
    schema = function.get("parameters", {})
    required = set(schema.get("required", ()))
    parameters = tuple(
        Parameter(name=name, schema=entry if isinstance(entry, Mapping) else {}, required=name in required)
        for name, entry in schema.get("properties", {}).items()
    )
    return Tool(
        name=function["name"],
        description=str(function.get("description", "")),
        parameters=parameters,
        examples=tuple(example for example in examples if example.tool == function["name"]),
    )
