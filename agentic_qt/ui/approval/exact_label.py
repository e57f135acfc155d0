"""A label for text that nobody vouches for: plain, never cut, broken anywhere when it must be."""

import itertools
import math
import re
from typing import Literal

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFontDatabase,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QTextCharFormat,
    QTextDocument,
    QTextLayout,
    QTextOption,
)  # fmt: skip
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from agentic_qt.ui.approval.text import NEWLINE_MARK, runs_right_to_left
from agentic_qt.ui.theme import Tones

Tone = Literal["text", "muted", "warning", "danger"]
_MARKS = re.compile(r"\\u\{[0-9a-f]+\}|" + NEWLINE_MARK)
_LONG_PARAGRAPH = re.compile(r"[^\n]{2000}(?=[^\n])")
_MOST_MARKS = 2000  # that get a colour of their own; the rest are as exact, but plain
_WIDEST = 44  # average characters of a line that a label would like to have


class ExactLabel(QLabel):
    """A QLabel that lays out its text by itself, because QLabel only breaks lines between words.

    Args:
        text: Already shown text (`exact`, `exact_value`), or words of ours.
        tone: Which of the derived colours it has.
        scale: Size relative to the inherited font.
        bold: Whether it is bold.
        code: Whether it has the system's fixed-width font.
        struck: Whether it is struck through; say so in words as well, where it matters.
        parent: The owner.
    """

    def __init__(
        self,
        text: str = "",
        *,
        tone: Tone = "text",
        scale: float = 1.0,
        bold: bool = False,
        code: bool = False,
        struck: bool = False,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._tone: Tone = tone
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont) if code else self.font()
        font.setBold(bold)
        font.setStrikeOut(struck)
        font.setPointSizeF(self.font().pointSizeF() * scale)
        self.setFont(font)
        self.setWordWrap(True)  # QLabel takes the height for a width into account only then
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self._document: QTextDocument | None = None
        self._heights: dict[int, int] = {}  # of this document, by width
        self._comfortable = 0  # width; 0 when not measured yet
        self.setText(text)

    def hasHeightForWidth(self) -> bool:
        """Always: the fewer columns, the more lines."""
        return True

    def setText(self, text: str) -> None:
        """Show other text, and tell assistive technologies."""
        super().setText(text)
        self.setAccessibleName(text)
        self._document = None
        self.updateGeometry()
        self.update()

    def set_tone(self, tone: Tone) -> None:
        """Take another of the derived colours."""
        if tone != self._tone:
            self._tone = tone
            self._document = None
            self.update()

    def heightForWidth(self, width: int) -> int:
        """Return the height that all of the text needs at `width`."""
        document = self._laid_out()
        height = self._heights.get(width)
        if height is None:
            document.setTextWidth(max(width, 1))
            height = self._heights[width] = math.ceil(document.size().height())
        return height

    def sizeHint(self) -> QSize:
        """Return the text on one line, up to a comfortable width."""
        document = self._laid_out()
        if self._comfortable == 0:
            self._comfortable = self.fontMetrics().averageCharWidth() * _WIDEST
            if len(self.text()) < _WIDEST * 3:  # else it is as wide as may be, and that need not be measured
                document.setTextWidth(-1)
                self._comfortable = min(math.ceil(document.idealWidth()) + 1, self._comfortable)
        return QSize(self._comfortable, self.heightForWidth(self._comfortable))

    def minimumSizeHint(self) -> QSize:
        """Return a narrow column; the height follows from the width."""
        narrow = self.fontMetrics().averageCharWidth() * 7
        return QSize(min(narrow, self.sizeHint().width()), self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the text in the colours of the palette of this moment."""
        document = self._laid_out()
        document.setTextWidth(self.width())
        tones = Tones.of(self.palette())
        context = QAbstractTextDocumentLayout.PaintContext()
        palette = QPalette(self.palette())
        palette.setColor(QPalette.ColorRole.Text, self._colour(tones))
        context.palette = palette
        context.clip = event.rect().toRectF()
        painter = QPainter(self)
        offset = 0.0
        if self.alignment() & Qt.AlignmentFlag.AlignVCenter:
            offset = max(0.0, (self.height() - document.size().height()) / 2)
        painter.translate(QPointF(0, offset))
        context.clip.translate(0, -offset)
        document.documentLayout().draw(painter, context)

    def changeEvent(self, event: object) -> None:
        """Lay out anew when font, palette or direction changed."""
        self._document = None
        super().changeEvent(event)  # type: ignore[arg-type] # whatever Qt hands over

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Ask the layout again: the height depends on the width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _colour(self, tones: Tones) -> QColor:
        colours = {"text": tones.text, "muted": tones.muted, "warning": tones.warning, "danger": tones.danger}
        return colours[self._tone] if self.isEnabled() else tones.muted

    def _laid_out(self) -> QTextDocument:
        if self._document is None:
            self._heights = {}
            self._comfortable = 0
            self._document = self._make_document()
        return self._document

    def _make_document(self) -> QTextDocument:
        document = QTextDocument(self)
        document.setUndoRedoEnabled(False)
        document.setDocumentMargin(0)
        document.setDefaultFont(self.font())
        # The words go the way of their script; the edge that they start from is the layout's.
        edge = Qt.AlignmentFlag.AlignRight if self.isRightToLeft() else Qt.AlignmentFlag.AlignLeft
        option = QTextOption(edge | Qt.AlignmentFlag.AlignAbsolute)
        right_to_left = runs_right_to_left(self.text())
        option.setTextDirection(Qt.LayoutDirection.RightToLeft if right_to_left else Qt.LayoutDirection.LeftToRight)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        document.setDefaultTextOption(option)
        # Qt's time for a paragraph grows with its square; one more soft break changes nothing: real ones are marked.
        document.setPlainText(_LONG_PARAGRAPH.sub(r"\g<0>\n", self.text()))
        if "\\u{" in self.text() or NEWLINE_MARK in self.text():
            self._colour_marks(document)
        return document

    def _colour_marks(self, document: QTextDocument) -> None:
        """Set escapes and line ends apart from what is really in the text."""
        style = QTextCharFormat()
        style.setForeground(Tones.of(self.palette()).warning)
        left = _MOST_MARKS
        block = document.begin()
        while block.isValid() and left > 0:
            marks = []
            for found in itertools.islice(_MARKS.finditer(block.text()), left):
                mark = QTextLayout.FormatRange()
                mark.start, mark.length, mark.format = found.start(), len(found[0]), style
                marks.append(mark)
            block.layout().setFormats(marks)
            left -= len(marks)
            block = block.next()
        document.markContentsDirty(0, document.characterCount())
