"""Writes hardened markdown into a document: a white list of what may appear, built piece by piece.

Qt parses (GitHub dialect, HTML off) into a document that is never shown; only known things are carried over from there.
Images become their description, links of other kinds than http, https and mailto become plain text; nothing is loaded.
"""

from typing import Any

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import (
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrame,
    QTextLength,
    QTextList,
    QTextListFormat,
    QTextTable,
    QTextTableFormat,
)

from agentic_qt.ui.highlight import coloured
from agentic_qt.ui.text_styles import TextStyles
from agentic_qt.ui.words import translate

_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
_Property = QTextFormat.Property
LINK_SCHEMES = frozenset({"http", "https", "mailto"})


class SealedDocument(QTextDocument):
    """A document that loads nothing, whatever its content asks for."""

    def loadResource(self, _kind: int, _name: QUrl | str) -> Any:
        """Answer every request with nothing."""
        return None


def allowed_link(address: str) -> QUrl | None:
    """Return the URL of a link that may be offered to a person, or None."""
    url = QUrl(address, QUrl.ParsingMode.StrictMode)
    if not url.isValid() or url.scheme().lower() not in LINK_SCHEMES:
        return None
    return url if url.scheme().lower() == "mailto" or url.host() else None


def write_code(cursor: QTextCursor, code: str, language: str, styles: TextStyles) -> None:
    """Write highlighted lines at the cursor."""
    form = QTextCharFormat(styles.code)
    for piece, colour in coloured(code, language, styles.tones):
        form.setForeground(colour)
        cursor.insertText(piece, form)


class MarkdownWriter:
    """Writes one prose part after the other at a cursor."""

    def __init__(self, styles: TextStyles, parent: QObject | None = None) -> None:
        self._styles = styles
        self._source = SealedDocument(parent)
        self._source.setUndoRedoEnabled(False)
        self._lists: dict[int, QTextList] = {}

    def write(self, cursor: QTextCursor, text: str, *, fresh: bool) -> None:
        """Write `text`; `fresh` says that the cursor stands in an empty paragraph that may be used."""
        self._source.setMarkdown(text, _FEATURES)
        self._lists.clear()
        cursor.beginEditBlock()
        self._write_frame(self._source.rootFrame(), cursor, fresh=fresh)
        cursor.endEditBlock()

    def _write_frame(self, frame: QTextFrame, cursor: QTextCursor, *, fresh: bool) -> None:
        it = frame.begin()
        after_table = False
        while not it.atEnd():
            child = it.currentFrame()
            if child is not None:
                if isinstance(child, QTextTable):
                    self._write_table(child, cursor)
                    after_table = fresh = True
            else:
                block = it.currentBlock()
                # Qt's parser leaves an empty paragraph beside each table.
                if block.length() > 1 or _is_rule(block):
                    self._write_block(block, cursor, fresh=fresh)
                    fresh = after_table = False
            it += 1
        if after_table:
            cursor.setBlockFormat(self._styles.gap(0.1))

    def _write_block(self, block: QTextBlock, cursor: QTextCursor, *, fresh: bool) -> None:
        form = self._block_format(block)
        if fresh:
            cursor.setBlockFormat(form)
        else:
            cursor.insertBlock(form, self._styles.text)
        listed = block.textList()
        if listed is not None:
            self._write_item(listed, cursor)
        elif cursor.currentList() is not None:
            cursor.currentList().remove(cursor.block())
        base = self._base_format(block)
        it = block.begin()
        while not it.atEnd():
            fragment = it.fragment()
            self._write_run(fragment.text(), fragment.charFormat(), base, cursor)
            it += 1

    def _write_item(self, listed: QTextList, cursor: QTextCursor) -> None:
        key = listed.objectIndex()
        known = self._lists.get(key)
        if known is not None:
            known.add(cursor.block())
            return
        source = listed.format()
        made = QTextListFormat()
        made.setStyle(source.style())
        made.setIndent(source.indent())
        made.setStart(source.start())
        made.setNumberSuffix(source.numberSuffix() or ".")
        self._lists[key] = cursor.createList(made)

    def _block_format(self, block: QTextBlock) -> QTextBlockFormat:
        source = block.blockFormat()
        level = source.headingLevel()
        if block.textList() is not None:
            form = self._styles.block(above=0.08, below=0.08)
        elif level:
            form = self._styles.block(above=0.55, below=0.25)
            form.setHeadingLevel(level)
        elif source.hasProperty(_Property.BlockCodeFence):
            form = self._styles.code_block()
        else:
            form = self._styles.block(above=0.2, below=0.3)
        form.setMarker(source.marker())
        quote = source.intProperty(_Property.BlockQuoteLevel)
        form.setIndent(max(source.indent(), quote))
        if _is_rule(block):
            form.setProperty(
                _Property.BlockTrailingHorizontalRulerWidth,
                QTextLength(QTextLength.Type.PercentageLength, 100),
            )
        return form

    def _base_format(self, block: QTextBlock) -> QTextCharFormat:
        source = block.blockFormat()
        if source.headingLevel():
            return self._styles.heading(source.headingLevel())
        if source.hasProperty(_Property.BlockCodeFence):
            return self._styles.code
        if source.intProperty(_Property.BlockQuoteLevel):
            quoted = QTextCharFormat(self._styles.text)
            quoted.setForeground(self._styles.tones.muted)
            return quoted
        return self._styles.text

    def _write_run(self, text: str, source: QTextCharFormat, base: QTextCharFormat, cursor: QTextCursor) -> None:
        form = QTextCharFormat(base)
        if source.isImageFormat():
            text = translate("agentic_qt", "[image: {description}]").format(
                description=source.stringProperty(_Property.ImageAltText) or "…"
            )
            form.setForeground(self._styles.tones.muted)
        elif source.fontFixedPitch() and base is not self._styles.code:
            form = QTextCharFormat(self._styles.inline_code)
        if source.fontWeight() > QFont.Weight.Normal:
            form.setFontWeight(QFont.Weight.DemiBold)
        form.setFontItalic(source.fontItalic())
        form.setFontStrikeOut(source.fontStrikeOut())
        if source.isAnchor() and allowed_link(source.anchorHref()) is not None:
            form = self._styles.link(form, source.anchorHref())
        cursor.insertText(text, form)

    def _write_table(self, table: QTextTable, cursor: QTextCursor) -> None:
        form = QTextTableFormat()
        form.setBorderCollapse(True)
        form.setBorder(1)
        form.setBorderStyle(QTextTableFormat.BorderStyle.BorderStyle_Solid)
        form.setBorderBrush(self._styles.tones.border)
        form.setCellPadding(0.25 * self._styles.em)
        form.setHeaderRowCount(1)
        form.setTopMargin(0.3 * self._styles.em)
        form.setBottomMargin(0.3 * self._styles.em)
        if cursor.block().length() == 1:  # Qt wants a paragraph before a table
            cursor.setBlockFormat(self._styles.gap(0.1))
        made = cursor.insertTable(table.rows(), table.columns(), form)
        for row in range(table.rows()):
            for column in range(table.columns()):
                block = table.cellAt(row, column).firstCursorPosition().block()
                self._write_block(block, made.cellAt(row, column).firstCursorPosition(), fresh=True)
        cursor.setPosition(made.lastPosition() + 1)


def _is_rule(block: QTextBlock) -> bool:
    return bool(block.blockFormat().hasProperty(_Property.BlockTrailingHorizontalRulerWidth))
