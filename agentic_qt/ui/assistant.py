"""Attaches the assistant to a window: registry, dock, menu entry, shortcuts, and the run that is under way.

Everything that `Assistant.attach` adds is taken away by `Assistant.detach`, by the end of the window at the latest.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from agentic_qt.core.approvals import ApprovalRequest
from agentic_qt.core.registry import Registry
from agentic_qt.qt.loop import on_shutdown, spawn
from agentic_qt.qt.scope import provide
from agentic_qt.ui import later
from agentic_qt.ui.approval.views import ApprovalViews
from agentic_qt.ui.dock import DOCK_NAME, make_dock, take_away
from agentic_qt.ui.menus import add_to_view_menu, find_view_menu
from agentic_qt.ui.own_windows import OwnWindows
from agentic_qt.ui.panel import Panel
from agentic_qt.ui.shortcuts import assign
from agentic_qt.ui.stored import Stored
from agentic_qt.ui.window_eyes import WindowEyes
from agentic_qt.ui.words import translate

if TYPE_CHECKING:
    from agentic_qt.client.agent import Agent
    from agentic_qt.client.budgets import Budgets
    from agentic_qt.client.chat_model import ChatModel
    from agentic_qt.client.offering import Mode
    from agentic_qt.commands.desk import CommandDesk

_log = logging.getLogger("agentic_qt.ui.assistant")

SHORTCUTS: Mapping[str, str] = {
    "toggle": "Ctrl+Shift+A",
    "focus": "Ctrl+Shift+I",
    "new_chat": "Ctrl+Shift+N",
    "stop": "Esc",
    "settings": "",
}
"""The default shortcuts, by the names of `Assistant.actions`."""


class Assistant:
    """The assistant of one window; made by `attach`.

    Attributes:
        window: The application's window.
        registry: What the assistant can use.
        panel: The content of the dock.
        dock: The dock; hosts with docking of their own may take `panel` out of it.
        approvals: The views that ask the person.
        commands: What was left over and what happened to commands; None without a desk.
        windows: The settings and "What was sent", once they were shown.
        actions: QActions by name (``toggle``, ``focus``, ``new_chat``, ``stop``, ``settings``; with a desk
            ``last_command``); their shortcuts may be changed.
    """

    def __init__(
        self, window: QWidget, registry: Registry, panel: Panel, *, prefer_dialogs: bool, settings: QSettings | None
    ) -> None:
        self.window = window
        self.registry = registry
        self.panel = panel
        self.actions: dict[str, QAction] = {}
        self._talk: later.Talk | None = None  # with the first chat model: most windows open without a conversation
        self._options: dict[str, Any] = {}
        self._own: list[ChatModel] = []  # made here, so closed here
        self.windows = OwnWindows(window, self._use, registry.approvals, Stored(settings))
        self._undo: list[Callable[[], None]] = []  # taken back in reverse order
        self._attached = True
        self.commands: later.CommandViews | None = None
        self._badge = ""
        self._shortcuts: Mapping[str, str] = {}
        self.dock = make_dock(window, panel)
        self.approvals = ApprovalViews(
            registry.approvals, window, prefer_dialogs=prefer_dialogs, ask_again=self._ask_again
        )
        self.panel.approval_place.addWidget(self.approvals.panel)
        self.approvals.panel.focus_left.connect(self.panel.composer.field.setFocus)
        self._connect()

    @classmethod
    def attach(
        cls,
        window: QWidget,
        *,
        actor: str | None = None,
        chat_model: "ChatModel | None" = None,
        registry: Registry | None = None,
        instructions: str = "",
        suggestions: Sequence[str] | Callable[[], Sequence[str]] = (),
        badge: str = "",
        shortcuts: Mapping[str, str] | None = None,
        prefer_dialogs: bool = False,
        max_turns: int | None = None,
        budgets: "Budgets | None" = None,
        context_window: int | None = None,
        mode: "Mode | str" = "auto",
        desk: "CommandDesk | None" = None,
        settings: QSettings | None = None,
        area: Qt.DockWidgetArea = Qt.DockWidgetArea.RightDockWidgetArea,
    ) -> "Assistant":
        """Give a window an assistant.

        May be called before the event loop runs, inside a host's own ``app.exec()``, and under `agentic_qt.run`.

        Args:
            window: A QMainWindow gets a dock in `area`; any other window gets the dock as a floating window.
            actor: Who acts, from the application's session.
            chat_model: Whom to ask, closed by the caller; None: whom the person chose last, else how to find one.
            registry: A registry of the application's own; None takes the desk's or makes one.
            instructions: The system message.
            suggestions: Prompts for an empty conversation; or a function that returns them whenever they are shown.
            badge: A word beside the chat model's name, such as "no AI"; when empty its own ``badge``, or "local".
            shortcuts: Other shortcuts than `SHORTCUTS`, by name; an empty one sets none.
            prefer_dialogs: Ask for approvals in a window of their own.
            max_turns: Requests to the chat model in one run, in place of ``budgets.turns``.
            budgets: The limits of one run.
            context_window: Tokens of one request and its answer; None: what the chat model says.
            mode: Which tools are offered: ``all``, ``meta``, ``narrow`` or ``auto``.
            desk: Where calls become commands, its service started; what earlier sessions left there is offered.
            settings: Where choices are kept; None: the application's own, where its organization has a name.
            area: Where the dock appears first.

        Raises:
            RuntimeError: The window has an assistant already.
            ValueError: It is no top-level window, or has a registry from somewhere else; or the desk has another one.
        """
        if window.findChild(QDockWidget, DOCK_NAME) is not None:
            raise RuntimeError(f"The window {window.windowTitle()!r} already has an assistant")
        used = _registry_for(registry, desk)
        # Before our own widgets are there, so that nobody looks for declarations in them.
        remove = provide(window, used)
        assistant = cls(window, used, Panel(suggestions, window), prefer_dialogs=prefer_dialogs, settings=settings)
        assistant._undo.append(remove)
        assistant._options = {"actor": actor, "instructions": instructions, "max_turns": max_turns, "budgets": budgets}
        assistant._options.update(context_window=context_window, mode=mode)
        assistant._badge = badge
        assistant._add_to_window(area, {**SHORTCUTS, **(shortcuts or {})})
        assistant._begin(chat_model, desk, actor)
        return assistant

    @property
    def agent(self) -> "Agent | None":
        """The agent, once there is a chat model."""
        return self._talk.agent if self._talk is not None else None

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        return self._talk is not None and self._talk.agent.running

    @property
    def chat_model(self) -> "ChatModel | None":
        """Whom to ask; may be set while nothing runs, and the conversation goes on with the new one.

        Raises:
            RuntimeError: It was set while a run is under way.
        """
        return self._talk.chat_model if self._talk is not None else None

    @chat_model.setter
    def chat_model(self, chat_model: "ChatModel | None") -> None:
        if self.running:
            raise RuntimeError("Stop the run before changing the chat model")
        if chat_model is None:
            self._end_talk()
        elif self._talk is not None:
            self._talk.chat_model = chat_model
        else:
            self._talk = later.Talk(
                self.panel, self.registry, chat_model, self._options, stop=self.actions["stop"], take=self._take_model
            )
            if self.panel.context_bar is not None:
                self.panel.context_bar.set_agent(self._talk.agent)
        self._show_model(chat_model)

    def context(self, name: str, function: Callable[[], Any], *, description: str = "") -> Callable[[], None]:
        """Tell the chat model a small fact of the moment with each request, such as what is selected.

        The person sees it as a chip above the field and can leave it out of the next message.

        Args:
            name: Of the fact.
            function: Called when a request is sent; returns JSON data, at most 2 kB, or None for nothing. May be async.
            description: What the fact means, for the chat model and for the person.

        Returns:
            A function that ends it.

        Raises:
            ValueError: The name is empty or taken.
        """
        bar = self.panel.need_context_bar()
        bar.set_agent(self.agent)
        return bar.add(name, function, description)

    def refresh_suggestions(self) -> None:
        """Ask for the suggestions again, since what the application shows has changed."""
        self.panel.refresh_suggestions()

    def send(self, text: str) -> "asyncio.Task[Any] | None":
        """Send a person's message.

        While an approval waits, the message withdraws it and both go to the chat model together.

        Returns:
            The task of the run; None when there is no chat model, a run is active otherwise or the text is empty.
        """
        text = text.strip()
        return self._talk.send(text) if self._talk is not None and text else None

    def retry(self) -> "asyncio.Task[Any] | None":
        """Send the last request again, without a new message."""
        return self._talk.retry() if self._talk is not None else None

    def stop(self) -> None:
        """Stop the run that is under way; it ends within 100 ms."""
        if self._talk is not None:
            self._talk.agent.stop()

    def new_chat(self) -> None:
        """Stop what runs and begin an empty conversation."""
        if self._talk is not None:
            self._talk.clear()

    def show_settings(self) -> None:
        """Show the window in which a person chooses the chat model."""
        self.windows.show_settings(self.chat_model)

    def show_sent(self) -> None:
        """Show the body of the last request to the chat model."""
        if self._talk is not None:
            self.windows.show_sent(self._talk.sent, self._talk.chat_model.host)

    async def shown(self) -> None:
        """Wait until everything that has happened so far is on the screen; for pictures and tests."""
        await self.panel.shown()

    def detach(self) -> None:
        """Take everything away that `attach` brought; a run that is active is stopped. May be called twice."""
        if not self._attached:
            return
        self._attached = False
        self._end_talk()
        for model in self._own:
            spawn(model.aclose(), name="agentic_qt.close")
        self._own.clear()
        while self._undo:
            self._undo.pop()()
        if shiboken6.isValid(self.window):
            self.approvals.detach()
        else:
            self.registry.approvals.deny_all(code="window_closed")
        self.windows.leave()
        take_away(self.window, self.dock, self.panel)

    # Building

    def _begin(self, chat_model: "ChatModel | None", desk: "CommandDesk | None", actor: str | None) -> None:
        self.chat_model = chat_model
        if chat_model is None and (restored := self.windows.restored_chat_model()) is not None:
            self._take_model(restored)
        if desk is not None:
            self.commands = later.CommandViews(desk, self.window, self.panel, self.approvals, actor=actor)
            self.actions["last_command"] = self.commands.last_action
            self._undo.append(self.commands.leave)

    def _connect(self) -> None:
        self.panel.submitted.connect(self.send)
        self.panel.stop_requested.connect(self.stop)
        self.panel.retry_requested.connect(self.retry)
        self.panel.call_retry_requested.connect(self._try_call_again)
        self.panel.action_requested.connect(self._act)
        self.panel.welcome.settings_requested.connect(self.show_settings)
        self.panel.status.sent_requested.connect(self.show_sent)
        eyes = WindowEyes(self.window, shown=self._window_shown, closed=self._window_closed, gone=self.detach)
        self._undo.append(eyes.leave)

    def _add_to_window(self, area: Qt.DockWidgetArea, shortcuts: Mapping[str, str]) -> None:
        if isinstance(self.window, QMainWindow):
            self.window.addDockWidget(area, self.dock)
        else:
            self.dock.setFloating(True)
            self.dock.show()
        self._make_actions()
        self._shortcuts = self.windows.offer_shortcuts(self.actions, shortcuts)
        if self.window.isVisible() or (
            isinstance(self.window, QMainWindow) and find_view_menu(self.window) is not None
        ):
            self._finish_window()

    def _make_actions(self) -> None:
        toggle = self.dock.toggleViewAction()
        made = {
            "focus": (translate("agentic_qt", "Write to the Assistant"), self.focus_composer, self.window),
            "new_chat": (translate("agentic_qt", "New Chat"), self.new_chat, self.window),
            "stop": (translate("agentic_qt", "Stop the Assistant"), self.stop, self.panel),
            "settings": (translate("agentic_qt", "Assistant Settings…"), self.show_settings, self.panel),
        }
        self.actions["toggle"] = toggle
        for name, (text, slot, owner) in made.items():
            action = QAction(text, self.dock)
            action.setObjectName(f"agentic_qt_{name}")
            action.triggered.connect(slot)
            owner.addAction(action)
            self.actions[name] = action
        self.actions["stop"].setEnabled(False)
        self.actions["stop"].setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.panel.header.set_new_chat_action(self.actions["new_chat"])
        self.panel.header.set_settings_action(self.actions["settings"])

        def forget_actions() -> None:
            for name in ("focus", "new_chat"):
                if shiboken6.isValid(self.window) and shiboken6.isValid(self.actions[name]):
                    self.window.removeAction(self.actions[name])

        self._undo.append(forget_actions)

    def _finish_window(self) -> None:
        """The window has its own menus and shortcuts by now: add ours to them."""
        shortcuts, self._shortcuts = self._shortcuts, {}
        if isinstance(self.window, QMainWindow) and shortcuts:
            self._undo.append(add_to_view_menu(self.window, self.actions["toggle"]))
        for name, keys in shortcuts.items():
            assign(self.window, self.actions[name], keys, self.actions.values())

    def _show_model(self, chat_model: "ChatModel | None") -> None:
        self.panel.set_ready(ready=chat_model is not None)
        self.panel.header.show_chat_model(chat_model, self._badge)

    # Doing

    def focus_composer(self) -> None:
        """Show the dock and put the cursor into the composer; the person asked for it."""
        self.dock.show()
        self.dock.raise_()
        self.panel.composer.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _act(self, content: object, name: str) -> None:
        if name == "settings":
            self.show_settings()
        elif name == "audit" and self.commands is not None:
            self.commands.show_audit(content)
        elif self._talk is not None:
            self._talk.act(content, name)

    def _use(self, chat_model: "ChatModel") -> str:
        if self._talk is not None and self._talk.busy:
            return translate("agentic_qt", "Not while a run is under way: stop it first")
        self._take_model(chat_model)
        return ""

    def _take_model(self, chat_model: "ChatModel") -> None:
        self._own.append(chat_model)
        self._undo.append(on_shutdown(chat_model.aclose))
        self._badge = ""  # it spoke of the one before
        self.chat_model = chat_model

    def _end_talk(self) -> None:
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.close()
            if self.panel.context_bar is not None:
                self.panel.context_bar.set_agent(None)

    def _try_call_again(self, call_id: str) -> None:
        if self._talk is not None:
            self._say_again(self._talk.conversation.cards.title_of(call_id))

    def _ask_again(self, request: ApprovalRequest) -> None:
        self._say_again(request.title)

    def _say_again(self, title: str) -> None:
        """The model decides and is gated anew: an old call is never run behind its back."""
        text = translate("agentic_qt", "Please try again: {title}").format(title=title)
        if self.send(text) is None:
            self.panel.composer.set_text(text)

    def _window_shown(self) -> None:
        if self._attached and self._shortcuts:
            self._finish_window()

    def _window_closed(self) -> None:
        self.stop()
        self.registry.approvals.deny_all(translate("agentic_qt", "The window was closed."), code="window_closed")


def _registry_for(registry: Registry | None, desk: "CommandDesk | None") -> Registry:
    used = registry or (desk.registry if desk is not None else Registry())
    if desk is not None and desk.registry is not used:
        raise ValueError("The desk belongs to another registry")
    return used
