"""The list of remembered approvals, and the choices that lead to it."""

from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from agentic_qt.core.approvals import ApprovalQueue
from agentic_qt.core.grants import Scope
from agentic_qt.ui.approval.remembered import RememberedApprovals
from agentic_qt.ui.approval.remembering import SHORT, choices, scope_words
from tests.support.approval_stage import Clock, click, make_request


def remember(queue: ApprovalQueue, name: str, scope: Scope = Scope.RUN, **limits: Any) -> Any:
    return queue.grants.add(
        scope=scope, client="assistant", name=name, target_id="customers", registration=object(), run="r1",
        digest="ab" * 32, facts_digest="", granted_at=limits.pop("granted_at", 1_700_000_000.0), **limits,
    )  # fmt: skip


def texts(widget: RememberedApprovals) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel) if label.isVisible()]


def test_each_grant_is_listed_with_scope_and_time_and_can_be_revoked(qtbot: Any) -> None:
    """FC-23."""
    queue = ApprovalQueue()
    remember(queue, "customer.update")
    widget = RememberedApprovals(queue)
    qtbot.addWidget(widget)
    widget.show()
    remember(queue, "order.create", Scope.SESSION)
    qtbot.waitUntil(lambda: {"customer.update", "order.create"} <= set(texts(widget)))
    assert any("Until its run ends" in text and "2023" in text.replace("/23", "/2023") for text in texts(widget))
    button = next(b for b in widget.findChildren(QPushButton) if b.accessibleName() == "Revoke customer.update")
    click(button)
    assert [grant.name for grant in queue.grants] == ["order.create"]
    qtbot.waitUntil(lambda: "order.create" in texts(widget))
    assert "customer.update" not in texts(widget)


def test_an_empty_list_says_so_and_a_deleted_one_lets_go(qtbot: Any, caplog: pytest.LogCaptureFixture) -> None:
    queue = ApprovalQueue()
    widget = RememberedApprovals(queue)
    widget.show()
    qtbot.waitUntil(lambda: any("Nothing is remembered" in text for text in texts(widget)))
    widget.deleteLater()
    qtbot.waitUntil(lambda: not shiboken6.isValid(widget))
    remember(queue, "customer.update")
    assert "failed" not in caplog.text  # what the observers of the grants would log


def test_what_is_left_of_a_grant_is_shown_and_follows_time_and_uses(qtbot: Any) -> None:
    """FC-40."""
    clock = Clock()
    queue = ApprovalQueue(clock=clock)
    remember(queue, "plain.one")
    timed = remember(queue, "timed.one", granted_at=clock.now, expires_at=clock.now + 900, max_uses=3)
    widget = RememberedApprovals(queue)
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitUntil(lambda: "15 min left · uses left: 3" in texts(widget))
    queue.grants.use(timed)
    qtbot.waitUntil(lambda: "15 min left · uses left: 2" in texts(widget))
    clock.now += 860
    widget.refresh()
    assert "less than a minute left · uses left: 2" in texts(widget)
    clock.now += 40
    widget.refresh()
    qtbot.waitUntil(lambda: "plain.one" in texts(widget))
    assert "timed.one" not in texts(widget)


def test_the_focus_goes_on_to_the_next_grant_when_one_is_revoked_with_keys(qtbot: Any) -> None:
    queue = ApprovalQueue()
    for name in ("a.one", "b.two", "c.three"):
        remember(queue, name)
    widget = RememberedApprovals(queue)
    qtbot.addWidget(widget)
    widget.show()
    widget.activateWindow()
    qtbot.waitUntil(widget.isActiveWindow)
    widget._buttons[1].setFocus()
    for left in ("c.three", "a.one"):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
        assert QApplication.focusWidget().accessibleName() == f"Revoke {left}"


def test_what_is_remembered_names_capability_and_target_and_nothing_in_them_is_a_placeholder() -> None:
    words = scope_words(Scope.RUN, "Update {target}", "Customers  [customers]")
    assert words == "Allow “Update {target}” on Customers  [customers] until this run ends"
    assert "the application" in scope_words(Scope.SESSION, "Update", "")


def test_the_choices_go_from_narrow_to_wide_and_one_ends_by_itself() -> None:
    """FC-40, threat 12."""
    offered = choices(make_request(), "Update customer")
    assert [(choice.scope, choice.seconds) for choice in offered] == [
        (Scope.DIGEST, None),
        (Scope.RUN, None),
        (Scope.SESSION, SHORT),
        (Scope.SESSION, None),
    ]
    assert offered[2].words == "Allow “Update customer” on Customers [customers] for 15 minutes"


def test_the_limits_of_the_applications_policy_are_said_in_the_choices() -> None:
    """FC-40."""
    words = [choice.words for choice in choices(make_request(remember_for=600, max_uses=5), "Update customer")]
    assert all(found.endswith("(at most 10 min, at most 5 times)") for found in words)
    assert not any("15 minutes" in found for found in words)
