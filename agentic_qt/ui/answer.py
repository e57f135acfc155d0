"""One answer of the assistant in the transcript: grows by pieces, renders only its open tail again."""

from collections import deque
from time import perf_counter

from PySide6.QtGui import QTextCursor, QTextFrame

from agentic_qt.ui.markdown import CodeClose, CodeOpen, CodeText, Part, Prose, Splitter
from agentic_qt.ui.rich_text import MarkdownWriter, write_code
from agentic_qt.ui.text_styles import TextStyles
from agentic_qt.ui.words import translate


class Answer:
    """The text of an answer and the frame that shows it.

    Each part is written into an empty paragraph at the end of its frame, so taking the tail back is removing from the
    start of that paragraph; a removal never crosses the edge of a frame.
    """

    def __init__(self) -> None:
        self.codes: list[str] = []
        self.code_frames: list[QTextFrame] = []
        self.finished = False
        self._text: list[str] = []
        self._new: list[str] = []
        self._parts: deque[Part] = deque()

    @property
    def text(self) -> str:
        """All of it, as the model wrote it."""
        return "".join(self._text)

    def feed(self, text: str) -> None:
        """Take a piece; it is shown by the next `show_more`."""
        self._text.append(text)
        self._new.append(text)

    def finish(self) -> None:
        """Nothing more comes; `show_more` shows the rest."""
        self.finished = True

    def render(self, frame: QTextFrame, styles: TextStyles, address: str) -> None:
        """Begin to show everything in an empty frame; `address` begins the addresses of its actions."""
        self._frame, self._styles, self._address = frame, styles, address
        self._writer = MarkdownWriter(styles)
        self._splitter = Splitter()
        self._parts.clear()
        self._complete = False
        self._container = frame
        self._language = ""
        self._tail = frame.firstCursorPosition()
        self._tail.setKeepPositionOnInsert(True)
        self._fresh = True
        self.codes.clear()
        self.code_frames.clear()
        self._new = [self.text]

    def show_more(self, until: float) -> bool:
        """Show what came since the last time, until the time `until` (``perf_counter``); returns whether all is shown.

        At least one part is shown, so that it ends on any machine.
        """
        if self._new:
            self._parts.extend(self._splitter.feed("".join(self._new)))
            self._new.clear()
        if self.finished and not self._complete:
            self._complete = True
            self._parts.extend(self._splitter.finish())
        self._take_tail_back()
        while self._parts:
            self._write(self._parts.popleft())
            if perf_counter() > until and self._parts:
                self._mark_tail()
                return False
        if self._complete:
            self._shrink_empty_end()
        else:
            self._write_tail()
        return True

    def _shrink_empty_end(self) -> None:
        end = self._frame.lastCursorPosition()
        if end.block().length() > 1:
            return
        if end.block().previous().isValid() and self._frame.firstPosition() < end.position() and not self.code_frames:
            end.deletePreviousChar()
        else:  # Qt wants a paragraph after a frame
            end.setBlockFormat(self._styles.gap(0.1))

    def _take_tail_back(self) -> None:
        cursor = self._container.lastCursorPosition()
        if cursor.position() > self._tail.position():
            cursor.setPosition(self._tail.position(), QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
        self._fresh = True

    def _write_tail(self) -> None:
        tail = self._splitter.tail
        self._mark_tail()
        cursor = self._container.lastCursorPosition()
        if not tail.strip():
            return
        if self._splitter.in_code:
            write_code(cursor, tail, self._language, self._styles)
        else:
            self._writer.write(cursor, tail, fresh=True)
        self._fresh = False

    def _mark_tail(self) -> None:
        self._open_paragraph()
        self._tail.setPosition(self._container.lastPosition())

    def _open_paragraph(self) -> None:
        if self._fresh:
            return
        cursor = self._container.lastCursorPosition()
        cursor.insertBlock(self._styles.block(), self._styles.text)
        if cursor.currentList() is not None:
            cursor.currentList().remove(cursor.block())
        self._fresh = True

    def _write(self, part: Part) -> None:
        if isinstance(part, Prose):
            self._open_paragraph()
            self._writer.write(self._frame.lastCursorPosition(), part.text, fresh=True)
            self._fresh = False
        elif isinstance(part, CodeOpen):
            self._open_code(part.language)
        elif isinstance(part, CodeText):
            self.codes[-1] += part.text
            # The line end at the end of the text opens the next, empty paragraph.
            write_code(self._container.lastCursorPosition(), part.text, self._language, self._styles)
        else:
            self._close_code(part)

    def _open_code(self, language: str) -> None:
        self._open_paragraph()
        cursor = self._frame.lastCursorPosition()
        cursor.setBlockFormat(self._styles.gap(0.25))
        code = cursor.insertFrame(self._styles.frame(padding=0.5, below=0.35))
        self.code_frames.append(code)
        self.codes.append("")
        self._container, self._language = code, language
        cursor = code.firstCursorPosition()
        cursor.setBlockFormat(self._styles.block(below=0.2))
        if language:
            cursor.insertText(f"{language}   ", self._styles.muted)
        copy = self._styles.action(self._styles.muted, f"{self._address}/copy/{len(self.codes) - 1}")
        copy.setForeground(self._styles.tones.link)
        cursor.insertText(translate("agentic_qt", "Copy"), copy)
        cursor.insertBlock(self._styles.code_block(), self._styles.code)
        self._fresh = True

    def _close_code(self, _part: CodeClose) -> None:
        cursor = self._container.lastCursorPosition()
        if cursor.block().length() == 1 and self.codes[-1]:
            cursor.deletePreviousChar()
        self._container = self._frame
        self._fresh = True  # the paragraph that Qt keeps after the frame
        after = self._frame.lastCursorPosition()
        after.setBlockFormat(self._styles.gap(0.1))
        self._tail.setPosition(after.position())
