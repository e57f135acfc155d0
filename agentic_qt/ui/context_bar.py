"""The facts that go with the next message, as chips above the composer; each can be left out of that message."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QWidget

from agentic_qt.client.agent import Agent
from agentic_qt.ui.labels import plain_tool_tip
from agentic_qt.ui.theme import Tones
from agentic_qt.ui.words import translate


class ContextChip(QAbstractButton):
    """One fact: checked when it goes with the next message."""

    def __init__(self, name: str, description: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        self.setChecked(True)
        self.setText(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(translate("agentic_qt", "Sent with your next message: {name}").format(name=name))
        self.setAccessibleDescription(description)
        words = translate("agentic_qt", "Goes with your next message; press to leave it out.")
        self.setToolTip(plain_tool_tip(f"{description}\n{words}" if description else words))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Return the room for the name and its sign."""
        em = self.fontMetrics().height()
        return QSize(self.fontMetrics().horizontalAdvance(self._words()) + round(1.2 * em), round(1.5 * em))

    def minimumSizeHint(self) -> QSize:
        """Let it shrink; the name is elided then."""
        return QSize(min(self.sizeHint().width(), 4 * self.fontMetrics().height()), self.sizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the name in a pill; struck out and empty where it is left out."""
        tones = Tones.of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(tones.accent if self.hasFocus() else tones.border, 1.5 if self.hasFocus() else 1))
        painter.setBrush(tones.user if self.isChecked() else Qt.BrushStyle.NoBrush)
        radius = self.height() / 2 - 1
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), radius, radius)
        font = painter.font()
        font.setStrikeOut(not self.isChecked())
        painter.setFont(font)
        painter.setPen(tones.text if self.isChecked() else tones.muted)
        room = self.width() - round(0.9 * self.fontMetrics().height())
        words = self.fontMetrics().elidedText(self._words(), Qt.TextElideMode.ElideRight, room)
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, words)
        painter.end()

    def _words(self) -> str:
        return f"@{self.text()}  \u00d7" if self.isChecked() else f"@{self.text()}"


@dataclass(kw_only=True, slots=True, eq=False)
class _Fact:
    function: Callable[[], Any]
    description: str
    chip: ContextChip
    forget: Callable[[], None] | None = None


class ContextBar(QWidget):
    """The facts of one assistant; they stay when the agent that asks for them changes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._facts: dict[str, _Fact] = {}
        self._agent: Agent | None = None
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(round(0.35 * self.fontMetrics().height()))
        self._row.addStretch(1)
        self.setAccessibleName(translate("agentic_qt", "What goes with your next message"))
        self.hide()

    @property
    def chips(self) -> tuple[ContextChip, ...]:
        """One for each fact."""
        return tuple(fact.chip for fact in self._facts.values())

    def add(self, name: str, function: Callable[[], Any], description: str) -> Callable[[], None]:
        """Send what `function` says with each message from now on; returns a function that ends it.

        Raises:
            ValueError: The name is empty or taken.
        """
        if not name or name in self._facts:
            raise ValueError(f"a context provider needs a name of its own, not {name!r}")
        chip = ContextChip(name, description, self)
        fact = _Fact(function=function, description=description, chip=chip)
        try:
            fact.forget = None if self._agent is None else self._tell(self._agent, name, fact)
        except ValueError:  # the application gave the agent itself a fact of that name
            chip.hide()
            chip.deleteLater()
            raise
        self._facts[name] = fact
        self._row.insertWidget(self._row.count() - 1, chip)
        self.show()

        def remove() -> None:
            if self._facts.get(name) is fact:
                del self._facts[name]
                if fact.forget is not None:
                    fact.forget()
                self._row.removeWidget(chip)
                chip.hide()
                chip.deleteLater()
                self.setVisible(bool(self._facts))

        return remove

    def set_agent(self, agent: Agent | None) -> None:
        """Who asks for the facts from now on."""
        if agent is self._agent:
            return
        self._agent = agent
        for name, fact in self._facts.items():
            fact.forget = None if agent is None else self._tell(agent, name, fact)

    def renew(self) -> None:
        """The message was sent: what was left out of it goes with the next one again."""
        for chip in self.chips:
            chip.setChecked(True)

    def _tell(self, agent: Agent, name: str, fact: _Fact) -> Callable[[], None]:
        return agent.context(
            name, lambda: fact.function() if fact.chip.isChecked() else None, description=fact.description
        )
