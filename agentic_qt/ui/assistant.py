"""Attaches the assistant to a window: registry, dock, menu entry, shortcuts, and the run that is under way.

Everything that `Assistant.attach` adds is taken away by `Assistant.detach`, by the end of the window at the latest.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from agentic_qt.client.agent import Agent
from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.events import AgentEvent, RunEnded, RunStarted
from agentic_qt.core.approvals import ApprovalRequest
from agentic_qt.core.registry import Registry
from agentic_qt.qt.availability import OWN_WINDOW
from agentic_qt.qt.loop import spawn
from agentic_qt.qt.scope import provide
from agentic_qt.ui.approval.views import ApprovalViews
from agentic_qt.ui.conversation import Conversation
from agentic_qt.ui.menus import add_to_view_menu, find_view_menu
from agentic_qt.ui.panel import Panel
from agentic_qt.ui.shortcuts import assign
from agentic_qt.ui.words import translate

_log = logging.getLogger("agentic_qt.ui.assistant")

_LAYOUT_TURNS = 8  # of the loop: where heights follow from widths, Qt's layouts ask each other several times
DOCK_NAME = "agentic_qt_assistant"
SHORTCUTS: Mapping[str, str] = {
    "toggle": "Ctrl+Shift+A",
    "focus": "Ctrl+Shift+I",
    "new_chat": "Ctrl+Shift+N",
    "stop": "Esc",
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
        actions: QActions by name (``toggle``, ``focus``, ``new_chat``, ``stop``); their shortcuts may be changed.
    """

    def __init__(self, window: QWidget, registry: Registry, panel: Panel, *, prefer_dialogs: bool) -> None:
        self.window = window
        self.registry = registry
        self.panel = panel
        self.actions: dict[str, QAction] = {}
        self._agent: Agent | None = None
        self._task: asyncio.Task[Any] | None = None
        self._undo: list[Callable[[], None]] = []  # taken back in reverse order
        self._attached = True
        self._actor: str | None = None
        self._instructions = ""
        self._badge = ""
        self._shortcuts: Mapping[str, str] = {}
        self._max_turns = 8
        self.dock = self._make_dock()
        self.approvals = ApprovalViews(
            registry.approvals, window, prefer_dialogs=prefer_dialogs, ask_again=self._ask_again
        )
        self.panel.approval_place.addWidget(self.approvals.panel)
        self._conversation = Conversation(panel, registry)
        self._connect()

    @classmethod
    def attach(
        cls,
        window: QWidget,
        *,
        actor: str | None = None,
        chat_model: ChatModel | None = None,
        registry: Registry | None = None,
        instructions: str = "",
        suggestions: Sequence[str] = (),
        badge: str = "",
        shortcuts: Mapping[str, str] | None = None,
        prefer_dialogs: bool = False,
        max_turns: int = 8,
        area: Qt.DockWidgetArea = Qt.DockWidgetArea.RightDockWidgetArea,
    ) -> "Assistant":
        """Give a window an assistant.

        May be called before the event loop runs, inside a host's own ``app.exec()``, and under `agentic_qt.run`.

        Args:
            window: A QMainWindow gets a dock in `area`; any other window gets the dock as a floating window.
            actor: Who acts, from the application's session.
            chat_model: Whom to ask; None shows what to do about that. It stays the caller's: nobody closes it here.
            registry: A registry of the application's own; None makes one.
            instructions: The system message.
            suggestions: Prompts that an empty conversation offers.
            badge: A word beside the chat model's name, such as "no AI"; its own ``badge`` attribute, or "local" for a
                loopback host, when empty.
            shortcuts: Other shortcuts than `SHORTCUTS`, by name; an empty one sets none.
            prefer_dialogs: Ask for approvals in a window of their own.
            max_turns: Requests to the chat model in one run.
            area: Where the dock appears first.

        Raises:
            RuntimeError: The window has an assistant already.
            ValueError: It is no top-level window, or has a registry from somewhere else.
        """
        if window.findChild(QDockWidget, DOCK_NAME) is not None:
            raise RuntimeError(f"The window {window.windowTitle()!r} already has an assistant")
        used = registry or Registry()
        # Before our own widgets are there, so that nobody looks for declarations in them.
        remove = provide(window, used)
        assistant = cls(window, used, Panel(suggestions, window), prefer_dialogs=prefer_dialogs)
        assistant._undo.append(remove)
        assistant._actor, assistant._instructions = actor, instructions
        assistant._max_turns, assistant._badge = max_turns, badge
        assistant._add_to_window(area, {**SHORTCUTS, **(shortcuts or {})})
        assistant.chat_model = chat_model
        return assistant

    @property
    def agent(self) -> Agent | None:
        """The agent, once there is a chat model."""
        return self._agent

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        return self._agent is not None and self._agent.running

    @property
    def chat_model(self) -> ChatModel | None:
        """Whom to ask; may be set while nothing runs.

        Raises:
            RuntimeError: It was set while a run is under way.
        """
        return self._agent.chat_model if self._agent is not None else None

    @chat_model.setter
    def chat_model(self, chat_model: ChatModel | None) -> None:
        if self.running:
            raise RuntimeError("Stop the run before changing the chat model")
        if chat_model is None:
            self._agent = None
        elif self._agent is not None:
            self._agent.chat_model = chat_model
        else:
            self._agent = Agent(
                self.registry,
                chat_model,
                instructions=self._instructions,
                actor=self._actor,
                max_turns=self._max_turns,
            )
            self._conversation.follow(self._agent)
            self._undo.append(self._agent.observe(self._follow_run))
        self._show_model(chat_model)

    def send(self, text: str) -> "asyncio.Task[Any] | None":
        """Send a person's message.

        Returns:
            The task of the run; None when there is no chat model, a run is active or the text is empty.
        """
        text = text.strip()
        if self._agent is None or self.running or self._busy() or not text:
            return None
        if text == self.panel.composer.text.strip():
            self.panel.composer.accept_text()
        return self._start(self._agent.run(text))

    def retry(self) -> "asyncio.Task[Any] | None":
        """Send the last request again, without a new message."""
        if self._agent is None or self.running or self._busy():
            return None
        return self._start(self._agent.retry())

    def stop(self) -> None:
        """Stop the run that is under way; it ends within 100 ms."""
        if self._agent is not None:
            self._agent.stop()

    def new_chat(self) -> None:
        """Stop what runs and begin an empty conversation."""
        if self.running:
            self.stop()
            if self._task is not None:
                self._task.add_done_callback(lambda _task: self._clear())
        else:
            self._clear()

    async def shown(self) -> None:
        """Wait until everything that has happened so far is on the screen; for pictures and tests."""
        transcript = self.panel.transcript
        while not transcript.idle:
            turned: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            connection = transcript.became_idle.connect(lambda turned=turned: turned.done() or turned.set_result(None))
            await turned
            transcript.became_idle.disconnect(connection)
        for _ in range(_LAYOUT_TURNS):
            await asyncio.sleep(0)

    def detach(self) -> None:
        """Take everything away that `attach` brought; a run that is active is stopped. May be called twice."""
        if not self._attached:
            return
        self._attached = False
        self._conversation.close()
        self.stop()
        while self._undo:
            self._undo.pop()()
        if shiboken6.isValid(self.window):
            self.approvals.detach()
        else:
            self.registry.approvals.deny_all(code="window_closed")
        if shiboken6.isValid(self.dock):
            self.dock.hide()
            if isinstance(self.window, QMainWindow) and shiboken6.isValid(self.window):
                self.window.removeDockWidget(self.dock)
            # It stays a child until it goes: without a parent, only Python's collector would know when.
            self.dock.setObjectName("")
            self.dock.deleteLater()
        if shiboken6.isValid(self.panel):  # it may have been moved into a dock of the host
            self.panel.hide()
            self.panel.deleteLater()

    # Building

    def _make_dock(self) -> QDockWidget:
        dock = QDockWidget(translate("agentic_qt", "Assistant"), self.window)
        dock.setObjectName(DOCK_NAME)
        dock.setAllowedAreas(Qt.DockWidgetArea.AllDockWidgetAreas)
        dock.setProperty(OWN_WINDOW, True)  # noqa: FBT003 - Qt's signature
        dock.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, on=False)
        dock.setWidget(self.panel)
        return dock

    def _connect(self) -> None:
        self.panel.submitted.connect(self.send)
        self.panel.stop_requested.connect(self.stop)
        self.panel.retry_requested.connect(self.retry)
        self.panel.call_retry_requested.connect(self._try_call_again)
        self.panel.call_answered.connect(lambda call, happened: self._conversation.settle_call(call, happened=happened))
        eyes = _WindowEyes(self.window, self)
        self._undo.append(eyes.leave)

    def _add_to_window(self, area: Qt.DockWidgetArea, shortcuts: Mapping[str, str]) -> None:
        if isinstance(self.window, QMainWindow):
            self.window.addDockWidget(area, self.dock)
        else:
            self.dock.setFloating(True)
            self.dock.show()
        self._make_actions()
        self._shortcuts = shortcuts
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

    def _show_model(self, chat_model: ChatModel | None) -> None:
        self.panel.set_ready(ready=chat_model is not None)
        if chat_model is None:
            self.panel.header.show_model(translate("agentic_qt", "No chat model"), "", "", "neutral")
            return
        host = chat_model.host
        badge = self._badge or str(getattr(chat_model, "badge", ""))
        kind = "warning" if badge else "ok"
        if not badge and is_local(host):
            badge = translate("agentic_qt", "local")
        self.panel.header.show_model(chat_model.label, "" if host == "local" else host, badge, kind)

    # Doing

    def focus_composer(self) -> None:
        """Show the dock and put the cursor into the composer; the person asked for it."""
        self.dock.show()
        self.dock.raise_()
        self.panel.composer.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _follow_run(self, event: AgentEvent) -> None:
        if isinstance(event, RunStarted | RunEnded):
            # Disabled while nothing runs: the key belongs to the application then.
            self.actions["stop"].setEnabled(isinstance(event, RunStarted))

    def _busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def _start(self, run: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        self._task = spawn(run, name="agentic_qt.run")
        return self._task

    def _clear(self) -> None:
        if self._attached and shiboken6.isValid(self.panel):
            if self._agent is not None:
                self._agent.clear()
            self._conversation.clear()

    def _try_call_again(self, call_id: str) -> None:
        self._say_again(self._conversation.title_of(call_id))

    def _ask_again(self, request: ApprovalRequest) -> None:
        self._say_again(request.title)

    def _say_again(self, title: str) -> None:
        """The model decides and is gated anew: an old call is never run behind its back."""
        text = translate("agentic_qt", "Please try again: {title}").format(title=title)
        if self.send(text) is None:
            self.panel.composer.set_text(text)

    def window_shown(self) -> None:
        """The window appears: its menus are complete now."""
        if self._attached and self._shortcuts:
            self._finish_window()

    def window_closed(self) -> None:
        """The window was closed: nothing goes on behind it."""
        self.stop()
        self.registry.approvals.deny_all(translate("agentic_qt", "The window was closed."), code="window_closed")


def is_local(host: str) -> bool:
    """Whether a chat model's host is this computer, by its name."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return host.startswith("local") or name == "::1" or name.startswith("127.")


class _WindowEyes(QObject):
    """Sees the window appear, close and go."""

    def __init__(self, window: QWidget, assistant: Assistant) -> None:
        super().__init__(window)
        self._assistant = assistant
        self._window = window
        self._closing = False
        window.installEventFilter(self)
        self._gone = window.destroyed.connect(lambda: assistant.detach())  # noqa: PLW0108 - a bound method would not be called any more

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Tell the assistant; never take an event away."""
        if watched is self._window:
            kind = event.type()
            if kind == QEvent.Type.Show:
                self._closing = False
                self._assistant.window_shown()
            elif kind == QEvent.Type.Close:
                self._closing = True
            elif kind == QEvent.Type.Hide and self._closing and not event.spontaneous():
                self._closing = False
                self._assistant.window_closed()
        return False

    def leave(self) -> None:
        """See nothing any more."""
        if shiboken6.isValid(self) and shiboken6.isValid(self._window):
            self._window.removeEventFilter(self)
            self._window.destroyed.disconnect(self._gone)
            self.deleteLater()
