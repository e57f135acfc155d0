"""The header: the name of the chat model stays in sight whatever the badge says."""

import pytest

from agentic_qt.ui.header import Header
from agentic_qt.ui.labels import plain_tool_tip

LONG = "SmolLM2 135M, on this computer, small and often wrong"


@pytest.fixture
def header(qtbot):
    made = Header()
    qtbot.addWidget(made)
    made.show_model("SmolLM2 135M", "", LONG, "warning")
    return made


@pytest.mark.parametrize("width", [280, 320, 400])
def test_a_long_badge_leaves_the_name_its_room(header, width):
    header.resize(width, header.sizeHint().height())
    header.show()
    header.layout().activate()
    assert header.width() == width
    assert header.model.width() >= header.model.fontMetrics().horizontalAdvance("SmolLM2 135M")
    assert header.badge.geometry().right() < header.new_chat.geometry().left()
    assert header.badge.y() > header.model.y()


def test_both_stand_on_one_line_where_there_is_room(header):
    header.resize(900, header.sizeHint().height())
    header.show()
    header.layout().activate()
    assert header.badge.x() > header.model.geometry().right()
    assert abs(header.badge.geometry().center().y() - header.model.geometry().center().y()) <= 2


def test_what_is_cut_is_told_in_full_elsewhere(header):
    assert header.badge.toolTip() == LONG
    assert header.badge.accessibleDescription() == LONG
    assert header.model.toolTip() == "SmolLM2 135M"


def test_a_tool_tip_shows_no_markup(qapp):
    """Threat 8."""
    assert plain_tool_tip("plain & simple") == "plain & simple"
    assert "<b>" not in plain_tool_tip("<b>Approved by IT</b>")
