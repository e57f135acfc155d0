"""Which chat model is asked: a small window where a person finds one, tries it and takes it.

Nothing is connected to before a button is pressed. The key is kept in memory, goes only to the address beside it, and
is written nowhere.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.discovery import LOCAL_PORTS, discover_local, probe
from agentic_qt.client.endpoint import Endpoint, whole_url
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.qt.availability import OWN_WINDOW
from agentic_qt.qt.loop import spawn
from agentic_qt.ui.announce import announce
from agentic_qt.ui.end_words import error_words
from agentic_qt.ui.labels import plain_label
from agentic_qt.ui.words import translate

_SERVERS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
_KEY = "OPENAI_API_KEY"
_EXAMPLE = "https://api.example.com/v1"
_ENDPOINT = Qt.ItemDataRole.UserRole


class SettingsDialog(QDialog):
    """Finds, tries and takes a chat model; non-modal.

    Args:
        parent: The application's window.
        use: Takes the chat model that the person chose; returns words when it cannot, else an empty string.
        ports: Where to look on this computer.
    """

    def __init__(
        self, parent: QWidget, use: Callable[[OpenAIChatModel], str], *, ports: tuple[int, ...] = LOCAL_PORTS
    ) -> None:
        super().__init__(parent)
        self._use = use
        self._ports = ports
        self._task: asyncio.Task[Any] | None = None
        self.setObjectName("agentic_qt_settings")
        self.setProperty(OWN_WINDOW, True)  # noqa: FBT003 - Qt's own signature
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)  # noqa: FBT003 - Qt's own signature
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.setWindowTitle(translate("agentic_qt", "Chat model"))
        self._make_fields()
        self._arrange()
        self._connect()

    def present(self, chat_model: ChatModel | None) -> None:
        """Show the window, with what is known of the present chat model."""
        if chat_model is None and not self.address.text():
            self.address.setText(_environment_address())
        elif chat_model is not None and not self.address.text():
            self.address.setText(str(getattr(chat_model, "base_url", "")))
            self.model.setEditText(chat_model.label if self.address.text() else "")
        self._say("")
        self.show()
        self.raise_()
        self.activateWindow()
        self.address.setFocus(Qt.FocusReason.OtherFocusReason)

    def leave(self) -> None:
        """Ask nobody any more, and go."""
        self._end()
        self.hide()
        self.deleteLater()

    # Building

    def _make_fields(self) -> None:
        self.look_button = QPushButton(translate("agentic_qt", "Look for a model on this computer"), self)
        self.look_note = _wrapped(self)
        ports = ", ".join(map(str, self._ports))
        words = translate("agentic_qt", "Asks this computer's ports {ports} for their models, and nothing else.")
        self.look_note.setText(words.format(ports=ports))
        self.found = QListWidget(self)
        self.found.setAccessibleName(translate("agentic_qt", "Models that were found on this computer"))
        self.found.setMaximumHeight(6 * self.fontMetrics().height())
        self.found.hide()
        self.address = QLineEdit(self)
        self.address.setPlaceholderText(_EXAMPLE)
        self.key = QLineEdit(self)
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setInputMethodHints(Qt.InputMethodHint.ImhSensitiveData | Qt.InputMethodHint.ImhNoPredictiveText)
        self.model = QComboBox(self)
        self.model.setEditable(True)
        self.model.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.key_note = _wrapped(self)
        self.key_note.setText(
            translate("agentic_qt", "The key is sent to this address only and forgotten when the application ends.")
        )
        self.answer = _wrapped(self)
        self.answer.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.test_button = QPushButton(translate("agentic_qt", "Test connection"), self)
        self.use_button = QPushButton(translate("agentic_qt", "Use"), self)
        self.close_button = QPushButton(translate("agentic_qt", "Close"), self)
        for button in (self.look_button, self.test_button, self.use_button, self.close_button):
            button.setAutoDefault(False)

    def _arrange(self) -> None:
        form = QFormLayout()
        for words, field in (
            (translate("agentic_qt", "&Address"), self.address),
            (translate("agentic_qt", "&Key"), self.key),
            (translate("agentic_qt", "&Model"), self.model),
        ):
            field.setAccessibleName(words.replace("&", ""))
            form.addRow(words, field)
        form.insertRow(2, "", self.key_note)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        row = QHBoxLayout()
        row.addWidget(self.test_button)
        row.addStretch(1)
        row.addWidget(self.close_button)
        row.addWidget(self.use_button)
        layout = QVBoxLayout(self)
        layout.addWidget(self.look_button, 0, Qt.AlignmentFlag.AlignLeading)
        layout.addWidget(self.look_note)
        layout.addWidget(self.found)
        layout.addLayout(form)
        layout.addWidget(self.answer)
        layout.addStretch(1)
        layout.addLayout(row)
        em = self.fontMetrics().height()
        self.resize(30 * em, 24 * em)

    def _connect(self) -> None:
        self.look_button.clicked.connect(lambda: self._begin(self._look()))
        self.test_button.clicked.connect(lambda: self._begin(self._test()))
        self.use_button.clicked.connect(self._take)
        self.close_button.clicked.connect(self.close)
        self.found.itemActivated.connect(self._choose)
        self.found.itemClicked.connect(self._choose)
        self.finished.connect(self._end)
        self.address.textChanged.connect(self._show_key_source)
        self._show_key_source()

    # Doing

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._end()
        self._task = spawn(work, name="agentic_qt.settings")

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self) -> None:
        self._say(translate("agentic_qt", "Looking…"))
        endpoints = await discover_local(self._ports)
        self.found.clear()
        for endpoint in endpoints:
            item = QListWidgetItem(_found_words(endpoint))
            item.setData(_ENDPOINT, endpoint)
            self.found.addItem(item)
        self.found.setVisible(bool(endpoints))
        if not endpoints:
            self._say(translate("agentic_qt", "No model was found on this computer. Start a server, then look again."))
            return
        self._say(translate("agentic_qt", "Choose one of the {count} that were found.").format(count=len(endpoints)))
        self.found.setCurrentRow(0)
        self.found.setFocus(Qt.FocusReason.OtherFocusReason)

    def _choose(self, item: QListWidgetItem) -> None:
        endpoint = item.data(_ENDPOINT)
        if endpoint.base_url != self.address.text():
            self.key.clear()  # it belongs to another address
            self.model.setEditText("")
        self.address.setText(endpoint.base_url)
        self._fill_models(endpoint)
        (self.key if endpoint.needs_key else self.model).setFocus(Qt.FocusReason.OtherFocusReason)

    async def _test(self) -> None:
        self._tidy()
        if not self.address.text():
            self._say(translate("agentic_qt", "Write the address of the server first."))
            self.address.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        self._say(translate("agentic_qt", "Asking {address}…").format(address=self.address.text()))
        endpoint = await probe(self.address.text(), self._key())
        if endpoint.error is not None:
            headline, remedy = error_words(endpoint.error, endpoint.host)
            said = f"\n{endpoint.error.message}" if endpoint.error.message else ""
            self._say(f"{headline}. {remedy}{said}")
            return
        self._fill_models(endpoint)
        words = translate("agentic_qt", "It answers, with {count} models.").format(count=len(endpoint.models))
        if endpoint.models and self.model.currentText() not in endpoint.models:
            listed = translate("agentic_qt", "The model {model} is not among them.")
            words = f"{words} {listed.format(model=self.model.currentText())}"
        self._say(words)

    def _take(self) -> None:
        self._tidy()
        if not self.address.text() or not self.model.currentText().strip():
            self._say(translate("agentic_qt", "An address and a model are needed."))
            (self.model if self.address.text() else self.address).setFocus(Qt.FocusReason.OtherFocusReason)
            return
        chat_model = OpenAIChatModel(model=self.model.currentText(), base_url=self.address.text(), api_key=self._key())
        refusal = self._use(chat_model)
        self._say(refusal)
        if not refusal:
            self.accept()

    def _fill_models(self, endpoint: Endpoint) -> None:
        wanted = self.model.currentText()
        self.model.clear()
        self.model.addItems(endpoint.models)
        self.model.setEditText(wanted or (endpoint.models[0] if endpoint.models else ""))

    def _key(self) -> str:
        """Return the key that was written, or the environment's own, for the address it belongs to and no other."""
        return self.key.text() or ("" if not self._has_environment_key() else os.environ[_KEY])

    def _has_environment_key(self) -> bool:
        return bool(os.environ.get(_KEY)) and whole_url(self.address.text()) == _environment_address()

    def _show_key_source(self) -> None:
        found = translate("agentic_qt", "The one in {variable}").format(variable=_KEY)
        none = translate("agentic_qt", "None, for most servers on this computer")
        self.key.setPlaceholderText(found if self._has_environment_key() else none)

    def _tidy(self) -> None:
        """Drop white space that was copied along."""
        for field in (self.address, self.key):
            field.setText("".join(field.text().split()))

    def _say(self, words: str) -> None:
        self.answer.setText(words)
        self.answer.setAccessibleName(words)
        if words:
            announce(self, words)


def _environment_address() -> str:
    """Return where a chat model is by the environment; empty when it says nothing."""
    is_set = os.environ.get("OPENAI_BASE_URL") or os.environ.get(_KEY)
    return OpenAIChatModel(model="").base_url if is_set else ""


def _wrapped(parent: QWidget) -> QLabel:
    label = plain_label(parent)
    label.setWordWrap(True)
    return label


def _found_words(endpoint: Endpoint) -> str:
    port = endpoint.base_url.rpartition(":")[2].partition("/")[0]
    server = _SERVERS.get(int(port), translate("agentic_qt", "A server"))
    if endpoint.needs_key:
        what = translate("agentic_qt", "wants a key")
    else:
        what = translate("agentic_qt", "{count} models").format(count=len(endpoint.models))
    return f"{server}? · {endpoint.host} · {what}"
