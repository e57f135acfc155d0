"""The lines of the audit of one command, below each other: what happened, when, by whom, on what grounds."""

from typing import Any

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from agentic_qt.commands.values import AuditEntry
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.approval.text import exact, exact_value
from agentic_qt.ui.commands.command_words import event_words, moment_words
from agentic_qt.ui.commands.mark import StateMark
from agentic_qt.ui.words import translate

_SHORT_DIGEST = 12


class AuditLine(QWidget):
    """One line."""

    def __init__(self, entry: AuditEntry, parent: QWidget) -> None:
        super().__init__(parent)
        em = self.fontMetrics().height()
        state = event_words(entry.event, entry.code)
        words = ExactLabel(state.word, bold=True, parent=self)
        told = [
            translate("agentic_qt", "{moment}, by {name}").format(
                moment=moment_words(entry.at), name=exact(entry.actor)
            ),
            *detail_words(entry),
        ]
        details = ExactLabel("\n".join(told), tone="muted", scale=0.92, parent=self)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(em // 2)
        mark = QVBoxLayout()
        mark.addWidget(StateMark(state, self))
        mark.addStretch(1)
        line.addLayout(mark)
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addWidget(words)
        column.addWidget(details)
        line.addLayout(column, 1)
        self.setAccessibleName(", ".join((state.word, *told)))


def detail_words(entry: AuditEntry) -> list[str]:
    """Return what the line rests on: code, approval, versions, digest."""
    detail: dict[str, Any] = entry.detail if isinstance(entry.detail, dict) else {}
    told = []
    if entry.code:
        told.append(translate("agentic_qt", "Code {code}").format(code=exact(entry.code)))
    if detail.get("approvedBy") is not None:
        at = detail.get("approvedAt")
        words = (
            translate("agentic_qt", "Approved by {name}")
            if at is None
            else translate("agentic_qt", "Approved by {name}, {moment}")
        )
        told.append(words.format(name=exact(str(detail["approvedBy"])), moment="" if at is None else moment_words(at)))
    if detail.get("expectedVersion") is not None:
        words = translate("agentic_qt", "For version {version}")
        told.append(words.format(version=exact_value(detail["expectedVersion"])))
    if detail.get("version") is not None:
        done = entry.event == "succeeded"
        words = (
            translate("agentic_qt", "Version afterwards: {version}")
            if done
            else translate("agentic_qt", "Version found: {version}")
        )
        told.append(words.format(version=exact_value(detail["version"])))
    if isinstance(detail.get("note"), str):
        told.append(translate("agentic_qt", "Note: {note}").format(note=exact(detail["note"])))
    if isinstance(detail.get("digest"), str):
        told.append(translate("agentic_qt", "Digest {digits}").format(digits=exact(detail["digest"][:_SHORT_DIGEST])))
    return told
