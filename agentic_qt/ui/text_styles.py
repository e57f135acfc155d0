"""The formats of the transcript, made of a font and a palette: one place for sizes (all in em) and colours."""

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QFont,
    QFontDatabase,
    QFontMetricsF,
    QPalette,
    QTextBlockFormat,
    QTextCharFormat,
    QTextFormat,
    QTextFrameFormat,
    QTextOption,
)

from agentic_qt.ui.theme import Tones

ICON_OBJECT = QTextFormat.ObjectTypes.UserObject + 1
ICON_NAME = QTextFormat.Property.UserProperty + 1
ICON_COLOUR = QTextFormat.Property.UserProperty + 2
PILL = QTextFormat.Property.UserProperty + 3
"""A character format with this is drawn as a button (its colour is the edge)."""

_LABEL_COLUMN, _ROW_INDENT = 5.0, 2.3
_MUTED = 0.92  # size of secondary text
_HEADINGS = {1: 1.3, 2: 1.18, 3: 1.08}


class TextStyles:
    """Formats for one font and one palette; made again when either changes."""

    def __init__(self, font: QFont, palette: QPalette, direction: Qt.LayoutDirection) -> None:
        self.tones = Tones.of(palette)
        self._metrics = QFontMetricsF(font)
        self.em = self._metrics.height()
        self.rtl = direction == Qt.LayoutDirection.RightToLeft
        self._size = font.pointSizeF() if font.pointSizeF() > 0 else 10.0
        self._mono = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()
        self.text = self._chars()
        self.muted = self._chars(factor=_MUTED)
        self.muted.setForeground(self.tones.muted)
        self.code = self._chars(factor=0.95)
        self.code.setFontFamilies([self._mono, "monospace"])
        self.code.setFontFixedPitch(True)
        self.inline_code = QTextCharFormat(self.code)
        self.inline_code.setBackground(self.tones.code)
        self.strong = self._chars()
        self.strong.setFontWeight(QFont.Weight.DemiBold)

    def _chars(self, factor: float = 1.0) -> QTextCharFormat:
        made = QTextCharFormat()
        made.setForeground(self.tones.text)
        made.setFontPointSize(self._size * factor)
        return made

    def heading(self, level: int) -> QTextCharFormat:
        """The characters of a heading of level 1 to 6."""
        made = self._chars(_HEADINGS.get(level, 1.0))
        made.setFontWeight(QFont.Weight.DemiBold)
        return made

    def link(self, base: QTextCharFormat, address: str) -> QTextCharFormat:
        """The characters of a link to `address`, in the manner of `base`."""
        made = QTextCharFormat(base)
        made.setAnchor(True)
        made.setAnchorHref(address)
        made.setForeground(self.tones.link)
        made.setFontUnderline(True)
        return made

    def action(self, base: QTextCharFormat, address: str) -> QTextCharFormat:
        """Characters that do something in the transcript when they are clicked; looks as `base` does."""
        made = QTextCharFormat(base)
        made.setAnchor(True)
        made.setAnchorHref(address)
        made.setFontUnderline(False)
        return made

    def button(self, address: str) -> QTextCharFormat:
        """Characters that are drawn as a button."""
        made = self.action(self.strong, address)
        made.setForeground(self.tones.link)
        made.setProperty(PILL, self.tones.link)
        return made

    def icon(self, name: str, colour: Qt.GlobalColor | object) -> QTextCharFormat:
        """The one character (U+FFFC) that is drawn as the icon `name`."""
        made = self._chars()
        made.setObjectType(ICON_OBJECT)
        made.setProperty(ICON_NAME, name)
        made.setProperty(ICON_COLOUR, colour)
        made.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignBottom)
        return made

    def block(self, *, above: float = 0.0, below: float = 0.0, line: float = 125.0) -> QTextBlockFormat:
        """A paragraph with margins in em and a line height in per cent."""
        made = QTextBlockFormat()
        made.setTopMargin(above * self.em)
        made.setBottomMargin(below * self.em)
        made.setLineHeight(line, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        return made

    def heading_block(self) -> QTextBlockFormat:
        """A line of ours, such as the title of a card: in the direction of the application."""
        made = self.block(above=0.1, below=0.1)
        if self.rtl:
            made.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
            return made
        made.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        made.setLeftMargin(_ROW_INDENT * self.em)  # further lines stand below the words, not below the icons
        made.setTextIndent(-_ROW_INDENT * self.em)
        return made

    def code_block(self) -> QTextBlockFormat:
        """A line of code: left to right in every language."""
        made = self.block(line=115)
        made.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        return made

    def gap(self, height: float) -> QTextBlockFormat:
        """An empty paragraph of exactly `height` em: Qt wants one between two frames."""
        made = QTextBlockFormat()
        made.setLineHeight(max(1.0, height * self.em), QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        return made

    def row(self) -> QTextBlockFormat:
        """A label, a tab and a value whose further lines stand below its first."""
        made = self.block(above=0.1)
        column, indent = _LABEL_COLUMN * self.em, _ROW_INDENT * self.em
        if self.rtl:  # Qt counts tabs from the left
            made.setRightMargin(indent)
            made.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
            return made
        made.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        made.setTextIndent(-column)
        made.setLeftMargin(indent + column)
        made.setTabPositions([QTextOption.Tab(column, QTextOption.TabType.LeftTab)])
        return made

    def fits_label_column(self, label: str) -> bool:
        """Whether a label of a row leaves a gap before the value."""
        return self._metrics.horizontalAdvance(label) * _MUTED < (_LABEL_COLUMN - 0.4) * self.em

    def body(self, *, above: float, below: float = 0.0, line: float = 125.0) -> QTextBlockFormat:
        """A paragraph of ours in a card, below the words of its title."""
        made = self.block(above=above, below=below, line=line)
        made.setLayoutDirection(Qt.LayoutDirection.RightToLeft if self.rtl else Qt.LayoutDirection.LeftToRight)
        if self.rtl:
            made.setRightMargin(_ROW_INDENT * self.em)
        else:
            made.setLeftMargin(_ROW_INDENT * self.em)
        return made

    def frame(self, *, padding: float, before: float = 0.0, after: float = 0.0, below: float = 0.0) -> QTextFrameFormat:
        """A frame with padding and logical margins in em; the transcript paints its background."""
        made = QTextFrameFormat()
        made.setPadding(padding * self.em)
        made.setBottomMargin(below * self.em)
        left, right = (after, before) if self.rtl else (before, after)
        made.setLeftMargin(left * self.em)
        made.setRightMargin(right * self.em)
        return made
