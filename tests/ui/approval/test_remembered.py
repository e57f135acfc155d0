"""The list of remembered approvals."""

from typing import Any

import pytest
import shiboken6
from PySide6.QtWidgets import QLabel, QPushButton

from agentic_qt.core.approvals import ApprovalQueue
from agentic_qt.core.grants import Scope
from agentic_qt.ui.approval.remembered import RememberedApprovals
from tests.support.approval_stage import click


def remember(queue: ApprovalQueue, name: str, scope: Scope = Scope.RUN) -> None:
    queue.grants.add(
        scope=scope, client="assistant", name=name, target_id="customers", registration=object(), run="r1",
        digest="ab" * 32, facts_digest="", granted_at=1_700_000_000.0,
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
