"""The conversation between a person and a chat model in one panel: what the person does, passed on to the agent."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from agentic_qt.client.agent import Agent
from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.events import AgentEvent, RunEnd, RunEnded, RunEndReason, RunStarted
from agentic_qt.core.registry import Registry
from agentic_qt.protocol.trimming import is_summary
from agentic_qt.qt.loop import spawn
from agentic_qt.ui import later
from agentic_qt.ui.announce import announce
from agentic_qt.ui.conversation import Conversation
from agentic_qt.ui.panel import Panel
from agentic_qt.ui.sent import SentRequests
from agentic_qt.ui.words import translate


class Talk:
    """An agent with its view; made when there is a chat model.

    Args:
        panel: Where it is shown.
        registry: What the chat model may use.
        chat_model: Whom to ask.
        options: Of the agent.
        stop: The action that stops; enabled while anything runs, since its key belongs to the application otherwise.
        take: Called with another form of the chat model that the person chose.

    Attributes:
        agent: The agent.
        conversation: What shows it.
    """

    def __init__(
        self,
        panel: Panel,
        registry: Registry,
        chat_model: ChatModel,
        options: Mapping[str, Any],
        *,
        stop: QAction,
        take: Callable[[ChatModel], None],
    ) -> None:
        self._panel = panel
        self._stop = stop
        self._take = take
        self._sent = SentRequests(chat_model)
        self.agent = Agent(registry, self._sent, **options)
        self.conversation = Conversation(panel, registry)
        self._task: asyncio.Task[Any] | None = None
        self._editing: later.UserMessage | None = None
        self._forget_retries: Callable[[], None] = lambda: None
        self._forget = (self.agent.observe(self.conversation.tell), self.agent.observe(self._follow))
        self._connections = (
            panel.call_answered.connect(self._settle),
            panel.call_cancel_requested.connect(self._cancel_call),
            panel.edit_left.connect(self.leave_edit),
        )
        self._listen()

    @property
    def task(self) -> "asyncio.Task[Any] | None":
        """What was started last."""
        return self._task

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return self.agent.running or (self._task is not None and not self._task.done())

    @property
    def chat_model(self) -> ChatModel:
        """Whom to ask; may be changed while nothing runs."""
        return self._sent.chat_model

    @chat_model.setter
    def chat_model(self, chat_model: ChatModel) -> None:
        sent = SentRequests(chat_model)
        self.agent.chat_model = sent
        self._sent = sent
        self._listen()

    @property
    def sent(self) -> str:
        """The body of the last request, as it was sent; empty before the first."""
        return self._sent.text

    def close(self) -> None:
        """Stop what runs and leave nothing behind."""
        if shiboken6.isValid(self._panel):
            self.leave_edit()
            for connection in self._connections:
                QObject.disconnect(connection)
        self._forget_retries()
        self.conversation.close()
        self.agent.close()
        for forget in self._forget:
            forget()

    # What the person does

    def send(self, text: str) -> "asyncio.Task[Any] | None":
        """Send words of the person, also while an approval waits: it is withdrawn then, and both go together."""
        if self.agent.running:
            if not (self.conversation.waits and self.agent.interject(text)):
                return None
            self._accept(text)
            return self._task
        if self.busy:
            return None
        editing = self._editing
        self._accept(text)
        if editing is None:
            return self._start(self.agent.run(text))
        self.leave_edit()
        return self._revise(editing, text)

    def retry(self) -> "asyncio.Task[Any] | None":
        """Send the last request again."""
        return None if self.busy else self._start(self.agent.retry())

    def clear(self) -> None:
        """Forget the conversation, once nothing runs in it."""
        self.leave_edit()
        if self.agent.running:
            self.agent.stop()
            if self._task is not None:
                self._task.add_done_callback(lambda _task: self._clear())
        else:
            self._clear()

    def act(self, content: object, name: str) -> None:
        """Do what was pressed in the transcript."""
        if self.busy:
            words = translate("agentic_qt", "Not while a run is under way: stop it first")
            self._panel.status.show_state(words, busy=True)
            announce(self._panel, words)
            return
        if name in ("compact", "compact_only"):
            self._start(self._compact(again=name == "compact"))
        elif name == "without_tools":
            self._take(self.chat_model.without_tools())  # type: ignore[attr-defined] # offered only where it is
            self.retry()
        elif name.startswith("undo "):
            self._undo(*name.split(" ")[1:])
        elif isinstance(content, later.UserMessage):
            self._act_on_message(content, name)

    def _settle(self, call_id: str, happened: bool) -> None:  # noqa: FBT001 - a slot
        self.conversation.cards.settle(call_id, happened=happened)

    def _cancel_call(self, call_id: str) -> None:
        self.conversation.cards.cancel(call_id, self.agent.cancel_call)

    def leave_edit(self) -> None:
        """Change no earlier message."""
        if self._editing is not None:
            self._editing = None
            self._panel.set_editing(editing=False)

    def _act_on_message(self, message: "later.UserMessage", name: str) -> None:
        if name == "edit":
            self._editing = message
            self._panel.set_editing(editing=True)
            self._panel.composer.set_text(message.text)
        elif name == "again":
            if message is self.conversation.views.messages[-1]:
                self.retry()
            else:
                self._revise(message, message.text)
        else:
            place = message.variants.index(message.branch) + (1 if name == "later" else -1)
            self._switch(self.agent.thread.id, message.variants[place])

    def _revise(self, message: "later.UserMessage", text: str) -> "asyncio.Task[Any] | None":
        index = self._index_of(message)
        if index is None:
            words = translate("agentic_qt", "That message was summarised: undo the summary to change it.")
            self.conversation.note(words)
            return None
        self.conversation.views.revise(message, text)
        return self._start(self.agent.edit(index, text))

    def _index_of(self, message: "later.UserMessage") -> int | None:
        """Return where a message that is shown stands in the agent's messages, counted from the end of both."""
        shown = self.conversation.views.messages
        from_end = next((n for n, one in enumerate(reversed(shown)) if one is message), len(shown))
        kept = [
            index for index, one in enumerate(self.agent.messages) if one.get("role") == "user" and not is_summary(one)
        ]
        return kept[-1 - from_end] if from_end < len(kept) else None

    def _undo(self, thread: str, branch: str) -> None:
        there = self.agent.thread.branch.id
        if self._switch(thread, branch):
            words = translate("agentic_qt", "Back before the summary.")
            back = later.Action(name=f"undo {thread} {there}", words=translate("agentic_qt", "With the summary"))
            last = self._panel.transcript.contents[-1]
            if not (isinstance(last, later.Note) and last.text == words):
                self._panel.transcript.add(later.Note(text=words, actions=(back,)))

    def _switch(self, thread: str, branch: str) -> bool:
        self.leave_edit()
        shown = self.conversation.views.show(branch)
        if shown:
            self.agent.switch(thread, branch)
        return shown

    async def _compact(self, *, again: bool) -> RunEnd:
        self.conversation.compacting()
        end = await self.agent.compact()
        if again and end.reason is RunEndReason.COMPLETED:
            return await self.agent.retry()
        return end

    # How it goes on

    def _listen(self) -> None:
        self._forget_retries()
        chat_model = self._sent.chat_model
        observe = getattr(chat_model, "observe_retries", None)
        self._forget_retries = observe(self.conversation.retry_planned) if callable(observe) else lambda: None
        self.conversation.set_chat_model(chat_model)
        self._panel.status.show_host("")

    def _follow(self, event: AgentEvent) -> None:
        if isinstance(event, RunStarted | RunEnded):
            self._stop.setEnabled(isinstance(event, RunStarted))
        if isinstance(event, RunEnded):
            self._panel.renew_context()
            if self._sent.any:
                self._panel.status.show_host(self._sent.host)

    def _accept(self, text: str) -> None:
        if text == self._panel.composer.text.strip():
            self._panel.composer.accept_text()

    def _start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        self._task = spawn(work, name="agentic_qt.run")
        return self._task

    def _clear(self) -> None:
        if shiboken6.isValid(self._panel) and not self.agent.running:
            self.agent.clear()
            self._sent.forget()
            self._panel.status.show_host("")
            self.conversation.clear()
