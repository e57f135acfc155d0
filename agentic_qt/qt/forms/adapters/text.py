"""Texts: QLineEdit, QPlainTextEdit, QTextEdit."""

import re
import unicodedata
from typing import Any, Final

from PySide6.QtCore import QRegularExpression, SignalInstance
from PySide6.QtGui import QRegularExpressionValidator, QTextCursor, QValidator
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QTextEdit

from agentic_qt.qt.forms.adapters.base import Adapter, JsonSchema, Profile
from agentic_qt.schema.validate import SchemaError, compile_schema

MAX_EXAMPLES: Final = 20
_NO_LIMIT: Final = 32767
_LINE_BREAKS: Final = re.compile("\r\n|[\r\u2028\u2029]")


class LineEditAdapter(Adapter):
    """QLineEdit: a text of one line; ``toolMinLength`` and ``toolPattern`` add to what the widget limits."""

    def usable(self, control: QLineEdit, profile: Profile) -> bool:
        """Return whether it may be written, and read: a password may not."""
        if control.isReadOnly():
            return False
        return profile == "chromium" or control.echoMode() == QLineEdit.EchoMode.Normal

    def schema(
        self,
        control: QLineEdit,
        profile: Profile,
        *,
        required: bool = False,
        live: bool = True,  # noqa: ARG002
    ) -> JsonSchema:
        """Return a string schema with the pattern of the validator and the limits of length."""
        pattern = _pattern_of(control)
        if profile == "chromium":
            return {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}
        schema: JsonSchema = {"type": "string"}
        least = _whole(control.property("toolMinLength")) or int(required)
        if least:
            schema["minLength"] = least
        if control.maxLength() < _NO_LIMIT:
            schema["maxLength"] = control.maxLength()
        if pattern:
            anchored = f"^(?:{pattern})$"
            if _is_portable(anchored):
                schema["pattern"] = anchored
        completer = control.completer()
        if completer is not None and completer.model() is not None:
            model, column = completer.model(), completer.completionColumn()
            rows = range(min(model.rowCount(), MAX_EXAMPLES))
            texts = [model.index(row, column).data(completer.completionRole()) for row in rows]
            examples = [text for text in texts if isinstance(text, str) and text]
            if examples:
                schema["examples"] = examples
        return schema

    def note(self, control: QLineEdit) -> str:
        """Return the input mask, if any."""
        mask = control.inputMask()
        return f"input mask {mask.split(';')[0]}" if mask else ""

    def get(self, control: QLineEdit) -> str:
        """Return the text."""
        return control.text()

    def default(self, control: QLineEdit) -> str | None:
        """Return the text; an empty one is no default."""
        return control.text() or None

    def normal(self, control: QLineEdit, value: Any) -> Any:
        """Return the text as the validator puts it."""
        return validated(control.validator(), value)[1] if isinstance(value, str) else value

    def refusal(self, control: QLineEdit, value: str) -> str:
        """Return what the validator or the widget wants instead."""
        return line_refusal(control, value)

    def set(self, control: QLineEdit, value: str) -> None:
        """Type the text over the old one, and commit it."""
        replace_text(control, value)

    def changed(self, control: QLineEdit) -> tuple[SignalInstance, ...]:
        """Return textChanged."""
        return (control.textChanged,)

    def restore(self, control: QLineEdit, state: str) -> None:
        """Put the text back, even one that the validator would not let anybody type."""
        replace_text(control, state)
        if control.text() != state:
            control.setText(state)


class TextAreaAdapter(Adapter):
    """QPlainTextEdit and QTextEdit: plain text of several lines."""

    def usable(self, control: QPlainTextEdit | QTextEdit, profile: Profile) -> bool:  # noqa: ARG002
        """Return whether it may be written."""
        return not control.isReadOnly()

    def schema(
        self,
        control: QPlainTextEdit | QTextEdit,
        profile: Profile,
        *,
        required: bool = False,
        live: bool = True,  # noqa: ARG002 - a text has no options
    ) -> JsonSchema:
        """Return a string schema; ``toolMinLength`` and ``toolMaxLength`` limit it."""
        schema: JsonSchema = {"type": "string"}
        if profile == "strict":
            least = _whole(control.property("toolMinLength")) or int(required)
            most = _whole(control.property("toolMaxLength"))
            schema |= {"minLength": least} if least else {}
            schema |= {"maxLength": most} if most else {}
        return schema

    def get(self, control: QPlainTextEdit | QTextEdit) -> str:
        """Return the text; the raw one, since toPlainText turns protected blanks into common ones."""
        return _LINE_BREAKS.sub("\n", control.document().toRawText())

    def default(self, control: QPlainTextEdit | QTextEdit) -> str | None:
        """Return the text; an empty one is no default."""
        return self.get(control) or None

    def normal(self, control: QPlainTextEdit | QTextEdit, value: Any) -> Any:  # noqa: ARG002
        """Return the text with line feeds for all line breaks."""
        return _LINE_BREAKS.sub("\n", value) if isinstance(value, str) else value

    def refusal(self, control: QPlainTextEdit | QTextEdit, value: str) -> str:  # noqa: ARG002
        """Refuse what no one can type."""
        return "a text without control characters" if has_control_characters(value, allowed="\n\t") else ""

    def set(self, control: QPlainTextEdit | QTextEdit, value: str) -> None:
        """Replace all of the text as one step that can be undone."""
        if self.get(control) == value:
            return
        cursor = QTextCursor(control.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(value)

    def changed(self, control: QPlainTextEdit | QTextEdit) -> tuple[SignalInstance, ...]:
        """Return textChanged."""
        return (control.textChanged,)

    def snapshot(self, control: QPlainTextEdit | QTextEdit) -> tuple[str, str | None]:
        """Return the text, and the markup of a rich one."""
        rich = isinstance(control, QTextEdit) and control.acceptRichText()
        return self.get(control), control.document().toHtml() if rich else None

    def restore(self, control: QPlainTextEdit | QTextEdit, state: tuple[str, str | None]) -> None:
        """Put the text back, with its markup."""
        text, markup = state
        if self.snapshot(control) == state:
            return
        if markup is not None and isinstance(control, QTextEdit):
            control.setHtml(markup)  # insertHtml keeps the undo stack, but not the markup of what was inserted
        else:
            self.set(control, text)


def replace_text(edit: QLineEdit, text: str) -> None:
    """Replace the text of a line edit as somebody would who selects all of it and types."""
    if edit.text() == text:
        return
    edit.selectAll()
    if text:
        edit.insert(text)
    else:
        edit.del_()
    edit.editingFinished.emit()


def line_refusal(edit: QLineEdit, text: str) -> str:
    """Return what a line edit wants instead of a text; empty when it takes it."""
    if has_control_characters(text):
        return "a text of one line, without control characters"
    if len(text.encode("utf-16-le")) // 2 > edit.maxLength():
        return f"at most {edit.maxLength()} characters long"
    validator = edit.validator()
    state, _ = validated(validator, text)
    if state == QValidator.State.Acceptable:
        return ""
    # As a field in a browser: only a value that is there must match.
    if not text and isinstance(validator, QRegularExpressionValidator):
        return ""
    return "a text that the field's own check accepts"


def validated(validator: QValidator | None, text: str) -> tuple[QValidator.State, str]:
    """Return what a validator says of a text, and the text as it would put it."""
    if validator is None:
        return QValidator.State.Acceptable, text
    answer: Any = validator.validate(text, len(text))
    if isinstance(answer, tuple):  # PySide hands out what the C++ method changes in place
        changed = answer[1] if len(answer) > 1 and isinstance(answer[1], str) else text
        return answer[0], changed
    return answer, text


def has_control_characters(text: str, *, allowed: str = "") -> bool:
    """Return whether characters are in a text that nobody can type."""
    if text.isprintable():
        return False
    return any(unicodedata.category(letter) in {"Cc", "Zl", "Zp"} and letter not in allowed for letter in text)


def _pattern_of(edit: QLineEdit) -> str | None:
    validator = edit.validator()
    if isinstance(validator, QRegularExpressionValidator):
        expression = validator.regularExpression()
        if not expression.isValid():
            return None
        return expression.pattern()
    pattern = edit.property("toolPattern")
    return pattern if isinstance(pattern, str) and QRegularExpression(pattern).isValid() else None


def _is_portable(pattern: str) -> bool:
    try:
        compile_schema({"type": "string", "pattern": pattern}, root="any")
    except SchemaError:
        return False  # look-around, say: the validator itself judges such texts
    return True


def _whole(value: Any) -> int:
    try:
        return max(0, int(value))
    except (TypeError, ValueError):
        return 0
