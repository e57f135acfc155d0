"""Which chat model is asked: the page where a person finds one, tries it and takes it.

Nothing is connected to before a button is pressed. The key goes only to the address beside it; it is kept in memory, or
in the system's keyring when the person says so, and written nowhere else.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from agentic_qt.client.chat_model import ChatModel
from agentic_qt.client.discovery import discover_local, probe
from agentic_qt.client.endpoint import Endpoint, host_label, whole_url
from agentic_qt.client.key_store import KeyStoreError, origin
from agentic_qt.client.openai import OpenAIChatModel
from agentic_qt.qt.loop import spawn
from agentic_qt.ui.announce import announce
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.end_words import error_words
from agentic_qt.ui.key_keeping import KeyKeeping
from agentic_qt.ui.known_keys import ENVIRONMENT, KnownKeys, environment_address, keyring_words
from agentic_qt.ui.labels import plain_label
from agentic_qt.ui.stored import Stored, holds_secret
from agentic_qt.ui.words import translate

_SERVERS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
_EXAMPLE = "https://api.example.com/v1"
_ENDPOINT = Qt.ItemDataRole.UserRole


class ConnectionPage(QWidget):
    """Finds, tries and takes a chat model.

    Args:
        parent: The settings.
        use: Takes the chat model that the person chose; returns words when it cannot, else an empty string.
        stored: Keeps address and model for the next start.
        ports: Where to look on this computer.

    Signals:
        taken: A chat model is in use, and nothing is left to say.
    """

    taken = Signal()

    def __init__(
        self, parent: QWidget, use: Callable[[OpenAIChatModel], str], stored: Stored, ports: tuple[int, ...]
    ) -> None:
        super().__init__(parent)
        self._use = use
        self._stored = stored
        self._keys = KnownKeys(stored)
        self.ports = ports
        self._key_origin = ""  # to which the key in the field belongs
        self._task: asyncio.Task[Any] | None = None
        self._make_fields()
        self._arrange()
        self._connect()

    @property
    def idle(self) -> bool:
        """Whether nothing is being asked."""
        return (self._task is None or self._task.done()) and self.keeping.idle

    def show_chat_model(self, chat_model: ChatModel | None) -> None:
        """Fill in what is known of the present chat model, where nothing was written yet."""
        if not self.address.text():
            known = environment_address() if chat_model is None else str(getattr(chat_model, "base_url", ""))
            self.address.setText(known)
            if chat_model is not None:
                self.model.setEditText(chat_model.label if known else "")
        self._say("")
        self._show_key_source()
        self.address.setFocus(Qt.FocusReason.OtherFocusReason)

    def end(self) -> None:
        """Ask nobody any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self.keeping.end()

    def showEvent(self, event: QShowEvent) -> None:
        """See whether there is a keyring, as soon as somebody looks."""
        super().showEvent(event)
        self.keeping.look()

    # Building

    def _make_fields(self) -> None:
        self.look_button = QPushButton(translate("agentic_qt", "Look for a model on this computer"), self)
        ports = ", ".join(map(str, self.ports))
        words = translate("agentic_qt", "Asks this computer's ports {ports} for their models, and nothing else.")
        self.look_note = ExactLabel(words.format(ports=ports), tone="muted", scale=0.9, parent=self)
        self.found = QListWidget(self)
        self.found.setAccessibleName(translate("agentic_qt", "Models that were found on this computer"))
        self.found.setMaximumHeight(6 * self.fontMetrics().height())
        self.found.hide()
        self.address = QLineEdit(self)
        self.address.setPlaceholderText(_EXAMPLE)
        self.key = QLineEdit(self)
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setInputMethodHints(Qt.InputMethodHint.ImhSensitiveData | Qt.InputMethodHint.ImhNoPredictiveText)
        self.keeping = KeyKeeping(self._keys, self)
        self.model = QComboBox(self)
        self.model.setEditable(True)
        self.model.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.key_note = ExactLabel(tone="muted", scale=0.9, parent=self)
        self.answer = plain_label(self)
        self.answer.setWordWrap(True)
        self.answer.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.test_button = QPushButton(translate("agentic_qt", "Test connection"), self)
        self.use_button = QPushButton(translate("agentic_qt", "Use"), self)
        for button in (self.look_button, self.test_button, self.use_button):
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
        form.insertRow(2, "", self.keeping)
        form.insertRow(3, "", self.key_note)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        row = QHBoxLayout()
        row.addWidget(self.test_button)
        row.addStretch(1)
        row.addWidget(self.use_button)
        layout = QVBoxLayout(self)
        layout.addWidget(self.look_button, 0, Qt.AlignmentFlag.AlignLeading)
        layout.addWidget(self.look_note)
        layout.addWidget(self.found)
        layout.addSpacing(self.fontMetrics().height() // 2)
        layout.addLayout(form)
        layout.addWidget(self.answer)
        layout.addStretch(1)
        layout.addLayout(row)

    def _connect(self) -> None:
        self.look_button.clicked.connect(lambda: self._begin(self._look()))
        self.test_button.clicked.connect(lambda: self._begin(self._test()))
        self.use_button.clicked.connect(self._take)
        self.found.itemActivated.connect(self._choose)
        self.found.itemClicked.connect(self._choose)
        self.key.textEdited.connect(self._bind_key)
        self.address.editingFinished.connect(self._part_from_key)
        self.address.textChanged.connect(self._show_key_source)
        self.keeping.forgotten.connect(self._forgotten)
        self.keeping.failed.connect(self._say)
        self.keeping.box.toggled.connect(self._show_key_source)
        self._show_key_source()

    # Doing

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = spawn(work, name="agentic_qt.settings")

    async def _look(self) -> None:
        self._say(translate("agentic_qt", "Looking…"))
        endpoints = await discover_local(self.ports)
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
            self.model.setEditText("")
        self.address.setText(endpoint.base_url)
        self._part_from_key()
        self._fill_models(endpoint)
        (self.key if endpoint.needs_key else self.model).setFocus(Qt.FocusReason.OtherFocusReason)

    async def _test(self) -> None:
        if not self._tidy():
            return
        if not self.address.text():
            self._say(translate("agentic_qt", "Write the address of the server first."))
            self.address.setFocus(Qt.FocusReason.OtherFocusReason)
            return
        self._say(translate("agentic_qt", "Asking {address}…").format(address=self.address.text()))
        try:
            key = await self._keys.find(self.address.text(), self.key.text())
        except KeyStoreError as error:
            remedy = translate("agentic_qt", "Unlock it and try again, or write the key.")
            self._say(f"{keyring_words(error)} {remedy}")
            return
        endpoint = await probe(self.address.text(), key)
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
        if not self._tidy():
            return
        address, key = self.address.text(), self.key.text()
        if not address or not self.model.currentText().strip():
            self._say(translate("agentic_qt", "An address and a model are needed."))
            (self.model if address else self.address).setFocus(Qt.FocusReason.OtherFocusReason)
            return
        api_key = self._keys.for_requests(address, key)
        chat_model = OpenAIChatModel(model=self.model.currentText(), base_url=address, api_key=api_key)
        refusal = self._use(chat_model)
        self._say(refusal)
        if refusal:
            return
        self._stored.keep_chat_model(chat_model.base_url, chat_model.label)
        if key and self.keeping.wanted:
            self._begin(self._keep(address, key))
        else:
            self.taken.emit()

    async def _keep(self, address: str, key: str) -> None:
        self._say(translate("agentic_qt", "Keeping the key in the system keyring…"))
        try:
            await self._keys.keep(address, key)
        except KeyStoreError as error:
            words = translate("agentic_qt", "The chat model is in use, with the key in memory until you close this.")
            self._say(f"{keyring_words(error)} {words}")
            self._show_key_source()
            return
        self.key.clear()  # it need not be here any more
        self._show_key_source()
        self._say("")
        self.taken.emit()

    def _forgotten(self) -> None:
        self._show_key_source()
        words = translate("agentic_qt", "The key is no longer in the system keyring. What runs now may still have it.")
        self._say(words)
        self.key.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fill_models(self, endpoint: Endpoint) -> None:
        wanted = self.model.currentText()
        self.model.clear()
        self.model.addItems(endpoint.models)
        self.model.setEditText(wanted or (endpoint.models[0] if endpoint.models else ""))

    # The key and its address

    def _bind_key(self) -> None:
        self._key_origin = origin(self.address.text())

    def _part_from_key(self) -> bool:
        """Take a key out of its field when the address has become another's; returns whether it did."""
        there = origin(self.address.text())
        if not self.key.text() or not self._key_origin:
            self._key_origin = there if self.key.text() else ""
            return False
        if there == self._key_origin:
            return False
        host = host_label(self._key_origin)
        self.key.clear()
        self._key_origin = ""
        self._say(translate("agentic_qt", "The key was for {host} and was taken out.").format(host=host))
        return True

    def _show_key_source(self) -> None:
        address = self.address.text()
        self.keeping.show_address(address)
        if self._keys.in_keyring(address):
            words = translate("agentic_qt", "The one in the system keyring")
        elif self._keys.in_environment(address):
            words = translate("agentic_qt", "The one in {variable}").format(variable=ENVIRONMENT)
        else:
            words = translate("agentic_qt", "None, for most servers on this computer")
        self.key.setPlaceholderText(words)
        note = translate("agentic_qt", "The key is sent to this address only and forgotten when the application ends.")
        if self.keeping.box.isChecked():
            note = translate("agentic_qt", "The key is sent to this address only.")
        if holds_secret(whole_url(address)):
            secret = translate(
                "agentic_qt", "This address holds more than a place, so it is not kept for the next start."
            )
            note = f"{note} {secret}"
        self.key_note.setText(note)

    def _tidy(self) -> bool:
        """Drop white space that was copied along; returns False when the key had to go and the person should look."""
        for field in (self.address, self.key):
            text = "".join(field.text().split())
            if text != field.text():
                field.setText(text)
        return not self._part_from_key()

    def _say(self, words: str) -> None:
        self.answer.setText(words)
        self.answer.setAccessibleName(words)
        if words:
            announce(self, words)


def _found_words(endpoint: Endpoint) -> str:
    port = endpoint.base_url.rpartition(":")[2].partition("/")[0]
    server = _SERVERS.get(int(port), translate("agentic_qt", "A server"))
    if endpoint.needs_key:
        what = translate("agentic_qt", "wants a key")
    else:
        what = translate("agentic_qt", "{count} models").format(count=len(endpoint.models))
    return f"{server}? · {endpoint.host} · {what}"
