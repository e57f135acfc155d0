"""The tasks of the evaluation: well-formed, reachable, and nothing that the capabilities' examples already say."""

import json
import re
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from agentic_qt.core.registry import Registry
from agentic_qt.devtools.evaluation.chat_models import Script
from agentic_qt.devtools.evaluation.command import default_files
from agentic_qt.devtools.evaluation.harness import close_window, evaluate
from agentic_qt.devtools.evaluation.stage import find
from agentic_qt.devtools.evaluation.tasks import TaskFileError, load
from agentic_qt.ui.assistant import Assistant

pytestmark = pytest.mark.anyio
TASKS = load(default_files())
TOO_SIMILAR = 0.8
AT_LEAST = {
    "one_step": 30, "oblique": 10, "two_step": 12, "must_refuse": 16, "ambiguous": 4, "wrong_target": 4,
    "vietnamese": 8, "chinese": 8,
}  # fmt: skip
GOOD = {
    "format": 1,
    "apps": {"crm": "examples.evaluation.crm:open_stage"},
    "tasks": [
        {
            "id": "one", "category": "one_step", "language": "en", "app": "crm", "request": "Go dark",
            "expect": [{"calls": [{"name": "app.set_theme", "input": {"theme": "dark"}}]}],
        }
    ],
}  # fmt: skip


def test_there_are_enough_tasks_of_each_category():
    counted = Counter(task.category for task in TASKS)
    assert counted.keys() == AT_LEAST.keys()
    assert {name: number for name, number in AT_LEAST.items() if counted[name] < number} == {}
    assert {task.app.partition(":")[0] for task in TASKS} == {"examples.evaluation.crm", "examples.evaluation.todo"}


def test_languages_are_told_by_their_letters():
    for task in TASKS:
        found = "zh" if re.search(r"[\u4e00-\u9fff]", task.request) else "en"
        if task.category == "vietnamese":
            found = "vi"
        assert task.language == found, task.id


def test_no_request_is_asked_twice():
    assert [words for words, number in Counter(task.request for task in TASKS).items() if number > 1] == []


def read(tmp_path, content):
    path = tmp_path / "tasks.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return load([path])


def with_task(**changes):
    return {**GOOD, "tasks": [{**GOOD["tasks"][0], **changes}]}


def test_a_task_file_of_anybody_is_read(tmp_path):
    (task,) = read(tmp_path, with_task(setup={"theme": "light"}))
    (end,) = task.ends
    assert (task.id, task.app, dict(task.setup)) == ("one", GOOD["apps"]["crm"], {"theme": "light"})
    assert end.calls[0].inputs == ({"theme": "dark"},)
    assert not end.is_refusal


def test_variants_are_laid_over_the_input(tmp_path):
    call = {"name": "a.b", "input": {"x": 1, "y": 2}, "variants": [{"x": 3}, {"y": None, "z": 4}]}
    (task,) = read(tmp_path, with_task(expect=[{"calls": [call]}]))
    assert task.ends[0].calls[0].inputs == ({"x": 1, "y": 2}, {"x": 3, "y": 2}, {"x": 1, "z": 4})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "cannot be read"),
        ({**GOOD, "format": 2}, "/format"),
        ({**GOOD, "tasks": []}, "/tasks"),
        (with_task(id="Has Spaces"), "/tasks/0/id"),
        (with_task(request=""), "/tasks/0/request"),
        (with_task(expect=[]), "/tasks/0/expect"),
        (with_task(expect=[{"words": "Done."}]), "/tasks/0/expect/0/words"),
        (with_task(app="todo"), "not in apps"),
        (with_task(expect=[{"calls": [{"name": "app.set_theme"}]}]), "has no input"),
        ({**GOOD, "tasks": GOOD["tasks"] * 2}, "two tasks"),
    ],
)
def test_a_malformed_task_file_is_refused_and_the_place_is_told(tmp_path, content, words):
    with pytest.raises(TaskFileError, match=re.escape(words)):
        read(tmp_path, content)


def perfect(task):
    """Return the turns of a chat model that does exactly what the task's first right end says."""
    return [[{"call": call.name, "input": call.inputs[0]}] for call in task.ends[0].calls]


@pytest.mark.timeout(180)  # up to fifty windows
@pytest.mark.parametrize("category", AT_LEAST)
async def test_every_task_can_be_done_by_a_model_that_does_what_it_says(qapp, category):
    tasks = [task for task in TASKS if task.category == category]
    results = await evaluate(tasks, Script({task.id: perfect(task) for task in tasks}))
    wrong = [(result.task.id, result.verdict, result.problems) for result in results if not result.verdict.is_right]
    assert wrong == []
    assert [text for result in results for text in result.violations] == []
    assert sum(result.gated for result in results) == sum(bool(call.approved) for r in results for call in r.calls)


# Phrasings


async def examples_of_the_applications(folder: Path):
    """Return the examples of all capabilities: request and input, with the name of their capability."""
    found = []
    for number, app in enumerate(sorted({task.app for task in TASKS})):
        place = folder / str(number)
        place.mkdir()
        registry = Registry()
        stage = await find(app)(place, {}, registry)
        assistant = Assistant.attach(stage.window, registry=registry)
        stage.window.show()
        found += [
            (registration.name, request, given)
            for registration in registry.registrations
            for request, given in registration.capability.examples
        ]
        assistant.detach()
        await close_window(stage.window)
        await stage.close()
    return found


def phrasing(request, inputs):
    """Return the words of a request with a mark in place of each value, so that only the wording is compared."""
    values = {str(value) for given in inputs for value in given.values() if str(value).strip()}
    for value in sorted(values, key=len, reverse=True):
        request = re.sub(re.escape(value), " □ ", request, flags=re.IGNORECASE)
    return re.findall(r"[\u4e00-\u9fff]|□|[^\W□]+", request.casefold())


def similarity(one, other):
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def test_a_phrasing_is_known_again_with_other_values():
    ada = {"c": "Ada Lovelace", "f": "email", "v": "ada@a.example"}
    one = phrasing("Set the email of Ada Lovelace to ada@a.example", [ada])
    same = phrasing("Set the city of Marie Curie to Lyon!", [{"c": "Marie Curie", "f": "city", "v": "Lyon"}])
    other = phrasing("Marie Curie lives in Lyon now", [{"c": "Marie Curie", "f": "city", "v": "Lyon"}])
    assert one == same == ["set", "the", "□", "of", "□", "to", "□"]
    assert similarity(one, other) < TOO_SIMILAR


async def test_no_example_of_a_capability_repeats_the_phrasing_of_a_task(qapp, tmp_path):
    """A task whose wording is an example shows nothing: the small model is shown the examples."""
    examples = await examples_of_the_applications(tmp_path)
    assert len(examples) >= 20
    repeated = []
    for task in TASKS:
        inputs = [given for end in task.ends for call in (*end.calls, *end.may) for given in call.inputs]
        wording = phrasing(task.request, inputs)
        repeated += [
            f"{task.id}: {task.request!r} is like the example {request!r} of {name}"
            for name, request, given in examples
            if similarity(wording, phrasing(request, [given])) >= TOO_SIMILAR
        ]
    assert "\n".join(repeated) == ""
