"""Whatever happens to a form under review, the call ends once and the form is as free as before."""

import asyncio
import random

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from agentic_qt.core.call import Status
from tests.support.approval_stage import settle
from tests.support.form_stage import FormStage, make_form, outcome_of

pytestmark = pytest.mark.anyio

ACTIONS = {
    "press": lambda stage, rng: stage.press_submit(),
    "wait_and_press": lambda stage, rng: (stage.pass_time(), stage.press_submit()),
    "return": lambda stage, rng: (stage.city.setFocus(), stage.key(Qt.Key.Key_Return)),
    "type": lambda stage, rng: QTest.keyClicks(stage.city, rng.choice("abc")),
    "clear": lambda stage, rng: stage.city.clear(),
    "count": lambda stage, rng: stage.people.setValue(rng.randint(1, 9)),
    "escape": lambda stage, rng: (stage.city.setFocus(), stage.key(Qt.Key.Key_Escape)),
    "hide": lambda stage, rng: stage.form.hide(),
    "show": lambda stage, rng: stage.form.show(),
    "disable": lambda stage, rng: stage.form.setEnabled(False),
    "enable": lambda stage, rng: stage.form.setEnabled(True),
    "disable_button": lambda stage, rng: stage.button.setEnabled(False),
    "enable_button": lambda stage, rng: stage.button.setEnabled(True),
    "click_by_code": lambda stage, rng: stage.button.click(),
    "title": lambda stage, rng: stage.form.setProperty("toolTitle", rng.choice("xyz")),
    "automatic": lambda stage, rng: stage.form.setProperty("toolAutoSubmit", rng.choice([True, False])),
    "undeclare": lambda stage, rng: stage.form.setProperty("toolName", None),
    "declare": lambda stage, rng: stage.form.setProperty("toolName", "trip.book"),
    "add_field": lambda stage, rng: stage.form.layout().addRow(QLineEdit(objectName=f"extra{rng.randint(0, 99)}")),
    "stop": lambda stage, rng: stage.registry.cancel("c1"),
    "second_call": lambda stage, rng: stage.others.append(stage.call({"city": "Vinh"})),
}


@pytest.mark.parametrize("seed", range(40))
async def test_any_sequence_of_events_ends_the_call_once_and_frees_the_form(seed):
    """FC-03."""
    rng = random.Random(seed)
    stage = FormStage(make_form(toolReadOnly=rng.random() < 0.3))
    stage.others = []
    activated, cancelled = [], []
    stage.tool.tool_activated.connect(activated.append)
    stage.tool.tool_cancelled.connect(cancelled.append)
    await stage.open()
    task = await stage.begin({"city": "Hue"}, id="c1")
    done = []
    for _ in range(rng.randint(1, 8)):
        action = rng.choice(list(ACTIONS))
        done.append(action)
        if stage.exposed.tools:
            ACTIONS[action](stage, rng)
        for _ in range(rng.randint(0, 3)):
            await asyncio.sleep(0)
    stage.registry.cancel("c1")
    outcome = await outcome_of(task)
    stage.form.setProperty("toolName", None)  # whoever still waits is cancelled
    stage.form.show()
    for other in stage.others:
        await outcome_of(other)
    await settle()
    honest = {Status.OK, Status.CANCELLED, Status.DENIED, Status.UNAVAILABLE, Status.STALE, Status.INVALID}
    # A read knows no denial: nobody had to approve it.
    assert outcome.status in honest or outcome.code == "person", (done, outcome)
    assert stage.exposed.tools == (), done
    assert not stage.button.signalsBlocked(), done
    assert stage.form.property("toolFormActive") is None, done
    assert stage.button.property("toolSubmitActive") is None, done
    agents = [values for values, by_agent in zip(stage.booked, stage.asked, strict=True) if by_agent]
    assert len(agents) <= 1 + len(stage.others), done
    if outcome.ok:
        assert outcome.data["submitted"] in stage.booked, done
    elif not stage.others:
        assert agents == [], done
    assert shiboken6.isValid(stage.form)
