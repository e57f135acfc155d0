"""What a browser did with a form under review or being submitted, and what we do: each deviation with its reason."""

import pytest

from agentic_qt.qt.forms.form_tool import current_submission
from tests.support.approval_stage import settle
from tests.support.form_play import Play
from tests.support.form_probes import PROBES

pytestmark = pytest.mark.anyio

SAME = {
    "manual_pending": ("wait", ""),
    "manual_user_clicks": ("press", "second"),
    "manual_user_edits_then_clicks": ("edit_and_press", "second"),
    "manual_enter_key": ("enter", ""),
    "manual_second_submit_button": ("press_second", "second"),
    "manual_reset_js": ("reset_by_code", ""),
    "manual_reset_button": ("reset", ""),
    "manual_abort_signal": ("stop", ""),
    "manual_abort_with_reason": ("stop", ""),
    "manual_form_removed": ("remove", ""),
    "manual_form_moved": ("move", ""),
    "manual_toolname_changed": ("rename", ""),
    "manual_tooldescription_changed": ("describe", ""),
    "manual_tooltitle_changed": ("entitle", ""),
    "manual_autosubmit_added": ("make_automatic", ""),
    "manual_submit_disabled": ("disabled", ""),
    "manual_submit_hidden": ("hidden_button", ""),
    "manual_no_submit_button": ("wait", ""),
    "manual_image_button": ("wait", ""),
    "auto_valid": ("wait", ""),
    "auto_no_button": ("wait", ""),
    "respond_string": ("respond", ""),
    "respond_empty_string": ("respond", ""),
    "respond_null": ("respond", ""),
    "respond_number": ("respond", ""),
    "respond_zero": ("respond", ""),
    "respond_bool": ("respond", ""),
    "respond_array": ("respond", ""),
    "respond_object": ("respond", ""),
    "respond_non_promise": ("respond", ""),
    "respond_reject_error": ("fail", ""),
    "respond_reject_string": ("fail", ""),
    "respond_never_settles": ("never", ""),
    "validation_invalid_prevented": ("wait", ""),
    "dialog_method": ("dialog", ""),
    "dialog_method_manual": ("dialog_and_press", "after"),
}
"""Probe -> what is done, and where in the probe the end stands; settled as in the browser."""

DEVIATIONS = {
    "manual_field_added": ("add_field", "pending", "the person sees the new field and submits it or not"),
    "manual_hidden_form": ("hidden_form", "rejected", "nobody can review what is hidden: unavailable"),
    "manual_js_requestSubmit": ("click_by_code", "pending", "only a person's act submits"),
    "page_autosubmits_on_activated": ("click_by_code", "pending", "only a person's act submits"),
    "manual_button_type_button": ("wait", "pending", "Qt's buttons have no type: the only one there is submits"),
    "manual_user_clicks_no_respond": ("press", "resolved", "an answer is no duty: the submitted values are one"),
    "handler_no_respond": ("wait", "resolved", "an answer is no duty: the submitted values are one"),
    "manual_required_left_empty": ("wait", "rejected", "what the schema requires must be given"),
    "validation_formnovalidate": ("wait", "rejected", "what the schema requires must be given, whatever the button"),
    "manual_reset_prevented": ("refuse_reset", "rejected", "who presses Reset has turned the call down"),
    "cdp_navigated_away_while_pending": ("close_window", "rejected", "no call hangs for ever"),
    "auto_disabled_button": ("disabled", "rejected", "a disabled button submits nothing"),
    "auto_reset_in_handler": ("reset_after", "resolved", "what was submitted stays submitted"),
    "auto_reset_after_await": ("reset_after", "resolved", "what was submitted stays submitted"),
    "dialog_closed_while_pending": ("dialog_and_close", "rejected", "no call hangs for ever"),
}
"""Probe -> what is done, how we settle, and why not as the browser."""

PUT_BACK = {
    "manual_abort_signal", "manual_abort_with_reason", "manual_toolname_changed", "manual_tooldescription_changed",
    "manual_tooltitle_changed", "manual_autosubmit_added", "manual_form_moved",
}  # fmt: skip
"""Ends without a submission where the browser leaves the agent's values, and we put back what stood there."""


def browsers_end(probe_id, where):
    result = PROBES[probe_id]["result"]
    return result[where] if where else result


@pytest.mark.parametrize("probe_id", SAME)
async def test_it_ends_as_in_the_browser(probe_id):
    action, where = SAME[probe_id]
    browser = browsers_end(probe_id, where)
    play = Play(probe_id)
    settled, outcome, values = await play.run(action, waits=browser["settled"] == "pending")
    assert settled == browser["settled"], outcome
    if action == "respond":
        assert outcome.data["response"] == play.answer
    if probe_id in PUT_BACK:
        assert values == play.before
    elif values is not None and "values" in browser:
        known = {key: value for key, value in browser["values"].items() if key in values}
        assert values == known


@pytest.mark.parametrize("probe_id", DEVIATIONS)
async def test_it_ends_otherwise_for_a_reason(probe_id):
    action, expected, reason = DEVIATIONS[probe_id]
    settled, outcome, _values = await Play(probe_id).run(action, waits=expected == "pending")
    assert settled == expected, outcome
    assert reason
    browser = PROBES[probe_id]["result"]
    assert "settled" not in browser or browser["settled"] != settled


async def test_a_person_who_submits_alone_is_told_as_such():
    """Probe manual_user_submits_without_agent."""
    play = Play("manual_user_submits_without_agent")
    told = []
    play.buttons[0].clicked.connect(lambda: told.append(current_submission(play.form).agent_invoked))
    await play.open()
    play.press()
    await settle()
    assert told == [False]
