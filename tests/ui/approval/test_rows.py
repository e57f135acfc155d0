"""How labels and values stand in wide and in narrow places."""

import pytest
from PySide6.QtWidgets import QLabel

from agentic_qt.testing.scripted import tool
from agentic_qt.ui.approval.rows_view import RowsView
from agentic_qt.ui.approval.value_view import ChangeView
from tests.support.approval_stage import Stage, make_request, settle
from tests.support.assistant_stage import AssistantStage, make_registry, until

pytestmark = pytest.mark.anyio

TITLES = {"email": "E-mail", "customer": "Customer", "currency": "Preferred currency of invoices"}
SCHEMA = {"type": "object", "properties": {name: {"type": "string", "title": title} for name, title in TITLES.items()}}


async def open_rows(stage: Stage, width: int, **fields: object) -> RowsView:
    stage.window.resize(width, 700)
    await stage.open()
    await stage.ask(make_request(**{"input_schema": SCHEMA, "client": "assistant", **fields}))
    await settle()
    card = stage.views.panel.card
    assert card is not None
    return card.payload._rows


def lines_of(label: QLabel) -> int:
    return round(label.height() / label.fontMetrics().lineSpacing())


@pytest.mark.parametrize("width", [280, 320, 420, 900])
async def test_short_labels_stand_on_one_line(stage: Stage, width: int) -> None:
    """They were broken inside a word: "Custom-er"."""
    rows = await open_rows(stage, width, input={"customer": "Ada", "email": "ada@example.com"})
    labels = {line.label.text(): line.label for line in rows._lines if line.value is not None}
    assert {"Customer", "E-mail", "Asked by"} <= labels.keys()
    assert {text: lines_of(label) for text, label in labels.items()} == dict.fromkeys(labels, 1)


async def test_long_labels_stand_above_their_values_where_it_is_narrow(stage: Stage) -> None:
    rows = await open_rows(stage, 280, input={"currency": "EUR"})
    line = next(line for line in rows._lines if line.label.text() == TITLES["currency"])
    assert line.value is not None
    assert line.value.y() >= line.label.geometry().bottom()
    assert line.value.x() == line.label.x()


async def test_a_long_label_takes_two_fifths_at_the_most_where_it_is_wide(stage: Stage) -> None:
    rows = await open_rows(stage, 900, input={"currency": "EUR"})
    line = next(line for line in rows._lines if line.label.text() == TITLES["currency"])
    assert line.value is not None
    assert line.value.x() > line.label.geometry().right()
    assert line.label.width() <= 0.4 * rows.width()


@pytest.mark.parametrize(("width", "beside"), [(280, False), (900, True)])
async def test_old_and_new_value_stand_beside_each_other_where_both_fit(
    stage: Stage, width: int, *, beside: bool
) -> None:
    facts = {"changes": {"email": {"old": "ada.lovelace@example.org", "new": "ada@example.com"}}}
    rows = await open_rows(stage, width, facts=facts, input={"email": "ada@example.com"})
    (change,) = rows.findChildren(ChangeView)
    old, new = change.values
    assert (new.y() < old.geometry().bottom()) is beside
    assert {lines_of(value._text) for value in change.values} == {1}


async def test_rows_follow_the_width(stage: Stage) -> None:
    rows = await open_rows(stage, 280, input={"currency": "EUR"})
    stage.window.resize(900, 700)
    await settle()
    line = next(line for line in rows._lines if line.label.text() == TITLES["currency"])
    assert line.value is not None
    assert line.value.x() > line.label.geometry().right()


async def test_a_short_request_in_a_dock_of_common_size_can_be_approved_without_scrolling(qapp) -> None:
    stage = AssistantStage([[tool("customer_mark", {"customer": "Ada"})]], registry=make_registry())
    await stage.open()
    stage.assistant.send("Mark Ada")
    panel = stage.assistant.approvals.panel
    await until(lambda: panel.card and panel.card.payload.complete)
    assert panel.card.approve_button.isEnabled()
    assert panel.card.payload.verticalScrollBar().maximum() == 0
    assert stage.assistant.panel.pages.height() >= 4 * stage.window.fontMetrics().height()
    stage.assistant.stop()
    await until(lambda: not stage.assistant.running)
