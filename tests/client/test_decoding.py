"""How a request is read for a small chat model: clauses, pieces, choices, and when nothing is done."""

from typing import Any

import pytest

from agentic_qt.client.decoding import Decoder
from agentic_qt.client.decoding_catalogue import Catalogue, Example
from agentic_qt.client.decoding_engine import Engine
from agentic_qt.client.decoding_prompt import verb_first
from agentic_qt.client.decoding_spans import spans_of
from agentic_qt.client.decoding_steps import Progress, decide_step
from agentic_qt.client.decoding_values import boolean_in, dates_in, numbers_in
from agentic_qt.client.decoding_words import clauses_of, language_of
from agentic_qt.client.few_shot import examples_of
from agentic_qt.client.local_words import closing, not_understood
from agentic_qt.core.capability import Capability
from agentic_qt.core.registry import Registry

pytestmark = pytest.mark.anyio

TEXT = {"type": "string", "minLength": 1, "maxLength": 200}
LIGHT = {"type": "string", "enum": ["red", "green"]}
SCHEMAS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "door_open": ({"door": TEXT}, ["door"]),
    "door_label": ({"door": TEXT, "field": {"enum": ["owner", "email"]}, "value": TEXT}, ["door", "field", "value"]),
    "door_remove": ({"door": TEXT}, ["door"]),
    "lamp_set": ({"colour": LIGHT}, ["colour"]),
    "heat_set": ({"degrees": {"type": "integer", "maximum": 30}}, ["degrees"]),
    "note_write": ({"text": {**TEXT, "x-free-text": True}}, ["text"]),
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "",
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }
    for name, (properties, required) in SCHEMAS.items()
]
EXAMPLES = (
    Example("door_open", "Open North Gate", {"door": "North Gate"}, writes=False),
    Example(
        "door_label", "Set the owner of North Gate to Ann", {"door": "North Gate", "field": "owner", "value": "Ann"}
    ),
    Example(
        "door_label",
        "Change the email of East Wing to e@x.example",
        {"door": "East Wing", "field": "email", "value": "e@x.example"},
    ),
    Example("door_remove", "Remove East Wing", {"door": "East Wing"}),
    Example("lamp_set", "Make the lamp red", {"colour": "red"}, writes=False),
    Example("lamp_set", "Turn the lamp to green", {"colour": "green"}, writes=False),
    Example("heat_set", "Heat to 20 degrees", {"degrees": 20}, writes=False),
    Example("note_write", "Write a note that thanks everybody", {"text": "Thank you all."}),
)
EVERYDAY = {
    "open",
    "set",
    "remove",
    "make",
    "invite",
    "copy",
    "write",
    "heat",
    "lunch",
    "hello",
    "paint",
    "note",
    "lamp",
}


class FakeEngine(Engine):
    """Prefers the tools it is told to, and is indifferent to everything else."""

    def __init__(self, *preferred: str) -> None:
        self.preferred = {verb_first(name) for name in preferred}
        self.asked: list[str] = []
        self.words: list[str] = []

    async def tokens(self, text):
        if text.startswith(" ") and text.strip() in EVERYDAY:
            return (1,)
        self.words.append(text)
        return (len(self.words) - 1, 0)

    async def weigh(self, prompt, lines, *, among):
        request = "" if among else self.words[prompt[2]]
        self.asked.append(request)
        return {name: 0.0 if verb_first(name) in self.preferred and "North" in request else -2.0 for name in lines}

    async def write(self, prompt, *, most, stop):
        return " Dear all, "


async def decide(text, *preferred, examples=EXAMPLES, earlier=()):
    catalogue = Catalogue(TOOLS, examples)
    return await Decoder(catalogue, FakeEngine(*preferred), {}).decide(text, earlier)


@pytest.mark.parametrize(
    ("request_text", "tool", "arguments"),
    [
        ("Open South Hall", "door_open", {"door": "South Hall"}),
        ("Set the owner of South Hall to Bob", "door_label", {"door": "South Hall", "field": "owner", "value": "Bob"}),
        (
            "Set South Hall to b@x.example",
            "door_label",
            {"door": "South Hall", "field": "email", "value": "b@x.example"},
        ),
        ("Remove South Hall", "door_remove", {"door": "South Hall"}),
        ("Make the lamp green", "lamp_set", {"colour": "green"}),
        ("Heat to 21 degrees", "heat_set", {"degrees": 21}),
    ],
)
async def test_a_plain_request_becomes_a_call_made_of_its_own_words(request_text, tool, arguments) -> None:
    decision = await decide(request_text)
    assert (decision.tool, decision.arguments) == (tool, arguments)


@pytest.mark.parametrize(
    "request_text",
    ["Invite South Hall to lunch", "Copy South Hall", "Hello", "Heat to 99 degrees", "Set the owner of South Hall"],
)
async def test_what_no_tool_does_and_what_lacks_a_value_is_not_done(request_text) -> None:
    assert (await decide(request_text, "door_remove")).tool == ""


async def test_what_is_missing_is_named() -> None:
    decision = await decide("Remove the door")
    assert (decision.tool, decision.about, decision.missing) == ("", "door_remove", ("door",))


async def test_a_change_that_nothing_in_the_request_speaks_of_is_not_proposed() -> None:
    """However sure the model is."""
    assert (await decide("North Gate", "door_remove")).tool != "door_remove"


async def test_a_tool_without_examples_counts_as_one_that_changes_something() -> None:
    assert all(tool.writes for tool in Catalogue(TOOLS, ()).tools)


async def test_a_text_that_the_model_may_write_is_written_only_where_the_schema_asks_for_it() -> None:
    decision = await decide("Write a note that thanks everybody")
    assert (decision.tool, decision.arguments) == ("note_write", {"text": "Dear all,"})


async def test_a_later_step_may_speak_of_the_thing_of_an_earlier_one() -> None:
    decision = await decide("remove it", earlier=[{"door": "South Hall", "value": "Bob"}])
    assert (decision.tool, decision.arguments) == ("door_remove", {"door": "South Hall"})


async def test_a_step_without_a_verb_goes_on_with_that_of_the_one_before() -> None:
    catalogue = Catalogue(TOOLS, EXAMPLES)
    progress = Progress(clauses=("Remove South Hall", "door West Hall"), done=({"door": "South Hall"},))
    decision = await decide_step(Decoder(catalogue, FakeEngine(), {}), progress)
    assert (decision.tool, decision.arguments) == ("door_remove", {"door": "West Hall"})


def test_progress_is_read_from_the_last_request_on() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "door_open", "arguments": '{"door": "X"}'}}
    messages = [
        {"role": "user", "content": "Remove everything"},
        {"role": "assistant", "content": "No."},
        {"role": "user", "content": [{"type": "text", "text": "Open X, then remove it"}]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": '{"status": "ok", "data": {"rows": [{"door": "X"}, {"door": "X"}], "n": 2}}'},
    ]
    progress = Progress.of(messages, frozenset({"open", "remove"}))
    assert progress.clauses == ("Open X", "remove it")
    assert progress.done == ({"door": "X"},)
    assert progress.returned == {"door": "X"}


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Open A and then remove B", ("Open A", "remove B")),
        ("Open A, then remove B; open C", ("Open A", "remove B", "open C")),
        ("Add bread and butter", ("Add bread and butter",)),
        ("Open A and remove B.", ("Open A", "remove B")),
        ('Open "A and then remove B"', ('Open "A and then remove B"',)),
        ("Mở A rồi xóa B", ("Mở A", "xóa B")),
        ("打开甲\uff0c然后删除乙", ("打开甲", "删除乙")),
        ("...", ()),
    ],
)
def test_a_request_is_split_where_another_thing_is_asked_for(text, clauses) -> None:
    assert clauses_of(text, frozenset({"open", "remove", "xóa"})) == clauses


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Find Ada Lovelace", {"Ada Lovelace"}),
        ("Play Dark Side of the Moon", {"Dark Side", "Moon", "Dark Side of the Moon"}),
        ("Set it to +49 551 390 100 now", {"+49 551 390 100"}),
        ('Find "to the find"', {"to the find"}),
        ("Find Rafael Pereira's phone", {"Rafael Pereira", "phone"}),
        ("查找深圳的客户", {"深圳"}),
        ("Find Đà Nẵng", {"Đà Nẵng"}),
    ],
)
def test_the_pieces_that_can_be_values(text, pieces) -> None:
    commands = frozenset({"find", "play", "set", "查找", "客户", "的客"})
    assert {span.text for span in spans_of(text, commands, frozenset({"phone"}))} >= pieces


def test_a_pasted_page_does_not_become_thousands_of_questions() -> None:
    page = "Find " + ", ".join(f"Name{number}" for number in range(5000))
    assert len(spans_of(page, frozenset({"find"}), frozenset())) <= 24


def test_numbers_and_dates_are_parsed() -> None:
    assert numbers_in("wake me at 9 on 3 January 2027", {"type": "integer"}) == [9]
    assert numbers_in("1,250 or -3 or two or 2.5", {"type": "number"}) == [1250, -3, 2, 2.5]
    assert numbers_in("150 and 15", {"type": "integer", "maximum": 100}) == [15]
    assert dates_in("on 3 January 2027, 2026-12-24 or 5.6.2026, not 31 June 2026") == [
        "2027-01-03", "2026-12-24", "2026-06-05"
    ]  # fmt: skip
    assert dates_in("2026年5月1日") == ["2026-05-01"]


def test_yes_and_no_need_a_reason() -> None:
    words = frozenset({"public"})
    assert [boolean_in(text, words) for text in ("make it public", "not public", "make it")] == [True, False, None]


@pytest.mark.parametrize(
    ("text", "language"), [("Open Trần Thị Mai", "en"), ("Mở Ada Lovelace", "vi"), ("打开 Ada", "zh"), ("xóa nó", "vi")]
)
def test_the_language_is_told_by_the_script(text, language) -> None:
    assert language_of(text) == language


def test_the_examples_of_a_registry_carry_the_names_that_the_model_sees() -> None:
    registry = Registry()
    registration = registry.register(
        Capability(
            name="form.save",
            description="Save.",
            input_schema={"type": "object"},
            risk="mutating",
            handler=lambda: None,
            examples=(("Save it", {}),),
        )
    )
    assert examples_of(registry) == (Example("form_save", "Save it", {}, writes=True),)
    registration.suspend()
    assert examples_of(registry) == ()


def test_a_run_that_stops_half_way_says_how_far_it_came() -> None:
    assert closing('{"status": "denied"}', step=1, of=2).endswith("Step 1 of 2; the rest was not begun.")
    assert "Done so far: 1 of 2 steps" in not_understood("frobnicate", step=2, of=2)
    assert not_understood("x", missing=("value",)) == "Please say also: value."
