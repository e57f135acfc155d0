"""Whether the key is kept in the system's keyring: a box to tick, why it cannot be, and how to forget the key."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QVBoxLayout, QWidget

from agentic_qt.client.key_store import KeyStoreError
from agentic_qt.qt.loop import spawn
from agentic_qt.ui.approval.boxes import LinkButton
from agentic_qt.ui.approval.exact_label import ExactLabel
from agentic_qt.ui.known_keys import KnownKeys, keyring_words
from agentic_qt.ui.words import translate


class KeyKeeping(QWidget):
    """The line below the key.

    Args:
        keys: Where the keys of the application are.
        parent: The page.

    Signals:
        forgotten: The key for the address is in the keyring no more.
        failed: It could not be removed; the words say why.
    """

    forgotten = Signal()
    failed = Signal(str)

    def __init__(self, keys: KnownKeys, parent: QWidget) -> None:
        super().__init__(parent)
        self._keys = keys
        self._address = ""
        self._usable = False
        self._task: asyncio.Task[Any] | None = None
        self.box = QCheckBox(translate("agentic_qt", "Keep it in the &system keyring"), self)
        self.box.setEnabled(False)  # until it is known that there is one
        self.forget_button = LinkButton(translate("agentic_qt", "Forget"), self)
        self.forget_button.setAccessibleName(translate("agentic_qt", "Forget the key in the system keyring"))
        self.forget_button.hide()
        self.why = ExactLabel(tone="muted", scale=0.9, parent=self)
        self.why.hide()
        row = QHBoxLayout()
        row.addWidget(self.box)
        row.addWidget(self.forget_button)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(self.why)
        self.forget_button.clicked.connect(lambda: self._begin(self._forget(self._address)))

    @property
    def wanted(self) -> bool:
        """Whether the key shall be kept."""
        return self._usable and self.box.isChecked()

    @property
    def idle(self) -> bool:
        """Whether the keyring is not being asked."""
        return self._task is None or self._task.done()

    def show_address(self, address: str) -> None:
        """Say whether the key for an address is in the keyring."""
        self._address = address
        kept = self._keys.in_keyring(address)
        if kept or not self.forget_button.isHidden():
            self.box.setChecked(kept)  # else it is as the person left it
        self.forget_button.setVisible(kept)
        self.box.setEnabled(self._usable and not kept)

    def look(self) -> None:
        """See whether there is a keyring; it is not opened."""
        if self.idle:
            self._begin(self._look())

    def end(self) -> None:
        """Wait for nothing any more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self.end()
        self._task = spawn(work, name="agentic_qt.keyring")

    async def _look(self) -> None:
        why = await self._keys.unusable()
        self._usable = not why
        self.why.setText(why)
        self.why.setVisible(bool(why))
        self.box.setAccessibleDescription(why)
        if why:
            self.box.setChecked(False)
        self.show_address(self._address)

    async def _forget(self, address: str) -> None:
        self.forget_button.setEnabled(False)
        try:
            await self._keys.forget(address)
        except KeyStoreError as error:
            words = translate("agentic_qt", "The key could not be removed.")
            self.failed.emit(f"{keyring_words(error)} {words}")
        else:
            self.forgotten.emit()
        finally:
            self.forget_button.setEnabled(True)
