"""What each branch of a conversation looks like, and how a person goes from one to another. Knows no agent."""

from typing import TYPE_CHECKING

from agentic_qt.ui import later
from agentic_qt.ui.panel import Panel

if TYPE_CHECKING:
    from agentic_qt.ui.transcript_items import Content


class BranchViews:
    """The branches of the conversation that one panel shows; their cards and words are kept as they were shown."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._views: dict[str, tuple[Content, ...]] = {}
        self._current = ""
        self._revised: later.UserMessage | None = None
        self._words = ""

    @property
    def messages(self) -> "list[later.UserMessage]":
        """What the person wrote, in the branch that is shown."""
        return [content for content in self._panel.transcript.contents if isinstance(content, later.UserMessage)]

    def clear(self) -> None:
        """Begin an empty conversation."""
        self._views.clear()
        self._current = ""
        self._revised = None

    def revise(self, message: "later.UserMessage", words: str) -> None:
        """The branch that begins next puts `words` in the place of a message that is shown."""
        self._revised, self._words = message, words

    def begin(self, branch: str, words: str) -> None:
        """A run begins in `branch`, with words of the person unless it tries again."""
        revised, self._revised = self._revised, None
        if self._current not in ("", branch):
            if revised is not None or not words:
                self._fork(branch, revised)
                return
            self.show(branch)  # the application went there by itself
        self._current = branch
        if words:
            self.add_message(words)
        else:
            self._panel.transcript.drop_last_error()

    def add_message(self, words: str) -> None:
        """Show what the person wrote, in the branch that is shown."""
        shown = later.UserMessage(text=words, branch=self._current, variants=[self._current])
        self._panel.transcript.add(shown)

    def replace(self, branch: str, before: str) -> None:
        """`branch` takes the place of `before` and looks the same so far."""
        self._views[before] = self._panel.transcript.contents
        self._current = branch

    def show(self, branch: str) -> bool:
        """Show another branch as it was; returns whether it is known."""
        contents = self._views.get(branch)
        if contents is None:
            return False
        self._views[self._current] = self._panel.transcript.contents
        self._current = branch
        self._panel.transcript.show_contents(contents)
        return True

    def _fork(self, branch: str, revised: "later.UserMessage | None") -> None:
        contents = self._panel.transcript.contents
        self._views[self._current] = contents
        self._current = branch
        message, words = revised, self._words
        if message is None:  # the last request is answered anew
            message = self.messages[-1]
            words = message.text
        place = next(number for number, content in enumerate(contents) if content is message)
        message.variants.append(branch)
        form = later.UserMessage(text=words, branch=branch, variants=message.variants)
        self._panel.transcript.show_contents([*contents[:place], form])
