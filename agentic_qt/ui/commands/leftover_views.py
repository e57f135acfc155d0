"""What was left from earlier sessions, in one panel: shows it, and does what a person presses there.

Nothing runs by itself, and nothing is approved here: resuming goes through the pipeline, where a person is asked anew.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import shiboken6
from PySide6.QtWidgets import QWidget

from agentic_qt.commands.desk import CommandDesk
from agentic_qt.commands.errors import CommandError
from agentic_qt.commands.projection import is_final
from agentic_qt.commands.recovery import CLIENT, Leftovers, Recovery
from agentic_qt.commands.values import Actor, Code, CommandResult
from agentic_qt.core.approvals import ApprovalChange, ApprovalEvent
from agentic_qt.core.registry import CatalogueChange
from agentic_qt.qt.loop import spawn
from agentic_qt.ui.approval.views import ApprovalViews
from agentic_qt.ui.commands.command_words import State, moment_words, state_of_outcome, state_of_result, trouble
from agentic_qt.ui.commands.leftover import Left, describe_all
from agentic_qt.ui.commands.leftover_card import LeftoverCard
from agentic_qt.ui.commands.strip import LeftoverStrip
from agentic_qt.ui.panel import Panel
from agentic_qt.ui.words import translate

_log = logging.getLogger("agentic_qt.ui.commands.leftover_views")


class LeftoverViews:
    """The cards of one window; made when there is something to show.

    Args:
        desk: The window's.
        panel: Where they are shown.
        approvals: The views that ask the person: their watch and times judge the gestures here as well.
        actor: Who uses the window, by name.
        look: Looks again for what is left.
        show_command: Shows what happened to a command.
        clock: Seconds since the epoch.

    Attributes:
        strip: The cards.
    """

    def __init__(
        self,
        desk: CommandDesk,
        panel: Panel,
        approvals: ApprovalViews,
        *,
        actor: str | None,
        look: Callable[[], None],
        show_command: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._desk = desk
        self._approvals = approvals
        self._actor = actor
        self._look = look
        self._show_command = show_command
        self._clock = clock
        self._recovery = Recovery(desk)
        self._acts: set[asyncio.Task[None]] = set()
        self._has_left = False
        self.strip = LeftoverStrip(self._make_card, panel)
        self.strip.acted.connect(self._act)
        self.strip.retry_requested.connect(look)
        self.strip.came_back.connect(look)
        self.strip.focus_left.connect(panel.composer.field.setFocus)
        panel.leftover_place.addWidget(self.strip)
        self.strip.squeeze(on=bool(desk.registry.approvals.pending))
        self._removers = (
            desk.registry.approvals.observe(self._asked),
            desk.registry.observe(self._catalogue_changed),
        )

    @property
    def busy(self) -> bool:
        """Whether something that was pressed is under way."""
        return bool(self._acts)

    def show(self, found: Leftovers) -> None:
        """Show what is left now."""
        words = translate("agentic_qt", "Decided or found out meanwhile")
        gone = State(icon="check", tone="muted", word=words)
        # While something is done about a command, the journal's line of it stands alone: no card of its own.
        acting = {card.left.command_id for card in self.strip.cards.values() if card.busy} - {None}
        left = describe_all(found, self._desk.registry, self._desk)
        self.strip.show_left([each for each in left if each.command_id not in acting], gone=gone)

    def show_trouble(self, error: CommandError) -> None:
        """Say that it cannot be read."""
        self.strip.show_problem(trouble(error))

    def command_ended(self, command_id: str) -> None:
        """A command of this process has ended: look again if a card waits for that."""
        if any(card.left.command_id == command_id for card in self.strip.open_cards):
            self._look()

    def leave(self) -> None:
        """Take the cards away; what is under way goes on without being shown."""
        self._has_left = True
        for remove in self._removers:
            remove()
        if shiboken6.isValid(self.strip):
            self.strip.hide()
            self.strip.deleteLater()

    def _make_card(self, left: Left, parent: QWidget) -> LeftoverCard:
        asks = self._approvals
        return LeftoverCard(left, watch=asks.watch, times=asks.times, clock=self._clock, parent=parent)

    def _catalogue_changed(self, change: CatalogueChange) -> None:
        """What a card is called comes from the capability, which a window may declare later."""
        if change.kind == "mounted" and self.strip.open_cards:
            self._look()

    def _asked(self, event: ApprovalEvent) -> None:
        """Make room for an approval, and say on the card that it is there."""
        self.strip.squeeze(on=bool(self._desk.registry.approvals.pending))
        if event.change is not ApprovalChange.ADDED or event.request.client != CLIENT:
            return
        for card in self.strip.open_cards:
            if card.busy and event.request.call_id.startswith(f"{card.left.proposal_id}:"):
                card.say(translate("agentic_qt", "You are asked anew: see the approval."), urgent=False)

    # Acting

    def _act(self, card: LeftoverCard, name: str) -> None:
        if name == "close":
            self.strip.remove(card)
        elif name == "audit":
            self._show_command(card.left.command_id or "")
        else:
            self.strip.hold_focus()
            card.begin(self._busy_words(name))
            task = spawn(self._carry_out(card, name), name=f"agentic_qt.leftover.{name}")
            self._acts.add(task)
            task.add_done_callback(self._acts.discard)

    async def _carry_out(self, card: LeftoverCard, name: str) -> None:
        acts: dict[str, Callable[[Left], Awaitable[State | str]]] = {
            "resume": self._resume,
            "discard": self._discard,
            "look": self._look_at,
            "give_up": self._give_up,
            "happened": lambda left: self._answer(left, happened=True),
            "not_happened": lambda left: self._answer(left, happened=False),
        }
        try:
            told = await acts[name](card.left)
        except CommandError as error:
            told = trouble(error)
        except Exception as error:  # the card must not stay busy for ever
            _log.exception("What was pressed on what was left failed: %s", name)
            told = trouble(error)
        if self._has_left or not shiboken6.isValid(card):
            return
        card.finish()
        if isinstance(told, State):
            card.end(told)
        else:
            card.say(told)
        self.strip.refresh()
        self._look()

    async def _resume(self, left: Left) -> State:
        return state_of_outcome(await self._recovery.resume(left.proposal_id))

    async def _discard(self, left: Left) -> State | str:
        result = await self._recovery.discard(left.proposal_id)
        if result is None or result.code == Code.ABANDONED:
            words = translate("agentic_qt", "It did not happen, and cannot happen any more.")
            word = translate("agentic_qt", "Discarded")
            return State(icon="cancelled", tone="muted", word=word, sentence=words)
        return self._told(result)

    async def _give_up(self, left: Left) -> State | str:
        if left.proposal_id:
            result = await self._recovery.discard(left.proposal_id)
        else:
            result = await self._desk.service.abandon(left.command_id or "", self._actor_of(left.actor))
        return self._told(result) if result is not None else translate("agentic_qt", "Still not known.")

    async def _look_at(self, left: Left) -> str:
        result = await self._desk.ask_status(left.command_id or "", self._actor_of(left.actor))
        if is_final(result):
            return ""  # the next look, which follows at once, tells it
        return self._still_unknown()

    async def _answer(self, left: Left, *, happened: bool) -> State:
        await self._recovery.resolve_interrupted(left.intent_id, applied=happened, by=self._actor)
        if happened:
            return State(icon="check", tone="ok", word=translate("agentic_qt", "It happened, as you found"))
        word = translate("agentic_qt", "It did not happen, as you found")
        return State(icon="cancelled", tone="muted", word=word)

    def _told(self, result: CommandResult) -> State | str:
        if is_final(result):
            return state_of_result(result)
        return self._still_unknown()

    def _still_unknown(self) -> str:
        words = translate("agentic_qt", "Still not known, {moment}.")
        return words.format(moment=moment_words(self._clock()))

    def _busy_words(self, name: str) -> str:
        if name == "resume":
            return translate("agentic_qt", "It is being read anew…")
        return translate("agentic_qt", "One moment…")

    def _actor_of(self, name: str | None) -> Actor:
        actor = self._desk.actor_of(name)
        if actor is None:
            raise CommandError("no_actor", "Nobody is signed in here who may see it.")
        return actor
