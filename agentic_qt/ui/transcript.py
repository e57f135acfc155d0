"""The conversation as one document: a frame per message, tool calls as cards between them. Shows; decides nothing.

One document scrolls and selects as one, and stays fast with a thousand messages. What streams in is collected and shown
at most every 16 ms; the view follows the end only when it stood there.
"""

import secrets
import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QMimeData, QRectF, QStringListModel, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCursor,
    QTextFrameFormat,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from agentic_qt.ui.answer import Answer
from agentic_qt.ui.cards import Card, CardGroup
from agentic_qt.ui.item_text import write_error, write_message, write_note
from agentic_qt.ui.rich_text import SealedDocument, allowed_link
from agentic_qt.ui.text_styles import ICON_OBJECT, TextStyles
from agentic_qt.ui.transcript_items import (
    BoxPainter,
    Content,
    ErrorCard,
    IconObject,
    Item,
    Note,
    UserMessage,
    buttons_of,
)
from agentic_qt.ui.words import translate

FRAME_MS = 16
BUDGET_S = 0.006
"""How long one frame may write; the layout of what was written comes on top."""


class Transcript(QTextBrowser):
    """The view of a conversation.

    Signals:
        retry_requested: The last request shall be sent again.
        call_retry_requested: The call of that id shall be tried again.
        call_cancel_requested: The call of that id shall be stopped.
        action_requested: A content and the name of its action that was pressed.
        call_answered: A person said of the call of that id whether it happened.
        link_requested: A link was clicked; nothing is opened here.
        follows_changed: Whether the view follows the end.
        became_idle: Everything that it was given is shown.
    """

    retry_requested = Signal()
    call_retry_requested = Signal(str)
    call_cancel_requested = Signal(str)
    action_requested = Signal(object, str)
    call_answered = Signal(str, bool)
    link_requested = Signal(QUrl)
    follows_changed = Signal(bool)
    became_idle = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(translate("agentic_qt", "Conversation"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.anchorClicked.connect(self._follow_anchor)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self._icons = IconObject(self)
        # Addresses of our own actions begin with a word that no model can know.
        self._scheme = f"agentic-{secrets.token_hex(8)}"
        self._items: list[Item] = []
        self._follows = True
        self._moving = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.flush)
        self._styles = self._make_styles()
        self._new_document()

    # What can be shown

    @property
    def contents(self) -> tuple[Content, ...]:
        """What the conversation holds, in order."""
        return tuple(item.content for item in self._items)

    @property
    def idle(self) -> bool:
        """Whether everything that it was given is shown."""
        return not self._dirty

    def add(self, content: Content) -> None:
        """Append a message, a note, an error or a group of cards."""
        follow = self._follows or isinstance(content, UserMessage)
        self._append(content)
        self._keep_end(follow=follow)

    def show_text(self, text: str) -> None:
        """Append a piece of the answer that streams in; it is shown within 16 ms."""
        last = self._items[-1] if self._items else None
        if last is None or not isinstance(last.content, Answer) or last.content.finished:
            self.add(Answer())
            last = self._items[-1]
        if isinstance(last.content, Answer):
            last.content.feed(text)
            self._mark(last)

    def finish_text(self) -> None:
        """The answer that streamed in is complete."""
        for item in reversed(self._items):
            if isinstance(item.content, Answer):
                if not item.content.finished:
                    item.content.finish()
                    self._mark(item)
                return

    def add_card(self, card: Card) -> None:
        """Show a tool call; calls without words between them share a box."""
        last = self._items[-1].content if self._items else None
        if isinstance(last, CardGroup):
            last.cards.append(card)
            self.update_card(card)
        else:
            self.add(CardGroup(cards=[card]))

    def update_card(self, card: Card) -> None:
        """Show a changed card within 16 ms."""
        for item in reversed(self._items):
            if isinstance(item.content, CardGroup) and any(known is card for known in item.content.cards):
                self._mark(item)
                return

    def update_content(self, content: Content) -> None:
        """Show a changed content within 16 ms."""
        for item in reversed(self._items):
            if item.content is content:
                self._mark(item)
                return

    def show_contents(self, contents: Sequence[Content]) -> None:
        """Show other contents in the place of those that are shown."""
        self._render_all(contents)
        self.go_to_end()

    def drop_last_error(self) -> None:
        """Take the error at the end away: it is being tried again."""
        if self._items and isinstance(self._items[-1].content, ErrorCard):
            self._items.pop()
            self._render_all()

    def clear_conversation(self) -> None:
        """Begin an empty conversation."""
        self._timer.stop()
        self._items.clear()
        self._new_document()
        self._set_follows(follows=True)

    def flush(self) -> None:
        """Show what was collected, for a few milliseconds; what is left follows soon."""
        self._timer.stop()
        began = time.perf_counter()
        if self._dirty:
            follow, value = self._follows, self.verticalScrollBar().value()
            edit = QTextCursor(self.document())
            edit.beginEditBlock()  # one layout for all changes
            while self._dirty and time.perf_counter() < began + BUDGET_S:
                # The newest first: it is what is looked at.
                item = max(self._dirty, key=lambda dirty: dirty.number)
                if self._show_changes(item, began + BUDGET_S):
                    self._dirty.discard(item)
            edit.endEditBlock()
            self._keep_end(follow=follow, otherwise=value)
        self._cost_ms = (time.perf_counter() - began) * 1000
        if self._dirty:
            self._start_timer()
        else:
            self.became_idle.emit()

    def go_to_end(self) -> None:
        """Scroll to the newest message and follow it again."""
        self._set_follows(follows=True)
        self._keep_end(follow=True)

    # Rendering

    def _make_styles(self) -> TextStyles:
        return TextStyles(self.font(), self.palette(), self.layoutDirection())

    def _new_document(self) -> None:
        old = self.document()
        document = SealedDocument(self)
        document.setUndoRedoEnabled(False)
        document.setDefaultFont(self.font())
        document.setDocumentMargin(0.7 * self._styles.em)
        document.setIndentWidth(1.5 * self._styles.em)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)  # each paragraph has its own
        document.setDefaultTextOption(option)
        document.documentLayout().registerHandler(ICON_OBJECT, self._icons)
        self.setDocument(document)
        if isinstance(old, SealedDocument):
            old.deleteLater()
        QTextCursor(document).setBlockFormat(self._styles.gap(0.05))
        self._cost_ms = 0.0
        self._dirty: set[Item] = set()

    def _append(self, content: Content) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.setBlockFormat(self._styles.gap(0.45 if self._items else 0.05))
        frame = cursor.insertFrame(self._frame_format(content))
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.setBlockFormat(self._styles.gap(0.05))
        item = Item(content=content, frame=frame, number=len(self._items))
        self._items.append(item)
        self._render(item)

    def _frame_format(self, content: Content) -> QTextFrameFormat:
        if isinstance(content, UserMessage):
            return self._styles.frame(padding=0.55, before=2.2)
        if isinstance(content, CardGroup):
            return self._styles.frame(padding=0.45)
        if isinstance(content, ErrorCard):
            return self._styles.frame(padding=0.65)
        return self._styles.frame(padding=0.1)

    def _render(self, item: Item) -> None:
        content, styles = item.content, self._styles
        cursor = item.frame.firstCursorPosition()
        address = f"{self._scheme}:{item.number}"
        if isinstance(content, Answer):
            content.render(item.frame, styles, address)
            self._mark(item)
        elif isinstance(content, CardGroup):
            content.render(cursor, styles, address)
        elif isinstance(content, UserMessage):
            write_message(content, cursor, styles, address)
        elif isinstance(content, Note):
            write_note(content, cursor, styles, address)
        else:
            write_error(content, cursor, styles, address)
        item.buttons = buttons_of(item.frame)

    def _show_changes(self, item: Item, until: float) -> bool:
        """Show what changed in an item; returns whether all of it is shown."""
        if isinstance(item.content, Answer):
            return item.content.show_more(until)
        cursor = item.frame.firstCursorPosition()
        cursor.setPosition(item.frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self._render(item)
        return True

    def _render_all(self, shown: Sequence[Content] | None = None) -> None:
        follow, value = self._follows, self.verticalScrollBar().value()
        contents = [item.content for item in self._items] if shown is None else list(shown)
        self._items.clear()
        self._styles = self._make_styles()
        self._new_document()
        edit = QTextCursor(self.document())
        edit.beginEditBlock()  # one layout for all of it
        for content in contents:
            self._append(content)
        edit.endEditBlock()
        self._keep_end(follow=follow, otherwise=value)

    def _mark(self, item: Item) -> None:
        self._dirty.add(item)
        self._start_timer()

    def _start_timer(self) -> None:
        if not self._timer.isActive():
            # A slow machine gets longer frames, so that half of the time is left for everything else.
            self._timer.start(max(FRAME_MS, int(2 * self._cost_ms)))

    # Scrolling

    def _keep_end(self, *, follow: bool, otherwise: int | None = None) -> None:
        bar = self.verticalScrollBar()
        self._moving = True
        if follow:
            self.document().size()  # lays out what is pending, so that the maximum is true
            bar.setValue(bar.maximum())
        elif otherwise is not None:
            bar.setValue(otherwise)
        self._moving = False
        if follow:
            self._set_follows(follows=True)
        else:
            self._scrolled()

    def _scrolled(self) -> None:
        if not self._moving:
            bar = self.verticalScrollBar()
            self._set_follows(follows=bar.value() >= bar.maximum() - self._styles.em)

    def _set_follows(self, *, follows: bool) -> None:
        if follows != self._follows:
            self._follows = follows
            self.follows_changed.emit(follows)

    # What can be clicked

    def _follow_anchor(self, url: QUrl) -> None:
        if url.scheme() != self._scheme:
            allowed = allowed_link(url.toString())
            if allowed is not None:
                self.link_requested.emit(allowed)
            return
        number, *action = url.path().split("/")
        item = self._items[int(number)]
        self._actions()[action[0]](item, action[1:])

    def _actions(self) -> dict[str, Callable[[Item, list[str]], None]]:
        return {
            "copy": self._copy_code,
            "group": self._fold_group,
            "card": self._act_on_card,
            "retry": lambda _item, _rest: self.retry_requested.emit(),
            "do": lambda item, rest: self.action_requested.emit(item.content, rest[0]),
        }

    def _copy_code(self, item: Item, rest: list[str]) -> None:
        if isinstance(item.content, Answer):
            QGuiApplication.clipboard().setText(item.content.codes[int(rest[0])].rstrip("\n"))

    def _fold_group(self, item: Item, _rest: list[str]) -> None:
        if isinstance(item.content, CardGroup):
            item.content.open = not item.content.open
            self._mark(item)

    def _act_on_card(self, item: Item, rest: list[str]) -> None:
        if not isinstance(item.content, CardGroup):
            return
        card = item.content.cards[int(rest[0])]
        asked = {"retry": self.call_retry_requested, "cancel": self.call_cancel_requested}
        if rest[1] in asked:
            asked[rest[1]].emit(card.call_id)
            return
        if rest[1] == "audit":
            self.action_requested.emit(card, "audit")
            return
        if rest[1] in ("happened", "not_happened"):
            self.call_answered.emit(card.call_id, rest[1] == "happened")
            return
        if rest[1] == "whole":
            card.whole = True
        elif not (card.waiting or card.may_answer):  # forced open while a person has to read it
            card.open = not card.open
        self._mark(item)

    # Qt

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copy plain text only, without the places of icons."""
        # Made by Qt, not by Python: the clipboard outlives the interpreter; deleting ours then crashes (PySide6 6.11).
        data = (model := QStringListModel([""])).mimeData([model.index(0)])
        data.clear()
        data.setText(self.textCursor().selection().toPlainText().replace("\ufffc", "").replace("\u00a0", " "))
        return data

    def loadResource(self, _kind: int, _name: QUrl | str) -> None:
        """Load nothing, whatever is asked for."""
        return

    def changeEvent(self, event: QEvent) -> None:
        """Render again with the new colours or font."""
        super().changeEvent(event)
        kinds = (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.LayoutDirectionChange)
        if event.type() in kinds and hasattr(self, "_styles"):
            self._render_all()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Stay at the end when the width changes."""
        follow = self._follows
        super().resizeEvent(event)
        if follow:
            self._keep_end(follow=True)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the boxes of messages, cards and code, then the text over them."""
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(-self.horizontalScrollBar().value(), -self.verticalScrollBar().value())
        seen = QRectF(event.rect()).translated(0, self.verticalScrollBar().value())
        boxes = BoxPainter(self.document(), self._styles)
        for item in boxes.seen(self._items, seen):
            boxes.paint(painter, item)
        painter.end()
        super().paintEvent(event)
