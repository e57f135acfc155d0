"""Probes of several calls, several forms, and forms that go: each has a test of its own."""

import asyncio

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from agentic_qt.core.call import Status
from agentic_qt.core.errors import DeclarationError
from agentic_qt.qt.forms.form_tool import current_submission
from tests.support.approval_stage import settle, until
from tests.support.declare import declare
from tests.support.form_play import Play
from tests.support.form_probes import make_twin, result_of, shown
from tests.support.form_stage import FormStage, outcome_of

pytestmark = pytest.mark.anyio


def make_other(name, key):
    """A form of one field that submits by itself."""
    form = QWidget()
    form.setObjectName("other")
    layout = QVBoxLayout(form)
    edit = QLineEdit()
    edit.setObjectName(key)
    layout.addWidget(edit)
    layout.addWidget(QPushButton("Go"))
    for known, value in {
        "toolName": name, "toolDescription": "other", "toolAutoSubmit": True, "toolReadOnly": True,
    }.items():  # fmt: skip
        form.setProperty(known, value)
    return form


# --- Several calls ---------------------------------------------------------------------------------------------------


async def test_a_call_that_was_stopped_before_it_began_touches_nothing():
    """Probe manual_abort_before."""
    play = Play("manual_abort_before")
    stage = await play.open()
    task = stage.call({"a": "hi"}, name="t")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shown(play.form) == result_of("manual_abort_before")["values"] == {"a": "pre"}
    assert not stage.tool.is_active


async def test_of_three_calls_at_once_the_first_has_the_form():
    """Probe manual_third_call: in the browser the last one has it, and the others never settle."""
    play = Play("manual_third_call")
    stage = await play.open()
    tasks = [stage.call(given, name="t", id=f"c{number}") for number, given in enumerate(play.inputs)]
    others = [await outcome_of(task) for task in tasks[1:]]
    assert [outcome.code for outcome in others] == ["form_busy", "form_busy"]
    await until(lambda: stage.tool.review is not None and stage.tool.review.is_shown)
    stage.pass_time()
    play.press()
    assert (await outcome_of(tasks[0])).data["submitted"] == {"a": "1"}
    assert [end["settled"] for end in result_of("manual_third_call")["after"]] == ["pending", "pending", "resolved"]


async def test_an_invalid_call_leaves_the_one_under_review_alone():
    """Probe manual_invalid_call_while_pending."""
    play = Play("manual_invalid_call_while_pending")
    browser = result_of("manual_invalid_call_while_pending")
    stage = await play.open()
    first = await play.begin()
    second = await outcome_of(await play.begin(1))
    assert second.status is Status.INVALID
    assert browser["second"]["settled"] == "rejected"
    assert shown(play.form) == browser["second"]["values"]
    assert not first.done()
    assert browser["first_after_second"]["settled"] == "pending"
    assert play.form.property("toolFormActive")
    assert stage.tool.review.is_open


async def test_two_forms_are_under_review_at_once_and_end_alone():
    """Probe manual_two_tools."""
    page = make_twin("manual_two_tools").page
    browser = result_of("manual_two_tools")
    buttons = page.findChildren(QPushButton)
    stage = FormStage(page)
    for answer, (tool, button) in enumerate(zip(stage.exposed.tools, buttons, strict=True), 1):
        button.clicked.connect(
            lambda _=False, form=tool.form, answer=answer: current_submission(form).respond_with(answer)
        )
    await stage.open()
    first = await stage.begin({"a": "one"}, "t1", id="c1")
    second = await stage.begin({"b": "two"}, "t2", id="c2")
    active = [bool(tool.form.property("toolFormActive")) for tool in stage.exposed.tools]
    assert active == [True, True]
    for which, (task, other) in enumerate([(first, second), (second, first)]):
        for _ in range(12):
            stage.clock.now += 0.1
            for tool in stage.exposed.tools:
                if tool.review is not None:
                    tool.review.watch.beat()
        QTest.mouseClick(buttons[which], Qt.MouseButton.LeftButton)
        assert (await outcome_of(task)).data["response"] == which + 1
        assert other.done() == (which == 1)
    assert browser["after1"]["p2"]["settled"] == "pending"
    assert [browser["after1"]["p1"]["value"], browser["after2"]["p2"]["value"]] == ["1", "2"]


async def test_of_two_calls_in_one_turn_the_first_is_answered_and_the_second_is_busy():
    """Probe auto_two_calls_same_tick: the browser's first never settles, and its second gets the first one's result."""
    play = Play("auto_two_calls_same_tick")
    future = play.answer_later()
    stage = await play.open()
    first, second = [stage.call(given, name="t", id=given["a"]) for given in play.inputs]
    busy = await outcome_of(second)
    assert (busy.code, busy.retry) == ("form_busy", "later")
    future.set_result("done 1")
    assert (await outcome_of(first)).data == {"submitted": {"a": "1"}, "response": "done 1"}
    browser = result_of("auto_two_calls_same_tick")["rs"]
    assert [end.get("value") for end in browser] == [None, "done 1"]


# --- Names -----------------------------------------------------------------------------------------------------------


async def test_a_form_that_is_gone_cannot_be_called():
    """Probe stale_tool_object."""
    play = Play("stale_tool_object")
    stage = await play.open()
    revision = stage.registry.revision
    play.remove()
    await until(lambda: not shiboken6.isValid(play.form))
    await settle()
    outcome = await outcome_of(stage.call({"a": "x"}, name="t", revision=revision))
    assert outcome.status is Status.UNAVAILABLE
    assert result_of("stale_tool_object")["settled"] == "rejected"


async def test_a_form_in_the_place_of_another_takes_its_own_fields():
    """Probe stale_tool_replaced; a call that names the revision of the old one is stale besides."""
    play = Play("stale_tool_replaced")
    browser = result_of("stale_tool_replaced")
    stage = await play.open()
    revision = stage.registry.revision
    play.remove()
    stage.place.addWidget(make_other("t", "b"))
    await until(lambda: [tool.port.schema()["properties"].keys() for tool in stage.exposed.tools] == [{"b"}])
    await settle()
    old = await outcome_of(stage.call({"a": "x"}, name="t", id="c1"))
    new = await outcome_of(stage.call({"b": "x"}, name="t", id="c2"))
    planned = await outcome_of(stage.call({"b": "x"}, name="t", id="c3", revision=revision))
    assert (old.status, new.ok, planned.status) == (Status.INVALID, True, Status.STALE)
    assert [browser[key]["settled"] for key in ("withOldArg", "withNewArg")] == ["rejected", "resolved"]


async def test_a_call_is_its_name_and_unknown_names_are_unavailable():
    """Probe fabricated_tool; nothing here has an origin."""
    play = Play("fabricated_tool")
    stage = await play.open()
    known = await outcome_of(stage.call({"a": "x"}, name="t", id="c1"))
    unknown = await outcome_of(stage.call({"a": "x"}, name="nope", id="c2"))
    assert (known.ok, unknown.status) == (True, Status.UNAVAILABLE)
    browser = result_of("fabricated_tool")
    assert [browser[key]["settled"] for key in ("plain", "unknown")] == ["resolved", "rejected"]


async def test_of_two_forms_of_one_name_the_second_stays_when_the_first_goes():
    """Probe duplicate_then_first_removed: the browser drops the second for ever; here both are tools, by target."""
    page = make_twin("duplicate_then_first_removed").page
    stage = FormStage(page)
    await stage.open()
    assert [found.capability.description for found in stage.registry.visible] == ["first", "second"]
    stage.exposed.tools[0].form.deleteLater()
    await until(lambda: len(stage.registry.visible) == 1)
    assert stage.registry.visible[0].capability.description == "second"
    assert result_of("duplicate_then_first_removed") == {"before": ["first"], "after": []}


async def test_a_name_that_a_form_has_cannot_be_registered_in_code():
    """Probe declarative_vs_imperative."""
    play = Play("declarative_vs_imperative")
    stage = await play.open()
    with pytest.raises(DeclarationError):
        stage.registry.register(declare("t"))
    assert [found.capability.description for found in stage.registry.visible] == ["form"]
    browser = result_of("declarative_vs_imperative")
    assert (browser["register"]["settled"], browser["tools"]) == ("rejected", ["form"])
