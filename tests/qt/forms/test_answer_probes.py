"""What a form's code may answer with, and what became of it in a browser: the same here, or a reason."""

import datetime as dt
import json
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from agentic_qt.qt.forms.form_tool import current_submission
from tests.support.form_play import Play
from tests.support.form_probes import PROBES
from tests.support.form_stage import outcome_of

pytestmark = pytest.mark.anyio


async def reject():
    raise RuntimeError


def make_ring():
    ring = {}
    ring["self"] = ring
    return ring


SAME = {
    "respond_undefined": (lambda: None, None, "nothing is null, and not a word for it"),
    "respond_nested_json_string": (lambda: '{"a":1}', '{"a":1}', ""),
    "respond_date": (lambda: dt.datetime.fromtimestamp(0, dt.UTC), "1970-01-01T00:00:00+00:00", "Python's ISO 8601"),
    "respond_bigint": (lambda: 10, 10, ""),
    "respond_map": (lambda: {1: 2}, {"1": 2}, "a mapping is an object, and not an empty one"),
    "respond_circular": (make_ring, None, ""),
    "respond_reject_undefined": (reject, None, ""),
}
"""Probe -> what makes the answer, what the caller reads when the call resolves, and why that is not the browser's."""

NO_JSON = "an answer is JSON or a failure, and never silently nothing"

DEVIATIONS = {
    "respond_function": (lambda: make_ring, False, NO_JSON),
    "respond_dom_node": (QWidget, False, NO_JSON),
    "respond_error_object": (lambda: ValueError("boom"), False, "what failed is said by fail() or raised"),
    "respond_symbol": (object, False, "the browser's page crashes; here the call fails"),
    "respond_bigint_in_object": (lambda: {"x": 10}, True, "Python's integers are numbers, wherever they stand"),
    "respond_toJSON_undefined": (lambda: SimpleNamespace(toJSON=lambda: None), False, NO_JSON),
}
"""Probe -> what makes the answer, whether the call resolves here, and why not as in the browser."""


async def answered(probe_id, *makers):
    """The outcome of a probe's call whose slot answers, with each answer in turn."""
    play = Play(probe_id)
    for make in makers:
        play.buttons[0].clicked.connect(lambda _=False, make=make: current_submission(play.form).respond_with(make()))
    await play.open()
    outcome = await outcome_of(await play.begin())
    assert not play.stage.tool.is_active
    return outcome


@pytest.mark.parametrize("probe_id", SAME)
async def test_an_answer_ends_the_call_as_in_the_browser(probe_id):
    make, read, reason = SAME[probe_id]
    browser = PROBES[probe_id]["result"]
    outcome = await answered(probe_id, make)
    assert outcome.ok == (browser["settled"] == "resolved")
    if outcome.ok:
        assert outcome.data == {"submitted": browser["values"], "response": read}
        written = read if isinstance(read, str) else json.dumps(read)
        assert (written == browser["value"]) == (reason == "")


@pytest.mark.parametrize("probe_id", DEVIATIONS)
async def test_an_answer_ends_the_call_otherwise_for_a_reason(probe_id):
    make, resolves, reason = DEVIATIONS[probe_id]
    outcome = await answered(probe_id, make)
    assert outcome.ok == resolves
    assert outcome.code == ("" if resolves else "result_not_json")
    assert reason
    assert PROBES[probe_id]["result"].get("settled") != ("resolved" if resolves else "rejected")


async def test_what_was_done_stays_done_when_the_answer_cannot_be_shown():
    """The calls above are reads; a change must not be repeated because of its answer."""
    play = Play("respond_dom_node")
    play.form.setProperty("toolReadOnly", None)
    play.form.setProperty("toolAutoSubmit", None)
    play.buttons[0].clicked.connect(lambda: current_submission(play.form).respond_with(play.form))
    await play.open()
    task = await play.begin()
    play.press()
    outcome = await outcome_of(task)
    assert (outcome.ok, outcome.code, outcome.applied) == (True, "result_not_json", True)


async def test_the_last_of_two_answers_counts():
    """Probe respond_twice."""
    outcome = await answered("respond_twice", lambda: 1, lambda: 2)
    assert outcome.data["response"] == 2
    assert PROBES["respond_twice"]["result"]["value"] == "2"


async def test_an_answer_needs_nothing_before_it():
    """Probe respond_without_preventDefault: the browser's second call that must come first has no twin."""
    outcome = await answered("respond_without_preventDefault", lambda: 1)
    assert outcome.data["response"] == 1
    assert PROBES["respond_without_preventDefault"]["result"]["settled"] == "rejected"


async def test_an_answer_after_the_slot_returned_is_read_by_nobody():
    """Probe respond_late: the browser calls that a mistake of the page; here the submitted values are the result."""
    play = Play("respond_late")
    told = []

    def answer_later():
        submission = current_submission(play.form)
        QTimer.singleShot(0, lambda: (submission.respond_with(1), told.append(submission)))

    play.buttons[0].clicked.connect(answer_later)
    await play.open()
    outcome = await outcome_of(await play.begin())
    assert outcome.data == {"submitted": {"a": "x"}}
    assert PROBES["respond_late"]["result"]["settled"] == "rejected"
