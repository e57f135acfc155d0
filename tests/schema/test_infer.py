"""What a function says about its input."""

import dataclasses
import functools
import inspect
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict, Union

import annotated_types
import pytest

from agentic_qt.schema.check import SchemaError
from agentic_qt.schema.infer import infer
from agentic_qt.schema.validate import compile_schema


class Status(Enum):
    DRAFT = "draft"
    OPEN = "open"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Word(StrEnum):
    A = "a"


class Ratio(Enum):
    WHOLE = 1.0
    HALF = 0.5


@dataclasses.dataclass
class Line:
    """One line.

    Args:
        sku: The article.
        qty: How many.
    """

    sku: str
    qty: int = 1
    status: Status = Status.OPEN
    tags: set[str] = dataclasses.field(default_factory=set)
    cached: int = dataclasses.field(default=0, init=False)


@dataclasses.dataclass
class Tree:
    children: list["Tree"]


@dataclasses.dataclass
class WithInit:
    a: int
    b: dataclasses.InitVar[int]


class Options(TypedDict):
    level: Level
    note: NotRequired[str]


UserId = NewType("UserId", int)


def taking(hint, **default):
    def function(x):
        pass

    function.__annotations__["x"] = hint
    if default:
        function.__defaults__ = (default["default"],)
    return infer(function)


def x_schema(hint):
    return taking(hint).schema["properties"]["x"]


def bound(hint, value):
    inferred = taking(hint)
    assert compile_schema(inferred.schema).is_valid({"x": value})
    return value if inferred.bind is None else inferred.bind({"x": value})["x"]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (list, {"type": "array"}),
        (dict, {"type": "object"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, Any], {"type": "object"}),
        (Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045 - the old spelling is read too
        (int | str | None, {"type": ["integer", "string", "null"]}),
        (Union[list[int], None], {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}),  # noqa: UP007 - the old spelling is read too
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Status, {"type": "string", "enum": ["draft", "open"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (UserId, {"type": "integer"}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (
            Annotated[int, annotated_types.Interval(ge=1, lt=5)],
            {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
        ),
        (Annotated[str, annotated_types.Len(1, 9)], {"type": "string", "minLength": 1, "maxLength": 9}),
        (
            Annotated[list[int], annotated_types.MinLen(2)],
            {"type": "array", "items": {"type": "integer"}, "minItems": 2},
        ),
        (Annotated[str | None, annotated_types.MaxLen(3)], {"type": ["string", "null"], "maxLength": 3}),
    ],
)
def test_a_hint_becomes_its_schema(hint, schema):
    assert x_schema(hint) == schema
    compile_schema(taking(hint).schema)


@pytest.mark.parametrize("hint", [Decimal, complex, dict[int, str], Tree, WithInit, type, Literal[b"x"], re.Pattern])
def test_a_hint_without_json_form_is_refused_with_file_and_line(hint):
    with pytest.raises(SchemaError, match=r"test_infer\.py:\d+: .*parameter 'x'"):
        taking(hint)


def test_an_integer_parameter_accepts_no_bool():
    assert not compile_schema(taking(int).schema).is_valid({"x": True})


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (Status, "open", Status.OPEN),
        (Level, 2, Level.HIGH),
        (Word, "a", Word.A),
        (Ratio, 1, Ratio.WHOLE),
        (Literal[Status.OPEN], "open", Status.OPEN),
        (Status | None, "open", Status.OPEN),
        (Status | None, None, None),
        (list[Status], ["open"], [Status.OPEN]),
        (dict[str, Status], {"a": "draft"}, {"a": Status.DRAFT}),
        (tuple[int, Status], [1, "open"], (1, Status.OPEN)),
        (tuple[int, ...], [1, 2], (1, 2)),
        (set[int], [1, 2], {1, 2}),
        (frozenset[Status], ["open"], frozenset({Status.OPEN})),
        (Line, {"sku": "A"}, Line("A")),
        (Line, {"sku": "A", "status": "draft", "tags": ["t"]}, Line("A", status=Status.DRAFT, tags={"t"})),
        (list[Line] | Status, [{"sku": "A"}], [Line("A")]),
        (list[Line] | Status, "open", Status.OPEN),
        (Options, {"level": 1}, {"level": Level.LOW}),
        (list[int], [1], [1]),
    ],
)
def test_valid_json_becomes_the_hinted_value(hint, value, expected):
    result = bound(hint, value)
    assert result == expected
    assert type(result) is type(expected)


def test_nothing_is_bound_when_nothing_needs_converting():
    assert taking(list[int]).bind is None
    assert taking(dict[str, str | None]).bind is None


def test_binding_leaves_other_members_and_the_input_alone():
    def move(status: Status, count: int = 1) -> None: ...

    given = {"status": "open"}
    bind = infer(move).bind
    assert bind(given) == {"status": Status.OPEN}
    assert given == {"status": "open"}


def test_a_dataclass_is_inlined_with_its_descriptions_and_defaults():
    assert x_schema(Line) == {
        "type": "object",
        "properties": {
            "sku": {"type": "string", "description": "The article."},
            "qty": {"type": "integer", "description": "How many.", "default": 1},
            "status": {"type": "string", "enum": ["draft", "open"], "default": "open"},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        },
        "additionalProperties": False,
        "required": ["sku"],
    }


def google(title: str, limit: int = 5, status: Status | None = None):
    """Find orders.

    Looks in all of them.

    Args:
        title: A part of the title,
            in any case.
        limit: At most so many.
    """


def numpy(title: str):
    """Find orders.

    Parameters
    ----------
    title : str
        A part of the title.
    """


def sphinx(title: str):
    """Find orders.

    :param title: A part of the title.
    """


def test_a_function_is_described_by_its_docstring():
    inferred = infer(google)
    assert inferred.name == "google"
    assert inferred.description == "Find orders.\n\nLooks in all of them."
    assert inferred.schema == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "A part of the title, in any case."},
            "limit": {"type": "integer", "description": "At most so many.", "default": 5},
            "status": {"anyOf": [{"type": "string", "enum": ["draft", "open"]}, {"type": "null"}], "default": None},
        },
        "additionalProperties": False,
        "required": ["title"],
    }


@pytest.mark.parametrize("function", [numpy, sphinx])
def test_other_styles_of_docstrings_are_read(function):
    inferred = infer(function)
    assert inferred.description == "Find orders."
    assert inferred.schema["properties"]["title"]["description"] == "A part of the title."


def test_without_a_docstring_the_description_is_empty():
    assert taking(int).description == ""


def test_a_default_without_json_form_or_against_its_hint_is_left_out():
    for hint, default in ((Any, object()), (str, None), (int, float("nan"))):
        inferred = taking(hint, default=default)
        assert "default" not in inferred.schema["properties"]["x"]
        assert "required" not in inferred.schema


class Editor:
    def rename(self, name: str, ctx, secret: int):
        """Rename it."""

    @classmethod
    def make(cls, name: str): ...

    def __call__(self, name: str): ...


@pytest.mark.parametrize(
    "function",
    [
        Editor().rename,
        Editor.rename,
        functools.partial(Editor().rename),
        functools.wraps(Editor.rename)(lambda *args, **kwargs: None),
    ],
)
def test_self_and_context_and_skipped_parameters_are_no_input(function):
    assert list(infer(function, skip=("secret",)).schema["properties"]) == ["name"]
    assert infer(function, skip=("secret",)).name == "rename"


def test_class_methods_and_callable_objects_are_read():
    assert list(infer(Editor.make).schema["properties"]) == ["name"]
    assert list(infer(Editor()).schema["properties"]) == ["name"]


def test_further_keywords_open_the_schema():
    def anything(a: int, **more: int): ...

    assert infer(anything).schema["additionalProperties"] is True
    assert list(infer(anything).schema["properties"]) == ["a"]


def positional(a: int, /): ...


def starred(*a: int): ...


def unannotated(a, b: int): ...


def unresolved(a: "Nowhere"): ...  # noqa: F821 - on purpose


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (positional, "by keyword"),
        (starred, "by keyword"),
        (unannotated, "no type hint"),
        (unresolved, "cannot be resolved"),
    ],
)
def test_a_signature_that_says_too_little_is_refused_with_file_and_line(function, words):
    line = inspect.getsourcelines(function)[1]
    with pytest.raises(SchemaError, match=words) as caught:
        infer(function)
    assert str(caught.value).startswith(f"{__file__}:{line}: {function.__name__}: ")


def test_what_is_no_python_function_is_refused():
    with pytest.raises(SchemaError, match="no Python function"):
        infer(len)
