"""Writes messages, notes and errors into their frames of the transcript. Answers and cards write themselves."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor

from agentic_qt.ui.text_styles import TextStyles
from agentic_qt.ui.transcript_items import Action, ErrorCard, Note, UserMessage
from agentic_qt.ui.words import translate


def write_message(content: UserMessage, cursor: QTextCursor, styles: TextStyles, address: str) -> None:
    """Write what the person said, and what may be done with it."""
    cursor.setBlockFormat(styles.block())
    cursor.insertText(content.text, styles.text)
    if not content.branch:
        return
    block = styles.block(above=0.15)
    block.setAlignment(Qt.AlignmentFlag.AlignTrailing)
    cursor.insertBlock(block)
    if len(content.variants) > 1:
        place = content.variants.index(content.branch) + 1
        before = translate("agentic_qt", "Earlier")
        after = translate("agentic_qt", "Later")
        if place > 1:
            cursor.insertText(before, styles.action(styles.muted, f"{address}/do/earlier"))
        cursor.insertText(f"  {place}/{len(content.variants)}  ", styles.muted)
        if place < len(content.variants):
            cursor.insertText(after, styles.action(styles.muted, f"{address}/do/later"))
        cursor.insertText("    ", styles.muted)
    cursor.insertText(translate("agentic_qt", "Edit"), styles.action(styles.muted, f"{address}/do/edit"))
    cursor.insertText("    ", styles.muted)
    cursor.insertText(translate("agentic_qt", "Ask again"), styles.action(styles.muted, f"{address}/do/again"))


def write_note(content: Note, cursor: QTextCursor, styles: TextStyles, address: str) -> None:
    """Write a line of ours."""
    cursor.setBlockFormat(styles.block())
    cursor.insertText(content.text, styles.muted)
    for action in content.actions:
        cursor.insertText("  ", styles.muted)
        cursor.insertText(action.words, styles.link(styles.muted, f"{address}/do/{action.name}"))


def write_error(content: ErrorCard, cursor: QTextCursor, styles: TextStyles, address: str) -> None:
    """Write what went wrong, and the buttons that may mend it."""
    cursor.setBlockFormat(styles.block(below=0.2))
    cursor.insertText("\ufffc", styles.icon("warning", styles.tones.danger))
    cursor.insertText("\u00a0" + content.headline, styles.strong)
    cursor.insertBlock(styles.block())
    cursor.insertText(content.remedy, styles.text)
    if content.detail:
        cursor.insertBlock(styles.block(above=0.2))
        cursor.insertText(content.detail, styles.muted)
    *first, last = content.actions or (None,)
    retry = Action(name="retry", words=translate("agentic_qt", "Try again")) if content.can_retry else None
    actions = [action for action in (*first, retry, last) if action is not None]  # what mends it stands first
    if not actions:
        return
    cursor.insertBlock(styles.block(above=0.5, below=0.2, line=165.0))
    for number, action in enumerate(actions):
        if number:
            cursor.insertText("   ", styles.text)
        unbroken = action.words.replace(" ", "\u00a0")
        where = f"{address}/retry" if action.name == "retry" else f"{address}/do/{action.name}"
        cursor.insertText(f"\u00a0\u00a0{unbroken}\u00a0\u00a0", styles.button(where))
