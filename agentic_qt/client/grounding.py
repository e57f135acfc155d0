"""Holds a very small chat model to the words of a request: its grammar for a tool is made of pieces of that request.

A model of some hundred million parameters invents values ("Grace Hopper" becomes "Lace Hopper"). llama.cpp turns a
tool's schema into a grammar that the answer must follow, so each free string of the schema becomes an enum of the
pieces of the request, and what the request does not speak of is left out. The model still chooses the tool and which
piece goes where. Pure functions of their arguments; words are compared by rules that fit English and languages with
spaces between words.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Example = tuple[str, str, Mapping[str, Any]]
"""The wire name of a tool, a request in plain words, and the arguments that it means."""

_WORD = re.compile(r"\w+(?:-\w+)*")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]+)[\"“”»]")
_TRIM = ".,;:!?\"'()“”„«»\u2018\u2019"
_BREAKS = ",;:"
_FREE_STRING = frozenset({"type", "title", "description", "minLength", "maxLength", "default", "examples"})
_LONGEST_PLAIN_SPAN = 6
_SAME_STEM = 4
_MOST_PIECES = 64  # a pasted page must not become a grammar of thousands of rules
_TELLING_WORDS = 2
_GLUE = frozenset(
    {"a", "an", "and", "as", "at", "by", "for", "from", "in", "is", "me", "of", "on", "please", "the", "to", "with"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
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
    def of(cls, text: str, *, command_words: frozenset[str], choice_words: frozenset[str]) -> "Request":
        """Take a request apart.

        Args:
            text: The person's words.
            command_words: Those that say what to do; never a value, unless written like a name.
            choice_words: Those that are values of an enum.
        """
        values = [match.group(1).strip() for match in _QUOTED.finditer(text)]
        choices = []
        run: list[str] = []
        for index, token in enumerate([*text.split(), ""]):
            word = token.strip(_TRIM)
            said = words_of(word)
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
            words=words_of(text),
            values=tuple(dict.fromkeys(value for value in values if value)),
            choices=tuple(dict.fromkeys(choices)),
        )


def ground(function: Mapping[str, Any], request: Request, examples: Sequence[Example]) -> dict[str, Any]:
    """Return a tool whose strings can only be pieces of the request, and which lacks what it does not speak of."""
    parameters = function["parameters"]
    schemas = _schemas(parameters)
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


def has_words_for(function: Mapping[str, Any], request: Request) -> bool:
    """Tell whether a tool can be meant: one that needs free words is not, in a request that is all command."""
    schemas = _schemas(function["parameters"])
    needs = any(_is_free(schemas.get(name, {})) for name in function["parameters"].get("required", ()))
    return bool(request.values) or not needs


def _schemas(parameters: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the schemas of the properties; one that is a plain true or false says nothing."""
    return {
        name: schema if isinstance(schema, Mapping) else {} for name, schema in parameters.get("properties", {}).items()
    }


def _is_free(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and set(schema) <= _FREE_STRING


def _of_pieces(schema: Mapping[str, Any], request: Request) -> dict[str, Any]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    for pieces in ((*request.values, *request.choices), _all_spans(request.text)):
        fitting = [piece for piece in pieces if shortest <= len(piece) <= longest]
        if fitting:
            return {"type": "string", "enum": fitting[:_MOST_PIECES]}
    return dict(schema)


def _of_mentioned(schema: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """Keep of an enum the values that the request names, if it names any."""
    named = [value for value in schema.get("enum", ()) if _names(request.words, value)]
    return {**schema, "enum": named} if named else dict(schema)


def _is_spoken_of(name: str, schema: Mapping[str, Any], request: Request, examples: Sequence[Example]) -> bool:
    """Tell whether a request gives cause to fill in an optional property."""
    if _names(request.words, name) or any(_names(request.words, value) for value in schema.get("enum", ())):
        return True
    with_it = [words_of(words) - _values(arguments) for _, words, arguments in examples if name in arguments]
    without = [words_of(words) for _, words, arguments in examples if name not in arguments]
    telling = frozenset().union(*with_it) - frozenset().union(*without)
    return len(telling & request.words) >= _TELLING_WORDS


def _is_name(token: str) -> bool:
    return not token.strip(_TRIM)[:1].islower()


def _all_spans(text: str) -> list[str]:
    tokens = text.split()
    spans = (
        " ".join(tokens[start:end]).strip(_TRIM)
        for start in range(len(tokens))
        for end in range(start + 1, min(len(tokens), start + _LONGEST_PLAIN_SPAN) + 1)
    )
    return list(dict.fromkeys(span for span in spans if span))


def command_words(functions: Iterable[Mapping[str, Any]], examples: Sequence[Example]) -> frozenset[str]:
    """Return the words that say what to do: those of examples without their values, of names and of titles."""
    words = set(_GLUE)
    for function in functions:
        words |= words_of(function["name"].replace("_", " "))
        for name, schema in _schemas(function["parameters"]).items():
            words |= words_of(f"{name} {schema.get('title', '')}".replace("_", " "))
    for _, request, arguments in examples:
        words |= words_of(request) - _values(arguments)
    return frozenset(words)


def choice_words(functions: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the words that are values of an enum."""
    schemas = [schema for function in functions for schema in _schemas(function["parameters"]).values()]
    return frozenset().union(*(words_of(str(value)) for schema in schemas for value in schema.get("enum", ())))


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in a form in which they can be compared: ``E-mails`` is ``email``."""
    return frozenset(_stem(word) for word in _WORD.findall(text))


def _stem(word: str) -> str:
    plain = word.replace("-", "").casefold()
    return plain[:-1] if len(plain) >= _SAME_STEM and plain.endswith("s") and not plain.endswith("ss") else plain


def free_values(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the words of those arguments that can be anything."""
    schemas = _schemas(parameters)
    return _values({name: value for name, value in arguments.items() if _is_free(schemas.get(name, {}))})


def _values(arguments: Mapping[str, Any]) -> frozenset[str]:
    return frozenset().union(*(words_of(str(value)) for value in arguments.values()))


def _names(mentioned: frozenset[str], value: Any) -> bool:
    """Tell whether words name a value, be it in another form: "cancel" names ``cancelled``."""
    words = words_of(str(value).replace("_", " "))
    return bool(words) and all(
        any(word == other or (min(len(word), len(other)) >= _SAME_STEM and _begins(word, other)) for other in mentioned)
        for word in words
    )


def _begins(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
